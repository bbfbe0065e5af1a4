"""Moves of a version: nothing reaches users that a person has not approved, in whatever order one tries."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.strategy.bank.journal import fold, read_step, step_record
from core.strategy.bank.states import MOVES, SERVED, STATES, Actor, Standing, Step, moved, refusal, stages_of
from core.strategy.documents.release import Release
from tests.strategy.bank.banks import ADA, NIGHTLY

RELEASE = Release.model_validate(
    {
        "schema": "release/v1",
        "id": "shop.refund",
        "version": 1,
        "rollout": {"stages": [{"percent": 1, "hold_hours": 24}, {"percent": 100}]},
    }
)


def at(state: str, **more: Any) -> Standing:
    return Standing("shop.refund", 1, "0" * 64, state=state, since="2026-06-01T00:00:00Z", **more)  # type: ignore[arg-type]


def to(state: str, actor: Actor = ADA, time: str = "2026-06-01T00:00:00Z", **more: Any) -> Step:
    return Step(state, actor, time, **more)  # type: ignore[arg-type]


STEPS = st.builds(
    to,
    st.sampled_from(STATES),
    st.sampled_from([ADA, NIGHTLY]),
    st.sampled_from(["2026-06-01T00:00:00Z", "2026-06-02T00:00:00Z", "2026-06-09T00:00:00Z"]),
    why=st.sampled_from(["", "said so"]),
    stage=st.integers(-1, 3),
    evidence=st.sampled_from([(), ("run-1",)]),
    force=st.booleans(),
    release=st.sampled_from([None, RELEASE]),
)


@pytest.mark.meets("S105", "S106")
@given(st.lists(STEPS, max_size=14), st.sampled_from(["human", "synthesized", "optimizer", "ab_winner"]))
@settings(max_examples=400, deadline=None)
def test_no_row_of_moves_brings_an_unreviewed_version_to_users(steps: list[Step], origin: str) -> None:
    standing, approved = at("draft", origin=origin), False
    for step in steps:
        if refusal(standing, step) is not None:
            continue
        approved = approved or (standing.state == "review" and step.to == "shadow" and step.actor.person)
        if step.to in {"draft", "review"}:
            approved = False
        standing = moved(standing, step)
        assert approved or standing.state not in SERVED | {"shadow"}
        assert (standing.stage >= 0) == (standing.state == "gray")


@given(st.lists(STEPS, max_size=14))
@settings(max_examples=200, deadline=None)
def test_stages_only_go_up_until_it_is_taken_back(steps: list[Step]) -> None:
    standing = at("shadow", reviewed_by="ada")
    for step in steps:
        if refusal(standing, step) is not None:
            continue
        after = moved(standing, step)
        if standing.state == after.state == "gray":
            assert after.stage > standing.stage
        assert after.stage < len(stages_of(after.release))
        standing = after


@given(STEPS)
@settings(deadline=None)
def test_a_step_is_read_back_as_it_was_written(step: Step) -> None:
    assert read_step(step_record("shop.refund", 1, step, "ada@mill")) == step


@pytest.mark.parametrize(
    ("standing", "step", "said"),
    [
        (at("archived"), to("draft"), "can't become draft"),
        (at("review"), to("shadow", NIGHTLY), "only a person"),
        (at("review", origin="synthesized"), to("shadow"), "nothing says how it did"),
        (at("shadow", reviewed_by="ada"), to("gray", NIGHTLY, stage=0), "only a person"),
        (at("shadow"), to("gray", stage=0), "approved by nobody"),
        (at("shadow", reviewed_by="ada"), to("gray", stage=1), "stage 1 comes next"),
        (at("shadow", reviewed_by="ada"), to("gray"), "no stage 0"),
        (
            at("gray", stage=0, reviewed_by="ada", release=RELEASE),
            to("gray", stage=1),
            "holds until 2026-06-02T00:00:00Z",
        ),
        (at("gray", stage=0, reviewed_by="ada", release=RELEASE), to("gray", stage=2), "no stage 3"),
        (at("gray", stage=0, reviewed_by="ada", release=RELEASE), to("active"), "stage 1 of 2"),
        (at("gray", stage=1, reviewed_by="ada", release=RELEASE), to("active", NIGHTLY), "names no evidence"),
        (at("gray", stage=0, reviewed_by="ada", release=RELEASE), to("active", force=True), "with a reason"),
        (
            at("gray", stage=0, reviewed_by="ada", release=RELEASE),
            to("active", NIGHTLY, force=True, why="x"),
            "Only a person",
        ),
        (at("gray", stage=1, reviewed_by="ada", release=RELEASE), to("gray", stage=0), "passed already"),
    ],
)
def test_a_refusal_says_why_and_the_way_out(standing: Standing, step: Step, said: str) -> None:
    refused = refusal(standing, step)
    assert refused is not None
    assert said in refused.reason
    assert refused.hint


@pytest.mark.parametrize(
    ("standing", "step"),
    [
        (at("gray", stage=0, reviewed_by="ada", release=RELEASE), to("gray", NIGHTLY, "2026-06-02T00:00:00Z", stage=1)),
        (
            at("gray", stage=0, reviewed_by="ada", release=RELEASE),
            to("active", NIGHTLY, "2026-06-02T00:00:00Z", evidence=("ab-1",)),
        ),
        (at("gray", stage=1, reviewed_by="ada", release=RELEASE), to("active", ADA)),
        (at("gray", stage=1, reviewed_by="ada"), to("offline", NIGHTLY)),
        (at("review", origin="synthesized"), to("shadow", evidence=("run-1",))),
    ],
)
def test_what_the_rule_allows(standing: Standing, step: Step) -> None:
    assert refusal(standing, step) is None


def test_every_state_but_the_last_has_a_way_on() -> None:
    assert {state for state in STATES if not MOVES[state]} == {"archived"}


@pytest.mark.meets("S105")
def test_lines_written_by_hand_give_no_traffic() -> None:
    published = {"event": "published", "time": "2026-06-01T00:00:00Z", "id": "shop.refund", "version": 1, "sha256": "a"}
    by_hand = {
        "event": "moved",
        "time": "2026-06-01T00:00:00Z",
        "id": "shop.refund",
        "version": 1,
        "actor": "x",
        "person": True,
    }
    lines: list[dict[str, Any]] = [
        published,
        by_hand | {"to": "active"},
        by_hand | {"to": "nowhere"},
        {"event": "moved"},
        published | {"sha256": "b"},
    ]
    told = fold(lines)
    assert told.standings[("shop.refund", 1)].state == "draft"
    assert told.standings[("shop.refund", 1)].sha256 == "a"
    assert len(told.findings) == 4
    assert "line 2: shop.refund version 1 is draft; it can't become active" in told.findings[0]


@given(st.binary(max_size=60), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_no_line_of_whatever_shape_ends_the_fold(raw: bytes, seed: int) -> None:
    draw = random.Random(seed)
    values: list[Any] = [
        None,
        1,
        -1,
        True,
        "x",
        raw.decode("latin-1"),
        [],
        {},
        {"a": 1},
        "2026-06-01T00:00:00Z",
        "published",
        "moved",
        "gray",
    ]
    names = [
        "event",
        "time",
        "id",
        "version",
        "to",
        "stage",
        "actor",
        "release",
        "cuts",
        "evidence",
        "sha256",
        "restore",
    ]
    lines = [{name: draw.choice(values) for name in draw.sample(names, draw.randint(0, len(names)))} for _ in range(8)]
    assert len(fold(lines).findings) <= 8
