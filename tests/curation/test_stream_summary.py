"""A report's numbers, worked out by hand (K6, K18)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from core.curation.positions import Place, Written
from core.curation.stream_compare import compare
from core.curation.stream_files import ArmRecord, Facts, Journal
from core.curation.stream_report import report_text, summary_json, verdicts
from core.curation.stream_spec import StreamSpec
from core.curation.stream_summary import Summary, summarise

pytestmark = pytest.mark.meets("K6")

FACTS = Facts("kitchen", "f" * 64, 10, "plain", "self", "rules", (1, 2), (3, 3), "t" * 64)


def place(seed: int, position: int, success: bool | None, family: str = "boil", **changes: object) -> Place:
    plain = Place(
        seed=seed,
        task=f"{seed}-{position}",
        family=family,
        success=success,
        score=None,
        judged=success,
        steps=4,
        tokens=100,
        coerced=0,
        failure="" if success is not None else "lost",
        held=0,
        retrieved=(),
        used=(),
        change=None,
        unlearned="",
        prompt_tokens=None,
        answer_tokens=None,
        operations=(),
        skills=0,
        characters=0,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def arm(name: str, *streams: Sequence[bool | None], families: str = "bbf") -> ArmRecord:
    """Return a record with one list of successes a stream (seeds from 1); families b(oil) or f(ry) by position."""
    positions = [
        tuple(
            place(seed, at, outcomes[at], "boil" if families[at] == "b" else "fry")
            for seed, outcomes in enumerate(streams, 1)
        )
        for at in range(len(families))
    ]
    return ArmRecord(name, positions, 1.5, "done")


def run(*arms: ArmRecord) -> Summary:
    return summarise(Journal(FACTS, {one.name: one for one in arms}), "finished")


def test_success_is_micro_and_macro_and_a_masked_attempt_counts_nowhere() -> None:
    summary = run(arm("none", [True, False, True], [True, None, False]))
    none = summary.arms[0]
    assert (none.attempts, none.masked) == (5, 1)
    assert none.success_micro == pytest.approx(3 / 5)
    assert dict(none.by_family or {}) == pytest.approx({"boil": 2 / 3, "fry": 1 / 2})
    assert none.success_macro == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert dict(none.by_seed or {}) == pytest.approx({1: 2 / 3, 2: 1 / 2})
    assert none.spread is not None
    assert none.spread.std == pytest.approx(((1 / 6) ** 2 / 2) ** 0.5)
    # Failures count at the cap of 10: (4 + 10 + 4 + 4 + 10) / 5.
    assert none.steps == pytest.approx(6.4)
    assert none.against is None


def test_an_arm_is_paired_with_none_task_by_task() -> None:
    control = arm("none", [False, False, True], [True, None, False])
    other = arm("trained", [True, True, False], [True, True, None])
    trained = run(control, other).arm("trained")
    assert trained is not None
    assert trained.against is not None
    paired = trained.against.paired
    # Pairs: stream 1 gained, gained, lost; stream 2 both; two pairs lack a result.
    assert (paired.both, paired.gained, paired.lost, paired.neither, paired.masked) == (1, 2, 1, 0, 2)
    assert trained.against.difference == pytest.approx(1 / 4)
    assert paired.p_value == 1.0
    # The streams' own differences are 1/3 and 0: 1/6 +- 12.7062 * sqrt(1/18) / sqrt(2).
    interval = trained.against.over_streams
    assert interval is not None
    assert [interval.low, interval.high] == [-1.0, 1.0]  # more than there can be, and cut to that
    assert trained.against.separates is False
    assert trained.against.detectable is None  # (12.7062 + 1.37638) * sqrt(1/18) / sqrt(2) = 2.3: none would be seen
    assert "so few streams would miss most differences" in " ".join(verdicts(run(control, other)))


def test_several_arms_are_corrected_together() -> None:
    none = arm("none", *[[False] * 3] * 4)
    arms = [arm(name, *[[True] * 3] * 4) for name in ("base", "trained", "oracle")]
    summary = run(none, *arms)
    for one in summary.arms[1:]:
        assert one.against is not None
        assert one.against.paired.p_value == 2 / 2**12
        assert one.against.p_holm == pytest.approx(3 * 2 / 2**12)


def test_one_stream_tells_no_spread_and_says_so() -> None:
    summary = run(arm("none", [False, False, True]), arm("trained", [True, True, True]))
    trained = summary.arm("trained")
    assert trained is not None
    assert trained.against is not None
    assert trained.against.over_streams is None
    assert trained.against.separates is False  # two gained of two: p = 0.5
    assert "doesn't separate" in " ".join(verdicts(summary))


def test_two_streams_that_agree_by_chance_separate_nothing() -> None:
    none = arm("none", [False, False, False], [False, False, False])
    summary = run(none, arm("trained", [True, False, False], [True, False, False]))
    trained = summary.arm("trained")
    assert trained is not None
    assert trained.against is not None
    interval = trained.against.over_streams
    assert interval is not None
    assert interval.low == interval.high == pytest.approx(1 / 3)  # no width, and no reason to believe it
    assert trained.against.p_holm == 0.5
    assert trained.against.separates is False
    assert trained.against.detectable is None


def test_what_separates_does_so_by_both_measures() -> None:
    none = arm("none", *[[False] * 3] * 4)
    for outcomes, separates in (
        ([[True] * 3] * 3 + [[True, True, False]], True),
        ([[True] * 3, *[[False] * 3] * 3], False),
    ):
        trained = run(none, arm("trained", *outcomes)).arm("trained")
        assert trained is not None
        assert trained.against is not None
        assert trained.against.separates is separates


def test_the_gap_is_what_lies_between_none_and_the_oracle() -> None:
    summary = run(
        arm("none", [False, False, False], [False, True, False]),
        arm("trained", [True, True, False], [False, True, False]),
        arm("oracle", [True, True, True], [False, True, True]),
    )
    shares = {one.name: one.gap_closed for one in summary.arms}
    assert shares == {"none": None, "trained": pytest.approx(0.5), "oracle": pytest.approx(1.0)}


@pytest.mark.parametrize(
    ("verbatim", "shuffled", "sound"),
    [([False] * 3, [True, False, False], True), ([True] * 3, [False] * 3, False), (None, None, None)],
)
def test_what_must_lose_must_lose(
    verbatim: list[bool | None] | None, shuffled: list[bool | None] | None, sound: bool | None
) -> None:
    arms = [arm("none", [False] * 3), arm("oracle", [True, True, False] if sound is None else [True] * 3)]
    if sound is False:
        arms[1] = arm("oracle", [True, True, True])
    if verbatim is not None and shuffled is not None:
        arms += [arm("verbatim", verbatim), arm("shuffled", shuffled)]
    summary = run(*arms)
    assert summary.sound is sound
    said = " ".join(verdicts(summary))
    assert ("does not: these numbers show no use of skills" in said) is (sound is False)


@pytest.mark.meets("K18")
def test_what_was_written_and_used_is_counted() -> None:
    inserted = Written("insert", "a", True, content_judged=True, content_valid=True)
    vague = Written("update", "a", True, content_judged=True, content_valid=False, issues=("ACTIONABILITY",))
    lost = Written("insert", "b", True, content_judged=True, content_valid=None)
    broken = Written("other", "", False, "no JSON")
    shown: dict[str, Any] = {"meta_share": 0.5, "headings": {"tips": 3}}
    record = ArmRecord(
        "trained",
        [
            (place(1, 0, True, operations=(inserted, broken), prompt_tokens=100, answer_tokens=20, skills=1),),
            (place(1, 1, False, held=1, retrieved=("a",), operations=(vague, lost), judged=True, skills=2),),
            (place(1, 2, True, held=2, skills=2, characters=50, unlearned="lost", tokens=None, **shown),),
        ],
        0.0,
        "done",
    )
    trained = run(record).arms[0]
    assert trained.operations == {"insert": 2, "update": 1, "delete": 0, "other": 1}
    assert trained.valid_operations == pytest.approx(3 / 4)
    assert (trained.contents, trained.contents_valid, trained.contents_unmeasured) == (3, 0.5, 1)
    assert trained.issues == {"ACTIONABILITY": 1}
    assert trained.coverage == pytest.approx(1 / 2)  # a was found, b never
    assert (trained.examples_with_skill, trained.skills_per_example) == (0.5, 0.5)
    assert (trained.skills, trained.characters) == (2.0, 50.0)
    assert trained.judged_right == pytest.approx(2 / 3)
    assert trained.unlearned == 1
    assert trained.meta_share == 0.5
    assert trained.headings is not None
    assert {name: count for name, count in trained.headings.items() if count} == {"tips": 3}
    assert trained.curation_tokens == 120.0
    assert trained.tokens is None  # one attempt's are unknown: a mean of the others is another number


def test_an_arm_that_was_not_run_has_a_reason_and_no_number() -> None:
    journal = Journal(FACTS, {"memp": ArmRecord("memp", state="not run", reason="it needs a model")})
    summary = summarise(journal, "finished")
    assert summary.arms[0].success_micro is None
    text = report_text("r", summary, StreamSpec("kitchen", arms=("none", "memp")))
    assert "- memp: not run: it needs a model" in text
    assert "| memp" not in text
    document = summary_json(summary, StreamSpec("kitchen"))
    assert document["arms"]["memp"]["success_micro"] is None


def test_a_report_cannot_be_broken_by_what_stands_in_it() -> None:
    nasty = "bo|il\x1b[2J\nx"
    record = ArmRecord("none", [(place(1, 0, True, nasty),)], 0.0, "done")
    text = report_text("r", run(record), StreamSpec("kitchen"))
    assert "\x1b" not in text
    table = [line for line in text.splitlines() if line.startswith("| arm") and "bo\\|" in line]
    assert len(table) == 1
    assert "bo\\|il" in table[0]


# ------------------------------------------------------------------------------------------------------ compare


def test_two_runs_over_the_same_tasks_are_paired() -> None:
    first = Journal(FACTS, {"none": arm("none", [False, False, True]), "oracle": arm("oracle", [True] * 3)})
    second = Journal(replace(FACTS, executor="mid"), {"none": arm("none", [True, False, True])})
    found = compare(first, second)
    assert (found.unpaired, found.apart) == ("", ("executor (plain and mid)",))
    (none,) = found.arms
    assert none.paired is not None
    assert (none.paired.gained, none.paired.lost) == (1, 0)
    assert none.difference == pytest.approx(1 / 3)


@pytest.mark.parametrize("field", ["world", "fingerprint", "tasks_hash", "seeds"])
def test_two_runs_over_other_tasks_are_not(field: str) -> None:
    other = replace(FACTS, **{field: (7, 8) if field == "seeds" else "other"})  # type: ignore[arg-type]
    arms = {"none": arm("none", [False, False, True])}
    found = compare(Journal(FACTS, dict(arms)), Journal(other, dict(arms)))
    assert found.unpaired == {"tasks_hash": "tasks"}.get(field, field)
    assert found.arms[0].paired is None
    assert found.arms[0].difference is None
    assert found.arms[0].first == pytest.approx(1 / 3)


def test_a_score_is_compared_where_the_world_grades() -> None:
    def graded(name: str, *scores: tuple[float | None, float | None]) -> ArmRecord:
        positions = [
            tuple(
                place(seed, at, None if score is None else score == 1.0, score=score)
                for seed, score in enumerate(pair, 1)
            )
            for at, pair in enumerate(scores)
        ]
        return ArmRecord(name, positions, 0.0, "done")

    summary = run(graded("none", (0.2, 0.0), (0.4, None)), graded("trained", (0.6, 0.4), (1.0, 0.8)))
    trained = summary.arm("trained")
    assert trained is not None
    assert trained.against is not None
    assert trained.score == pytest.approx(0.7)
    assert trained.against.score_difference == pytest.approx((0.4 + 0.6 + 0.4) / 3)
    # By stream 0.5 and 0.4: 0.45 +- 12.7062 * sqrt(0.005) / sqrt(2) is cut at 1.
    interval = trained.against.score_over_streams
    assert interval is not None
    assert [interval.low, interval.high] == pytest.approx([0.45 - 0.63531, 1.0], abs=1e-4)
    assert "+46.7 points of score" in " ".join(verdicts(summary))


def test_the_interval_over_streams_by_hand() -> None:
    # Three streams of ten tasks that gain 1, 2 and 3: 0.2 +- 4.30265 * 0.1 / sqrt(3).
    none = arm("none", *[[False] * 10] * 3, families="b" * 10)
    gained = [[at < count for at in range(10)] for count in (1, 2, 3)]
    trained = run(none, arm("trained", *gained, families="b" * 10)).arm("trained")
    assert trained is not None
    assert trained.against is not None
    interval = trained.against.over_streams
    assert interval is not None
    assert [interval.low, interval.high] == pytest.approx([0.2 - 0.24842, 0.2 + 0.24842], abs=1e-4)
    assert trained.against.detectable == pytest.approx((4.30265 + 1.06066) * 0.1 / 3**0.5, abs=1e-4)


def test_the_trained_arm_is_compared_with_the_base_too() -> None:
    none, base = arm("none", [False] * 3, [False] * 3), arm("base", [False] * 3, [True, False, False])
    summary = run(none, base, arm("trained", [True] * 3, [True] * 3))
    (trained,) = [one.against_base for one in summary.arms if one.against_base]
    assert trained.difference == pytest.approx(5 / 6)
    assert (trained.paired.gained, trained.p_holm) == (5, trained.paired.p_value)
    assert any(said.startswith("trained: +83.3 points against base") for said in verdicts(summary))
    assert "## Trained against base" in report_text("r", summary, StreamSpec("kitchen"))
    assert summary_json(summary, StreamSpec("kitchen"))["arms"]["trained"]["against_base"]["separates"] is False
    assert all(one.against_base is None for one in run(none, base).arms)


def test_two_runs_tell_which_settings_differ_and_what_a_difference_bears() -> None:
    one, other = (Journal(FACTS, {"none": arm("none", *of)}) for of in ([[False] * 3] * 2, [[True] * 3, [False] * 3]))
    found = compare(one, other, (StreamSpec("kitchen"), StreamSpec("kitchen", min_overlap=0.51, top_k=3)))
    assert found.apart == ("top_k (5 and 3)", "min_overlap (0 and 0.51)")
    assert found.arms[0].separates is False
    assert "+50.0 points, which doesn't separate" in found.arms[0].verdict
    assert compare(one, replace(other, facts=replace(FACTS, world="else"))).arms[0].verdict == ""
