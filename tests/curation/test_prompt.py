"""The prompt of every model curator: it says what CURATION 1.1 lists, and it is really there (lesson 5)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import skills
from core.curation import prompt
from core.curation.curators import CurationInput
from core.curation.worlds import Episode, Step, Task
from core.skillrepo.document import read_curated, read_skill
from core.skillrepo.operations import TOOLS
from core.skillrepo.skill import Skill, write

TASK = Task("t-1", "heat", "Put a hot apple in the fridge.", "test", 7)


def episode(steps: int = 2, judged: bool | None = True, width: int = 10) -> Episode:
    trajectory = tuple(Step(f"act {number}", "x" * width) for number in range(1, steps + 1))
    return Episode(TASK, True, steps, trajectory, intro="You are in a room.", judged=judged)


def skill(title: str = "heat-then-place") -> Skill:
    return write(title, "Use to heat a thing.", "# Workflow\n1. Take it.")


@pytest.mark.meets("K2")
def test_the_four_blocks_stand_in_their_order() -> None:
    _, user = prompt.messages(CurationInput(episode(), (skill(), skill("second"))))
    assert [line[2:] for line in user.splitlines() if line.startswith("# ") and line[2:] in prompt.HEADINGS] == list(
        prompt.HEADINGS
    )
    assert TASK.text in user
    assert '<skill name="heat-then-place">' in user
    assert "You are in a room." in user
    assert "[2] Action: act 2" in user
    assert "judged a success" in user


def test_the_instructions_and_the_tools_are_in_the_prompt() -> None:
    system, _ = prompt.messages(CurationInput(episode(), ()))
    for word in ("Analyse", "extract", "locate the failure", "Compare", "Abstract", "Faithful", "When NOT to use"):
        assert word in system
    for tool in TOOLS:
        assert json.dumps(tool, ensure_ascii=False) in system
    assert "<tool_call>" in system
    native, _ = prompt.messages(CurationInput(episode(), ()), native=True)
    assert native == prompt.instructions()
    assert json.dumps(TOOLS[0]) not in native


def test_the_example_in_the_instructions_is_a_skill_that_the_store_takes() -> None:
    lines = prompt.instructions().splitlines()
    start = next(number for number, line in enumerate(lines) if line == "    ---")
    end = next(number for number, line in enumerate(lines) if line.startswith("`name` in the head"))
    document = read_curated("\n".join(line[4:] for line in lines[start:end]))
    assert document.valid
    assert document.name == "the-name-of-the-skill"


@pytest.mark.parametrize(
    ("judged", "words"), [(True, "a success"), (False, "a failure"), (None, "nobody judged this attempt")]
)
def test_a_result_nobody_judged_is_no_failure(judged: bool | None, words: str) -> None:
    _, user = prompt.messages(CurationInput(episode(judged=judged), ()))
    assert words in user
    assert "None was found" in user


def test_the_worlds_own_verdict_is_not_in_the_prompt() -> None:
    # K5: the attempt failed, its executor believes otherwise, and the curator sees the belief.
    failed = Episode(TASK, False, 1, (Step("look", "a room"),), judged=True, score=0.25)
    _, user = prompt.messages(CurationInput(failed, ()))
    assert "judged a success" in user
    assert "0.25" not in user
    assert "fail" not in user


def test_a_long_trajectory_is_cut_in_the_middle_in_whole_steps_and_says_so() -> None:
    text = prompt.trajectory_text(episode(steps=100, width=300), limit=5_000)
    assert len(text) < 5_600
    assert "[1] Action: act 1\n" in text
    assert "[100] Action: act 100\n" in text
    kept = text.count("Action:")
    assert f"[... {100 - kept} steps are left out here ...]" in text
    assert kept >= 10
    short = prompt.trajectory_text(episode(steps=3), limit=5_000)
    assert "left out" not in short


def test_one_huge_observation_does_not_push_the_rest_out() -> None:
    steps = (Step("open", "y" * 100_000), Step("close", "It is shut."))
    text = prompt.trajectory_text(Episode(TASK, True, 2, steps, judged=True))
    assert len(text) < 3_000
    assert "98000 characters are left out" in text
    assert "It is shut." in text


def test_actions_that_were_not_its_own_are_marked() -> None:
    text = prompt.trajectory_text(Episode(TASK, False, 1, (Step("look", "a room", coerced=True),)))
    assert "not its own words" in text
    assert prompt.trajectory_text(Episode(TASK, False, 0, ())) == "No action was taken."


def test_the_instructions_are_a_curated_skill_of_the_library() -> None:
    document = read_skill(Path(skills.__file__).parent / "skill-curation")
    assert document.valid
    assert document.dialect == "curated"
    assert document.body.strip() == prompt.instructions().strip()
