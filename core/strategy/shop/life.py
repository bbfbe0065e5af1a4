"""A strategy's life in the shop: failures clustered, a draft made and judged, versions shadowed, released, taken back.

Days of simulated customers who want a refund, in a bank of its own (S96 to S106, S70 to S73, S101 to S103). In force is
the first version of REPLAYED. No outcome is written down here: a draft passes its gate or not by what it brings on the
same visits, versions by their A/B test and their rollback rule, and where the test alone doesn't promote, by a plain
rule that stands for the operator (`_persuaded`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

from core.models.interface import ModelRef, Provider
from core.state.atomic import write_text
from core.statistics.intervals import over_clusters
from core.statistics.unpaired import fisher
from core.strategy.bank import executions as log
from core.strategy.bank import shadow
from core.strategy.bank.bank import SETTINGS, Bank
from core.strategy.bank.comparison import Comparison
from core.strategy.bank.rollback import sweep
from core.strategy.bank.serving import group_of, user_of
from core.strategy.bank.states import Actor, Standing, State, Step
from core.strategy.conditions.registry import registry_of
from core.strategy.execution.clock import BEGINNING, VirtualClock
from core.strategy.execution.compiled import Compiled
from core.strategy.execution.compiler import CompiledBank
from core.strategy.execution.session import SessionState
from core.strategy.execution.store import ContextStore
from core.strategy.execution.suggestion import read
from core.strategy.execution.turn import TurnResult, answer, run_turn
from core.strategy.feedback.ab_report import AbReport, ab_report
from core.strategy.feedback.bad_cases import BadCase, Queue, capture
from core.strategy.feedback.clusters import Cluster
from core.strategy.feedback.encoders import Characters
from core.strategy.feedback.nightly import nightly
from core.strategy.feedback.review import approve, reject
from core.strategy.feedback.synthesis import Draft, synthesise
from core.strategy.shop.banks import REPLAYED, bank_text, replayed_files, settings, versions
from core.strategy.shop.desk import Desk
from core.strategy.shop.serving import MOST_QUESTIONS, Served, compiled, serve
from core.strategy.shop.talk import Model, suggest
from core.strategy.shop.toolbox import schemas, skills
from core.strategy.shop.truth import judge
from core.strategy.shop.visits import Visit, opened, visits

REFUND = "refund"
DAYS = 5
SEEDS_A_DAY = 16
"""Eight customers of a seed want a refund: 128 a day."""
_FILE = f"aftersale/{REPLAYED}.yaml"
_OPERATOR = Actor("demonstration", person=True)
_RELEASE = """schema: release/v1
id: {id}
version: {version}
rollout:
  stages: [{{percent: 100}}]
  shadow: {{by: [age_band, device]}}
  ab: {{against: {against}, split: 50, min_days: 3, min_samples: 100, days: {days}}}
  rollback_when: [{{metric: failure_rate, rel_increase: 0.2, hours: 24, min_samples: 20}}]
