"""A model plays, judges and curates: what it is told, how its answers are read, what a lost answer is (K4, K5, K9)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.curation import content_judge, react, self_judgement
from core.curation.arm_building import Workshop
from core.curation.asking import Model, together
from core.curation.content_judge import Judgements, ModelJudge
from core.curation.curators import CurationInput
from core.curation.executors import ModelExecutor, ScriptedExecutor
from core.curation.meter import Budget, BudgetSpentError, Meter
from core.curation.model_curator import ModelCurator
from core.curation.self_judgement import ModelOpinion
from core.curation.stream_spec import StreamSpec
from core.curation.worlds import ContentVerdict, Episode, Step
from core.foundation.errors import UsageError
from core.models.interface import ModelRef, Price, ProviderError, Request, ToolCall
from core.models.openai import OpenAIProvider
from core.skillrepo.operations import TOOLS
from core.state.paths import ProjectPaths
from tests.models.chat_server import DONE, Answer, chat_server, chunk

from .kitchen import Kitchen, skill, task
from .scripted_model import USAGE, Script, overloaded, refused, text_of

ADMISSIBLE = ("look", "go to fridge 1", "take apple 1 from table 2")


def act(action: str) -> str:
    return f"<think>I think.</think>\n<action>{action}</action>"


# ------------------------------------------------------------------------------------------------------- ReAct


@pytest.mark.meets("K4")
@pytest.mark.parametrize(
    ("answer", "action", "coerced"),
    [
        (act("go to fridge 1"), "go to fridge 1", False),
        (act("  Go to\n Fridge 1 "), "go to fridge 1", False),
        (act("go to the fridge 1."), "go to fridge 1", True),
        ("<think><action>look</action></think><action>go to fridge 1</action>", "go to fridge 1", False),
        ("<action>look</action> no: <action>go to fridge 1</action>", "go to fridge 1", False),
        ("<ACTION>go to fridge 1", "go to fridge 1", False),
        (act("fly away"), "look", True),
        ("I would go to fridge 1", "look", True),
        ("<action></action>", "look", True),
        ("<think>go to fridge 1", "look", True),
        ("", "look", True),
    ],
)
def test_an_answer_becomes_an_action(answer: str, action: str, coerced: bool) -> None:
    assert react.choose(answer, ADMISSIBLE) == react.Chosen(action, coerced)


@pytest.mark.parametrize(
    ("answer", "action", "coerced"),
    [
        (act("search[red shoes]"), "search[red shoes]", False),
        ("<think>hm</think>\nI search.\nsearch[red shoes]", "search[red shoes]", True),
        ("", "look", True),
    ],
)
def test_where_any_text_is_legal_the_tag_is_taken(answer: str, action: str, coerced: bool) -> None:
    assert react.choose(answer, ()) == react.Chosen(action, coerced)


@given(st.text(max_size=80), st.lists(st.text(min_size=1, max_size=8), max_size=4))
def test_whatever_is_answered_an_action_is_taken(answer: str, admissible: list[str]) -> None:
    chosen = react.choose(answer, admissible)
    assert chosen.action in admissible if admissible else chosen.action.strip()
    assert "\n" not in chosen.action or chosen.action in admissible


@pytest.mark.meets("K4")
def test_a_turn_shows_the_task_the_last_three_actions_and_what_can_be_done() -> None:
    steps = [Step(f"step {number}", f"saw {number}") for number in range(1, 6)]
    shown = react.turn_text(task(0), "You are in a kitchen. Your task is to: boil the egg.", steps, ADMISSIBLE, 30)
    assert "boil the egg" in shown
    assert "Your task is to" in shown  # a task line at the end of the first observation is never cut off (lesson 6)
    assert "5 of at most 30 actions" in shown
    assert [word for word in ("step 2", "step 3", "step 4", "step 5") if word in shown] == [
        "step 3",
        "step 4",
        "step 5",
    ]
    assert "- take apple 1 from table 2" in shown
    assert "saw 5" in shown


def test_skills_stand_in_the_system_prompt_and_only_if_there_are_any() -> None:
    assert skill("boil").content.strip() in react.system_text(30, [skill("boil")])
    assert "Skills" not in react.system_text(30, [])
    assert "boxed" in react.system_text(1, [])


# ---------------------------------------------------------------------------------------------------- executors


def cook(request: Request) -> str:
    """Follow the skill if there is one, look twice otherwise and then fry."""
    if "boil nothing else" in request.system_prompt:
        return act("boil it")
    return act("look") if "2 of at most" not in text_of(request) else act("fry it")


@pytest.mark.meets("K4")
def test_a_model_plays_a_game_and_everything_is_counted() -> None:
    script = Script(cook)
    executor = ModelExecutor(script.model, seed=3)
    boil, fry = task(0), task(1)
    assert (boil.family, fry.family) == ("boil", "fry")
    episodes = executor.run(Kitchen(), [(boil, (skill("boil"),)), (boil, ()), (fry, ())])
    assert [episode.success for episode in episodes] == [True, False, True]
    assert [episode.steps for episode in episodes] == [1, 3, 3]
    assert [episode.tokens for episode in episodes] == [35, 105, 105]
    assert [step.action for step in episodes[2].trajectory] == ["look", "look", "fry it"]
    assert episodes[2].intro.endswith("fry the mushroom.")
    assert episodes[0].judged is None
    assert script.open == 0
    # Each turn of each task draws by a seed of its own, the same in every run.
    assert len({request.seed for request in script.seen}) >= 4
    assert executor.name == "test/model-1"


def test_an_attempt_ends_at_the_cap_with_its_coerced_actions_counted() -> None:
    script = Script(lambda request: "I am thinking.")
    (episode,) = ModelExecutor(script.model).run(Kitchen(), [(task(0), ())])
    assert (episode.success, episode.steps, episode.coerced) == (False, 5, 5)
    (short,) = ModelExecutor(script.model, max_turns=2).run(Kitchen(), [(task(0), ())])
    assert short.steps == 2


def test_a_request_is_tried_again_and_then_the_attempt_is_lost_and_masked() -> None:
    answers: Iterator[Any] = iter([overloaded(), act("boil it")])
    script = Script(lambda request: next(answers))
    (episode,) = ModelExecutor(script.model).run(Kitchen(), [(task(0), ())])
    assert episode.success is True
    assert script.waits == [2.0]
    script = Script(lambda request: overloaded())
    (episode,) = ModelExecutor(script.model).run(Kitchen(), [(task(0), ())])
    assert episode.success is None
    assert episode.failure == "the provider is overloaded"
    assert script.waits == [2.0, 4.0, 8.0, 16.0, 30.0]


def test_an_error_that_will_not_pass_is_no_lost_attempt() -> None:
    script = Script(lambda request: refused())
    with pytest.raises(ProviderError, match="key was refused"):
        ModelExecutor(script.model).run(Kitchen(), [(task(0), ()), (task(1), ())])
    assert script.waits == []
    assert script.open == 0


def test_tokens_that_nobody_told_are_unknown() -> None:
    (episode,) = ModelExecutor(Script(cook, usage=None).model).run(Kitchen(), [(task(0), (skill("boil"),))])
    assert episode.tokens is None


def test_a_world_of_one_turn_gets_the_whole_answer() -> None:
    script = Script(lambda request: "<think>2 + 2</think>The sum is \\boxed{4}")
    (episode,) = ModelExecutor(script.model).run(Kitchen(max_steps=1), [(task(0), ())])
    assert episode.trajectory[0].action == "The sum is \\boxed{4}"
    assert "Possible actions" not in text_of(script.seen[0])


def test_a_world_that_runs_many_at_once_is_asked_to() -> None:
    class Many(Kitchen):
        def run_many(self, attempts: Any, executor: str) -> list[Episode]:
            return [self.run(of, skills, executor) for of, skills in reversed(attempts)][::-1]

    attempts = [(task(number), ()) for number in range(3)]
    assert ScriptedExecutor("plain").run(Many(), attempts) == ScriptedExecutor("plain").run(Kitchen(), attempts)


async def test_it_plays_through_a_real_server_on_loopback() -> None:
    def answer(body: dict[str, Any]) -> Answer:
        asked = body["messages"][-1]["content"]
        action = "boil it" if "1 of at most" in asked else "look"
        return Answer(pieces=[chunk({"content": act(action)}), chunk({}, "stop"), DONE])

    async with chat_server(of=answer) as server:
        model = Model(ModelRef("custom", "m"), lambda: OpenAIProvider(server.base_url, None))
        (episode,) = await asyncio.to_thread(ModelExecutor(model).run, Kitchen(), [(task(0), ())])
    assert [step.action for step in episode.trajectory] == ["look", "boil it"]
    assert episode.success is True
    assert server.seen[0][1]["messages"][0]["role"] == "system"


def test_where_one_question_fails_the_others_are_ended() -> None:
    script = Script(lambda request: refused())

    async def slow(asker: object) -> None:
        await asyncio.sleep(3600)

    with pytest.raises(ProviderError):
        together(script.model, [lambda asker: asker.ask("s", "u"), slow])
    assert together(script.model, []) == []


# ------------------------------------------------------------------------------------------------ self-judgement

CLAIM = Episode(task(0), False, 1, (Step("fry it", "It is spoilt."),))


@pytest.mark.meets("K5")
@pytest.mark.parametrize(
    ("answer", "judged"),
    [
        ("It is spoilt.\nVERDICT: FAILURE", False),
        ("Done.\n**Verdict: Success**", True),
        ("VERDICT: SUCCESS\nVERDICT: FAILURE", None),
        ("VERDICT: MAYBE", None),
        ("It went well.", None),
    ],
)
def test_an_opinion_is_read_strictly(answer: str, judged: bool | None) -> None:
    script = Script(lambda request: answer)
    (episode,) = ModelOpinion(script.model).judge("kitchen", [CLAIM])
    assert episode.judged is judged
    assert episode.success is False


@pytest.mark.meets("K5")
def test_a_judge_sees_the_trajectory_and_not_the_worlds_verdict() -> None:
    script = Script(lambda request: "VERDICT: SUCCESS")
    lost = Episode(task(1), None, 0, (), failure="gone")
    episodes = ModelOpinion(script.model).judge("household", [CLAIM, lost])
    assert [episode.judged for episode in episodes] == [True, None]
    assert len(script.seen) == 1
    assert "It is spoilt." in text_of(script.seen[0])
    assert "objects" in script.seen[0].system_prompt
    assert self_judgement.question("shop", CLAIM)[0] != self_judgement.question("household", CLAIM)[0]


def test_a_judge_that_does_not_answer_leaves_no_opinion() -> None:
    (episode,) = ModelOpinion(Script(lambda request: overloaded()).model).judge("kitchen", [CLAIM])
    assert episode.judged is None
    with pytest.raises(ProviderError):
        ModelOpinion(Script(lambda request: refused()).model).judge("kitchen", [CLAIM])


# ------------------------------------------------------------------------------------------------- content judge

GOOD = json.dumps({"VALID": True, "ISSUES": [], "EXPLANATION": "fine"})
BAD = json.dumps({"VALID": False, "ISSUES": ["ABSTRACTION"], "EXPLANATION": "names an egg"})


@pytest.mark.meets("K9")
@pytest.mark.parametrize(
    ("answer", "valid"),
    [
        (GOOD, True),
        (BAD, False),
        (f"```json\n{BAD}\n```", False),
        (f"<think>hm</think>\n{GOOD}", True),
        ("", None),
        ("VALID", None),
        (f"Here it is: {GOOD}", None),
        ('{"VALID": "yes", "ISSUES": [], "EXPLANATION": ""}', None),
        ('{"VALID": null, "ISSUES": [], "EXPLANATION": ""}', None),
        ('{"VALID": true, "ISSUES": "none", "EXPLANATION": ""}', None),
        ('{"VALID": true, "ISSUES": [], "EXPLANATION": 3}', None),
        ('{"VALID": true, "ISSUES": []}', None),
        ('{"VALID": true, "ISSUES": [], "EXPLANATION": "", "MORE": 1}', None),
        ('{"VALID": true, "VALID": false, "ISSUES": [], "EXPLANATION": ""}', None),
        ("[]", None),
    ],
)
def test_a_judgement_that_is_not_one_is_unmeasured_and_never_a_zero(answer: str, valid: bool | None) -> None:
    verdict = content_judge.read_verdict(answer)
    assert verdict.valid is valid
    assert valid is not None or "judge's" in verdict.explanation


@pytest.mark.meets("K9")
def test_judgements_are_kept_by_hash_on_disk_and_failures_are_not(tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl"
    script = Script(lambda request: GOOD if "boil" in text_of(request).rpartition("# The skill")[2] else overloaded())
    judge = ModelJudge(script.model, Judgements(path))
    boil, fry = (skill("boil").content, CLAIM), (skill("fry").content, CLAIM)
    first = judge.judge([boil, fry, boil])
    assert [verdict.valid for verdict in first] == [True, None, True]
    assert "did not answer" in first[1].explanation
    asked = len(script.seen)
    again = ModelJudge(script.model, Judgements(path))
    assert again.judge([boil])[0] == ContentVerdict(True, (), "fine")
    assert len(script.seen) == asked
    again.judge([fry])
    assert len(script.seen) > asked
    # Another attempt, another judge, another text: another question.
    keys = {
        content_judge.key_of("a", boil[0], CLAIM),
        content_judge.key_of("b", boil[0], CLAIM),
        content_judge.key_of("a", fry[0], CLAIM),
        content_judge.key_of("a", boil[0], Episode(task(0), True, 0, ())),
    }
    assert len(keys) == 4
    path.write_text(path.read_text() + '{"key": 1}\nnonsense\n{"key": "k", "valid": null}\n')
    assert len(Judgements(path)) == 1


def test_the_judge_is_told_the_four_criteria_and_sees_attempt_and_skill() -> None:
    script = Script(lambda request: GOOD)
    ModelJudge(script.model, Judgements()).judge([(skill("boil").content, CLAIM)])
    (request,) = script.seen
    assert all(criterion in request.system_prompt for criterion in content_judge.CRITERIA)
    assert "It is spoilt." in text_of(request)
    assert skill("boil").body in text_of(request)


# ------------------------------------------------------------------------------------------------ model curators


@pytest.mark.meets("K2")
def test_a_model_curates_by_native_calls_and_by_text() -> None:
    native = ToolCall("c1", "skill_delete", '{"skill_name": "boil"}')
    said = '<tool_call>{"name": "skill_delete", "arguments": {"skill_name": "fry"}}</tool_call>'
    script = Script(lambda request: (said, (native,)))
    (curation,) = ModelCurator(script.model).curate([CurationInput(CLAIM, (skill("boil"),), seed=9)])
    assert [(call.name, call.style) for call in curation.calls] == [
        ("skill_delete", "native"),
        ("skill_delete", "tool_call"),
    ]
    assert (curation.prompt_tokens, curation.answer_tokens) == (30, 5)
    (request,) = script.seen
    assert [tool.name for tool in request.tools] == [tool["name"] for tool in TOOLS]
    assert request.seed == 9
    ModelCurator(script.model, native=False).curate([CurationInput(CLAIM, ())])
    assert script.seen[-1].tools == ()
    assert "new_skill_insert" in script.seen[-1].system_prompt


def test_a_curation_that_is_lost_is_masked_and_a_refused_key_is_raised() -> None:
    (curation,) = ModelCurator(Script(lambda request: overloaded()).model).curate([CurationInput(CLAIM, ())])
    assert curation.failure == "the provider is overloaded"
    assert curation.calls == ()
    with pytest.raises(ProviderError):
        ModelCurator(Script(lambda request: refused()).model).curate([CurationInput(CLAIM, ())])


# ------------------------------------------------------------------------------------------------------- budgets


def test_a_run_asks_nothing_more_once_its_budget_is_used() -> None:
    script = Script(lambda request: act("look"))
    meter = Meter(Budget(tokens=70))
    model = replace(script.model, meter=meter, price=Price(1.0, 1.0, 2.0), parallel=1)
    with pytest.raises(BudgetSpentError, match="70 of 70"):
        ModelExecutor(model).run(Kitchen(), [(task(0), ())])
    assert (len(script.seen), meter.tokens, meter.unknown) == (2, 70, 0)
    assert meter.usd == pytest.approx(2 * (10 + 20 + 2 * 5) / 1e6)
    with pytest.raises(BudgetSpentError, match="USD"):
        ModelExecutor(replace(model, meter=Meter(Budget(usd=1e-9)))).run(Kitchen(), [(task(0), ())])


def test_what_nobody_told_is_unknown_and_not_free() -> None:
    meter = Meter()
    meter.take(None, Price(1.0, 1.0, 1.0))
    meter.take(USAGE, None)
    assert (meter.tokens, meter.usd, meter.unknown) == (35, 0.0, 2)
    failing = ProviderError("cut", status="malformed", usage=USAGE)
    script = Script(lambda request: failing)
    ModelExecutor(replace(script.model, meter=meter)).run(Kitchen(), [(task(0), ())])
    assert meter.tokens == 35 + 6 * 35  # a reply that was no use has its cost all the same


def test_a_world_that_asks_a_real_model_by_itself_is_metered(tmp_path: Path) -> None:
    class Paid(Kitchen):
        model = "acme/one"

        def run_many(self, attempts: Any, executor: str) -> list[Episode]:
            return [replace(self.run(of, skills, executor), tokens=40) for of, skills in attempts]

    project, meter = ProjectPaths(tmp_path), Meter(Budget(tokens=100))
    with pytest.raises(UsageError, match="acme/one, a real model"):
        Workshop(StreamSpec("kitchen"), Paid(), project, meter).executor()
    executor = Workshop(StreamSpec("kitchen", max_tokens=100), Paid(), project, meter).executor()
    executor.run(Paid(), [(task(0), ()), (task(1), ())])
    executor.run(Paid(), [(task(2), ())])
    assert (meter.tokens, meter.unknown) == (120, 3)
    with pytest.raises(BudgetSpentError):
        executor.run(Paid(), [(task(3), ())])
