"""What waits for a person is decided by key, once, with who and when: freezes, questions, tool calls."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

from core.evolution.specs import RunPaths
from core.state import approvals
from core.state.approvals import Approval, Decision
from core.state.paths import ProjectPaths
from tests.tui.driving import console, screen_text, until
from tests.tui.home import AGENT, BENCHMARK, FREEZE, ask_for_freeze
from tui.widgets import prompt

GiveEngine = Callable[[RunPaths], "subprocess.Popen[bytes]"]
QUESTION, CALL = "question-0123456789ab", "tool-call-0123456789ab"
OPTIONS = ("the newer one", "the one named first")
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m[/bold][red]\u202egnp.exe\x00"
"""Escape sequences, C1, markup, bidirectional overrides and NUL: none may reach a terminal (TERMINAL 3.9)."""


@pytest.fixture(autouse=True)
def no_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt, "GUARD_S", 0.0)


def ask_question(
    project: ProjectPaths, text: str = "Which register counts?", options: tuple[str, ...] = OPTIONS
) -> str:
    approval = Approval(
        id=QUESTION, kind="question", agent_id=AGENT, benchmark_id=BENCHMARK, session_id="session-q", role="builder",
        title=text, body={"text": text, "options": list(options)},
    )  # fmt: skip
    return approvals.request(project, approval)


def ask_about_call(project: ProjectPaths, command: str = "ls -la\nrm notes.txt") -> str:
    arguments = json.dumps({"cmd": command})
    approval = Approval(
        id=CALL, kind="tool_call", agent_id=AGENT, session_id="session-q", role="optimizer", title="exec_command",
        body={"tool": "exec_command", "arguments": arguments, "permission": "rw"},
    )  # fmt: skip
    return approvals.request(project, approval)


def decided(project: ProjectPaths, item: str) -> Decision | None:
    return approvals.get(project, item)[1]


async def test_a_question_is_answered_by_an_option_after_a_y(project: ProjectPaths) -> None:
    ask_question(project)
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("6")
        text = await until(app, pilot, lambda text: "Which register counts?" in text and "1  the newer one" in text)
        assert "Builder of helper" in text
        await pilot.press("down", "enter")
        await until(app, pilot, lambda text: "Answer: the one named first?" in text)
        assert decided(project, QUESTION) is None
        await pilot.press("y")
        await until(app, pilot, lambda text: "Answered, signed" in text and "Decided lately" in text)
    made = decided(project, QUESTION)
    assert made is not None
    assert (made.verdict, made.text, made.actor) == ("answer", "the one named first", "console")


@pytest.mark.parametrize(("typed", "said"), [("2", OPTIONS[1]), ("both, joined", "both, joined"), ("7", "7")])
async def test_a_question_is_answered_in_words_or_by_number(project: ProjectPaths, typed: str, said: str) -> None:
    ask_question(project)
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("6", "i", *typed, "enter")
        await until(app, pilot, lambda text: "Answered, signed" in text)
    made = decided(project, QUESTION)
    assert made is not None
    assert made.text == said


async def test_leaving_the_prompt_answers_nothing(project: ProjectPaths) -> None:
    ask_question(project)
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("6", "i", *"never mind", "escape")
        await until(app, pilot, lambda text: "Not decided; the question stays." in text)
        await pilot.press("a")
        await until(app, pilot, lambda text: "This is a question." in text)
    assert decided(project, QUESTION) is None


async def test_a_question_can_be_left_with_a_reason(project: ProjectPaths) -> None:
    ask_question(project)
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("6", "x", *"you can see it", "enter")
        await until(app, pilot, lambda text: "Left unanswered" in text)
    made = decided(project, QUESTION)
    assert made is not None
    assert (made.verdict, made.reason) == ("reject", "you can see it")


async def test_a_tool_call_shows_what_would_run_and_is_allowed_once(project: ProjectPaths) -> None:
    ask_about_call(project)
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("6")
        text = await until(app, pilot, lambda text: "exec_command" in text and "rm notes.txt" in text)
        assert "may change things" in text
        await pilot.press("a", "y")
        await until(app, pilot, lambda text: "Allowed: the call runs" in text)
    made = decided(project, CALL)
    assert made is not None
    assert made.verdict == "approve"


async def test_a_denied_tool_call_needs_its_reason(project: ProjectPaths) -> None:
    ask_about_call(project)
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("6", "x", "enter")
        await until(app, pilot, lambda text: "Not denied" in text)
        assert decided(project, CALL) is None
        await pilot.press("x", *"use git rm", "enter")
        await until(app, pilot, lambda text: "Denied: the model is told why" in text)
    made = decided(project, CALL)
    assert made is not None
    assert (made.verdict, made.reason) == ("reject", "use git rm")


async def test_several_are_a_list_that_leads_to_pages_and_back(project: ProjectPaths, engine: GiveEngine) -> None:
    run, _ = ask_for_freeze(project)
    engine(run)
    ask_question(project)
    ask_about_call(project)
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("6")
        text = await until(app, pilot, lambda text: "3 wait for you" in text)
        assert "3 to decide: 6" in text.split("\n")[0]
        assert all(word in text for word in ("freeze chores as it stands", "Which register counts?", "exec_command"))
        await pilot.press("enter")
        await until(app, pilot, lambda text: "freeze chores for helper?" in text and "1 of 3" in text)
        await pilot.press("right_square_bracket")
        await until(app, pilot, lambda text: "2 of 3" in text)
        await pilot.press("escape")
        await until(app, pilot, lambda text: "3 wait for you" in text)
        assert (item := app.frame.query_one("#inbox-items").key) == app.frame.view.inbox.pending[1].id, item  # type: ignore[attr-defined]  # a RowList


async def test_a_freeze_asked_for_again_tells_what_was_rejected_and_what_changed_since(
    project: ProjectPaths, engine: GiveEngine
) -> None:
    run, _ = ask_for_freeze(project)
    engine(run)
    approval, _ = approvals.get(project, FREEZE)
    gone = {"i": 1, "score": 42.33, "predicted": 32.0, "observed": 30.0, "missed": False, "reason": "a riddle"}
    body = {**approval.body, "rejected": [{**gone, "changed_since": ["CASE-002-gateway"]}]}
    path = project.approvals / f"{FREEZE}.json"
    path.write_text(json.dumps({**approval.model_dump(mode="json"), "body": body}))
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("6")
        text = await until(app, pilot, lambda text: "Pilots" in text)
        assert "score 42.33  rejected: a riddle" in text
        assert "again" in next(line for line in text.splitlines() if "score 34.00" in line)
        assert "Since your rejection (a riddle): CASE-002 changed" in text


async def test_the_texts_name_their_case_and_follow_the_cursor_and_z_gives_one_the_whole_pane(
    project: ProjectPaths, engine: GiveEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = ask_for_freeze(project)
    engine(run)
    read: list[str] = []
    monkeypatch.setattr("tui.pager.page", lambda app, text: read.append(text))
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("6")
        await until(app, pilot, lambda text: "CASE-001 statement, for the agent" in text)
        await pilot.press("down")
        text = await until(app, pilot, lambda text: "CASE-002 statement, for the agent" in text)
        assert "CASE-002 rubric, Evaluator only" in text
        await pilot.press("v", "home", "v")
        assert read[0].startswith("# Task of CASE-002")
        assert "# Rubric of CASE-002" in read[0]
        assert "CASE-002 statement" in screen_text(app)  # on a row that is no Case, the last one stays, by name
        assert "The Builder asks:" in read[1]
        assert "Findings" in read[1]
        await pilot.press("tab", "z")
        text = await until(app, pilot, lambda text: "Tab: the other text" in text)
        assert "Pilots" not in text
        assert "Rubric of" not in text
        assert "z or Esc shows the page again" in text
        await pilot.press("tab")
        text = await until(app, pilot, lambda text: "# Rubric of CASE-002" in text)
        assert "# Task of" not in text
        assert " 6 Inbox  freeze" in text
        await pilot.press("escape")
        await until(app, pilot, lambda text: "Pilots" in text and "# Task of CASE-002" in text)
        assert app.frame.focused is app.frame.query_one("#inbox-list")
        await pilot.press("z", "z")
        await until(app, pilot, lambda text: "Pilots" in text)
        await pilot.press("tab", "tab", "tab")
        assert app.frame.focused is app.frame.query_one("#inbox-list")  # round and round, not into another pane
        await pilot.press("1", "tab", "z")
        await until(app, pilot, lambda text: "This pane has the whole screen already." in text)


@pytest.mark.parametrize(("verdict", "told"), [("approve", "<- frozen"), ("reject", "<- was rejected")])
async def test_a_decided_freeze_says_what_came_of_the_pilot(
    project: ProjectPaths, engine: GiveEngine, verdict: approvals.Verdict, told: str
) -> None:
    run, _ = ask_for_freeze(project)
    engine(run)
    approvals.decide(project, FREEZE, verdict, "so", actor="cli")
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("6", "enter")
        text = await until(app, pilot, lambda text: "Pilots" in text)
        assert told in text
        assert "would be frozen" not in text


async def test_what_was_decided_says_who_and_when_and_is_read_again(project: ProjectPaths, engine: GiveEngine) -> None:
    run, _ = ask_for_freeze(project)
    engine(run)
    approvals.decide(project, FREEZE, "reject", "CASE-001 is a riddle", actor="other")
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("6")
        text = await until(app, pilot, lambda text: "Decided lately" in text)
        assert "nothing waits for you" in text
        assert "rejected" in text
        assert "CASE-001 is a riddle" in text
        await pilot.press("enter")
        text = await until(app, pilot, lambda text: "predicted 60.00" in text and "Tidy the file by the rules." in text)
        made = decided(project, FREEZE)
        assert made is not None
        assert f"rejected by {made.signature}" in text
        await pilot.press("a")
        await until(app, pilot, lambda text: "Nothing waits for you." in text)


@pytest.mark.parametrize("kind", ["freeze", "question", "tool_call"])
async def test_of_two_consoles_one_wins_and_the_other_is_told_who(
    project: ProjectPaths, engine: GiveEngine, kind: str
) -> None:
    """Two operators answer the same thing at once: the first decision stands, the second sees whose it is."""
    item = {"freeze": FREEZE, "question": QUESTION, "tool_call": CALL}[kind]
    if kind == "freeze":
        engine(ask_for_freeze(project)[0])
    else:
        ask_question(project) if kind == "question" else ask_about_call(project)
    async with console(project, (80, 24)) as (one, first), console(project, (80, 24)) as (two, second):
        for pilot in (first, second):
            await pilot.press("6", *(("enter",) if kind == "question" else ("a",)))
        for app, pilot in ((one, first), (two, second)):
            await until(app, pilot, lambda text: "y yes, any other key no" in text)
        await first.press("y")
        await until(one, first, lambda text: "signed" in text)
        await second.press("y")
        text = await until(two, second, lambda text: "was decided before" in text)
        made = decided(project, item)
        assert made is not None
        assert made.signature in text.replace("\n", "")
        await until(two, second, lambda text: "Decided lately" in text and "nothing waits for you" in text)


async def test_read_only_decides_nothing(project: ProjectPaths) -> None:
    ask_question(project)
    async with console(project, (80, 24), read_only=True) as (app, pilot):
        await pilot.press("6")
        text = await until(app, pilot, lambda text: "Which register counts?" in text)
        assert "Opened read-only: decide it in another console" in text
        for key, label in (("enter", "say"), ("i", "say"), ("a", "approve"), ("x", "reject")):
            await pilot.press(key)
            text = await until(app, pilot, lambda text: f"Opened read-only: {label} is off." in text)  # noqa: B023
            assert "Open without --read-only to change things." in text
            assert "y yes" not in text
    assert decided(project, QUESTION) is None


async def test_read_only_does_not_offer_to_start_a_run(project: ProjectPaths) -> None:
    async with console(project, (80, 24), read_only=True) as (app, pilot):
        await pilot.press("6")
        text = await until(app, pilot, lambda text: "nothing waits for you" in text)
        assert "runs are started and decided elsewhere" in text
        assert "Start a run" not in text


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_no_text_of_a_model_touches_the_terminal(project: ProjectPaths, size: tuple[int, int]) -> None:
    ask_question(project, f"Is {EVIL} good?", (f"yes {EVIL}", "no"))
    ask_about_call(project, f"echo '{EVIL}'")
    async with console(project, size) as (app, pilot):
        await pilot.press("6")
        await until(app, pilot, lambda text: "2 wait for you" in text)
        for _ in range(2):
            await pilot.press("enter")
            await pilot.pause()
            assert not set(screen_text(app)) & set("\x1b\x07\x9b\u202e\x00")
            await pilot.press("right_square_bracket", "escape")
        await pilot.press("home", "enter", "enter")
        await until(app, pilot, lambda text: "Answer: " in text)
        text = screen_text(app)
        assert "[/bold]" in text
        assert not set(text) & set("\x1b\x07\x9b\u202e\x00")
        await pilot.press("y")
        await until(app, pilot, lambda text: "Answered, signed" in text)
    made = decided(project, QUESTION)
    assert made is not None
    assert made.text.startswith("yes ")


async def test_a_strategys_review_is_approved_by_key_and_applied(project: ProjectPaths) -> None:
    from core.strategy.bank.bank import bank_of
    from core.strategy.bank.releasing import ask_review
    from core.strategy.bank.states import Actor

    bank = bank_of(project)
    (bank.root / "shop").mkdir(parents=True)
    (bank.root / "shop" / "shop.refund.yaml").write_text(
        "schema: strategy/v1\nid: shop.refund\nversion: 1\npurpose: Refund.\ndomain: shop\nowner: team\n"
        "plan: {run: refund}\n"
    )
    bank.publish("shop.refund", Actor("ada", person=True))
    asked = ask_review(project, "shop.refund", 1, Actor("ada", person=True))
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("6")
        text = await until(app, pilot, lambda text: "Approve shop.refund version 1 in review?" in text)
        assert "the bank of strategies" in text
        await pilot.press("a")
        await until(app, pilot, lambda text: "Approve it, so that it is done at once?" in text)
        assert bank.standing("shop.refund", 1).state == "review"
        await pilot.press("y")
        await until(app, pilot, lambda text: "Approved: it is done, signed" in text)
    assert bank.standing("shop.refund", 1).state == "shadow"
    assert decided(project, asked.id) is not None