"""
_PRECHECK = "{run: refund_precheck, as: pre, with: {order_id: $order.id, paid_at: $order.paid_at}}"


async def live(
    root: Path, provider: Provider, model: ModelRef, *, days: int = DAYS, a_day: int = SEEDS_A_DAY
) -> dict[str, Any]:
    """Live through it in a new bank at `root`, an empty directory; return what happened as plain JSON.

    `days` are those of each A/B test, `a_day` the simulator's seeds that one day takes. `provider` writes the drafts
    and stays open.
    """
    life = _Life(root, a_day)
    life.begin()
    await life.serve_day()
    told = await life.night(provider, model)
    releases = [await life.release(2, versions()[2], days)]
    in_force = life.version
    releases.append(await life.release(3, hasty(versions()[2]), days))
    return {"days": life.day, "in_force": [1, in_force, life.version], **told, "releases": releases}


def hasty(text: str) -> str:
    """Return the version after the second one, by somebody in a hurry: its pre-check has 300 ms and no way out."""
    tight = text.replace(
        _PRECHECK, _PRECHECK.removesuffix("}") + ", timeout_ms: 300, recover: {TIMEOUT: {abort: true}}}"
    )
    return tight.replace("version: 2\nparent_version: 1\n", "version: 3\nparent_version: 2\n")


@dataclass(frozen=True, slots=True)
class _Met:
    """One customer's turn: every result on the way to the answer, the last one being it. `well`: the problem was really
    solved, or handed over where that was the best that could be had."""

    suggestion: Mapping[str, Any]
    results: tuple[TurnResult, ...]
    comparison: Comparison | None
    well: bool


@dataclass(frozen=True, slots=True)
class _Group:
    """Customers of one arm, and how many of them were served well."""

    customers: int = 0
    well: int = 0

    def __add__(self, other: _Group) -> _Group:
        return _Group(self.customers + other.customers, self.well + other.well)


class _Life:
    """The bank, the calendar and what is in force. Invariant: a day's customers are nobody else's."""

    def __init__(self, root: Path, a_day: int) -> None:
        self.bank = Bank(root)
        self.a_day = a_day
        self.day = 0
        self.version = 1
        self.texts = {1: versions()[1]}
        self.model = Model()
        self.queue = Queue(self.bank.records / "feedback")

    @property
    def now(self) -> datetime:
        """The beginning of the day, in the simulator's calendar."""
        return BEGINNING + timedelta(days=self.day)

    def begin(self) -> None:
        """Put the first version in force, as a person who has one version only does."""
        self.bank.root.mkdir(parents=True, exist_ok=True)
        write_text(self.bank.root / SETTINGS, bank_text())
        self.publish(1, self.texts[1])
        for state in ("review", "shadow", "gray", "active"):
            self.move(1, state, "the first version", force=True)

    def publish(self, version: int, text: str, against: int = 1, days: int = DAYS) -> None:
        """Write a version and its release, and publish it."""
        path = self.bank.root / _FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
        release = _RELEASE.format(id=REPLAYED, version=version, against=against, days=days)
        write_text(path.with_name(f"{REPLAYED}.release.yaml"), release)
        self.bank.publish(REPLAYED, _OPERATOR)

    def move(
        self, version: int, to: State, why: str, *, evidence: tuple[str, ...] = (), force: bool = False
    ) -> Standing:
        """Move a version as the operator."""
        time = self.now.isoformat(timespec="seconds")
        stage = 0 if to == "gray" else -1
        step = Step(to, _OPERATOR, time, why, stage=stage, evidence=evidence, force=force)
        return self.bank.move(REPLAYED, version, step)

    def customers(self) -> Iterator[Visit]:
        """Yield the day's customers who want a refund."""
        for seed in range(self.day * self.a_day, (self.day + 1) * self.a_day):
            yield from (visit for visit in visits(seed) if visit.task == REFUND)

    async def serve_day(
        self, *, standing: Standing | None = None, new: Compiled | None = None
    ) -> tuple[_Group, _Group]:
        """Serve a day's customers, log what ran, and keep what went wrong; then the next day begins. Return those whom
        the version in force served, and those whom the new one did.

        `new` is a version beside the one in force: in gray for whom it is drawn for, else in shadow.
        """
        bank = compiled(self.files(self.texts[self.version]))
        groups = [_Group(), _Group()]
        for visit in self.customers():
            gray = standing is not None and standing.state == "gray"
            drawn = gray and standing is not None and group_of(standing, user_of(visit.customer.attributes())) == "gray"
            assignment = {new.id: new} if drawn and new is not None else {}
            met = await _meet(bank, visit, self.model, assignment, None if gray else new)
            groups[bool(assignment)] += _Group(1, met.well)
            if met.comparison is not None:
                shadow.append(self.bank, replace(met.comparison, time=self.shifted(met.comparison.time)))
            for result in met.results:
                moved = [replace(one, time=self.shifted(one.time)) for one in result.executions]
                log.append(self.bank.records, moved)
                cases = (capture(one, result.trace, visit.turns[0].utterance, met.suggestion) for one in moved)
                for case in filter(None, cases):
                    self.queue.add(case)
        self.day += 1
        return groups[0], groups[1]

    def files(self, text: str) -> Mapping[str, str]:
        """Return the whole bank with a text of REPLAYED."""
        return {**replayed_files(1), _FILE: text}

    def shifted(self, time: str) -> str:
        """Return a moment of a turn, which begins the calendar, on this day."""
        return (datetime.fromisoformat(time) + timedelta(days=self.day)).isoformat(timespec="milliseconds")

    async def night(self, provider: Provider, model: ModelRef) -> dict[str, Any]:
        """Cluster what failed, have the largest cluster drafted, and let the draft pass the gate or not."""
        registry = registry_of(settings(), schemas().values())

        async def draft(one: Cluster, cases: tuple[BadCase, ...], domain: str) -> Draft:
            owner = settings().domains[domain].owner
            return await synthesise(one, cases, schemas(), registry, provider, model, domain=domain, owner=owner)

        found = await nightly(self.queue.path.parent, self.bank, schemas(), Characters(), draft, domain="service")
        counts: list[dict[str, Any]] = [
            {"skill": one.structure.skill, "code": one.structure.code, "count": one.count} for one in found.clusters
        ]
        return {
            "bad_cases": sum(one.count for one in found.clusters),
            "clusters": sorted(counts, key=lambda row: -row["count"])[:5],
            "suggestions": [one.text for one in found.suggestions[:3]],
            "drafts": [await self.gate(name) for name in found.drafted[:1]],
            "not_drafted": dict(found.refused),
        }

    async def gate(self, name: str) -> dict[str, Any]:
        """Measure a draft on customers who were not in its cluster, and decide for or against its shadow (S105)."""
        standing = self.bank.standing(name, 1)
        files = self.files(self.texts[self.version])
        seeds = range(self.day * self.a_day, (self.day + 1) * self.a_day)
        without, with_it = compiled(files), compiled({**files, "aftersale/draft.yaml": self.bank.text(name, 1)})
        old = [await serve(without, seed, model=self.model, task=REFUND) for seed in seeds]
        new = [await serve(with_it, seed, model=self.model, task=REFUND) for seed in seeds]
        self.day += 1
        spread = over_clusters(_gains(old, new))
        better = spread is not None and spread.low > 0
        why = f"{_success(new):.1%} served well with it, {_success(old):.1%} without"
        if better:
            approve(self.bank, name, 1, _OPERATOR.name, why, evidence=(f"gate:{name}@1",))
        else:
            reject(self.bank, name, 1, _OPERATOR.name, why)
        return {
            "id": name,
            "origin": standing.origin,
            "success_without": _success(old),
            "success_with": _success(new),
            "gain": [spread.low, spread.high] if spread else None,
            "outcome": self.bank.standing(name, 1).state,
        }

    async def release(self, version: int, text: str, days: int) -> dict[str, Any]:
        """Take a version through shadow and its A/B test; return what they showed and how it ended."""
        old = self.version
        self.publish(version, text, old, days)
        for state in ("review", "shadow"):
            standing = self.move(version, state, "")
        new = compiled(self.files(text)).strategies[REPLAYED]
        await self.serve_day(standing=standing, new=new)
        shadowed = shadow.report(self.bank, REPLAYED, version).to_json()
        standing = self.move(version, "gray", "")
        outcome, why, report = "waits", "", None
        before, after = _Group(), _Group()
        while report is None or (outcome == "waits" and len(report.days[0]) < days):
            one, other = await self.serve_day(standing=standing, new=new)
            before, after = before + one, after + other
            report = ab_report(self.bank, REPLAYED, self.now)
            rules = sweep(self.bank, self.now).get(REPLAYED, ())
            hit = [rule.text for rule in rules if rule.verdict == "roll_back"]
            if hit:
                outcome, why = "taken back", "; ".join(hit)
            elif report.verdict is not None and report.verdict.decision == "promote":
                outcome, why = "promoted", f"the A/B test says promote on day {report.verdict.day}"
        if outcome == "waits":
            outcome, why = _persuaded(report, before, after)
        if outcome == "promoted":
            self.move(version, "active", why, evidence=(report.evidence,))
            self.texts[version], self.version = text, version
        elif self.bank.standing(REPLAYED, version).state == "gray":
            self.bank.take_back(REPLAYED, _OPERATOR, why, (report.evidence,), version=version)
        return {
            "version": version,
            "against": old,
            "shadow": {"whole": shadowed["whole"], "withheld": shadowed["withheld"]},
            "gray": {"days": len(report.days[0]), "old": asdict(report.old), "new": asdict(report.new)},
            "customers": {"old": asdict(before), "new": asdict(after)},
            "outcome": outcome,
            "why": why,
        }


