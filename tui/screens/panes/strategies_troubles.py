"""Troubles: what one sees, where to look, what is done about it, and what a look at the real records finds now.

The first help page of the pane: an empty bank shows it too (STRATEGY S130).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from core.state.paths import ProjectPaths
from core.strategy.bank.bank import bank_of
from core.strategy.bank.tracked import tracked
from core.strategy.governance.conflicts import Conflict, Held, static
from core.strategy.governance.troubles import TROUBLES, Trouble
from core.strategy.governance.troubleshoot import (
    Diagnosis,
    RawAnswer,
    heavy,
    left_out,
    logged_success,
)
from core.strategy.schema.directory import skills_of
from tui.screens.panes.strategies_pages import Asked, Page
from tui.stores.strategies_rollout import present, rollout
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, Span, fit, short
