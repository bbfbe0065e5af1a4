"""What the Training pane says of runs: the list, and how one stands, as pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from core.curation.training_records import SPLITS
from core.curation.training_run import OVER, TrainingRun
from tui.curves import sparkline
from tui.palette import STATES
from tui.screens.panes.base import local
from tui.stores.training_figures import FEW, Figure, axis, figures, least_shown, shown
from tui.stores.views import TrainingView
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, Span, fit, joined, middle, short, width_of, wrap

ARMS: tuple[tuple[str, str], ...] = (
    ("none", "no memory"),
    ("base", "base"),
    ("trained", "trained"),
    ("oracle", "by hand"),
)
"""Arms as people read them: without skills, before GRPO, after it, with skills that a person wrote."""
_NAME, _VALUE = 15, 9


def state_of(run: TrainingRun) -> Span:
    """Return a run's state as a word with its tone."""
    if run.pausing:
        return "pausing", "mark"
    return run.state, {"starting": "warn", "paused": "mark"}.get(run.state, STATES.get(run.state, "plain"))


def heading_of(run: TrainingRun) -> Line:
    """Return a run as the status row says it: what it trains, how it stands, and what it came to."""
    word, tone = state_of(run)
    told: list[Span] = [(" training ", "dim"), (run.preset or run.id, "strong"), (f"  {word}", tone)]
    if run.last is not None and run.last.step < run.last.steps:
        told.append((f" {run.last.step}/{run.last.steps}", "dim"))
    trained = None if run.untrained else run.heldout("trained")
    if trained is not None:
        told += [(" trained ", "dim"), (shown(trained.success_micro, "share"), "strong")]
    return tuple(told)


_PHASES = {"imitation": "imitate", "evaluation": "measure"}
"""What a run does that has no step yet, in the room of a step."""


def run_rows(view: TrainingView, marked: str, width: int) -> list[Row]:
    """Return the list of runs, with what each came to."""
    room = max(14, min(36, width - 60))
    heading = "  " + fit("run", room + 1) + fit("state", 9) + fit("step", 8)
    heading += "".join(fit(word, 8, right=True) for word in ("reward", "none", "base", "trained"))
    heading += fit("tasks", 7, right=True)
    rows = [Row("heading", (((heading, "dim"),),), selectable=False)]
    for run in view.runs:
        last, state = run.last, state_of(run)
        step = f"{last.step}/{last.steps}" if last else "none" if run.state in OVER else _PHASES.get(run.phase, "")
        shares = [run.heldout("none"), run.heldout("base"), None if run.untrained else run.heldout("trained")]
        used = view.in_use is not None and view.in_use.run_id == run.id
        line: list[Span] = [
            (f"{'*' if used else 'm' if marked == run.id else ' '} ", "mark"),
            (fit(middle(run.id, room), room + 1), "plain"),
            (fit(state[0], 9), state[1]),
            (fit(step, 8), "plain"),
            (fit(shown(last.reward.total if last else None, "number"), 8, right=True), "strong"),
        ]
        line += [(fit(shown(one.success_micro if one else None, "share"), 8, right=True), "plain") for one in shares]
        on = {"validation": "valid", "test": "test", "": ""}[run.split] if any(shares) else ""
        line.append((fit(on, 7, right=True), "dim"))
        find = f"{run.id} {run.preset} {run.world} {run.state}"
        rows.append(Row(run.id, (tuple(line),), find=find))
    return rows


def overview(run: TrainingRun, view: TrainingView, width: int, height: int) -> list[Line]:
    """Return how a run stands in at most `height` lines; what matters least goes first where there is little room."""
    wanted: list[tuple[int, Line]] = [(0, line) for line in _progress(run, width)]
    alarms = [line for alarm in _alarms(run) for line in wrap(alarm, width - 1, 3)]
    wanted += [(0 if place == 0 else 4, line) for place, line in enumerate(alarms)]
    wanted.append((9, ()))
    wanted += [(1 if place < 2 else place, line) for place, line in enumerate(heldout_lines(run))]
    wanted.append((8, ()))
    found = {figure.key: figure for figure in figures(run)}
    if run.history.steps:
        places, _ = axis(run)
        wanted.append((6, table_head(width)))
        for priority, keys in _TABLE:
            wanted += [(priority, figure_line(found[key], places, width)) for key in keys]
        wanted += [(7, ()), (2, _learning(found, width)), (4, _measured(run))]
    wanted += [(3, line) for line in _after(run, view)]
    while len(wanted) > height:
        last_of = max(priority for priority, _ in wanted)
        if last_of == 0:
            break
        at = max(place for place, (priority, _) in enumerate(wanted) if priority == last_of)
        del wanted[at]
    return [line for _, line in wanted][:height]


