"""The page of a promotion: what speaks for a checkpoint and against it, as pure functions."""

from __future__ import annotations

from core.curation.training_records import SPLITS, Evaluation, Split
from core.curation.training_run import OVER, TrainingRun
from tui.screens.panes.base import local
from tui.stores.inbox import Arm, Item, Promotion
from tui.stores.training_figures import least_shown, shown
from tui.stores.views import TrainingView
from tui.widgets.spans import Line

_NAMES = {"none": "no memory", "base": "the untrained policy", "oracle": "skills by hand"}
_ORDER: tuple[Split, ...] = ("test", "", "validation")
_ABOUT: dict[Split, str] = {"test": "looked at once, at the end", "validation": "they choose the checkpoint", "": ""}


def promotion_lines(item: Item, page: Promotion, training: TrainingView) -> list[Line]:
    """Return the page: the checkpoint's figures beside the arms on the same tasks, warnings, what a yes does."""
    run = training.run(page.training_id)
    about = f"{page.preset}, trained on {page.world or 'an unknown world'}"
    lines: list[Line] = [
        ((f"Step {page.step} of {page.training_id}", "strong"), (f"  asked {local(item.since)}", "dim")),
        ((f"{about}; {_went(run)}" if run else f"{about}; its run is not here any more", "plain"),),
    ]
    warnings = _warnings(page, run, training) if item.decided is None else []
    lines += [(), *(((" ! ", "bad"), (text, "plain")) for text in warnings)] if warnings else []
    tables = [_table(run, page.step, split) for split in _ORDER] if run else [_asked(page.arms)]
    for table in tables:
        lines += [(), *table] if table else []
    if not any(tables):
        lines += [(), (("Nothing was measured on held-out tasks.", "warn"),)]
    lines += [(), *_means(item, page, run, training), ((page.sha256, "dim"),)]
    return lines


def _went(run: TrainingRun) -> str:
    last = run.last
    if last is None:
        return f"its run is {run.state}, without a step of training"
    return f"its run {'is' if run.state != 'stopped' else 'was'} {run.state} at step {last.step} of {last.steps}"


def _weights(run: TrainingRun, measured: Evaluation) -> int | None:
    """Return the step of the checkpoint that was measured, None where nobody can know."""
    if measured.weights is not None or measured.arm in ("none", "oracle"):
        return measured.weights
    if measured.arm == "base":
        return 0
    if measured.split == "test":  # an older record doesn't say; the best one is measured at the end
        return run.best.step if run.best else 0
    return measured.step


def _of(run: TrainingRun, step: int, split: Split) -> Evaluation | None:
    """Return how a checkpoint did on the mixed tasks of `split`."""
    found = [e for e in run.history.evaluations if (e.stream, e.split) == ("mixed", split)]
    return next((e for e in reversed(found) if e.arm in ("trained", "base") and _weights(run, e) == step), None)


def _table(run: TrainingRun, step: int, split: Split) -> list[Line]:
    """Return the arms on one set of tasks; [] where this checkpoint was not measured there and no other was."""
    rows: list[Line] = []
    tasks: int | None = None
    for arm in ("none", "base", "oracle"):
        found = run.heldout(arm, split=split)
        if found is not None:
            own = arm == "base" and step == 0
            name = "this checkpoint" if own else _NAMES[arm]
            rows.append(_row(name, found.success_micro, found.steps_mean, "good" if own else "plain"))
            tasks = found.tasks
        if arm == "base" and step:
            rows += _trained(run, step, split)
    if not rows:
        return []
    told = f"On {tasks or 'the'} {SPLITS[split]} tasks, of the mixed stream"
    return [((told, "title"), (f"  {_ABOUT[split]}", "dim")), *rows]


def _trained(run: TrainingRun, step: int, split: Split) -> list[Line]:
    """Return the row of this checkpoint, and that of another which was measured in its place."""
    own, other = _of(run, step, split), run.heldout("trained", split=split)
    if own is not None and own.arm == "trained":
        return [_row("this checkpoint", own.success_micro, own.steps_mean, "good")]
    kept = next((one for one in run.history.checkpoints if one.step == step), None)
    if split == "validation" and kept is not None and kept.heldout is not None:
        return [_row("this checkpoint", kept.heldout, None, "good")]
    if own is None and other is not None and split != "validation":
        return [
            _row("this checkpoint", None, None),
            _row(f"step {_weights(run, other)} in its place", other.success_micro, other.steps_mean),
        ]
    return []


