"""What a stream run came to: each arm on its own, and against `none` on the same tasks (CURATION 1.6 to 1.8, K6, K18).

Pure: a fold of the journal. Shares are 0 to 1. A masked attempt counts nowhere but in `masked`; what nobody measured is
None. Success is given micro (attempts alike) and macro (families alike) [amb: the paper says macro and prints micro].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import TypeVar

from core.curation import behaviour
from core.curation.positions import Place, Written
from core.curation.stream_files import ArmRecord, Facts, Journal, Spent
from core.statistics import power
from core.statistics.holm import holm
from core.statistics.intervals import Interval, clustered_bootstrap, over_clusters, wilson
from core.statistics.paired import Paired, pair
from core.statistics.spread import Spread, spread

T = TypeVar("T")
CONTROL = "none"
CEILING = "oracle"
BASE, TRAINED = "base", "trained"
_BOOTSTRAP_SEED = 20_605


@dataclass(frozen=True, slots=True)
class Against:
    """An arm against the control on the same tasks.

    `difference` is in shares. `bootstrap` resamples whole streams, `over_streams` is Student's interval over the
    streams' own differences: with few streams the first is too narrow and the second is the one to believe. `p_value`
    is McNemar's exact one, which takes tasks as independent; `p_holm` corrects it for all arms of the run.
    `detectable` is the smallest difference that this many streams would find (80 %, two-sided 5 %; None where they
    would miss any, or don't differ), `detectable_pairs`
    the same if tasks were independent. `score_difference` and its interval are there where the world grades.
    `separates` needs both: `over_streams` excludes 0 (two streams that agree by chance have no width), and p_holm,
    which flatters, is below 5 %.
    """

    paired: Paired
    bootstrap: Interval | None
    over_streams: Interval | None
    p_holm: float | None
    detectable: float | None
    detectable_pairs: float | None
    score_difference: float | None = None
    score_over_streams: Interval | None = None

    @property
    def difference(self) -> float | None:
        return self.paired.difference

    @property
    def separates(self) -> bool | None:
        if self.p_holm is None:
            return None
        apart = self.over_streams is None or self.over_streams.excludes(0.0)
        return apart and self.p_holm < power.ALPHA


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """An arm. Of one that was not run all but `name`, `state` and `reason` is empty.

    `steps` averages actions with failures at the cap; `tokens` is the executor's mean a task; `judged_right` how often
    the opinion that the curator saw agreed with the world; `unlearned` counts curations that were lost. `against` is
    the comparison with no skills, `against_base` that of the trained arm with the policy before training.
    """

    name: str
    state: str
    reason: str = ""
    attempts: int = 0
    masked: int = 0
    success_micro: float | None = None
    success_macro: float | None = None
    wilson: Interval | None = None
    by_seed: Mapping[int, float | None] | None = None
    spread: Spread | None = None
    by_family: Mapping[str, float | None] | None = None
    score: float | None = None
    steps: float | None = None
    coerced: float | None = None
    tokens: float | None = None
    curation_tokens: float | None = None
    judged_right: float | None = None
    unlearned: int = 0
    operations: Mapping[str, int] | None = None
    valid_operations: float | None = None
    contents: int = 0
    contents_valid: float | None = None
    contents_unmeasured: int = 0
    issues: Mapping[str, int] | None = None
    coverage: float | None = None
    examples_with_skill: float | None = None
    skills_per_example: float | None = None
    skills: float | None = None
    characters: float | None = None
    meta_share: float | None = None
    headings: Mapping[str, int] | None = None
    against: Against | None = None
    against_base: Against | None = None
    gap_closed: float | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Summary:
    """A run. `sound` says, where verbatim and shuffled were measured beside the oracle, whether both lost to it."""

    facts: Facts | None
    state: str
    reason: str
    arms: tuple[ArmSummary, ...]
    sound: bool | None
    damaged: int
    spent: Spent = field(default_factory=Spent)

    def arm(self, name: str) -> ArmSummary | None:
        return next((arm for arm in self.arms if arm.name == name), None)


def summarise(journal: Journal, state: str, reason: str = "", *, order: Sequence[str] = ()) -> Summary:
    """Return what the journal amounts to; arms in `order`, then as they come."""
    names = [*[name for name in order if name in journal.arms], *[n for n in journal.arms if n not in order]]
    facts = journal.facts
    cap = facts.max_steps if facts is not None else 0
    control = journal.arms.get(CONTROL)
    p_values = {
        name: paired_outcomes(control, journal.arms[name]).p_value
        for name in names
        if name != CONTROL and control is not None and journal.arms[name].positions
    }
    corrected = holm(p_values)
    arms = [_arm(journal.arms[name], cap, control, corrected.get(name)) for name in names]
    arms = [_with_base(_with_gap(arm, arms), journal) for arm in arms]
    return Summary(facts, state, reason, tuple(arms), _sound(arms), journal.damaged, journal.spent_at_all)


def _arm(record: ArmRecord, cap: int, control: ArmRecord | None, p_holm: float | None) -> ArmSummary:
    if not record.positions:
        return ArmSummary(record.name, record.state or "waiting", record.reason)
    places = [place for places in record.positions for place in places]
    known = [place for place in places if place.success is not None]
    seeds = sorted({place.seed for place in places})
    by_seed = {seed: _success(place for place in known if place.seed == seed) for seed in seeds}
    families = sorted({place.family for place in places})
    by_family = {name: _success(place for place in known if place.family == name) for name in families}
    operations = [one for place in places for one in place.operations]
    judged = [one for one in operations if one.content_judged]
    used = [_usage([place for place in places if place.seed == seed]) for seed in seeds]
    curations = [place for place in known if place.prompt_tokens is not None or place.answer_tokens is not None]
    return ArmSummary(
        name=record.name,
        state=record.state or "under way",
        reason=record.reason,
        attempts=len(known),
        masked=len(places) - len(known),
        success_micro=_success(known),
        success_macro=_mean(by_family.values()),
        wilson=wilson(sum(bool(place.success) for place in known), len(known)),
        by_seed=by_seed,
        spread=spread(by_seed.values()),
        by_family=by_family,
        score=_mean(place.score for place in known),
        steps=_mean(float(place.steps if place.success else cap) for place in known),
        coerced=_ratio(sum(place.coerced for place in known), sum(place.steps for place in known)),
        tokens=_all_or_none([place.tokens for place in known]),
        curation_tokens=_mean(float((p.prompt_tokens or 0) + (p.answer_tokens or 0)) for p in curations),
        judged_right=_mean(float(place.judged == place.success) for place in known if place.judged is not None),
        unlearned=sum(bool(place.unlearned) for place in places),
        operations={kind: sum(one.kind == kind for one in operations) for kind in behaviour.OPERATIONS},
        valid_operations=_mean(float(one.valid) for one in operations),
        contents=len(judged),
        contents_valid=_mean(float(one.content_valid) for one in judged if one.content_valid is not None),
        contents_unmeasured=sum(one.content_valid is None for one in judged),
        issues=_issues(judged),
        coverage=_mean(one.coverage for one in used),
        examples_with_skill=_mean(one.examples_with_skill for one in used),
        skills_per_example=_mean(one.skills_per_example for one in used),
        skills=_last(record.positions, lambda place: place.skills),
        characters=_last(record.positions, lambda place: place.characters),
        meta_share=_mean(place.meta_share for place in _ends(record.positions)),
        headings=_headings(_ends(record.positions)),
        against=None if control is None or control is record else _against(control, record, p_holm),
        seconds=record.seconds,
    )


def _against(control: ArmRecord, record: ArmRecord, p_holm: float | None) -> Against:
    paired = paired_outcomes(control, record)
    clusters = [differences for differences in differences_by_stream(control, record).values() if differences]
    scores = [differences for differences in differences_by_stream(control, record, _score).values() if differences]
    means = spread(fmean(values) for values in clusters)
    return Against(
        paired=paired,
        bootstrap=clustered_bootstrap(clusters, seed=_BOOTSTRAP_SEED),
        over_streams=_possible(over_clusters(clusters)),
        p_holm=p_holm,
        detectable=None if means is None or not means.std else _share_or_none(power.clusters(means.std, means.count)),
        detectable_pairs=power.paired_shares(paired.pairs, paired.discordant / paired.pairs)
        if paired.discordant
        else None,
        score_difference=_mean(value for values in scores for value in values),
        score_over_streams=_possible(over_clusters(scores)),
    )


def _possible(interval: Interval | None) -> Interval | None:
    """Cut an interval to differences that there can be."""
    return None if interval is None else replace(interval, low=max(interval.low, -1.0), high=min(interval.high, 1.0))


def _share_or_none(value: float | None) -> float | None:
    """Return a difference of shares, None where it would have to be more than there can be."""
    return None if value is None or value > 1 else value


def paired_outcomes(control: ArmRecord | None, record: ArmRecord) -> Paired:
    if control is None:
        return pair([], [])
    found, before = _by_place(record, _success_of), _by_place(control, _success_of)
    places = [place for place in before if place in found]
    return pair([before[place] for place in places], [found[place] for place in places])


def _success_of(place: Place) -> bool | None:
    return place.success


def _score(place: Place) -> float | None:
    return place.score if place.success is not None else None


def differences_by_stream(
    control: ArmRecord, record: ArmRecord, of: Callable[[Place], float | None] = _success_of
) -> dict[int, list[float]]:
    """Return the differences of every pair that was measured whole, by stream."""
    before, after = _by_place(control, of), _by_place(record, of)
    found: dict[int, list[float]] = {}
    for (seed, position), value in after.items():
        other = before.get((seed, position))
        if value is not None and other is not None:
            found.setdefault(seed, []).append(float(value) - float(other))
    return found


def _by_place(record: ArmRecord, of: Callable[[Place], T]) -> dict[tuple[int, int], T]:
    """Return something of each attempt by stream and position: the task there is the same for every arm."""
    return {(place.seed, position): of(place) for position, places in enumerate(record.positions) for place in places}


def _with_gap(arm: ArmSummary, arms: Sequence[ArmSummary]) -> ArmSummary:
    """Add the share of the way from the control to the oracle that the arm went."""
    floor = next((one.success_micro for one in arms if one.name == CONTROL), None)
    top = next((one.success_micro for one in arms if one.name == CEILING), None)
    if arm.success_micro is None or floor is None or top is None or top <= floor or arm.name == CONTROL:
        return arm
    return replace(arm, gap_closed=(arm.success_micro - floor) / (top - floor))


def _with_base(arm: ArmSummary, journal: Journal) -> ArmSummary:
    """Add what training brought: the trained arm against the base. It is one comparison, so its p stands as it is."""
    base, record = journal.arms.get(BASE), journal.arms.get(arm.name)
    if arm.name != TRAINED or base is None or record is None or not base.positions or not record.positions:
        return arm
    return replace(arm, against_base=_against(base, record, paired_outcomes(base, record).p_value))


def _sound(arms: Sequence[ArmSummary]) -> bool | None:
    """Tell whether what must lose to the oracle does: verbatim copies, and its own skills on the wrong tasks."""
    by_name = {arm.name: arm.success_micro for arm in arms if arm.success_micro is not None}
    top = by_name.get(CEILING)
    losing = [by_name[name] for name in ("verbatim", "shuffled") if name in by_name]
    return None if top is None or not losing else all(share < top for share in losing)


def _usage(places: Sequence[Place]) -> behaviour.Usage:
    """Return how one stream used its skills; what was written after the last task came too late to be found."""
    ever = {title for place in places for title in place.retrieved}
    ever |= {
        one.title for place in places[:-1] for one in place.operations if one.valid and one.kind in ("insert", "update")
    }
    return behaviour.usage(sorted(ever), ((place.held, place.retrieved) for place in places))


def _issues(judged: Iterable[Written]) -> dict[str, int]:
    counted = Counter(issue for one in judged for issue in one.issues)
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def _success(places: Iterable[Place]) -> float | None:
    return _mean(float(place.success) for place in places if place.success is not None)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _all_or_none(values: Sequence[int | None]) -> float | None:
    """Return the mean, None where one of them is unknown: a mean of those that could be counted is another number."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def _last(positions: Sequence[Sequence[Place]], of: Callable[[Place], int]) -> float | None:
    """Return the mean over streams of what they had at their end."""
    return _mean(float(of(place)) for place in _ends(positions))


def _ends(positions: Sequence[Sequence[Place]]) -> list[Place]:
    """Return the last place of each stream."""
    return list({place.seed: place for places in positions for place in places}.values())


def _headings(ends: Iterable[Place]) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for place in ends:
        counted.update(place.headings)
    return {name: counted[name] for name in behaviour.HEADING_CLASSES}