_TABLE: tuple[tuple[int, tuple[str, ...]], ...] = (
    (1, ("total",)),
    (1, ("task", "calls", "content", "compression")),
    (2, ("insert", "update")),
    (6, ("delete",)),
    (5, ("success", "actions")),
    (7, ("skills", "coverage", "meta")),
)
"""Figures of the overview, each with how soon it goes where there is little room."""


def table_head(width: int) -> Line:
    """Return the heading of figures."""
    del width
    words = fit(f"last {FEW}", _VALUE, right=True) + fit(f"first {FEW}", _VALUE + 1, right=True)
    return ((" " + fit("", _NAME) + words + "  over the steps", "dim"),)


def figure_line(figure: Figure, places: int, width: int, name: int = _NAME) -> Line:
    """Return a figure: its name, its mean of late and at first, and its curve over all the steps there will be."""
    indent = "  " if figure.key in ("task", "calls", "content", "compression") and name == _NAME else ""
    room = max(0, min(60, width - name - 2 * _VALUE - 5))
    return (
        (" " + fit(indent + figure.name, name), "strong" if figure.key == "total" else "plain"),
        (fit(shown(figure.last, figure.unit), _VALUE, right=True), tone_of(figure)),
        (fit(shown(figure.first, figure.unit), _VALUE + 1, right=True), "dim"),
        ("  ", "plain"),
        (sparkline(figure.values, places, room), "accent"),
    )


def tone_of(figure: Figure) -> str:
    """Return the tone of a figure's value: good where it went where it should, bad where it went the other way."""
    first, last = figure.first, figure.last
    if not figure.good or first is None or last is None or len(figure.values) < 10:
        return "strong"
    moved = (last - first) * (1 if figure.good == "up" else -1)
    return "good" if moved > 0.02 * abs(first) else "bad" if moved < -0.1 * abs(first) else "strong"


def _progress(run: TrainingRun, width: int) -> list[Line]:
    word, tone = state_of(run)
    last = run.last
    first: list[Span] = [(f" {word}", tone)]
    if last is not None:
        room = max(8, min(24, width - 56))
        done = round(room * last.step / max(1, last.steps))
        first += [(f"  step {last.step} of {last.steps} ", "strong"), ("#" * done, "accent")]
        first += [
            ("." * (room - done), "dim"),
            (f"  {clock(run.seconds_left)} left" * (run.state not in OVER), "plain"),
        ]
    elif run.history.imitation:
        imitation = run.history.imitation[-1]
        loss = "-" if imitation.loss is None else f"{imitation.loss:.2f}"
        first.append((f"  learns to imitate, step {imitation.step} of {imitation.steps}, loss {loss}", "plain"))
    elif run.state == "running":
        first.append(("  measures what no memory and the untrained policy come to", "plain"))
    elif run.state == "starting":
        first.append(("  loads what it computes with", "plain"))
    if not run.reason:
        return [tuple(first), _machine(run)]
    why = "bad" if run.state in ("failed", "dead") else "dim"
    if sum(width_of(text) for text, _ in first) + 2 + width_of(run.reason) <= width:
        return [(*first, (f"  {run.reason}", why)), _machine(run)]
    return [tuple(first), *wrap(((f" {run.reason}", why),), width - 1, 3), _machine(run)]


