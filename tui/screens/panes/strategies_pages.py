"""The views of the Strategies pane: which there are, and what a view is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Generic, TypeVar

from core.state.paths import ProjectPaths
from tui.stores.strategies_lines import StrategyLine
from tui.stores.views import StrategiesView
from tui.widgets.line_list import Row
from tui.widgets.spans import Line

Facts = TypeVar("Facts")
BANK = "bank"
TITLES: Mapping[str, str] = {
    BANK: "bank",
    "text": "text",
    "graph": "graph",
    "rollout": "rollout",
    "turns": "turns",
    "cases": "bad cases",
    "audit": "audit",
    "models": "models",
    "troubles": "troubles",
}
"""Each view and its name in the strip, in the order of `[` and `]`."""
_OF_ONE = frozenset({"text", "graph", "rollout"})
_MADE: Mapping[str, str] = {
    "text": "tui.screens.panes.strategies_text.TextPage",
    "rollout": "tui.screens.panes.strategies_rollout.RolloutPage",
    "graph": "tui.screens.panes.strategies_graph.GraphPage",
    "turns": "tui.screens.panes.strategies_turns.TurnsPage",
    "cases": "tui.screens.panes.strategies_cases.CasesPage",
    "audit": "tui.screens.panes.strategies_audit.AuditPage",
    "models": "tui.screens.panes.strategies_models.ModelsPage",
    "troubles": "tui.screens.panes.strategies_troubles.TroublesPage",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a view is to be made of: the newest facts, the strategy that it is about (None: the whole bank), and what
    was chosen in it (`choice`: how many versions back; `wide`: whether its other form is wanted)."""

    view: StrategiesView
    line: StrategyLine | None = None
    choice: int = 0
    wide: bool = False


class Page(ABC, Generic[Facts]):
    """A view besides the list. `read` runs in a thread and may read files; the rest is pure."""

    rest: ClassVar[str] = ""
    """What the prompt line says while the view is in sight."""

    follows: ClassVar[bool] = False
    """Whether the cursor, on the first row, stays on it while newer rows come above."""

    @abstractmethod
    def read(self, asked: Asked, project: ProjectPaths) -> Facts:
        """Return what the view shows. May raise ExuviaError or OSError, which are shown in its place."""

    @abstractmethod
    def rows(self, facts: Facts, width: int) -> Sequence[Row]:
        """Return the rows of its list."""

    @abstractmethod
    def below(self, facts: Facts, key: str, width: int) -> tuple[Line, list[Line]]:
        """Return what stands below the list for the row with `key`: a heading, and lines."""

    def title(self, facts: Facts) -> str:
        """Return what the pane's title says of it."""
        return ""

    def leads_to(self, facts: Facts, key: str) -> str:
        """Return the id of the strategy that Enter on a row leads to, "" for none."""
        return ""


def of_one(page: str) -> bool:
    """Tell whether a view is about the selected strategy."""
    return page in _OF_ONE


def make_page(name: str) -> Page[Any]:
    """Make a view; its module is imported now."""
    module, _, kind = _MADE[name].rpartition(".")
    page = getattr(import_module(module), kind)()
    assert isinstance(page, Page)
    return page
