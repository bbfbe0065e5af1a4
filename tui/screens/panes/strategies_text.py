"""A strategy's text with its faults at their lines, as the file changes; older versions, and what differs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.foundation.clock import now_s
from core.foundation.errors import ExuviaError
from core.state.paths import ProjectPaths
from core.strategy.bank.bank import bank_of
from core.strategy.documents.reading import Fault
from tui.screens.panes.strategies_bank import fault_line, publish_lines, stands, way_line
from tui.screens.panes.strategies_pages import Asked, Page
from tui.stores.strategies_lines import StrategyLine
from tui.stores.strategies_ways import ways
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, Span, wrap

_KEY = re.compile(r"^(\s*(?:- )*)([A-Za-z_][\w.]*)(:)(\s.*|)$")
_NUMBER = 5


@dataclass(frozen=True, slots=True)
class Text:
    """One text of a strategy: the newest one (`version` None), or a published version.

    `before` is the text that it is compared with, None where there is none or it isn't wanted. `faults` are those of
    this text; a published one has them only where it can't be read any more (`damaged`).
    """

    line: StrategyLine
    version: int | None
    text: str
    faults: tuple[Fault, ...]
    before: str | None
    name: str
    against: str
    damaged: str = ""


class TextPage(Page[Text]):
    """The text."""

    rest = " Left and Right: its versions; d: what differs; f: the next fault."

    def read(self, asked: Asked, project: ProjectPaths) -> Text:
        assert asked.line is not None
        one, bank = asked.line, bank_of(project)
        kept: list[int | None] = [version.version for version in one.entry.versions]
        texts = [*kept, None] if one.unpublished or not kept else kept
        at = max(0, len(texts) - 1 - asked.choice)
        version, damaged = texts[at], ""

        def text_of(wanted: int | None) -> str:
            return one.text if wanted is None else bank.text(one.id, wanted)

        newest = version is None or (at == len(texts) - 1 and one.entry.published)
        try:
            text = text_of(version)
        except (ExuviaError, OSError) as error:
            text, damaged = "", str(error)
        before = text_of(texts[at - 1]) if asked.wide and at > 0 and not damaged else None
        name = "as written, not published" if version is None else stands(one.entry.versions[at])
        faults = one.faults if newest else ()
        against = f"version {texts[at - 1]}" if at > 0 else ""
        return Text(one, version, text, faults, before, name, against, damaged)

    def title(self, facts: Text) -> str:
        what = f", what differs from {facts.against}" if facts.before is not None else ""
        return f"{facts.line.id}  {facts.name}{what}"

    def rows(self, facts: Text, width: int) -> Sequence[Row]:
        if facts.damaged:
            lines = wrap(((f"{facts.damaged}", "bad"),), width, 0)
            return [Row("damaged", (line,), selectable=False) for line in lines]
        if facts.before is not None:
            return _difference(facts.before, facts.text)
        return _text_rows(facts)

    def below(self, facts: Text, key: str, width: int) -> tuple[Line, list[Line]]:
        one = facts.line
        count = len(facts.faults)
        heading: Line = ((f"{count} fault{'s' * (count != 1)}", "bad"),) if count else (("no fault", "good"),)
        fault = next((fault for number, fault in enumerate(facts.faults) if key == f"fault:{number}"), None)
        lines: list[Line] = []
        wanted = [fault] if fault is not None else facts.faults
        lines += [fault_line(fault, one.place) for fault in wanted]
        lines += publish_lines(one) if facts.version is None else []
        lines += [way_line(way, "a") for way in ways(one, now_s()) if facts.version in (None, way.version)]
        lines += [
            (("law   ", "warn"), (f"{lint.path or one.id}: {lint.text}; {lint.hint}", "plain")) for lint in one.lints
        ]
        lines += [(("?     ", "warn"), (str(warning), "plain")) for warning in one.warnings]
        return heading, lines


def _text_rows(facts: Text) -> list[Row]:
    at: dict[int, list[tuple[int, Fault]]] = {}
    for number, fault in enumerate(facts.faults):
        here = fault.line if fault.file == facts.line.place else 0
        at.setdefault(here, []).append((number, fault))
    rows = [_fault_row(number, fault, facts.line.place) for number, fault in at.get(0, ())]
    source = facts.text.split("\n")
    source = source[:-1] if source and not source[-1] else source
    for number, text in enumerate(source, 1):
        held = at.pop(number, [])
        mark: Span = ("!", "bad") if held else (" ", "plain")
        line = (mark, (f"{number:>{_NUMBER - 2}} ", "dim"), *coloured(text))
        rows.append(Row(f"line:{number}", (line,), find=text))
        rows += [_fault_row(index, fault, facts.line.place) for index, fault in held]
    later = [pair for place, pairs in sorted(at.items()) if place > len(source) for pair in pairs]
    return [*rows, *(_fault_row(number, fault, facts.line.place) for number, fault in later)]


def _fault_row(number: int, fault: Fault, place: str) -> Row:
    indent = " " * (_NUMBER - 1 + max(0, fault.column - 1)) if fault.file == place and fault.line else "  "
    where = f"{fault.path}: " if fault.path else ""
    elsewhere = "" if fault.file == place else f"{fault.file}: "
    line = ((indent[: _NUMBER + 24] + "^ ", "bad"), (f"{elsewhere}{where}{fault.reason}", "bad"))
    return Row(f"fault:{number}", (line,), find=f"fault {fault}")


def coloured(text: str) -> list[Span]:
    """Return a line of YAML with its key set off; a comment is dim."""
    if text.lstrip().startswith("#"):
        return [(text, "dim")]
    found = _KEY.match(text)
    if found is None:
        return [(text, "plain")]
    indent, key, colon, rest = found.groups()
    return [(indent, "plain"), (key, "accent"), (colon, "dim"), (rest, "plain")]


def _difference(before: str, after: str) -> list[Row]:
    rows: list[Row] = []
    told = difflib.unified_diff(before.splitlines(), after.splitlines(), n=3, lineterm="")
    for number, text in enumerate(list(told)[2:]):
        tone = {"+": "added", "-": "removed", "@": "dim"}.get(text[:1], "plain")
        rows.append(Row(f"change:{number}", (((text, tone),),), find=text))
    return rows or [Row("same", ((("No difference.", "dim"),),), selectable=False)]
