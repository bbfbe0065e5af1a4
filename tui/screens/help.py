"""All keys, made from the registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.app import ComposeResult

from tui.actions import SCOPES, bindings, of_scope, shown_keys
from tui.palette import DECISIONS, MARKS
from tui.screens.base import ConsoleScreen
from tui.widgets.bars import Bar
from tui.widgets.spans import Line, fit
from tui.widgets.wrapped_text import WrappedText

_STATES = {
    "planned": "planned, nothing has run yet",
    "queued": "waits for its turn",
    "running": "runs now",
    "scored": "scored; points from 0 to 100",
    "reused": "unchanged since an earlier pilot, whose score counts on",
    "failed": "failed: it has no score, which is not a zero",
    "interrupted": "interrupted; it runs again when its run is resumed",
    "repairing": "failed, and runs again",
}
_WORDS = (
    ("Case", "One task of a benchmark, with a statement for the agent and a rubric that only the Evaluator sees."),
    ("Run", "One try of a Case. A cell of the matrix is a Case x run."),
    ("Target", "The agent at work on a Case, confined; the Evaluator scores what it leaves."),
    ("Pilot", "A trial of all Cases while the benchmark is being made."),
    ("Freeze", "From then on no byte of the benchmark changes. You approve it."),
    ("Baseline", "The agent's first score on the frozen benchmark."),
    ("Candidate", "A small change of the agent that the Optimizer proposes, with a prediction."),
    ("Reference", "The version to beat: the last accepted one. Only a strictly higher score is accepted."),
    ("Held out", "Cases that are measured and never shown to the Optimizer."),
    ("Idle", "What an agent gets on a Case that does nothing at all: its floor."),
    ("Standard", "The files that a check compares with; the column holds the beginning of their hash."),
    ("Prediction", "Held: the measured change went as predicted, Case by Case. Missed: it did not."),
    ("Supported", "The hypothesis, judged by the Optimizer after the measurement; no part of the decision."),
    ("Unevaluable", "A Candidate whose measurement failed: it is neither better nor worse."),
    ("Noise", "A change that is not larger than the runs of one Case differ among themselves."),
    ("$?", "A cost that nobody told, or told only in part. Unknown is not zero."),
    ("Vault", "The agent's secrets; in no version, no archive and on no screen."),
)


class HelpScreen(ConsoleScreen):
    """What every key does; any of the leaving keys goes back."""

    BINDINGS = bindings("global")

    def __init__(self, pane: str, *, read_only: bool, changed: Mapping[str, tuple[str, ...]] | None = None) -> None:
        super().__init__(id="help")
        self._pane, self._read_only, self._changed = pane, read_only, changed or {}

    def compose(self) -> ComposeResult:
        yield Bar(id="help-title", reverse=True)
        yield WrappedText(id="help-text")
        yield Bar(id="help-footer")

    def on_mount(self) -> None:
        self.query_one("#help-title", Bar).show(((" Keys of the console", "strong"),))
        self.query_one("#help-footer", Bar).show(
            ((" Esc", "key"), (" back   ", "dim"), ("Up Down PgUp PgDn", "key"), (" scroll", "dim"))
        )
        text = self.query_one("#help-text", WrappedText)
        text.show(help_lines(self._pane, read_only=self._read_only, changed=self._changed))
        text.focus()

    def run_action_by_id(self, action_id: str) -> None:
        if action_id in ("back", "help", "quit", "interrupt"):
            self.dismiss()


def help_lines(pane: str, *, read_only: bool, changed: Mapping[str, tuple[str, ...]]) -> Sequence[Line]:
    """Return the help: the pane at hand first, then the rest in the registry's order."""
    scopes = sorted(SCOPES, key=lambda scope: scope[0] != pane)
    lines: list[Line] = [(("* changes something on disk or stops a run", "dim"),), ()]
    for scope, title in scopes:
        actions = of_scope(scope, read_only=read_only)
        if not actions:
            continue
        lines += [((title, "title"),)]
        lines += [
            ((f"  {fit(keys, 10)}", "key"), (action.text, "plain"), (" *" if action.dangerous else "", "warn"))
            for action in actions
            if (keys := shown_keys(action, changed))
        ]
        lines.append(())
    lines += [(), (("Marks of a cell", "title"),)]
    lines += [
        ((f"  {mark}", tone), (" " * 9, "plain"), (_STATES[state], "plain")) for state, (mark, tone) in MARKS.items()
    ]
    lines += [(), (("Marks of a version", "title"),)]
    lines += [((f"  {mark}", tone), (" " * 9, "plain"), (word, "plain")) for word, (mark, tone) in DECISIONS.items()]
    lines += [(), (("Words", "title"),)]
    lines += [((f"  {fit(word, 12)}", "key"), (meaning, "plain")) for word, meaning in _WORDS]
    if read_only:
        lines.append((("Opened with --read-only: keys that change something do not exist.", "warn"),))
    return lines
