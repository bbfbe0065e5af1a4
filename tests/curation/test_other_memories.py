"""ReasoningBank and Memp as arms: what they keep, what they give, and that they are rebuilt from their changes (K6)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from core.curation.arms import Arm, Learned, Stream
from core.curation.asking import Model
from core.curation.curators import CurationInput
from core.curation.distilled import DistilledArm
from core.curation.experiences import most_alike
from core.curation.memories import Memory
from core.curation.memp import memp_arm, read_script
from core.curation.reasoning_bank import read_items, reasoning_bank_arm
from core.curation.worlds import Episode, Step
from core.models.interface import ProviderError

from .kitchen import Kitchen, task
from .scripted_model import Script, overloaded, refused, text_of

pytestmark = pytest.mark.meets("K6")
STREAM = Stream(1, Kitchen().stream("test", 1))

ITEMS = """\
<think>why?</think>
# Memory Item 1
## Title
Use the pot
## Description
A pot boils.
## Content
Put the pot on first.
Then wait.

# Memory Item 2
## Title
Look before you cook
## Description
Looking is cheap.
## Content
Look.
"""


def attempt(number: int, judged: bool | None, retrieved: Sequence[Any] = ()) -> CurationInput:
    episode = Episode(task(number), judged, 1, (Step("boil it", "It is done."),), judged=judged)
    return CurationInput(episode, tuple(retrieved))


def learn(arm: Arm, memory: Memory, given: CurationInput) -> Learned:
    with arm.working():
        (learned,) = arm.learn([(memory, given)])
    if learned.change is not None:
        memory.take(json.loads(json.dumps(learned.change)))
    return learned


def rebuilt(arm: Arm, changes: Sequence[Mapping[str, Any]]) -> Memory:
    memory = arm.memory(STREAM)
    for change in changes:
        memory.take(change)
    return memory


def test_experiences_are_found_by_the_words_of_their_tasks() -> None:
    assert most_alike(["boil the egg", "fry the leek", "boil the leek"], "boil an egg", 2) == (0, 2)
    assert most_alike([], "boil", 3) == ()
    assert most_alike(["fry"], "boil", 3) == ()


def test_reasoningbank_appends_items_of_successes_and_failures_and_gives_those_of_the_nearest_one() -> None:
    script = Script(lambda request: ITEMS if "succeeded" in request.system_prompt else ITEMS.replace("pot", "pan"))
    arm = reasoning_bank_arm(script.model)
    memory = arm.memory(STREAM)
    won, failed = learn(arm, memory, attempt(0, True)), learn(arm, memory, attempt(1, False))
    assert "failed" in script.seen[1].system_prompt
    assert won.prompt_tokens == 30
    titles = [skill.title for skill in memory.skills]
    assert titles == ["Use the pot", "Look before you cook", "Use the pan", "Look before you cook"]
    given = memory.find(0, task(0))  # one experience, k = 1
    assert [skill.title for skill in given] == ["Use the pot", "Look before you cook"]
    assert "Put the pot on first.\nThen wait." in given[0].content
    assert won.change is not None
    assert failed.change is not None
    assert rebuilt(arm, [won.change, failed.change]).skills == memory.skills


def test_reasoningbank_takes_three_items_at_most_and_nothing_that_is_none() -> None:
    many = "\n".join(
        ITEMS.partition("</think>\n")[2].replace("# Memory Item 1", f"# Memory Item {n}") for n in range(3)
    )
    assert len(read_items(many)) == 3
    assert read_items("Use the pot.") == ()
    assert read_items("# Memory Item 1\n## Title\n\n## Content\nx") == ()
    script = Script(lambda request: "Use the pot.")
    arm = reasoning_bank_arm(script.model)
    learned = learn(arm, arm.memory(STREAM), attempt(0, True))
    assert learned.change is None
    assert learned.failure == "the answer holds no memory item"


def test_memp_stores_successes_as_trajectory_and_script() -> None:
    script = Script(lambda request: "1. Take the pot.\n2. Boil it.")
    arm = memp_arm(script.model)
    memory = arm.memory(STREAM)
    learned = learn(arm, memory, attempt(0, True))
    (skill,) = memory.find(5, task(0))
    assert "Take the pot." in skill.content
    assert "Action: boil it" in skill.content
    assert learned.change is not None
    assert rebuilt(arm, [learned.change]).skills == memory.skills


def test_memp_revises_in_place_the_memory_that_a_failure_used() -> None:
    script = Script(lambda request: "1. Corrected." if "repair" in request.system_prompt else "1. First.")
    arm = memp_arm(script.model)
    memory = arm.memory(STREAM)
    changes = [learn(arm, memory, attempt(0, True)).change, learn(arm, memory, attempt(2, True)).change]
    used = memory.find(1, task(0))
    learned = learn(arm, memory, attempt(0, False, used))
    assert "First." in text_of(script.seen[-1])
    assert len(memory.skills) == 2
    assert sum("Corrected." in skill.content for skill in memory.skills) == 1
    assert "Corrected." in memory.find(1, task(0))[0].content
    kept = [change for change in (*changes, learned.change) if change is not None]
    assert rebuilt(arm, kept).skills == memory.skills
    with pytest.raises(ValueError, match="no procedure 7"):
        memory.take({"revise": 7, "script": "1. x"})


def test_memp_learns_nothing_from_a_failure_without_a_memory_to_blame() -> None:
    script = Script(lambda request: "1. x")
    arm = memp_arm(script.model)
    assert learn(arm, arm.memory(STREAM), attempt(0, False)) == Learned(None)
    assert script.seen == []
    assert read_script("Be careful.") == ""


@pytest.mark.parametrize("kind", [reasoning_bank_arm, memp_arm])
def test_what_is_lost_or_unjudged_is_said_and_changes_nothing(kind: Callable[[Model], DistilledArm]) -> None:
    arm = kind(Script(lambda request: overloaded()).model)
    assert learn(arm, arm.memory(STREAM), attempt(0, True)).failure == "the provider is overloaded"
    assert learn(arm, arm.memory(STREAM), attempt(0, None)).failure == "nobody judged the attempt"
    with pytest.raises(ProviderError):
        learn(kind(Script(lambda request: refused()).model), arm.memory(STREAM), attempt(0, True))


@pytest.mark.parametrize("kind", [reasoning_bank_arm, memp_arm])
def test_what_a_model_wrote_cannot_reach_a_terminal_raw(kind: Callable[[Model], DistilledArm]) -> None:
    text = ITEMS.replace("Use the pot", "Use \x1b[2J").replace("Then wait.", "\x1b]0;x\x07") + "1. \x1b[2J\n"
    arm = kind(Script(lambda request: text).model)
    memory = arm.memory(STREAM)
    given = attempt(0, True)
    episode = replace(given.episode, trajectory=(Step("a\x1b[2J", "b"),))
    learn(arm, memory, replace(given, episode=episode))
    assert memory.skills
    assert not any("\x1b" in skill.content or "\x1b" in skill.title for skill in memory.skills)
