"""The real ALFWorld engine: household trajectories replayed in it, its own games, and what happens when it is lost."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.curation.worlds import Episode, Split, Task
from core.foundation.errors import UsageError
from core.skillrepo.skill import Skill
from tests.trainer.worlds.real_alfworld import real_world
from trainer.worlds.alfworld import AlfWorld, files
from trainer.worlds.alfworld.engine_process import ANSWER_WITHIN_S, EngineLostError, EngineProcess, interpreter
from trainer.worlds.alfworld.games import EngineGame
from trainer.worlds.alfworld.problem import GOALS, Wheel, game
from trainer.worlds.alfworld.rooms import plans_of
from trainer.worlds.household import Household
from trainer.worlds.household.tasks import layout_of
from trainer.worlds.household.things import CAN, LIES_ON, OPENABLE, TOOLS, kind

HOUSEHOLD = Household()
WHEEL = Wheel(
    version="made",
    domain="(domain)",
    grammar='"rhs": "Your task is to: UNKNOWN GOAL."',
    goals={
        "pick_clean_then_place_in_recep": {
            "pddl": "(:goal (exists (?o # object) (objectType ?o {obj}Type) (receptacleType ?r {recep}Type))) )",
            "templates": ["put a clean {obj} in {recep}"],
        }
    },
    holds={"SinkBasin": frozenset({"Mug"}), "Shelf": frozenset({"Mug"}), "Cabinet": frozenset()},
    can={"Cleanable": frozenset({"Mug"}), "Heatable": frozenset({"Mug"}), "Coolable": frozenset(),
         "Toggleable": frozenset({"DeskLamp"}), "Sliceable": frozenset()},
    openable=frozenset({"Cabinet"}),
    kinds={"mug": "Mug", "sinkbasin": "SinkBasin", "shelf": "Shelf", "cabinet": "Cabinet", "desklamp": "DeskLamp"},
    plans={},
)  # fmt: skip
CONTENTS = {"cabinet 2": [], "cabinet 1": ["mug 2"], "shelf 1": ["mug 1", "desklamp 1"], "sinkbasin 1": []}


def test_a_room_becomes_a_problem_whose_ids_give_the_rooms_names_back() -> None:
    made = game("clean", "mug", "shelf", "put a clean mug in shelf", CONTENTS, WHEEL)
    problem = made["pddl_problem"]
    assert "Sink_bar__00_bar_SinkBasin" in problem  # ALFRED's form: the engine calls it "sinkbasin"
    assert "SinkBasin_bar" not in problem
    # The engine gives the last id of a kind number 1.
    assert "(inReceptacle Mug_bar__00 Cabinet_bar__01)" in problem  # mug 2 in cabinet 1
    assert "(inReceptacle Mug_bar__01 Shelf_bar__00)" in problem
    assert problem.count("(openable ") == 2
    assert "(pickupable DeskLamp_bar__00)" not in problem
    assert "(toggleable DeskLamp_bar__00)" in problem
    assert "(canContain CabinetType MugType)" not in problem
    assert "(canContain ShelfType MugType)" in problem
    assert problem.count("(") == problem.count(")")
    assert made["grammar"] == '"rhs": "Your task is to: put a clean mug in shelf."'


def test_a_room_that_the_engine_could_not_name_is_refused() -> None:
    with pytest.raises(UsageError, match="numbered from 1 without a gap"):
        game("clean", "mug", "shelf", "put", {"shelf 1": ["mug 2"]}, WHEEL)
    with pytest.raises(UsageError, match="knows no 'anvil'"):
        game("clean", "mug", "shelf", "put", {"shelf 1": ["anvil 1"]}, WHEEL)


def made_download(root: Path) -> Path:
    """Write games in the shape of ALFWorld's download."""
    for split, name in (
        ("train", "pick_and_place_simple-Mug-None-Shelf-1/trial_T1"),
        ("train", "pick_clean_then_place_in_recep-Mug-None-Shelf-2/trial_T2"),
        ("train", "pick_and_place_with_movable_recep-Mug-Bowl-Shelf-2/trial_T3"),
        ("valid_seen", "pick_and_place_simple-Mug-None-Shelf-3/trial_T4"),
        ("valid_unseen", "pick_and_place_simple-Mug-None-Shelf-4/trial_T5"),
    ):
        folder = root / split / name
        folder.mkdir(parents=True)
        made = game("clean", "mug", "shelf", f"put a mug on shelf {split}", CONTENTS, WHEEL)
        (folder / "game.tw-pddl").write_text(json.dumps(made), "utf-8")
    return root


def test_alfworlds_own_games_load_by_path(tmp_path: Path) -> None:
    root = made_download(tmp_path)
    train = files.stream(root, "train", 1, None)
    assert sorted(task.family for task in train) == ["clean", "pick"]  # the seventh kind of goal isn't in ALFWorld
    assert {task.text for task in train} == {"put a mug on shelf train"}
    assert len(files.stream(root, "test", 1, None)) == 2
    assert files.stream(root, "train", 1, None) == train
    assert [task.family for task in files.group(root, "test", 2, 3, "pick")] == ["pick"] * 3
    assert all(Path(task.data["path"]).is_file() for task in train)