def _machine(run: TrainingRun) -> Line:
    executor = run.spec.get("executor")
    about = [run.preset, run.world, f"{executor} executor" if isinstance(executor, str) else ""]
    about += [f"seed {run.seed}" if run.seed is not None else ""]
    last = run.last
    parts = [(text, "dim") for text in about]
    if last is not None:
        device = last.device
        parts += [
            (f"{last.tokens_per_s:,.0f} tokens/s" if last.tokens_per_s is not None else "", "plain"),
            (f"{device.kind} {shown(device.utilisation, 'share')}" if device.utilisation is not None else "", "plain"),
            (f"{shown(device.memory_bytes, 'bytes')} on it" if device.memory_bytes is not None else "", "plain"),
            (f"cpu {device.cpu_percent:.0f} %" if device.cpu_percent is not None else "", "plain"),
            (shown(device.rss_bytes, "bytes") if device.rss_bytes is not None else "", "plain"),
        ]
    return ((" ", "plain"), *joined(parts))


def _alarms(run: TrainingRun) -> list[Line]:
    """Return the latest alarm of each kind, and how often it came."""
    latest = {alarm.kind: alarm for alarm in run.history.alarms}
    found: list[Line] = []
    for kind, alarm in sorted(latest.items(), key=lambda entry: -entry[1].step)[:3]:
        count = sum(1 for other in run.history.alarms if other.kind == kind)
        times = f" ({count} times)" if count > 1 else ""
        found.append(((f" ! {kind.replace('_', ' ')}, step {alarm.step}{times}: ", "bad"), (alarm.text, "plain")))
    if run.passed_lines:
        told = f" {run.passed_lines:,} of its many events were passed over; a step that was read stands for others"
        found.append(((told, "dim"),))
    if run.damaged_lines:
        found.append(((f" ! {run.damaged_lines} lines of its events cannot be read ", "bad"), ("(not counted)", "dim")))
    return found


def heldout_lines(run: TrainingRun) -> list[Line]:
    """Return the arms on one set of held-out tasks, of the mixed stream, what training added, and the grouped stream.

    Where no step was done there is no trained policy, and so no gain.
    """
    lines: list[Line] = []
    for stream in ("mixed", "grouped"):
        arms = [(name, None if arm == "trained" and run.untrained else run.heldout(arm, stream)) for arm, name in ARMS]
        if not any(found for _, found in arms):
            continue
        if not lines:
            head = " " + fit(_tasks_of(run), _NAME) + "".join(fit(name, 11, right=True) for name, _ in arms)
            lines.append(((head, "dim"),))
        label = "solved" if stream == "mixed" else "  of one kind"
        solved: list[Span] = [(" " + fit(label, _NAME), "plain")]
        solved += [
            (fit(shown(found.success_micro if found else None, "share"), 11, right=True), _arm_tone(name))
            for name, found in arms
        ]
        lines.append(tuple(solved))
        if stream == "mixed":
            actions: list[Span] = [(" " + fit("actions", _NAME), "plain")]
            actions += [
                (fit(shown(found.steps_mean if found else None, "fine"), 11, right=True), "plain") for _, found in arms
            ]
            lines += [gains] if (gains := _gains(run)) else []
            lines.append(tuple(actions))
    return lines


def _tasks_of(run: TrainingRun) -> str:
    """Return which tasks the arms are told on: `420 test tasks`."""
    count = next((e.tasks for arm, _ in ARMS if (e := run.heldout(arm)) is not None), None)
    told = f"{count or ''} {SPLITS[run.split]}".strip()
    return f"{told} tasks" if len(told) + 6 < _NAME else told


def _gains(run: TrainingRun) -> Line:
    """Return what the trained arm has over the base and over no memory on the same tasks; () where it has none yet."""
    if run.untrained:
        return (
            (((" no step of training was done, so there is no trained policy", "warn"),)) if run.state in OVER else ()
        )
    parts: list[Span] = []
    trained = run.heldout("trained")
    for arm, name in (("base", "base"), ("none", "no memory")):
        gain, other = run.gain(arm), run.heldout(arm)
        if gain is None or trained is None or other is None:
            continue
        least = least_shown((trained.success_micro, other.success_micro), (trained.tasks, other.tasks))
        noise = f" (noise < {100 * least:.0f})" if least is not None else ""
        parts.append((f"trained less {name} {100 * gain:+.1f} pts{noise}", "dim" if noise else "plain"))
    return ((" ", "plain"), *joined(parts)) if parts else ()


