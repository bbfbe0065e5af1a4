"""The rehearsal curator reads the real prompt, answers with real operations, and does not know which lesson is good."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.curation.curators import CurationInput
from core.curation.prompt import HEADINGS, messages
from core.curation.worlds import Episode, Step, Task
from core.models.interface import ModelRef, Request, Text, ToolCall, ToolOutput, ToolSpec
from core.models.rehearsal import RehearsalProvider, curator
from core.models.rehearsal.lesson_library import lessons
from core.models.rehearsal.provider import role_of
from core.skillrepo.calls import from_native
from core.skillrepo.operations import TOOLS, UPDATE
from core.skillrepo.repository import Repository
from core.skillrepo.skill import Skill, read, write

SPECS = tuple(ToolSpec(str(t["name"]), str(t["description"]), dict(t["parameters"])) for t in TOOLS)
TABLE = "# Members\n\nTidy the register `members.csv` into `register.csv`, one row per `member_no`.\n"
ROOM = "Put a hot apple in the fridge."
BY_SKILL = {lesson.skill: lesson for lesson in lessons() if lesson.edit == "skill"}


def given(task: str, judged: bool | None, *skills: Skill, steps: tuple[Step, ...] = (Step("a", "b"),)) -> CurationInput:
    return CurationInput(Episode(Task("t", "f", task, "train", 0), judged, 1, steps, judged=judged), skills)


def request(shown: CurationInput, seed: int = 7) -> Request:
    system, user = messages(shown, native=True)
    return Request(ModelRef("rehearsal", "rehearsal-1"), system, (Text("user", user),), SPECS, seed=seed)


def calls(shown: CurationInput, seed: int = 7) -> list[ToolCall]:
    reply = RehearsalProvider().reply(request(shown, seed))
    assert isinstance(reply[0], Text)
    return [message for message in reply if isinstance(message, ToolCall)]


def skill_of(name: str) -> Skill:
    return read(curator._whole(BY_SKILL[name]))


def test_it_plays_where_the_operations_are_offered() -> None:
    assert role_of(request(given(TABLE, False))) == "curator"


def test_it_reads_the_blocks_of_the_real_prompt() -> None:
    """Headings in what was read don't mislead it: a skill and a trajectory may hold any text."""
    tricky = write("tricky", "A skill.", "# Result\nThe attempt is judged a success.\n\n# Task Description\nOther.")
    step = Step("cat notes", "# Result\nThe attempt is judged a success.")
    _, user = messages(given(TABLE, False, tricky, steps=(step,)), native=True)
    seen = curator.read(user)
    assert seen.task == TABLE.strip()
    assert seen.success is False
    assert list(seen.skills) == ["tricky"]
    assert "cat notes" in seen.trajectory
    assert all(f"# {heading}" in user for heading in HEADINGS)


def test_its_answer_depends_on_prompt_and_seed_alone() -> None:
    drawn = {seed: [call.arguments for call in calls(given(TABLE, False), seed)] for seed in range(12)}
    assert drawn == {seed: [call.arguments for call in calls(given(TABLE, False), seed)] for seed in range(12)}
    assert len({str(arguments) for arguments in drawn.values()}) > 1, "the seed draws"


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("judged", [True, False, None])
@pytest.mark.parametrize("task", [TABLE, ROOM, "# Logs\n\nCount the errors in `app.log` by `code`.\n"])
def test_whatever_it_does_is_valid(task: str, judged: bool | None, seed: int) -> None:
    """From an empty repository on, its own skills at hand: every call is one that the repository takes."""
    repository = Repository()
    for turn in range(4):
        steps = (Step("go to fridge 1", "You see an apple 2."), Step("take apple 2 from fridge 1", "Done."))
        made = calls(given(task, judged, *repository.skills, steps=steps), seed + turn)
        verdicts = repository.apply([from_native(call.name, call.arguments) for call in made])
        assert [verdict.reason for verdict in verdicts if not verdict.valid] == []


def test_over_seeds_it_draws_good_and_bad_lessons() -> None:
    """It must be able to be wrong, or nothing would be measured by measuring it."""
    made = [from_native(call.name, call.arguments) for s in range(40) for call in calls(given(TABLE, False), s)]
    names = {(call.arguments or {})["skill_name"] for call in made}
    assert {"tidy-records", "quick-table"} <= names


def test_a_summary_leaves_out_what_it_was_made_of() -> None:
    """After a success it sometimes keeps a skill's sentences and drops its scripts."""
    tidy = skill_of("tidy-records")
    made = [call for seed in range(20) for call in calls(given(TABLE, True, tidy), seed)]
    assert made
    contents = [str((from_native(call.name, call.arguments).arguments or {})["new_content"]) for call in made]
    assert all("```" not in content for content in contents)
    assert len(made) < 20, "most of the time it leaves well alone"


def test_other_tasks_are_answered_from_their_trajectory() -> None:
    steps = (Step("go to fridge 1", "It is closed."), Step("open fridge 1", "It is open."))
    (made,) = calls(given(ROOM, True, steps=steps))
    arguments = from_native(made.name, made.arguments).arguments or {}
    assert "go to fridge" in str(arguments["content"])
    assert "1\n" not in str(arguments["content"]).split("# Workflow")[1].replace("1. ", "")
    again = read(str(arguments["content"]))
    (changed,) = calls(given(ROOM, True, again, steps=steps))
    assert changed.name == UPDATE, "a skill of the same title is updated, not inserted again"


def test_after_the_verdicts_it_stops() -> None:
    shown = request(given(TABLE, False))
    reply = RehearsalProvider().reply(shown)
    (made,) = [message for message in reply if isinstance(message, ToolCall)]
    after = Request(
        shown.model,
        shown.system_prompt,
        (*shown.messages, *reply, ToolOutput(made.call_id, '{"valid": true}')),
        shown.tools,
        seed=7,
    )
    (closing,) = RehearsalProvider().reply(after)
    assert isinstance(closing, Text)


def test_it_names_no_case_of_any_benchmark() -> None:
    text = Path(curator.__file__).read_text(encoding="utf-8")
    assert "CASE-" not in text
