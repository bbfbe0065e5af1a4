"""What went wrong: drafts that wait for a person, clusters with what each suggests, and the bad cases themselves."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.foundation import strict_json
from core.state.paths import ProjectPaths
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.changes import FEEDBACK
from core.strategy.documents.skill import SkillSchema
from core.strategy.feedback.bad_cases import FILE, BadCase, Queue
from core.strategy.feedback.clusters import Cluster, Structure, cluster
from core.strategy.feedback.encoders import Characters
from core.strategy.feedback.review import Waiting, pool
from core.strategy.feedback.suggestions import Suggestion, suggest
from core.strategy.schema.directory import skills_of
from tui.screens.panes.base import local, span_of
from tui.screens.panes.strategies_pages import Asked, Page
from tui.screens.panes.strategies_text import coloured
from tui.screens.panes.strategies_turns import event_line
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, fit, joined, middle, plain, short, width_of

_LATEST = 80
_MOST = 2000
"""So many cases, the newest, are clustered here; exuvia strategy nightly takes all."""


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """`cases` are the newest of the queue by id. `gaps` counts lines that are no case."""

    waiting: tuple[Waiting, ...]
    clusters: tuple[Cluster, ...]
    suggestions: tuple[Suggestion, ...]
    cases: Mapping[str, BadCase]
    gaps: int


class CasesPage(Page[CaseFacts]):
    """Review pool, clusters, cases."""

    rest = " On a draft a approves, x rejects, each with a reason; Tab reads below."

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: tuple[tuple[int, int], CaseFacts] | None = None

    def read(self, asked: Asked, project: ProjectPaths) -> CaseFacts:
        bank = bank_of(project)
        with self._lock:
            folder = bank.records / FEEDBACK
            sign = _sign(folder / FILE)
            if self._held is None or self._held[0] != sign:
                self._held = (sign, _grouped(folder, skills_of(project).schemas))
            found = self._held[1]
        return CaseFacts(_pool(bank, found.cases), found.clusters, found.suggestions, found.cases, found.gaps)

    def _suggestion(self, facts: CaseFacts, name: str) -> Suggestion | None:
        return next((one for one in facts.suggestions if one.id == name), None)

    def title(self, facts: CaseFacts) -> str:
        waiting = f"{len(facts.waiting)} to review, " if facts.waiting else ""
        return f"{waiting}{len(facts.clusters)} clusters of {len(facts.cases)} bad cases"

    def leads_to(self, facts: CaseFacts, key: str) -> str:
        kind, _, rest = key.partition(":")
        if kind == "review":
            return rest.rpartition("/")[0]
        case = facts.cases.get(rest) if kind == "case" else None
        found: Cluster | Suggestion | None = next((one for one in facts.clusters if one.id == rest), None)
        found = self._suggestion(facts, rest) if kind == "suggestion" else found
        return (case.strategy_id or "") if case else found.structure.strategy_id if found else ""

    def case_of(self, facts: CaseFacts, key: str) -> BadCase | None:
        """Return the bad case of a row: itself, of a cluster or a suggestion its latest; None for other rows."""
        kind, _, rest = key.partition(":")
        names: Sequence[str] = (rest,) if kind == "case" else ()
        if kind == "cluster":
            names = next((one.cases for one in facts.clusters if one.id == rest), ())
        elif kind == "suggestion" and (suggested := self._suggestion(facts, rest)) is not None:
            names = suggested.evidence
        found = [facts.cases[name] for name in names if name in facts.cases]
        return max(found, key=lambda case: (case.time, case.id)) if found else None

    def rows(self, facts: CaseFacts, width: int) -> Sequence[Row]:
        rows = [_head(f"Waiting for a person ({len(facts.waiting)})")]
        rows += [_waiting_row(one, width) for one in facts.waiting]
        if facts.suggestions:
            rows.append(_head(f"Suggestions ({len(facts.suggestions)})", "cases, sessions, what failed, what to do"))
            rows += [_suggestion_row(one, width) for one in facts.suggestions]
        if facts.clusters:
            rows.append(_head(f"Clusters ({len(facts.clusters)})", "cases, sessions, what failed, an example"))
            rows += [_cluster_row(one, width) for one in facts.clusters]
        latest = sorted(facts.cases.values(), key=lambda case: case.time, reverse=True)[:_LATEST]
        damaged = f", {facts.gaps} lines that are none" if facts.gaps else ""
        rows.append(_head(f"Bad cases, the newest first{damaged}"))
        rows += [_case_row(one, width) for one in latest]
        return rows

    def below(self, facts: CaseFacts, key: str, width: int) -> tuple[Line, list[Line]]:
        kind, _, rest = key.partition(":")
        if kind == "review":
            waiting = next((one for one in facts.waiting if f"{one.id}/{one.version}" == rest), None)
            return _waiting_below(waiting) if waiting else ((), [])
        if kind == "cluster":
            found = next((one for one in facts.clusters if one.id == rest), None)
            return _cluster_below(found, facts) if found else ((), [])
        if kind == "suggestion":
            suggested = self._suggestion(facts, rest)
            return _suggestion_below(suggested, facts) if suggested else ((), [])
        case = facts.cases.get(rest)
        return (((case.id, "strong"),), case_lines(case)) if case else ((), [])


def _pool(bank: Bank, cases: Mapping[str, BadCase]) -> tuple[Waiting, ...]:
    return pool(bank, cases) if bank.root.is_dir() else ()


def _grouped(folder: Path, schemas: Mapping[str, SkillSchema]) -> CaseFacts:
    queued = Queue(folder).read()
    cases = {case.id: case for case in queued.cases[-_MOST:]}
    clusters = cluster(cases.values(), Characters())
    told = suggest(clusters, cases, schemas)
    return CaseFacts((), clusters, told, cases, len(queued.gaps))


def _sign(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_size, status.st_mtime_ns)


def _head(title: str, right: str = "") -> Row:
    return Row(f"head:{title.partition(' (')[0]}", (((title, "title"), (f"   {right}", "dim")),), selectable=False)


def _waiting_row(one: Waiting, width: int) -> Row:
    named = f"{len(one.cases)} of {len(one.evidence)} named cases here" if one.evidence else ""
    parts = joined(
        [
            (f"{one.id} {one.version}", "mark"),
            (one.strategy.origin.kind, "accent"),
            (f"since {local(one.since)}", "dim"),
            (named, "dim"),
        ]
    )
    used = sum(width_of(text) for text, _ in parts)
    line: Line = (*parts, ("  " + short(one.strategy.purpose, max(0, width - used - 3)), "plain"))
    return Row(f"review:{one.id}/{one.version}", (line,), find=f"review {one.id} {one.strategy.origin.kind}")


def _failed(key: Structure) -> str:
    return f"{key.skill or 'a step'} {key.code or 'fell back'}"


def _counted(count: int, sessions: int, key: Structure, room: int) -> Line:
    return (
        (fit(f"{count}", 5, right=True), "strong"),
        (fit(f"{sessions}", 5, right=True) + "  ", "dim"),
        (fit(_failed(key), room) + " ", "bad"),
    )


def _suggestion_row(one: Suggestion, width: int) -> Row:
    room = max(24, min(38, width * 2 // 5))
    words = one.text.partition(": ")[2] or one.text
    line: Line = (
        *_counted(one.count, one.sessions, one.structure, room),
        (f"{one.kind}: ", "accent"),
        (short(words, max(0, width - room - 15 - len(one.kind))), "plain"),
    )
    find = f"suggestion {_failed(one.structure)} {one.structure.strategy_id} {one.kind} {one.text}"
    return Row(f"suggestion:{one.id}", (line,), find=find)


def _cluster_row(one: Cluster, width: int) -> Row:
    room = max(24, min(38, width * 2 // 5))
    said = (short(one.example, max(0, width - room - 14)), "dim")
    find = f"cluster {_failed(one.structure)} {one.structure.strategy_id} {one.example}"
    return Row(f"cluster:{one.id}", ((*_counted(one.count, one.sessions, one.structure, room), said),), find=find)


def _case_row(one: BadCase, width: int) -> Row:
    name = max(20, min(34, width // 3))
    what = f"{one.skill or '-'} {one.code}".strip()
    reasons = " ".join(reason.replace("_", " ") for reason in one.reasons)
    line: Line = (
        (fit(local(one.time), 12), "dim"),
        (fit(what, name) + " ", "bad" if one.code else "plain"),
        (fit(reasons, 18) + " ", "warn"),
        (short(one.utterance, max(0, width - name - 33)), "dim"),
    )
    return Row(f"case:{one.id}", (line,), find=f"case {one.id} {one.strategy_id} {what} {reasons} {one.utterance}")


def _waiting_below(one: Waiting) -> tuple[Line, list[Line]]:
    heading: Line = ((f"{one.id} version {one.version}, {one.strategy.origin.kind}", "strong"),)
    lines: list[Line] = [((one.strategy.purpose, "plain"),)]
    if one.evidence:
        lines.append((("rests on  ", "dim"), (", ".join(one.evidence[:12]), "plain")))
    lines += [(("case      ", "dim"), (case.utterance, "plain")) for case in one.cases[:5]]
    lines += [(), *(tuple(coloured(text)) for text in one.text.splitlines())]
    return heading, lines


def _suggestion_below(one: Suggestion, facts: CaseFacts) -> tuple[Line, list[Line]]:
    where = one.structure.strategy_id or "no strategy"
    lines: list[Line] = [((f"{one.kind}: ", "accent"), (one.text, "plain"))]
    lines += [(("change    ", "dim"), (strict_json.dumps(dict(one.change)), "plain"))] if one.change else []
    lines += [(("failed    ", "dim"), (one.structure.check, "bad"))] if one.structure.check else []
    lines += _said(one.evidence, facts)
    return ((f"{one.count} cases in {one.sessions} sessions: {where}", "strong"),), lines


def _cluster_below(one: Cluster, facts: CaseFacts) -> tuple[Line, list[Line]]:
    where = one.structure.strategy_id or "no strategy"
    lines: list[Line] = [(("from      ", "dim"), (f"{local(one.first_time)} to {local(one.last_time)}", "plain"))]
    lines += _said(one.cases, facts)
    for pair in one.near[:4]:
        texts = [facts.cases[name].utterance for name in (pair.first, pair.second) if name in facts.cases]
        lines.append((("near cut  ", "warn"), (f"{pair.cosine:.2f}  {'  /  '.join(texts)}", "plain")))
    return ((f"{one.count} cases in {one.sessions} sessions: {where}", "strong"),), lines


def _said(names: Sequence[str], facts: CaseFacts) -> list[Line]:
    cases = [facts.cases[name] for name in names if name in facts.cases]
    return [(("said      ", "dim"), (case.utterance, "plain")) for case in cases[:12]]


def case_lines(case: BadCase) -> list[Line]:
    """Return a bad case: what was said, suggested, called, checked and decided. All of it is anonymised."""
    strategy = f"{case.strategy_id} version {case.version}" if case.strategy_id else "no strategy"
    lines: list[Line] = [
        (("said      ", "dim"), (case.utterance, "strong")),
        (("strategy  ", "dim"), (f"{strategy}, {span_of(case.latency_ms)}", "plain")),
        (("because   ", "dim"), (" ".join(case.reasons), "warn"), (f"  {case.code} {case.check}".rstrip(), "bad")),
        (("suggested ", "dim"), (strict_json.dumps(dict(case.suggestion)), "plain")),
        (("path      ", "dim"), (" > ".join(case.calls), "plain")),
    ]
    lines += [(("fallbacks ", "dim"), (", ".join(case.fallbacks), "warn"))] if case.fallbacks else []
    lines.append((("session   ", "dim"), (middle(case.session, 30), "dim"), (f"  {dict(case.segment)}", "dim")))
    lines += [(("Decided", "title"),), *(event_line(event) for event in case.events)] if case.events else []
    return lines or plain(["nothing"])
