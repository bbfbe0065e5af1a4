"""The index, the curriculum's modes, the fallback, and groups that grow task by task (K7)."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from core.curation.worlds import Task
from core.foundation.errors import UsageError
from tests.trainer.grouping.annotated import annotated
from trainer.grouping import by_type
from trainer.grouping.attributes import Annotated
from trainer.grouping.sampler import Index, PairSampler, random_size
from trainer.grouping.settings import TABLE_5
from trainer.grouping.similarity import Exact

pytestmark = pytest.mark.meets("K7")


def chain(count: int) -> list[Annotated]:
    """Tasks that each lead to the next: the same skill and strategy, one concept more, a little harder."""
    return [
        annotated(f"t{at}", at * 0.7, t=f"topic{at}", s="count", c=f"parity c{at} c{at + 1}", r="induction", p="slips")
        for at in range(count)
    ]


def test_the_index_gives_tasks_that_share_a_concept_a_strategy_or_a_pitfall() -> None:
    tasks = [
        annotated("source", 1, s="count", c="parity", r="induction", p="slips"),
        annotated("concept", 1, c="parity"),
        annotated("strategy", 1, r="induction"),
        annotated("pitfall", 1, p="slips"),
        annotated("skill", 1, s="count"),  # skills and topics are not indexed
        annotated("stranger", 1, c="area"),
    ]
    index, draw = Index(tasks), random.Random(0)
    found = index.pool(tasks[0], frozenset({"source"}), 10, draw)
    assert [task.id for task in found] == ["concept", "strategy", "pitfall"]
    assert [task.id for task in index.pool(tasks[0], frozenset({"source", "concept"}), 10, draw)] == [
        "strategy",
        "pitfall",
    ]


def test_a_pool_over_the_cap_is_drawn_uniformly() -> None:
    tasks = [annotated("source", 1, c="parity"), *(annotated(f"t{at}", 1, c="parity") for at in range(20))]
    index = Index(tasks)
    counts: Counter[str] = Counter()
    for seed in range(600):
        pool = index.pool(tasks[0], frozenset({"source"}), 5, random.Random(seed))
        assert len({task.id for task in pool}) == 5
        counts.update(task.id for task in pool)
    assert len(counts) == 20
    assert min(counts.values()) > 100  # 150 expected
    assert max(counts.values()) < 200


def test_modes_come_up_as_often_as_the_table_says() -> None:
    sampler = PairSampler(chain(3), Exact())
    draw = random.Random(5)
    counts = Counter(sampler.mode(draw) for _ in range(5_000))
    assert counts["easier"] == 0
    assert 0.78 < counts["harder"] / 5_000 < 0.82
    other = PairSampler(chain(3), Exact(), replace(TABLE_5, harder=0.5, same=0.25, easier=0.25))
    counts = Counter(other.mode(draw) for _ in range(5_000))
    assert 0.22 < counts["easier"] / 5_000 < 0.28


def test_a_group_is_a_walk_through_tasks_that_lead_to_each_other() -> None:
    harder_only = replace(TABLE_5, harder=1.0, same=0.0)
    group = PairSampler(chain(12), Exact(), harder_only).group(6, 3, "t0")
    assert [member.how for member in group] == ["seed", *["harder"] * 5]
    difficulties = [member.task.difficulty for member in group]
    assert difficulties == sorted(difficulties)
    assert len({member.task.id for member in group}) == 6
    assert all(0.5 <= later - sooner <= 3.0 for sooner, later in pairwise(difficulties))
    # c1 is shared with the next in the chain alone, and a step of 0.7 has the largest bonus: the best is the next
    assert [member.task.id for member in group] == [f"t{at}" for at in range(6)]


def test_where_nothing_passes_a_random_task_comes_in_with_a_tag() -> None:
    lonely = [annotated(f"t{at}", at, c=f"c{at}") for at in range(8)]
    group = PairSampler(lonely, Exact()).group(8, 1)
    assert [member.fallback for member in group] == [False, *[True] * 7]
    assert len({member.task.id for member in group}) == 8  # the excluded ones grow with the group
    assert all(member.score is None for member in group)


def test_the_fallback_pool_is_bounded() -> None:
    tasks = [annotated(f"t{at}", 1) for at in range(500)]
    pool = Index(tasks).fallback(frozenset({"t0"}), 200, random.Random(0))
    assert len(pool) == 200
    assert "t0" not in {task.id for task in pool}


def test_a_draw_by_score_prefers_the_better_partner_and_takes_others_too() -> None:
    source = annotated("s", 1, s="count", c="parity", r="induction")
    near = annotated("near", 2, s="count", c="parity degree", r="induction", t="x")
    far = annotated("far", 2, s="count other", c="parity a", r="induction m", t="y")
    sampler = PairSampler([source, near, far], Exact(), replace(TABLE_5, choice="sample", harder=1.0, same=0.0))
    counts: Counter[str] = Counter()
    for seed in range(400):
        partner = sampler.partner(source, frozenset(), random.Random(seed))
        assert partner is not None
        counts[partner.task.id] += 1
    assert counts["near"] > counts["far"] > 40


def test_groups_depend_on_the_seed_alone() -> None:
    program = (
        "from tests.trainer.grouping.test_sampler import chain\n"
        "from trainer.grouping.sampler import PairSampler\n"
        "from trainer.grouping.similarity import Lexical\n"
        "sampler = PairSampler(chain(40), Lexical())\n"
        "print([[(m.task.id, m.how) for m in sampler.group(8, seed)] for seed in range(6)])\n"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    sampler = PairSampler(chain(40), Exact())
    assert len({tuple(member.task.id for member in sampler.group(5, seed)) for seed in range(10)}) > 5


def test_what_cannot_be_grouped_is_said() -> None:
    with pytest.raises(UsageError, match="group of 4 can't be drawn from 3 tasks"):
        PairSampler(chain(3), Exact()).group(4, 0)
    with pytest.raises(UsageError, match="no task 'x'"):
        PairSampler(chain(3), Exact()).group(2, 0, "x")
    with pytest.raises(UsageError, match="same id"):
        PairSampler([*chain(2), *chain(2)], Exact())


def test_the_size_of_a_group_is_drawn_between_its_bounds() -> None:
    sizes = {random_size(5, 12, seed) for seed in range(300)}
    assert sizes == set(range(5, 13))


def test_by_type_a_group_is_of_one_type_and_holds_no_task_twice() -> None:
    tasks = [Task(f"{family}{at}", family, "", "train", at) for family in ("pick", "heat") for at in range(6)]
    group = by_type.group(tasks, 5, 1)
    assert len({task.family for task in group}) == 1
    assert len({task.id for task in group}) == 5
    assert {task.family for task in by_type.group(tasks, 5, 1, "heat")} == {"heat"}
    assert {by_type.group(tasks, 5, seed)[0].family for seed in range(20)} == {"pick", "heat"}
    with pytest.raises(UsageError, match="type 'cool' has 0 tasks"):
        by_type.group(tasks, 5, 1, "cool")
    with pytest.raises(UsageError, match="No type has 7"):
        by_type.group(tasks, 7, 1)
