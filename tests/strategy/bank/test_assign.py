"""Who sees a new version: sticky, monotone over stages, independent of the A/B draw, exact inside strata."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.strategy.bank.assign import User, arm, assigned, bucket, strata_cuts, stratum_of
from core.strategy.bank.representation import represent
from core.strategy.documents.release import Release

DEVICES = ("ios", "android", "web")
LINES = ("aftersale", "presale")


def release(version: int = 4, **rollout: Any) -> Release:
    return Release.model_validate(
        {"schema": "release/v1", "id": "aftersale.paid", "version": version, "rollout": rollout}
    )


STAGES = [
    {"percent": 1, "business_line": ["aftersale"], "device": ["ios"]},
    {"percent": 10, "business_line": ["aftersale"], "device": ["ios", "android"]},
    {"percent": 100, "business_line": ["aftersale", "presale"], "device": ["ios", "android"]},
]
users = st.builds(
    User,
    st.text(min_size=1, max_size=12),
    st.fixed_dictionaries(
        {},
        optional={
            "device": st.sampled_from(DEVICES),
            "business_line": st.sampled_from(LINES),
            "active_days_30d": st.integers(0, 30),
        },
    ),
)


@pytest.mark.meets("S67", "S68", "S69")
@given(users, st.text(max_size=5), st.sampled_from(["", "active_days_30d"]), st.data())
@settings(max_examples=300, deadline=None)
def test_a_draw_is_sticky_and_monotone(user: User, salt: str, stratify: str, data: st.DataObject) -> None:
    made = release(stages=STAGES, assign={"salt": salt, "stratify": stratify, "strata": [0, 1, 7, 20]})
    cut = st.dictionaries(st.sampled_from(["0+", "1+", "7+", "20+", "unknown", "all"]), st.floats(0, 100))
    cuts = tuple(data.draw(st.lists(cut, max_size=3)))
    drawn = [assigned(made, stage, user, cuts) for stage in range(3)]
    assert drawn == [assigned(made, stage, User(user.id, dict(user.attributes)), cuts) for stage in range(3)]
    assert drawn == sorted(drawn)  # once in, never out


@pytest.mark.meets("S67")
def test_shares_are_those_asked_for_and_inside_each_other() -> None:
    made = release(stages=[{"percent": 1}, {"percent": 10}, {"percent": 100}])
    inside = [{n for n in range(20_000) if assigned(made, stage, User(f"u{n}"))} for stage in range(3)]
    assert inside[0] < inside[1] < inside[2]
    assert abs(len(inside[0]) - 200) < 45  # three standard deviations of a draw of 20,000
    assert abs(len(inside[1]) - 2_000) < 130
    assert len(inside[2]) == 20_000


@pytest.mark.meets("S68", "S69")
def test_line_and_device_limit_a_stage_and_the_unknown_stay_out() -> None:
    made = release(stages=[{"percent": 100, "business_line": ["aftersale"], "device": ["ios"]}])
    known = {"business_line": "aftersale", "device": "ios"}
    assert assigned(made, 0, User("u", known))
    assert not assigned(made, 0, User("u", known | {"device": "android"}))
    assert not assigned(made, 0, User("u", known | {"business_line": "presale"}))
    assert not assigned(made, 0, User("u", {"device": "ios"}))
    assert not assigned(made, 0, User("", known))  # nobody to draw
    assert not assigned(release(stages=[{"percent": 100}], assign={"unit": "account"}), 0, User("u"))


@pytest.mark.meets("S101")
def test_the_ab_draw_is_independent_of_the_gray_draw() -> None:
    made = release(stages=[{"percent": 10}], ab={"against": 3})
    group = [user for n in range(40_000) if assigned(made, 0, user := User(f"u{n}"))]
    arms = [arm(made, user) for user in group]
    assert abs(arms.count("b") / len(arms) - 0.5) < 0.024  # three standard deviations of 4,000
    assert arms == [arm(made, user) for user in group]
    assert arm(release(), User("u")) is None
    # What goes wrong with one salt: every user of the gray group would be in the same arm.
    assert all(bucket("gray:aftersale.paid/4", user.id) < 50 for user in group)


def test_strategies_and_versions_draw_independently() -> None:
    one, other = (release(version, stages=[{"percent": 50}]) for version in (4, 5))
    both = sum(assigned(one, 0, User(f"u{n}")) and assigned(other, 0, User(f"u{n}")) for n in range(8_000))
    assert abs(both / 8_000 - 0.25) < 0.016


def population(count: int = 6_000) -> list[User]:
    shares = [0] * 50 + [3] * 30 + [10] * 15 + [25] * 5
    return [User(f"u{n}", {"active_days_30d": shares[n % 100], "region": DEVICES[n % 3]}) for n in range(count)]


@pytest.mark.meets("S128", "S129")
def test_a_stratified_draw_represents_the_population() -> None:
    stages = [{"percent": 1}, {"percent": 10}, {"percent": 100}]
    plain = release(stages=stages)
    made = release(stages=stages, assign={"stratify": "active_days_30d", "strata": [0, 1, 7, 20]})
    everyone = population()
    cuts: list[dict[str, float]] = []
    for stage in range(3):
        cuts.append(strata_cuts(made, stage, everyone, cuts[-1] if cuts else {}))
    groups = [[user for user in everyone if assigned(made, stage, user, tuple(cuts))] for stage in range(3)]
    assert [len(group) for group in groups] == [60, 600, 6_000]
    assert {user.id for user in groups[0]} < {user.id for user in groups[1]}

    report = represent(groups[0], everyone, ("active_days_30d",))
    assert report.representativeness is not None
    assert report.representativeness >= 0.98
    assert report.bias is not None
    assert report.bias < 0.02
    without = represent([user for user in everyone if assigned(plain, 0, user)], everyone, ("active_days_30d",))
    assert without.bias is not None
    assert without.bias > report.bias
    assert "region" not in report.lines()[0]


def test_strata_are_named_by_their_bounds() -> None:
    assign = release(assign={"stratify": "days", "strata": [1, 7]}).rollout.assign
    named = [stratum_of(assign, User("u", {"days": days})) for days in (0, 1, 6.5, 7, 99, None, "many")]
    assert named == ["below 1", "1+", "1+", "7+", "7+", "unknown", "unknown"]


@given(st.lists(users, max_size=80, unique_by=lambda user: user.id), st.floats(0, 100), st.floats(0, 100))
@settings(max_examples=100, deadline=None)
def test_cuts_never_fall(everyone: list[User], first: float, second: float) -> None:
    low, high = sorted((first, second))
    made = release(stages=[{"percent": low}, {"percent": high}], assign={"stratify": "device"})
    one = strata_cuts(made, 0, everyone, {})
    two = strata_cuts(made, 1, everyone, one)
    assert all(two[stratum] >= cut for stratum, cut in one.items())
    inside = [{user.id for user in everyone if assigned(made, stage, user, (one, two))} for stage in range(2)]
    assert inside[0] <= inside[1]


def test_nothing_is_said_of_an_empty_group() -> None:
    report = represent([], population(10), ("region",))
    assert report.representativeness is None
    assert report.bias is None
    assert "unknown" in report.lines()[0]