def _persuaded(report: AbReport, old: _Group, new: _Group) -> tuple[str, str]:
    """Return what an operator makes of a test that ended without promoting, and why.

    The account's rule asks for fewer fallbacks too (S103), so it never promotes a version whose predecessor had none,
    and it counts executions, of which a narrower trigger has fewer. The operator looks at customers: the new version is
    let in where more of those drawn for it were served well, beyond chance (Fisher, the test's alpha).
    """
    assert report.verdict is not None
    chance = fisher(old.well, old.customers, new.well, new.customers)
    if chance is None:
        return "taken back", "too few customers were drawn"
    told = f"of those drawn {new.well} of {new.customers} were served well, of the others {old.well} of {old.customers}"
    why = (
        f"the A/B test says {report.verdict.decision} on day {report.verdict.day} "
        f"({'; '.join(report.verdict.reasons)}); {told}, p = {chance:.2g}"
    )
    return ("promoted" if chance <= report.rule.alpha else "taken back"), why


async def _meet(
    bank: CompiledBank, visit: Visit, model: Model, assignment: Mapping[str, Compiled], beside: Compiled | None
) -> _Met:
    """Serve a customer's first turn, its questions answered, with a version in shadow `beside` it where one is."""
    clock = VirtualClock()
    shop = opened([visit], clock)
    shop.begin(visit.customer.id, visit.fate)
    own = skills(Desk(shop, visit.customer))
    turn = visit.turns[0]
    said = suggest(model, turn.task, turn.arguments, f"{visit.id}:0", visit.customer.age_band)
    suggestion, _ = read(said)
    store = ContextStore()
    try:
        session = SessionState(visit.id, store, visit.customer.attributes())
        session.put({name: value for name, value in visit.knows.items() if name != "user"})
        comparison = None
        if beside is None:
            result = await run_turn(bank, session, turn.utterance, suggestion, own, clock, assignment=assignment)
        else:
            both = await shadow.shadow_turn(bank, beside, session, turn.utterance, suggestion, own, clock)
            result, comparison = both.answer, both.comparison
        results = [result]
        while result.question is not None and len(results) <= MOST_QUESTIONS:
            wish = visit.answers.get(result.question.into)
            if wish is None:
                break
            result = await answer(bank, session, wish, own, clock, assignment=assignment)
            results.append(result)
        output = result.output if result.kind == "done" else None
        verdict = judge(shop, visit, output, clock.monotonic_ms())
        return _Met(said, tuple(results), comparison, verdict in ("solved", "handed_over"))
    finally:
        store.close()


def _gains(old: Sequence[Sequence[Served]], new: Sequence[Sequence[Served]]) -> list[list[float]]:
    return [
        [float(after.success) - float(before.success) for before, after in zip(first, second, strict=True)]
        for first, second in zip(old, new, strict=True)
    ]


def _success(rows: Sequence[Sequence[Served]]) -> float:
    return fmean(one.success for served in rows for one in served)
