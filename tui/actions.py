"""The one registry of what an operator can do: keys, footer, help and docs/keys.md are made from it (TERMINAL 5.2).

`scope` says where an action's keys work: everywhere ("global"), in every list ("list"), or in one pane.
A dangerous action changes what is on disk or stops a process; with --read-only its keys do not exist.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.binding import BindingType

PANES: tuple[tuple[str, str, str], ...] = (
    ("sessions", "1", "Sessions"),
    ("matrix", "2", "Matrix"),
    ("trace", "3", "Trace"),
    ("scores", "4", "Scores"),
    ("versions", "5", "Versions"),
    ("inbox", "6", "Inbox"),
    ("diff", "7", "Diff"),
    ("training", "8", "Training"),
    ("strategies", "9", "Strategies"),
)
"""Id, digit and name of each pane."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something an operator can do. `keys` are Textual's names; `shown` is the key as people write it.

    `label` is the footer's word ("" where the footer never shows it), `text` the sentence of the help.
    """

    id: str
    keys: tuple[str, ...]
    shown: str
    scope: str
    text: str
    label: str = ""
    dangerous: bool = False


ACTIONS: tuple[Action, ...] = (
    *(Action(f"pane.{name}", (digit,), digit, "global", f"Go to {title}.") for name, digit, title in PANES),
    Action("pane.next", ("tab",), "Tab", "global", "Go to the next list, text or pane."),
    Action("pane.previous", ("shift+tab",), "Shift-Tab", "global", "Go to the one before."),
    Action(
        "open", ("enter",), "Enter", "list", "Open what is selected: the trace behind a run, a cell or a score.", "open"
    ),
    Action("nav.up", ("up", "k"), "Up k", "list", "One row up."),
    Action("nav.down", ("down", "j"), "Down j", "list", "One row down."),
    Action("nav.page_up", ("pageup",), "PgUp", "list", "One page up."),
    Action("nav.page_down", ("pagedown",), "PgDn", "list", "One page down."),
    Action("nav.home", ("home", "g"), "Home g", "list", "To the first row."),
    Action("nav.end", ("end", "G"), "End G", "list", "To the last row; in a trace, stay there while it grows."),
    Action(
        "filter",
        ("slash",),
        "/",
        "list",
        "Show only rows that hold a text (!text: that don't); Esc shows all again.",
        "filter",
    ),
    Action("page.older", ("left_square_bracket",), "[", "matrix", "The pilot or round before.", "older"),
    Action("page.newer", ("right_square_bracket",), "]", "matrix", "The pilot or round after.", "newer"),
    Action("nav.left", ("left", "h"), "Left h", "matrix", "One run to the left."),
    Action("nav.right", ("right", "l"), "Right l", "matrix", "One run to the right."),
    Action(
        "sort", ("s",), "s", "matrix", "Sort by Case, lowest mean, most lost, widest spread, failures first.", "sort"
    ),
    Action(
        "failure.next", ("f",), "f", "matrix", "To the next cell that failed; the lowest, where none did.", "failed"
    ),
    Action("failure.previous", ("F",), "F", "matrix", "To the failed cell before."),
    Action("target", ("t",), "t", "matrix", "Open the Target's trace of the cell: what the agent did.", "trace"),
    Action("evaluator", ("e",), "e", "matrix", "Open the Evaluator's trace: why the cell got its score.", "evaluator"),
    Action(
        "cell.compare", ("d",), "d", "matrix", "In a cell: set it beside the same Case and Run of the Reference.", ""
    ),
    Action("trace.tree", ("t",), "t", "trace", "All Sessions as a tree, or the open one's records again.", "tree"),
    Action("problem.next", ("f",), "f", "trace", "To the next record, or Session, that failed.", "error"),
    Action("problem.previous", ("F",), "F", "trace", "To the failed one before."),
    Action(
        "trace.lanes",
        ("w",),
        "w",
        "trace",
        "The Session over time: model, tools, approvals, idle, each request; again, all that it started.",
        "times",
    ),
    Action("match.next", ("n",), "n", "trace", "To the next match of what / looked for."),
    Action("match.previous", ("N",), "N", "trace", "To the match before."),
    Action("trace.everywhere", ("asterisk",), "*", "trace", "Find a text in the traces of all Sessions."),
    Action("trace.all", ("a",), "a", "trace", "Show the bookkeeping too (requests, tokens, approvals), or fold it."),
    Action("trace.raw", ("p",), "p", "trace", "The record's bytes as they are in the file, or laid out."),
    Action("trace.group", ("s",), "s", "trace", "Sessions as a tree, by run, by agent, by role, by status."),
    Action("trace.parent", ("e",), "e", "trace", "To the Session that started this one, a Target's Evaluator."),
    Action("trace.left", ("left", "h"), "Left h", "trace", "Along a lane; in the tree, hide what a Session started."),
    Action("trace.right", ("right", "l"), "Right l", "trace", "Along a lane; in the tree, show it again."),
    Action("trace.closer", ("plus",), "+", "trace", "Show half as much time, around the cursor."),
    Action("trace.wider", ("minus",), "-", "trace", "Show twice as much time."),
    Action("trace.export", ("E",), "E", "trace", "Write the Session's files into a directory."),
    Action("trace.back", ("b",), "b", "trace", "Back to where you were before, at last to the pane that led here."),
    Action(
        "approve", ("a",), "a", "inbox", "Approve the freeze, or allow the call (asks y).", "approve", dangerous=True
    ),
    Action(
        "reject",
        ("x",),
        "x",
        "inbox",
        "Reject, deny or leave it with a reason, which goes back to who asked.",
        "reject",
        dangerous=True,
    ),
    Action("freeze.older", ("left_square_bracket",), "[", "inbox", "The item before."),
    Action("freeze.newer", ("right_square_bracket",), "]", "inbox", "The item after."),
    Action("sessions.sort", ("s",), "s", "sessions", "Sort by the next column: newest, role, state, cost.", "sort"),
    Action(
        "say",
        ("i",),
        "i",
        "global",
        "Say something to the selected live Session, else to the one that is live; in the Inbox, answer the question.",
        "say",
        dangerous=True,
    ),
    Action(
        "start",
        ("S",),
        "S",
        "global",
        "Start a run, in Training a training run: a form explains each field.",
        "start",
        dangerous=True,
    ),
    Action(
        "continue",
        ("C",),
        "C",
        "global",
        "Go on with the selected run that stopped, waits, failed or died (asks y); in Training with a paused one too.",
        "go on",
        dangerous=True,
    ),
    Action(
        "scores.plot", ("p",), "p", "scores", "Draw the scores over the versions, and each Case; or the table.", "plot"
    ),
    Action("scores.mark", ("m",), "m", "scores", "Mark a row, so that d compares another with it.", "mark"),
    Action(
        "scores.compare",
        ("d",),
        "d",
        "scores",
        "Compare with the marked row, Case by Case; on a Candidate without a mark: the files that it changed.",
        "compare",
    ),
    Action("scores.trace", ("t",), "t", "scores", "Open the trace of the version's first Target.", "trace"),
    Action("scores.candidates", ("c",), "c", "scores", "Hide the Candidates that were not kept, or show them."),
    Action(
        "version.diff",
        ("d",),
        "d",
        "versions",
        "Compare the selected version with the marked one, else with now.",
        "diff",
    ),
    Action("version.mark", ("m",), "m", "versions", "Mark a version, so that d compares another with it."),
    Action(
        "version.keep",
        ("n",),
        "n",
        "versions",
        "Keep the present state as a snapshot, with a note.",
        "keep",
        dangerous=True,
    ),
    Action("version.export", ("E",), "E", "versions", "Export the selected version to a new file.", "export"),
    Action(
        "version.import",
        ("I",),
        "I",
        "versions",
        "Import a version from a file: it is checked, what it changes is shown, then it is asked about.",
        "import",
        dangerous=True,
    ),
    Action("version.timeline", ("t",), "t", "versions", "Every change in order, or the versions again.", "timeline"),
    Action("hunk.next", ("n",), "n", "diff", "To the next hunk, past the end of a file into the next one.", "hunk"),
    Action("hunk.previous", ("N",), "N", "diff", "To the hunk before."),
    Action("file.previous", ("left_square_bracket",), "[", "diff", "The file before."),
    Action("file.next", ("right_square_bracket",), "]", "diff", "The file after.", "file"),
    Action("diff.beside", ("s",), "s", "diff", "Both sides beside each other, or one below the other.", "split"),
    Action("diff.left", ("h",), "h", "diff", "Choose the left side: what it was.", "left"),
    Action("diff.right", ("l",), "l", "diff", "Choose the right side: what it became.", "right"),
    Action("diff.swap", ("e",), "e", "diff", "Exchange the two sides."),
    Action("diff.wrap", ("w",), "w", "diff", "Wrap long lines, or cut them."),
    Action("scroll.left", ("left",), "Left", "diff", "Move long lines to the right."),
    Action("scroll.right", ("right",), "Right", "diff", "Move long lines to the left, to see their ends."),
    Action("diff.back", ("b",), "b", "diff", "Back to the pane that led here."),
    Action("diff.export", ("E",), "E", "diff", "Write the difference to a new file, as patch(1) takes it.", "export"),
    Action(
        "import.shown",
        ("I",),
        "I",
        "diff",
        "Import the archive on the right side. Asks y; where it is not newer, its version is typed.",
        "",
        dangerous=True,
    ),
    Action(
        "training.plot", ("p",), "p", "training", "Draw the figures as curves, or back to where you were.", "curves"
    ),
    Action(
        "training.samples", ("e",), "e", "training", "Samples: the skills that rollouts of a step wrote.", "samples"
    ),
    Action(
        "training.look",
        ("s",),
        "s",
        "training",
        "In samples: what a position did, the repository there, what changed since the step sampled before.",
        "look",
    ),
    Action("training.older", ("left_square_bracket",), "[", "training", "In samples: the step sampled before."),
    Action("training.newer", ("right_square_bracket",), "]", "training", "In samples: the step sampled next.", "step"),
    Action("training.rollout", ("n",), "n", "training", "In samples: the next rollout.", "rollout"),
    Action("training.rollout_before", ("N",), "N", "training", "In samples: the rollout before."),
    Action("training.mark", ("m",), "m", "training", "Mark a run, so that d sets another beside it."),
    Action("training.compare", ("d",), "d", "training", "Set the run beside the marked one.", "compare"),
    Action(
        "training.pause",
        ("P",),
        "P",
        "training",
        "Let the run wait once its step is done; C goes on with it.",
        "pause",
        dangerous=True,
    ),
    Action(
        "training.promote",
        ("c",),
        "c",
        "training",
        "Choose a checkpoint and propose it as the curator in use; the Inbox decides.",
        "propose",
        dangerous=True,
    ),
    Action("strategy.text", ("e",), "e", "strategies", "The strategy's text, with its faults at their lines.", "text"),
    Action("strategy.before", ("left_square_bracket",), "[", "strategies", "The view before."),
    Action("strategy.next", ("right_square_bracket",), "]", "strategies", "The next view.", "view"),
    Action(
        "strategy.rollout",
        ("p",),
        "p",
        "strategies",
        "The rollout board: stages, new beside old, rules, alarm, shadow by group, A/B.",
        "board",
    ),
    Action("strategy.turns", ("t",), "t", "strategies", "Turns as they come: what was decided, and why.", "turns"),
    Action(
        "strategy.graph",
        ("w",),
        "w",
        "strategies",
        "Who calls and stands in for whom: what a change concerns, and the tests that it makes mandatory.",
        "graph",
    ),
    Action(
        "strategy.cases", ("b",), "b", "strategies", "What waits for review, clusters of bad cases, the cases.", "cases"
    ),
    Action("strategy.audit", ("A",), "A", "strategies", "The monthly audit: what to put away, take off-line, work on."),
    Action("strategy.models", ("M",), "M", "strategies", "Strategies and models: which go together."),
    Action("strategy.troubles", ("H",), "H", "strategies", "Troubles: what one sees, where to look, what to do."),
    Action(
        "strategy.only", ("s",), "s", "strategies", "In turns: those of the selected strategy alone, or all.", "only"
    ),
    Action("strategy.older", ("left", "h"), "Left h", "strategies", "In the text: the version before.", "older"),
    Action("strategy.newer", ("right", "l"), "Right l", "strategies", "In the text: the version after."),
    Action("strategy.diff", ("d",), "d", "strategies", "In the text: what differs from the version before.", "diff"),
    Action(
        "strategy.fault", ("f",), "f", "strategies", "To the next fault, or the next strategy that has one.", "fault"
    ),
    Action(
        "strategy.publish",
        ("n",),
        "n",
        "strategies",
        "Publish the strategy's newest text as a version, which never changes again; it gets no traffic by that.",
        "publish",
        dangerous=True,
    ),
    Action(
        "strategy.advance",
        ("a",),
        "a",
        "strategies",
        "Take a version a step on: to review, approved into shadow, to the next stage of gray, to all users (asks).",
        "advance",
        dangerous=True,
    ),
    Action(
        "strategy.case",
        ("c",),
        "c",
        "strategies",
        "Draft a Case from the selected bad case, or from a cluster's latest, into a benchmark not measured yet.",
        "case",
        dangerous=True,
    ),
    Action(
        "strategy.reviewed",
        ("D",),
        "D",
        "strategies",
        "Write down that you have looked through the selected strategy's domain (asks).",
        dangerous=True,
    ),
    Action(
        "strategy.away",
        ("x",),
        "x",
        "strategies",
        "Put a version away that answers nobody: a draft, one that review rejects, an old one. Asks for a reason.",
        "archive",
        dangerous=True,
    ),
    Action("subject", ("o",), "o", "global", "Look at another agent or benchmark."),
    Action("zoom", ("z",), "z", "global", "Give the whole screen to this pane; z or Esc gives it back."),
    Action("copy", ("y",), "y", "global", "Copy the id of what is selected: to the terminal (OSC 52) and to a file."),
    Action("copy.row", ("Y",), "Y", "global", "Copy what is selected as a whole."),
    Action("pager", ("v",), "v", "global", "Read what is shown in $PAGER."),
    Action("pause", ("space",), "Space", "global", "Hold what streams; again, to go on with what came meanwhile."),
    Action(
        "rollback",
        ("R",),
        "R",
        "global",
        "Roll the agent back to the version selected in Versions or Scores: at once, u undoes it. From other panes to "
        "the accepted version before; then, and where a run is at work on the agent, it asks y first. In Strategies: "
        "take the version that was released last back (asks for a reason).",
        "roll back",
        dangerous=True,
    ),
    Action("undo", ("u",), "u", "global", "Undo the last rollback.", "undo", dangerous=True),
    Action(
        "stop",
        ("K",),
        "K",
        "global",
        "Stop the selected run, else the one that is live (asks y).",
        "stop run",
        dangerous=True,
    ),
    Action("back", ("escape", "backspace"), "Esc", "global", "Leave a question, filter, trace or diff; never quits."),
    Action("refresh", ("r",), "r", "global", "Read everything again."),
    Action("redraw", ("ctrl+l",), "Ctrl-L", "global", "Paint the whole screen again."),
    Action("suspend", ("ctrl+z",), "Ctrl-Z", "global", "Suspend the console; the shell's fg brings it back."),
    Action("palette", ("colon",), ":", "global", "Find any action, run, Case or version by a few letters.", "find"),
    Action("settings", ("comma",), ",", "global", "Settings: theme, characters, keys."),
    Action("help", ("question_mark", "f1"), "?", "global", "Show all keys.", "help"),
    Action("quit", ("q", "ctrl+q"), "q", "global", "Leave the console. Runs go on without it.", "quit"),
    Action("interrupt", ("ctrl+c",), "Ctrl-C", "global", "Twice within 3 seconds: leave the console."),
)

SCOPES: tuple[tuple[str, str], ...] = (
    ("global", "Everywhere"),
    ("list", "In every list"),
    *((name, f"In {title}") for name, _, title in PANES),
)
"""Scopes in the order of the help."""

FOOTER_WIDTH = 80


def by_id(action_id: str) -> Action:
    """Return an action of the registry."""
    return next(action for action in ACTIONS if action.id == action_id)


def of_scope(scope: str, *, read_only: bool = False) -> tuple[Action, ...]:
    """Return the actions of a scope; with `read_only`, without the dangerous ones."""
    return tuple(action for action in ACTIONS if action.scope == scope and not (read_only and action.dangerous))


def bindings(scope: str, *, to: str = "screen.", only: Container[str] | None = None) -> list[BindingType]:
    """Return Textual's bindings for a scope; each calls `do` of `to` with the action's id, its own id too."""
    from textual.binding import Binding

    return [
        Binding(",".join(action.keys), f"{to}do('{action.id}')", action.text, show=False, id=action.id)
        for action in of_scope(scope)
        if only is None or action.id in only
    ]


def shown_keys(action: Action, changed: Mapping[str, tuple[str, ...]]) -> str:
    """Return an action's keys as people write them, "" where it has none."""
    if action.id not in changed:
        return action.shown
    return " ".join(_SHOWN.get(key, key.replace("ctrl+", "Ctrl-")) for key in changed[action.id])


