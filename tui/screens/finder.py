"""What the palette offers: every action that can be done now, and every thing that can be gone to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tui.actions import PANES, SCOPES, of_scope, shown_keys
from tui.screens.picker import Choice
from tui.stores.console import ConsoleView

_NOT_OFFERED = frozenset({"palette", "interrupt", "redraw", "open", "pane.next", "pane.previous"})


def choices(
    view: ConsoleView, pane: str, useless: frozenset[str], changed: Mapping[str, tuple[str, ...]], *, read_only: bool
) -> tuple[Choice, ...]:
    """Return the choices, those of the pane at hand first; each key says what to do: `do:undo`, `run:build-1`."""
    return (*_actions(pane, useless, changed, read_only=read_only), *_places(view))


def _actions(
    pane: str, useless: frozenset[str], changed: Mapping[str, tuple[str, ...]], *, read_only: bool
) -> Iterator[Choice]:
    titles = dict(SCOPES)
    for scope in (pane, "global", *(other for other, _, _ in PANES if other != pane)):
        for action in of_scope(scope, read_only=read_only):
            if action.id in useless | _NOT_OFFERED or action.id.startswith("nav."):
                continue
            keys = shown_keys(action, changed)
            where = "" if scope in (pane, "global") else f"{titles[scope]}: "
            yield Choice(
                f"do:{scope}:{action.id}", action.id.replace(".", " "), f"{keys:<8} {where}{action.text}", "do"
            )


def _places(view: ConsoleView) -> Iterator[Choice]:
    for run in view.sessions.runs:
        yield Choice(f"run:{run.run_id}", run.run_id, f"{run.role} of {run.agent_id}, {run.state}", "run")
    if view.matrix.pages:
        for row in view.matrix.pages[-1].rows:
            yield Choice(f"case:{row.case_id}", row.case_id, row.title, "Case")
    for version in view.versions.rows:
        about = " ".join(part for part in (version.what, version.hypothesis) if part)
        yield Choice(f"version:{version.version}", f"v{version.version}", about, "version")
    for number, subject in enumerate(view.subjects):
        yield Choice(f"subject:{number}", subject.agent_id, subject.benchmark_id or "no benchmark", "agent")
    for training in view.training.runs:
        about = f"training by {training.preset}, {training.state}"
        yield Choice(f"training:{training.id}", training.id, about, "training")
    for strategy in view.strategies.lines:
        about = f"{strategy.entry.state}, {strategy.purpose or strategy.owner}"
        yield Choice(f"strategy:{strategy.id}", strategy.id, about, "strategy")
    for session in view.sessions.sessions:
        about = f"{session.role} {session.case_id} {session.title}".strip()
        yield Choice(f"session:{session.session_id}", session.session_id, about, "session")