def _arm_tone(name: str) -> str:
    return "good" if name == "trained" else "dim" if name == "by hand" else "plain"


def _learning(found: dict[str, Figure], width: int) -> Line:
    parts: list[Span] = []
    for key, name in (
        ("zero variance", "equal groups"),
        ("advantage", "spread"),
        ("entropy", "entropy"),
        ("clip", "clipped"),
        ("gradient", "gradient"),
    ):
        figure = found[key]
        if figure.now is not None:
            alarming = key == "zero variance" and figure.now >= 0.5
            parts.append((f"{name} {shown(figure.now, figure.unit)}", "bad" if alarming else "plain"))
    kept: list[Span] = []
    used = 1
    for text, tone in parts:
        used += width_of(text) + 2
        if used <= width:
            kept.append((text, tone))
    return ((" ", "plain"), *joined(kept))


def _measured(run: TrainingRun) -> Line:
    last = run.history.steps[-1]
    if last.positions_measured is None or last.positions_expected is None:
        return ((" positions measured: not told", "warn"),)
    whole = last.positions_measured == last.positions_expected
    told = f" {last.positions_measured} of {last.positions_expected} positions measured"
    parts: list[Span] = [(told, "plain" if whole else "warn")]
    if last.masked:
        parts.append((f"{last.masked} masked", "warn"))
    if last.judge_unmeasured:
        parts.append((f"{last.judge_unmeasured} not judged", "warn"))
    return tuple(joined(parts))


def _after(run: TrainingRun, view: TrainingView) -> list[Line]:
    """Return what came of a run, and what can be done with it."""
    lines: list[Line] = []
    used = view.in_use
    if used is not None and used.run_id == run.id:
        by = f" by {used.signature}, {local(used.time)}"
        lines.append(((f" * step {used.step} is the curator in use", "mark"), (by, "dim")))
    best = run.best
    if best is not None and run.state in OVER:
        heldout = f", {shown(best.heldout, 'share')} of the validation tasks" if best.heldout is not None else ""
        lines.append(((f" best checkpoint: step {best.step}{heldout}", "plain"),))
    return lines


def empty_lines(width: int, *, can_train: bool, install: str, start: str) -> list[Line]:
    """Return what the pane says where there is no run: what training is, and how one begins."""
    lines: list[Line] = [
        ((" No training run yet.", "strong"),),
        (),
        *(((" ", "plain"), *line) for line in wrap(((_WHAT, "plain"),), width - 2)),
        (),
    ]
    shell = "exuvia train --preset cpu-demo"
    if not can_train:
        lines.append(((" Training needs torch, which is not installed here. Install it:", "warn"),))
        lines.append(((f" {install}", "strong"),))
    elif start:
        lines.append(((f" {start} starts one.", "mark"), (" cpu-demo needs no GPU and no download.", "plain")))
        lines.append(((" Or from a shell: ", "plain"), (shell, "strong")))
    else:
        lines.append(((" Opened read-only: start it elsewhere, with ", "plain"), (shell, "strong")))
    return lines


_WHAT = (
    "A curator decides what an agent remembers: after each task it inserts, updates or deletes skills. Here a small "
    "one is trained: it tries streams of tasks many times over, and what helped later tasks is reinforced. You see its "
    "reward term by term, the skills that it writes, and how it does on tasks that it never trained on."
)


def clock(seconds: float | None) -> str:
    """Return a time to go: 42 s, 3:05, 1:02:03; '?' where nobody can know."""
    if seconds is None:
        return "?"
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{rest:02}"
    return f"{minutes}:{rest:02}" if whole >= 60 else f"{whole} s"


def status(run: TrainingRun) -> str:
    """Return a run in a few words, for a title."""
    last = run.last
    step = f" {last.step}/{last.steps}" if last is not None else ""
    return f"{short(run.id, 40)} {state_of(run)[0]}{step}"


def plain_text(lines: Sequence[Line]) -> str:
    """Return lines as text."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines) + "\n"