_SHOWN = {
    "slash": "/", "colon": ":", "comma": ",", "question_mark": "?", "left_square_bracket": "[",
    "right_square_bracket": "]", "space": "Space", "enter": "Enter", "escape": "Esc", "tab": "Tab",
}  # fmt: skip


_FIRST: Mapping[str, tuple[str, ...]] = {
    "training": (
        "training.look",
        "training.newer",
        "training.rollout",
        "continue",
        "training.pause",
        "stop",
        "start",
        "training.compare",
    ),
    "strategies": (
        "strategy.advance",
        "strategy.publish",
        "strategy.fault",
        "strategy.only",
        "strategy.case",
        "strategy.older",
        "strategy.diff",
        "strategy.next",
    ),
}
"""What a pane's footer begins with: the keys that are of use only now, which the narrow one would cut off."""


def footer(
    pane: str,
    *,
    read_only: bool = False,
    without: Iterable[str] = (),
    changed: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[tuple[str, str], ...]:
    """Return (key, word) pairs for the footer in a pane: `_FIRST`, its other own ones, then what works everywhere."""
    hidden = frozenset(without)
    scopes = (pane, "list", "global")
    actions = [
        action
        for scope in scopes
        for action in of_scope(scope, read_only=read_only)
        if action.label and action.id not in hidden
    ]
    first = _FIRST.get(pane, ())
    actions.sort(key=lambda action: first.index(action.id) if action.id in first else len(first))
    pairs = ((shown_keys(action, changed or {}), action.label) for action in actions)
    return tuple((key.split(" ")[0], word) for key, word in pairs if key)


def keys_page() -> str:
    """Return docs/keys.md."""
    lines = [
        "# Keys of the console",
        "",
        "Made from the registry in `tui/actions.py`; `?` shows the same. Names are for `[keys]` in the settings (`,`).",
        "",
    ]
    for scope, title in SCOPES:
        actions = of_scope(scope)
        if not actions:
            continue
        lines += [f"## {title}", "", "| key | what it does | name |", "|---|---|---|"]
        lines += [f"| `{action.shown}` | {_documented(action)} | `{action.id}` |" for action in actions]
        lines.append("")
    return "\n".join(lines)


def _documented(action: Action) -> str:
    return f"{action.text} Not with `--read-only`." if action.dangerous else action.text


if __name__ == "__main__":
    print(keys_page(), end="")  # noqa: T201 (this is how docs/keys.md is made)