def _row(name: str, success: float | None, actions: float | None, tone: str = "plain") -> Line:
    did = f"{actions:>7.1f} actions" if actions is not None else "not measured" if success is None else ""
    return ((f"  {name:<24}{shown(success, 'share'):>8}  {did}", tone),)


def _asked(arms: tuple[Arm, ...]) -> list[Line]:
    """Return what was measured when it was asked, where the run is gone."""
    named = {**_NAMES, "trained": "the trained policy"}
    rows = [_row(f"{named.get(arm.name, arm.name)}", arm.success, arm.actions) for arm in arms]
    return [(("On held-out tasks, as they were measured then", "title"),), *rows] if rows else []


def _warnings(page: Promotion, run: TrainingRun | None, training: TrainingView) -> list[str]:
    """Return what speaks against it, the worst first."""
    found: list[str] = []
    if run is not None:
        if page.step == 0:
            found.append("It is the policy as it was before any step of training.")
        found += _weak(run, page.step)
        last = run.last
        if run.state in OVER and run.state != "finished" and last is not None and last.step < last.steps:
            found.append(f"The run ended before its time, at step {last.step} of {last.steps}.")
        elif run.state not in OVER:
            found.append("The run is still at work: a later checkpoint may be better.")
    now = training.in_use
    worse = now is not None and None not in (now.heldout, page.heldout) and now.world == page.world
    if now is not None and worse and (page.heldout or 0.0) < (now.heldout or 0.0):
        found.append(
            f"It replaces a better one: step {now.step} of {now.run_id} solved {shown(now.heldout, 'share')} of its "
            f"validation tasks, this one {shown(page.heldout, 'share')}."
        )
    return found


def _weak(run: TrainingRun, step: int) -> list[str]:
    """Return a line for each of no memory and the untrained policy that it doesn't beat, on the tasks that say most."""
    split = next((split for split in _ORDER if _of(run, step, split) is not None), None)
    own = None if split is None else _of(run, step, split)
    if own is None or split is None or own.success_micro is None:
        return ["It was not measured on held-out tasks."]
    found: list[str] = []
    for arm, name in (("none", "no memory"), ("base", "the untrained policy")):
        other = run.heldout(arm, split=split)
        if other is None or other.success_micro is None or (arm == "base" and step == 0):
            continue
        figures = f"{shown(own.success_micro, 'share')} against {shown(other.success_micro, 'share')}"
        least = least_shown((own.success_micro, other.success_micro), (own.tasks, other.tasks))
        if least is not None:
            found.append(f"No better than {name} as far as these tasks tell: {figures}, noise < {100 * least:.0f} pts.")
        elif own.success_micro < other.success_micro:
            found.append(f"Worse than {name}: {figures}.")
    return found


def _means(item: Item, page: Promotion, run: TrainingRun | None, training: TrainingView) -> list[Line]:
    """Return what a yes does, or what came of it."""
    now = training.in_use
    if item.decided is not None:
        replaced = f"It replaced {page.replaces}." if page.replaces else "No other was in use then."
        if item.decided.verdict != "approve":
            return []
        if now is not None and now.approval_id == item.id:
            return [((f"It is the curator in use. {replaced}", "plain"),)]
        other = f"Now step {now.step} of {now.run_id} is." if now is not None else "Now none is."
        return [((f"It was the curator in use. {other}", "plain"),)]
    lines: list[Line] = [(("Approved, it is the curator in use: stream run --curator in-use takes it.", "plain"),)]
    kind = _kind(run)
    if kind == "tiny":
        lines.append((("A tiny policy speaks only the phrases of its world: it can't curate your agents.", "warn"),))
    elif kind:
        lines.append((("It also curates agents: exuvia curate takes it from then on.", "plain"),))
    else:
        lines.append((("It curates only what it was trained for.", "plain"),))
    if now is not None:
        lines.append((("It replaces ", "dim"), (f"step {now.step} of {now.run_id}", "plain")))
    else:
        lines.append((("No curator is in use now.", "dim"),))
    return lines


def _kind(run: TrainingRun | None) -> str:
    settings = run.spec.get("settings") if run is not None else None
    return str(settings.get("policy.kind", "")) if isinstance(settings, dict) else ""