def test_what_is_missing_by_path_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no games of ALFWorld's for train: looked at .*/train/\*/\*/game.tw-pddl"):
        files.stream(tmp_path, "train", 1, None)
    root = made_download(tmp_path)
    with pytest.raises(UsageError, match="has 2 games for train, 9 were asked for"):
        files.stream(root, "train", 1, 9)
    with pytest.raises(UsageError, match="no games of the family 'heat' for train"):
        files.group(root, "train", 1, 2, "heat")
    broken = next(root.glob("train/pick_and_place_simple*/*/game.tw-pddl"))
    broken.write_text('{"grammar": 3}', "utf-8")
    with pytest.raises(UsageError, match="is not a game of ALFWorld's"):
        files.stream(root, "train", 1, None)


def made_engine(tmp_path: Path, body: str) -> str:
    """Return an interpreter that runs `body` in place of the engine."""
    script = tmp_path / "python"
    script.write_text(f"#!{sys.executable}\nimport json, sys, time\n{body}\n", "utf-8")
    script.chmod(0o755)
    return str(script)


def test_a_lost_engine_masks_the_attempt_and_the_next_one_gets_a_new_engine(tmp_path: Path) -> None:
    flag = tmp_path / "died"
    python = made_engine(
        tmp_path,
        "import pathlib\n"
        f"flag = pathlib.Path({str(flag)!r})\n"
        "intro = 'Looking quickly around you, you see a shelf 1, and a desk 1. Your task is to: put a mug in desk.'\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    if asked['do'] == 'step' and not flag.exists():\n"
        "        flag.touch(); sys.stderr.write('planner crashed\\n'); sys.exit(3)\n"
        "    text = intro if asked['do'] == 'open' else 'Nothing happens.'\n"
        "    print(json.dumps({'text': text, 'admissible': [], 'won': False}), flush=True)\n",
    )
    task = Task("made", "pick", "put a mug in desk", "test", 1, None, {"path": "made.tw-pddl"})
    world = AlfWorld(python)
    lost, played = world.run(task, (), "weak"), world.run(task, (), "weak")
    assert (lost.success, lost.judged) == (None, None)
    assert "planner crashed" in lost.failure
    assert played.success is False
    assert played.steps == len(played.trajectory) > 0
    world.close()


def test_a_silent_engine_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ANSWER_WITHIN_S > 60
    monkeypatch.setattr("trainer.worlds.alfworld.engine_process.ANSWER_WITHIN_S", 0.3)
    engine = EngineProcess(made_engine(tmp_path, "time.sleep(60)"))
    with pytest.raises(EngineLostError, match="fell silent"):
        engine.ask("facts")


def test_what_the_engine_refuses_is_told(tmp_path: Path) -> None:
    engine = EngineProcess(made_engine(tmp_path, "sys.stdin.readline(); print(json.dumps({'error': 'no such game'}))"))
    with pytest.raises(UsageError, match="no such game"):
        engine.ask("open", path="x")
    engine.close()


def test_without_an_engine_the_world_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXUVIA_ALFWORLD_PYTHON", "/nowhere/python")
    with pytest.raises(UsageError, match="can't be run") as caught:
        interpreter()
    assert "EXUVIA_ALFWORLD_PYTHON" in caught.value.hint


# With the real engine -------------------------------------------------------------------------------------------------


def replayed(world: AlfWorld, episode: Episode) -> tuple[bool, int]:
    """Replay a household Episode in the real engine: what `won` is there, and how many texts differ."""
    layout = layout_of(episode.task)
    goal = layout.goal
    made = game(episode.task.family, goal.object, goal.place, episode.task.text, layout.contents, world.wheel)
    played = EngineGame(world._engine(), made, world.max_steps)
    differ = int(played.intro.strip() != episode.intro.strip())
    for step in episode.trajectory:
        differ += played.step(step.action).strip() != step.observation.strip()
    return played.won, differ


