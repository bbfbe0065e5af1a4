"""The household as a game: ALFWorld's words and rules, and that every task can be solved."""

from __future__ import annotations

import pytest

from core.curation.worlds import Game, Task
from trainer.worlds.household import Household
from trainer.worlds.household.conduct import Luck
from trainer.worlds.household.constants import CONSTANTS
from trainer.worlds.household.executor import attempt
from trainer.worlds.household.game_body import GameBody
from trainer.worlds.household.reading import read_skill
from trainer.worlds.household.tasks import layout_of, make_task
from trainer.worlds.household.things import FAMILIES, OPENABLE, TOOLS, kind

WORLD = Household()


def plan(task: Task) -> list[str]:
    """What someone who knows where everything is does."""
    layout = layout_of(task)
    goal = layout.goal
    where = {thing: place for place, inside in layout.contents.items() for thing in inside}
    wanted = [thing for thing in where if kind(thing) == goal.object][: goal.count]
    end = next((place for place in layout.places if kind(place) == goal.place), where.get("desklamp 1", ""))
    actions: list[str] = []
    here = ""
    opened: set[str] = set()

    def go(place: str) -> None:
        nonlocal here
        if place != here:
            actions.append(f"go to {place}")
            here = place

    for thing in wanted:
        go(where[thing])
        if kind(here) in OPENABLE and here not in opened:
            actions.append(f"open {here}")
            opened.add(here)
        actions.append(f"take {thing} from {here}")
        if goal.family in TOOLS:
            go(next(place for place in layout.places if kind(place) == TOOLS[goal.family]))
            actions.append(f"{goal.family} {thing} with {here}")
        go(end)
        if goal.family == "look":
            return [*actions, "use desklamp 1"]
        if kind(here) in OPENABLE and here not in opened:
            actions.append(f"open {here}")
            opened.add(here)
        actions.append(f"move {thing} to {here}")
    return actions


@pytest.mark.parametrize("family", FAMILIES)
def test_every_task_is_solved_by_who_knows_the_room(family: str) -> None:
    for split in ("train", "test"):
        for seed in range(60):
            task = make_task(family, split, seed)
            game = WORLD.play(task)
            actions = plan(task)
            assert len(actions) < WORLD.max_steps // 2
            for action in actions:
                assert not game.done
                assert action in game.admissible
                assert game.step(action) != "Nothing happens."
            assert game.won
            assert game.done


def kitchen(family: str) -> tuple[Task, Game]:
    task = next(
        task for task in (make_task(family, "train", seed) for seed in range(99)) if task.data["room"] == "kitchen"
    )
    return task, WORLD.play(task)


def test_it_speaks_alfworlds_words() -> None:
    task, game = kitchen("clean")
    assert game.intro.startswith(
        "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly"
    )
    assert game.intro.endswith(f"\n\nYour task is to: {task.text}.")
    assert game.step("go to fridge 1") == "You arrive at fridge 1. The fridge 1 is closed."
    assert game.step("open fridge 1").startswith("You open the fridge 1. The fridge 1 is open. In it, you see ")
    assert game.step("close fridge 1") == "You close the fridge 1."
    assert game.step("look") == "You are facing the fridge 1. Next to it, you see nothing."
    assert game.step("inventory") == "You are not carrying anything."
    assert game.step("go to fridge 1") == "Nothing happens."
    assert game.step("juggle") == "Nothing happens."
    layout = layout_of(task)
    place, inside = next(
        (place, inside) for place, inside in layout.contents.items() if inside and kind(place) not in OPENABLE
    )
    thing = inside[0]
    arrival = game.step(f"go to {place}")
    assert arrival.startswith(f"You arrive at {place}. On the {place}, you see a {thing}")
    assert game.step(f"take {thing} from {place}") == f"You pick up the {thing} from the {place}."
    assert game.step("inventory") == f"You are carrying: a {thing}."
    assert game.step(f"examine {thing}") == f"There's nothing special about {thing}."
    assert game.step(f"put {thing} in/on {place}") == f"You move the {thing} to the {place}."
    assert "go to (receptacle)" in game.step("help")


def test_an_illegal_action_costs_a_step_and_changes_nothing() -> None:
    _, game = kitchen("heat")
    before = game.admissible
    for _ in range(WORLD.max_steps):
        assert not game.done
        assert game.step("open fridge 1") == "Nothing happens."  # nobody stands there
        assert game.admissible == before
    assert game.done
    assert not game.won


def test_heat_and_cool_undo_each_other() -> None:
    task, game = kitchen("heat")
    actions = plan(task)
    at = next(number for number, action in enumerate(actions) if action.startswith("heat "))
    for action in actions[: at + 1]:
        game.step(action)
    thing = actions[at].split(" with ")[0].removeprefix("heat ")
    assert game.step(f"examine {thing}") == f"This is a hot {thing}."
    game.step("go to fridge 1")
    assert game.step(f"cool {thing} with fridge 1") == f"You cool the {thing} using the fridge 1."
    assert game.step(f"examine {thing}") == f"This is a cold {thing}."
    for action in actions[at + 1 :]:
        game.step(action)
    assert not game.won


def test_an_executor_does_the_same_through_the_words_as_in_the_room() -> None:
    """The seam for real engines: what the executor may know is what can be read."""
    readings = [read_skill(skill) for skill in WORLD.oracle()]
    for task in WORLD.stream("test", 11, 60):
        for given in ((), WORLD.oracle()):
            for name in WORLD.executors:
                episode = WORLD.run(task, given, name)
                game = WORLD.play(task)
                body = GameBody(game, WORLD.max_steps)
                attempt(body, readings if given else (), CONSTANTS.executors[name], Luck.of(task.seed))
                assert tuple(body.steps) == episode.trajectory
                assert game.won is episode.success
