"""Strategies and models: which go together, and whether the model may be changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.foundation import strict_json
from core.state.paths import ProjectPaths
from core.strategy.bank.states import newest
from core.strategy.governance.matrix import Cell, Change, change, matrix
from tui.screens.panes.strategies_pages import Asked, Page
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, Span, fit, short

_MARKS = {
    "compatible": ("ok", "good"), "adapted": ("adapted", "accent"), "incompatible": ("NO", "bad"),
    "untested": ("untested", "warn"),
}  # fmt: skip
_COLUMN = 14


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """`cells` by strategy and model; `changes` what a change to each model would meet."""

    models: tuple[str, ...]
    strategies: tuple[str, ...]
    cells: tuple[Cell, ...]
    changes: tuple[Change, ...]


class ModelsPage(Page[ModelFacts]):
    """The matrix."""

    rest = " A model waits until no strategy in force is red with it: untested and NO are."

    def read(self, asked: Asked, project: ProjectPaths) -> ModelFacts:
        releases = {one.id: one.entry.release for one in asked.view.lines}
        models = sorted({name for release in releases.values() if release for name in release.compat.models})
        cells = matrix(releases, models)
        in_force = [one.id for one in asked.view.lines if newest(one.entry.versions, "active") is not None]
        changes = tuple(change(cells, model, in_force) for model in models)
        return ModelFacts(tuple(models), tuple(sorted(releases)), cells, changes)

    def title(self, facts: ModelFacts) -> str:
        return f"{len(facts.strategies)} strategies, {len(facts.models)} model{'s' * (len(facts.models) != 1)}"

    def leads_to(self, facts: ModelFacts, key: str) -> str:
        return key.partition(":")[2] if key.startswith("row:") else ""

    def rows(self, facts: ModelFacts, width: int) -> Sequence[Row]:
        if not facts.models:
            told = "No release file names a model: compat.models in <id>.release.yaml says what was tested."
            return [Row("none", (((told, "dim"),),), selectable=False)]
        name = max(20, min(40, width - _COLUMN * len(facts.models)))
        head: Line = (
            (fit("", name), "dim"),
            *((fit(short(model, _COLUMN - 2), _COLUMN), "title") for model in facts.models),
        )
        rows = [Row("head", (head,), selectable=False), self._changes(facts, name)]
        held = {(cell.strategy_id, cell.model): cell for cell in facts.cells}
        for strategy_id in facts.strategies:
            line: list[Span] = [(fit(short(strategy_id, name - 1), name), "plain")]
            words = []
            for model in facts.models:
                cell = held[strategy_id, model]
                word, tone = _MARKS[cell.status]
                line.append((fit(word, _COLUMN), tone))
                words.append(f"{model}:{cell.status}")
            rows.append(Row(f"row:{strategy_id}", (tuple(line),), find=f"{strategy_id} {' '.join(words)}"))
        return rows

    def _changes(self, facts: ModelFacts, name: int) -> Row:
        line: list[Span] = [(fit("may be changed to", name), "strong")]
        for found in facts.changes:
            told, tone = ("yes", "good") if found.allowed else (f"no: {len(found.red)} red", "bad")
            line.append((fit(told, _COLUMN), tone))
        return Row("change", (tuple(line),), find="change")

    def below(self, facts: ModelFacts, key: str, width: int) -> tuple[Line, list[Line]]:
        if key == "change":
            lines: list[Line] = []
            for found in facts.changes:
                names = ", ".join(f"{cell.strategy_id} ({cell.status})" for cell in found.red[:12])
                more = f" and {len(found.red) - 12} more" if len(found.red) > 12 else ""
                told = f"blocked by {names}{more}" if found.red else f"free; {len(found.adapted)} adapted"
                lines.append(((f"{found.model}  ", "strong"), (told, "bad" if found.red else "good")))
            return (("a change of the model", "strong"),), lines
        name = self.leads_to(facts, key)
        lines = []
        for cell in facts.cells:
            if cell.strategy_id != name:
                continue
            word, tone = _MARKS[cell.status]
            settings = f"  {strict_json.dumps(dict(cell.settings))}" if cell.settings else ""
            tested = f"  tested {cell.tested}" if cell.tested else ""
            lines.append(((f"{cell.model}  ", "strong"), (word, tone), (tested, "dim"), (settings, "plain")))
        return ((name, "strong"),), lines