def parity(world: AlfWorld, count: int) -> tuple[int, int, int, int]:
    """Return tasks, agreements on `won`, texts and differing texts, over every family, with and without skills."""
    tasks = agree = texts = differ = 0
    helped: Sequence[Sequence[Skill]] = [(), HOUSEHOLD.oracle(), HOUSEHOLD.oracle()[::-1]]
    splits: tuple[Split, ...] = ("train", "test")
    for family in HOUSEHOLD.families:
        drawn = [task for split in splits for task in HOUSEHOLD.group(split, 77, count // 2, family)]
        for at, task in enumerate(drawn):
            episode = HOUSEHOLD.run(task, helped[at % 3], HOUSEHOLD.executors[at % 3])
            won, different = replayed(world, episode)
            tasks, texts = tasks + 1, texts + episode.steps + 1
            agree, differ = agree + (won == episode.success), differ + different
    return tasks, agree, texts, differ


def test_household_trajectories_win_in_the_real_engine_exactly_where_they_win_here() -> None:
    tasks, agree, texts, differ = parity(real_world(), 2)
    assert (tasks, agree) == (12, 12)
    assert differ == 0, f"{differ} of {texts} texts differ"


@pytest.mark.soak
def test_parity_over_a_dozen_tasks_of_every_family() -> None:
    tasks, agree, texts, differ = parity(real_world(), 12)
    assert (tasks, agree) == (72, 72)
    assert differ == 0, f"{differ} of {texts} texts differ"


def test_the_households_tables_are_those_of_the_wheel() -> None:
    wheel = real_world().wheel
    for thing, places in LIES_ON.items():
        for place in places:
            assert wheel.spelled(thing) in wheel.holds[wheel.spelled(place)], (thing, place)
    for verb, action in (("clean", "Cleanable"), ("heat", "Heatable"), ("cool", "Coolable")):
        assert {wheel.spelled(thing) for thing in CAN[verb]} <= wheel.can[action]
    assert {wheel.spelled(place) for place in OPENABLE} <= wheel.openable


def solved(world: AlfWorld, task: Task) -> bool:
    """Solve a task as someone who knows where everything lies."""
    layout, played = layout_of(task), world.play(task)
    goal = layout.goal
    places = [place for place, inside in layout.contents.items() for thing in inside if kind(thing) == goal.object]

    def reach(place: str) -> None:
        if f"open {place}" in [played.step(f"go to {place}"), *played.admissible]:
            played.step(f"open {place}")

    wanted = [
        (thing, place)
        for place, inside in layout.contents.items()
        for thing in inside
        if kind(thing) == goal.object and kind(place) != goal.place
    ]
    assert places
    end = next((place for place in layout.places if kind(place) == goal.place), "")
    for thing, place in wanted[: goal.count]:
        reach(place)
        played.step(f"take {thing} from {place}")
        if goal.family in TOOLS:
            tool = next(place for place in layout.places if kind(place) == TOOLS[goal.family])
            played.step(f"go to {tool}")
            played.step(f"{goal.family} {thing} with {tool}")
        if goal.family == "look":
            reach(next(place for place, inside in layout.contents.items() if "desklamp 1" in inside))
            played.step("use desklamp 1")
        else:
            reach(end)
            played.step(f"move {thing} to {end}")
    return played.won


def test_every_family_of_generated_games_can_be_solved_in_the_real_engine() -> None:
    world = real_world()
    for family in world.families:
        for task in world.group("test", 3, 2, family):
            assert task.family == family
            assert solved(world, task), task.id


def test_train_and_test_rooms_are_alfreds_own_split_of_the_floor_plans() -> None:
    world = real_world()
    for family in world.families:
        train, test = plans_of("train", family, world.wheel), plans_of("test", family, world.wheel)
        assert not set(train) & set(test)
        assert len(train) == 4 * len(test)
    assert world.stream("test", 1, 6) == world.stream("test", 1, 6)


@pytest.mark.meets("K6")
def test_skills_help_the_households_executor_in_the_real_engine() -> None:
    world = real_world()
    tasks = world.group("test", 8, 4, "clean")
    skill = [skill for skill in world.oracle() if "clean" in skill.title.lower()]
    none = [world.run(task, (), "weak") for task in tasks]
    oracle = [world.run(task, skill, "weak") for task in tasks]
    assert all(episode.success is not None for episode in (*none, *oracle))
    assert sum(bool(e.success) for e in oracle) > sum(bool(e.success) for e in none)
    assert world.run(tasks[0], skill, "weak") == oracle[0]


def test_a_model_plays_two_games_at_once(tmp_path: Path) -> None:
    world = real_world()
    first, second = (world.play(task) for task in world.group("test", 8, 2, "pick"))
    walk = next(action for action in first.admissible if action.startswith("go to"))
    assert first.step(walk).startswith("You arrive")
    assert second.step("dance wildly") == "Nothing happens."
    assert not first.done
    assert "Your task is to:" in second.intro


def test_remembered_parses_change_no_word_of_the_engine() -> None:
    world = real_world()
    task = world.group("test", 9, 1, "two")[0]
    made = world._data(task)
    seen = []
    for options in ([], ["--plain"]):
        engine = EngineProcess(world._python, options)
        texts = [dict(engine.ask("open", game=made))]
        for at in range(12):
            admissible = texts[-1]["admissible"]
            texts.append(dict(engine.ask("step", action=admissible[at * 5 % len(admissible)])))
        engine.close()
        seen.append(texts)
    assert seen[0] == seen[1]
    assert GOALS[task.family] == "pick_two_obj_and_place"


def test_a_tiny_policy_for_the_household_may_curate_the_real_games() -> None:
    pytest.importorskip("torch", reason="only the trainer extra brings it; make test installs that")
    from trainer.policies import tiny

    policy = tiny.make("household", seed=0, max_prompt=96, max_answer=24)
    assert policy.refuses("alfworld") == policy.refuses("household") == ""
    assert "trained for the world 'household'" in policy.refuses("shop")
