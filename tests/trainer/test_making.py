"""Putting a run together: executors, judges, opinions, groups of Table 5's pipeline (K4, K5, K7, K9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.curation.content_judge import RuleJudge
from core.curation.executors import ScriptedExecutor
from core.curation.self_judgement import OwnOpinion, WorldVerdict
from core.foundation.errors import NotFoundError, UsageError
from core.state.paths import ProjectPaths
from trainer.frozen import executor_of, judge_of, opinion_of
from trainer.grouping.annotation_file import Annotation, append, hash_of
from trainer.grouping.attributes import Attributes
from trainer.making import pool_of
from trainer.presets import resolve
from trainer.task_groups import task_groups
from trainer.worlds import open_world

WORLD = open_world("household")


@pytest.mark.meets("K7")
def test_pipeline_groups_are_what_steps_walk(tmp_path: Path) -> None:
    file = tmp_path / "annotations.jsonl"
    for number, task in enumerate(WORLD.stream("train", 0, 60)):
        attributes = Attributes(
            topics=(f"topic {number % 7}",),
            skills=("search", f"skill {number % 3}"),
            concepts=(task.family, f"concept {number % 4}"),
            strategies=("look everywhere",),
            pitfalls=("stop too early",),
        )
        append(file, Annotation(task.id, hash_of(task), "by hand", attributes, 1.0 + number % 4))
    settings = {
        "group.by": "pipeline",
        "group.file": str(file),
        "group.file_tasks": 60,
        "group.smallest": 5,
        "group.largest": 8,
        "steps": 3,
    }
    training = resolve("cpu-demo", seed=4, settings=settings)
    pool = pool_of(training, WORLD)
    assert len(pool) == 12  # 3 steps of 4 groups
    assert pool == pool_of(training, WORLD)
    groups = task_groups(WORLD, training.group, seed=4, step=1, pool=pool)
    assert len(groups) == 4
    assert all(group in [tuple(one) for one in pool] for group in groups)
    assert all(5 <= len(group) <= 8 for group in groups)
    assert any(len({task.family for task in group}) > 1 for group in groups)


def test_a_run_that_groups_by_family_needs_no_pool() -> None:
    assert pool_of(resolve("cpu-demo"), WORLD) == ()


@pytest.mark.meets("K4", "K5", "K9")
def test_scripted_parts_are_the_worlds_own_and_models_are_looked_up(tmp_path: Path) -> None:
    project = ProjectPaths(tmp_path / "default_project")
    training = resolve("cpu-demo")
    assert executor_of(training, WORLD, project) == ScriptedExecutor("weak")
    assert isinstance(judge_of(training, WORLD, project, None), RuleJudge)
    assert isinstance(opinion_of(training, project), OwnOpinion)
    told = resolve("cpu-demo", settings={"judge.opinion": "world", "judge.content": "off"})
    assert isinstance(opinion_of(told, project), WorldVerdict)
    assert judge_of(told, WORLD, project, None) is None
    with pytest.raises(UsageError, match="no executor 'mighty'"):
        executor_of(resolve("cpu-demo", settings={"executor.name": "mighty"}), WORLD, project)
    with pytest.raises(UsageError, match="no opinion"):
        opinion_of(resolve("cpu-demo", settings={"judge.opinion": "me"}), project)
    with pytest.raises((UsageError, NotFoundError)):
        executor_of(resolve("cpu-demo", settings={"executor.name": "nobody/nothing"}), WORLD, project)
