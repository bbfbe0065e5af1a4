"""Measuring arms on the same held-out tasks: none, base, trained, oracle (CURATION 1.6, lesson 9).

A measurement is one pass over each stream, the repository empty at first; the same tasks feed it and are scored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from core.curation.executors import Executor
from core.curation.self_judgement import OwnOpinion, SelfJudge
from core.curation.worlds import World
from core.skillrepo.skill import Skill
from core.statistics import intervals, paired
from trainer.policies.policy import Policy
from trainer.rollout import Roller, Rollout, Stream, on
from trainer.settings import RetrievalOptions
from trainer.together import Alone, Together

STREAM_SEED = 20_260_531
"""Where the tasks of every measurement come from, whatever the run's seed."""


@dataclass(frozen=True)
class Measurement:
    """An arm on some streams. Successes are shares; `steps_mean` counts a failure at the cap.

    Tasks that infrastructure lost count nowhere; in `outcomes`, each stream's successes in order, they are None.
    `valid_calls` is the mean share of valid calls of an answer, as r_fc counts it: an answer without a call is 0, so
    silence doesn't raise it. None for an arm without a policy.
    """

    arm: str
    stream: str
    success_micro: float | None
    success_macro: float | None
    score_mean: float | None
    steps_mean: float | None
    by_family: Mapping[str, float | None]
    repo_skills: float | None
    valid_calls: float | None
    outcomes: tuple[tuple[bool | None, ...], ...]
    seconds: float

    @property
    def tasks(self) -> int:
        return sum(len(stream) for stream in self.outcomes)

    def event(self) -> dict[str, Any]:
        """Return the fields of an `evaluation` record, without its step."""
        return {
            "arm": self.arm,
            "stream": self.stream,
            "success_micro": self.success_micro,
            "success_macro": self.success_macro,
            "score_mean": self.score_mean,
            "steps_mean": self.steps_mean,
            "by_family": dict(self.by_family),
            "repo_skills": self.repo_skills,
            "valid_calls": self.valid_calls,
            "streams": len(self.outcomes),
            "tasks": self.tasks,
            "seconds": round(self.seconds, 3),
        }

    def summary(self) -> dict[str, Any]:
        """Return what a run's summary says of it; `sr` is the micro average."""
        return {
            "sr": self.success_micro,
            "sr_macro": self.success_macro,
            "score": self.score_mean,
            "steps": self.steps_mean,
            "by_family": dict(self.by_family),
            "repo_skills": self.repo_skills,
            "valid_calls": self.valid_calls,
            "by_stream": [_mean([float(won) for won in stream if won is not None]) for stream in self.outcomes],
            "tasks": self.tasks,
        }


@dataclass(frozen=True)
class Bench:
    """What all arms share: the world's executor, the retrieval, and the temperature curators answer with.

    `go_on` is the Roller's.
    """

    world: World
    executor: Executor
    retrieval: RetrievalOptions
    temperature: float
    opinion: SelfJudge = field(default_factory=OwnOpinion)
    together: Together = field(default_factory=Alone)
    go_on: Callable[[], None] = on

    def measure(
        self,
        arm: str,
        stream: str,
        streams: Sequence[Stream],
        *,
        policy: Policy | None = None,
        skills: Sequence[Skill] = (),
        seed: int = STREAM_SEED,
    ) -> Measurement:
        """Walk the streams once. `skills` is what every repository starts with; `policy` None never changes it."""
        began = time.perf_counter()
        roller = Roller(
            self.world,
            self.executor,
            self.retrieval,
            policy=policy,
            opinion=self.opinion,
            temperature=self.temperature,
            together=self.together,
            go_on=self.go_on,
        )
        walked = roller.roll(streams, seed=seed, purpose=f"measure-{stream}", skills=skills)
        return measurement(arm, stream, walked, self.world, seconds=time.perf_counter() - began, policy=policy)


def measurement(
    arm: str, stream: str, walked: Sequence[Rollout], world: World, *, seconds: float, policy: Policy | None = None
) -> Measurement:
    """Return what finished walks amount to."""
    episodes = [turn.episode for rollout in walked for turn in rollout.turns]
    measured = [episode for episode in episodes if episode.success is not None]
    by_family = {
        family: _mean([float(bool(e.success)) for e in measured if e.task.family == family])
        for family in world.families
    }
    scores = [episode.score for episode in measured if episode.score is not None]
    return Measurement(
        arm=arm,
        stream=stream,
        success_micro=_mean([float(bool(episode.success)) for episode in measured]),
        success_macro=_mean([share for share in by_family.values() if share is not None]),
        score_mean=_mean(scores),
        steps_mean=_mean([float(e.steps if e.success else world.max_steps) for e in measured]),
        by_family=by_family,
        repo_skills=_mean([float(len(r.turns[-1].skills)) for r in walked if r.turns]) if policy else None,
        valid_calls=valid_share(walked),
        outcomes=tuple(tuple(turn.episode.success for turn in rollout.turns) for rollout in walked),
        seconds=seconds,
    )


def valid_share(walked: Sequence[Rollout]) -> float | None:
    """Return the mean over answers of their share of valid calls, 0 where one makes none; None without answers."""
    answered = [turn.verdicts for rollout in walked for turn in rollout.turns if turn.answer is not None]
    return _mean([fmean(verdict.valid for verdict in verdicts) if verdicts else 0.0 for verdicts in answered])


def compared(before: Measurement, after: Measurement) -> dict[str, Any]:
    """Return the paired comparison of two arms on the same tasks.

    McNemar takes tasks as independent, which those of one stream are not: the interval is Student's over the
    differences of whole streams, wide where there are few.
    """
    pairs = paired.pair(
        [won for stream in before.outcomes for won in stream], [won for stream in after.outcomes for won in stream]
    )
    clusters = [
        paired.differences([_number(won) for won in one], [_number(won) for won in other])
        for one, other in zip(before.outcomes, after.outcomes, strict=True)
    ]
    interval = intervals.over_clusters(clusters)
    return {
        "difference": pairs.difference,
        "gained": pairs.gained,
        "lost": pairs.lost,
        "masked": pairs.masked,
        "mcnemar_p": pairs.p_value,
        "interval": [interval.low, interval.high] if interval else None,
    }


def gap_closed(none: float | None, trained: float | None, oracle: float | None) -> float | None:
    """Return which share of the way from no memory to the oracle's skills the trained curator went."""
    if none is None or trained is None or oracle is None or oracle <= none:
        return None
    return (trained - none) / (oracle - none)


def _number(won: bool | None) -> float | None:
    return None if won is None else float(won)


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
