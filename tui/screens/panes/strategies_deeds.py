"""The questions before something is done to a strategy, and what is done on an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.widget import Widget

from core.foundation.clock import now_s
from core.state.paths import ProjectPaths
from core.strategy.bank.states import Standing, newest
from core.strategy.feedback.bad_cases import BadCase
from tui import commands_strategies as commands
from tui.messages import DeedWanted, Outcome, Said
from tui.stores.runs import Subject
from tui.stores.strategies_lines import StrategyLine
from tui.stores.strategies_ways import Way, can_put_away, ways
from tui.widgets.prompt import Prompt
from tui.widgets.spans import middle

if TYPE_CHECKING:
    from tui.screens.frame import Frame

_NONE = "No strategy is selected here."
_NOTHING = "Nothing was changed."


def named(strategy_id: str, version: int) -> str:
    """Return a version as a question names it: short enough that an answer has room beside it."""
    return f"{middle(strategy_id, 28)} {version}"


def publish(pane: Widget, one: StrategyLine | None) -> None:
    """Ask for a reason, and publish the newest text as a version."""
    if one is None or not one.text:
        pane.post_message(Said(_NONE if one is None else f"{one.id} has no text here to publish.", "warn"))
    elif one.entry.authored is None:
        pane.post_message(Said(f"{one.id} can't be read: {one.faults[0].reason}", "warn", "e shows where"))
    elif one.entry.published:
        pane.post_message(
            Said(f"The newest text of {one.id} is published.", "plain", "Raise its version to change it.")
        )
    else:
        faults = f", {len(one.faults)} faults" if one.faults else ""
        question = f"Publish {named(one.id, one.entry.authored.version)}{faults}? Why (or just Enter):"
        _reason(pane, question, lambda why: partial(commands.publish, _project(pane), one.id, why), "publishing")


def advance(pane: Widget, one: StrategyLine | None) -> None:
    """Let a version take its next step: the one there is, or the one that is chosen of several."""
    if one is None:
        pane.post_message(Said(_NONE))
        return
    found = ways(one, now_s())
    possible = [way for way in found if way.open]
    if len(possible) > 1:
        _choose(pane, one, possible)
    elif possible:
        _step(pane, possible[0])
    elif found and found[0].refused is not None:
        pane.post_message(Said(f"Not yet: {found[0].refused.reason}", "warn", found[0].refused.hint))
    elif one.unpublished:
        pane.post_message(Said(f"{one.id} has no version that could go on.", "plain", "n publishes its newest text"))
    else:
        pane.post_message(Said(f"No version of {one.id} has a next step: it answers all users, or is put away."))


def _choose(pane: Widget, one: StrategyLine, found: list[Way]) -> None:
    from tui.screens.picker import Choice, PickerScreen

    choices = [
        Choice(str(way.version), f"version {way.version}", f"{way.state}, next {way.what}", way.deed) for way in found
    ]

    def chosen(key: str) -> None:
        _step(pane, next(way for way in found if str(way.version) == key))

    pane.app.push_screen(PickerScreen(f"Which version of {one.id} goes on?", choices, chosen))


def _step(pane: Widget, way: Way) -> None:
    name, project = named(way.id, way.version), _project(pane)

    def made(why: str, evidence: tuple[str, ...] = ()) -> Callable[[], Outcome]:
        return partial(commands.advance, project, way, why, evidence)

    if way.refused is not None:
        question = f"It still holds. Force {name} on? Because:"
        _reason(pane, question, made, "moving it", needed=True)
    elif way.evidence:
        _evidence(pane, f"No person wrote {name}. It rests on (ids):", made)
    elif way.deed == "approve":
        _reason(pane, f"Approve {name} into shadow? Because:", made, "approving", needed=True)
    elif way.deed == "submit":
        _reason(pane, f"Send {name} to review? Why (or just Enter):", made, "sending it")
    else:
        _sure(pane, f"Take {name} {way.what}?", made(""), "moving it")


def _evidence(pane: Widget, question: str, made: Callable[[str, tuple[str, ...]], Callable[[], Outcome]]) -> None:
    def told(text: str | None) -> None:
        ids = tuple((text or "").replace(",", " ").split())
        if not ids:
            pane.post_message(Said(f"{_NOTHING} What it rests on must be named.", "warn"))
        else:
            # Once the first question has left the focus: losing it answers a question.
            pane.call_after_refresh(because, ids)

    def because(ids: tuple[str, ...]) -> None:
        _reason(pane, "Approve it? Because:", lambda why: made(why, ids), "approving", needed=True)

    pane.screen.query_one(Prompt).ask(question, told)


def roll_back(pane: Widget, one: StrategyLine | None) -> None:
    """Ask for the reason, and take the version that was released last back."""
    if one is None:
        pane.post_message(Said(_NONE))
        return
    now = newest(one.entry.versions, "gray") or newest(one.entry.versions, "active")
    if now is None:
        pane.post_message(Said(f"No version of {one.id} answers users; nothing is to be taken back."))
        return
    old = next((v for v in one.entry.versions if v.version == now.replaced and v.state == "deprecated"), None)
    before = newest(one.entry.versions, "active") if now.state == "gray" else old
    then = f"{before.version} answers" if before is not None else "none answers"
    question = f"Take back {named(one.id, now.version)}, so that {then}? Because:"
    project = _project(pane)

    def made(why: str) -> Callable[[], Outcome]:
        return partial(commands.roll_back, project, one.id, now.version, why)

    _reason(pane, question, made, "taking it back", needed=True)


def draft_case(pane: Widget, case: BadCase | None, subjects: Sequence[Subject]) -> None:
    """Let a benchmark be chosen, and draft a Case into it."""
    found = [one for one in subjects if one.benchmark_id]
    if case is None or not found:
        told = "No bad case is selected here." if case is None else "No agent here has a benchmark."
        pane.post_message(Said(told))
        return
    from tui.screens.picker import Choice, PickerScreen

    project, chosen_case = _project(pane), case
    choices = [Choice(str(at), one.benchmark_id, f"of {one.agent_id}", "benchmark") for at, one in enumerate(found)]

    def chosen(key: str) -> None:
        one = found[int(key)]
        do = partial(commands.draft_case, project, one.agent_id, one.benchmark_id, chosen_case)
        _sure(pane, f"Draft a Case from {middle(chosen_case.id, 24)} for {one.benchmark_id}?", do, "drafting")

    pane.app.push_screen(PickerScreen("Draft a Case for which benchmark?", choices, chosen))


def review_domain(pane: Widget, one: StrategyLine | None) -> None:
    """Ask, and write down that the operator has looked through a domain."""
    if one is None:
        pane.post_message(Said(_NONE))
        return
    project, domain = _project(pane), one.entry.domain
    question = f"You have looked through all of {middle(domain, 28)}? A note (or just Enter):"
    _reason(pane, question, lambda why: partial(commands.review_domain, project, domain, why), "writing it down")


def put_away(pane: Widget, one: StrategyLine | None) -> None:
    """Ask which version, for the reason, and archive it."""
    found = [] if one is None else [version for version in one.entry.versions if can_put_away(version)]
    if one is None or not found:
        told = _NONE if one is None else f"No version of {one.id} can be archived: what answers is taken back first."
        pane.post_message(Said(told, "plain", "" if one is None else "R takes it back"))
        return
    if len(found) == 1:
        _put_away(pane, found[0])
        return
    from tui.screens.picker import Choice, PickerScreen

    choices = [Choice(str(v.version), f"version {v.version}", f"{v.state} since {v.since}", "version") for v in found]
    title = f"Archive which version of {one.id}?"
    pane.app.push_screen(
        PickerScreen(title, choices, lambda key: _put_away(pane, next(v for v in found if str(v.version) == key)))
    )


def _put_away(pane: Widget, one: Standing) -> None:
    project = _project(pane)
    verb = "Reject" if one.state == "review" else "Archive"
    question = f"{verb} {named(one.id, one.version)} for good? Because:"
    _reason(
        pane,
        question,
        lambda why: partial(commands.put_away, project, one.id, one.version, one.state, why),
        "archiving",
        needed=True,
    )


def _project(pane: Widget) -> ProjectPaths:
    return cast("Frame", pane.screen).project


def _reason(
    pane: Widget, question: str, made: Callable[[str], Callable[[], Outcome]], doing: str, *, needed: bool = False
) -> None:
    """Ask for a reason and do it; Esc leaves, and where a reason is `needed` so does an empty one."""

    def told(text: str | None) -> None:
        why = (text or "").strip()
        if text is None or (needed and not why):
            pane.post_message(Said(_NOTHING if text is None else f"{_NOTHING} It needs a reason.", "plain"))
        else:
            _do(pane, made(why), doing)

    pane.screen.query_one(Prompt).ask(question, told)


def _do(pane: Widget, do: Callable[[], Outcome], doing: str) -> None:
    pane.post_message(DeedWanted(lambda _: do(), doing))


def _sure(pane: Widget, question: str, do: Callable[[], Outcome], doing: str) -> None:
    def answered(yes: bool) -> None:
        if yes:
            _do(pane, do, doing)
        else:
            pane.post_message(Said(_NOTHING))

    pane.screen.query_one(Prompt).confirm(question, answered)
