"""Rollouts: the environment walks the positions, the curator answers at each (CURATION 1.3, Algorithm 1, K11).

A rollout is |G| prompts of their own, not one conversation: at every position the repository is searched, the frozen
executor tries the task with what was found, the curator reads how it went and answers with operations, and they are
applied. All rollouts move in lockstep, so that a position is one batch. The curator can't end a rollout, lengthen it or
skip a position.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from core.curation.content_judge import ContentJudge
from core.curation.curators import CurationInput
from core.curation.executors import Executor
from core.curation.self_judgement import OwnOpinion, SelfJudge
from core.curation.worlds import ContentVerdict, Episode, Task, World
from core.skillrepo import calls
from core.skillrepo.operations import Verdict
from core.skillrepo.repository import Repository
from core.skillrepo.retrieval import retrieve
from core.skillrepo.skill import Skill
from trainer.policies.policy import Answer, Policy
from trainer.rewards import Position, content_score
from trainer.seeds import derive
from trainer.settings import RetrievalOptions
from trainer.together import Alone, Together, share

SuccessSource = Literal["environment", "score", "judged"]


@dataclass(frozen=True, slots=True)
class Stream:
    """What one rollout walks. Rollouts of one `group` share their tasks and are compared with each other."""

    group: int
    rollout: int
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """One position: the attempt, what was retrieved for it, the curator's answer and what became of it.

    `answer` is None where nothing was curated: the attempt was lost, or the arm has no curator. `skills` is the
    repository afterwards, `repo_tokens` its size |S_i| in the policy's tokens.
    """

    position: int
    episode: Episode
    retrieved: tuple[Skill, ...]
    prompt: tuple[int, ...] = ()
    answer: Answer | None = None
    verdicts: tuple[Verdict, ...] = ()
    judgements: tuple[ContentVerdict | None, ...] = ()
    skills: tuple[Skill, ...] = ()
    repo_tokens: int = 0

    def reward_position(self, source: SuccessSource) -> Position:
        """Return what this position gives to the reward (K8)."""
        if self.answer is None:
            return Position(_success(self.episode, source), answered=False)
        return Position(
            success=_success(self.episode, source),
            calls=len(self.verdicts),
            valid_calls=sum(verdict.valid for verdict in self.verdicts),
            content=content_score(self.verdicts, self.judgements),
            repo_tokens=self.repo_tokens,
            prompt_tokens=max(1, len(self.prompt)),
        )


@dataclass(frozen=True, slots=True)
class Rollout:
    """A whole walk: as many turns as its stream has tasks."""

    stream: Stream
    turns: tuple[Turn, ...]


def by_group(rollouts: Sequence[Rollout]) -> list[list[Rollout]]:
    """Return the rollouts of each group, groups in order of first sight."""
    groups: dict[int, list[Rollout]] = {}
    for rollout in rollouts:
        groups.setdefault(rollout.stream.group, []).append(rollout)
    return list(groups.values())


@dataclass(slots=True)
class Clock:
    """Seconds that rollouts spent, by what they did."""

    generate: float = 0.0
    executor: float = 0.0
    other: float = 0.0


def _success(episode: Episode, source: SuccessSource) -> float | None:
    if episode.success is None:
        return None
    value = {"environment": episode.success, "score": episode.score, "judged": episode.judged}[source]
    return None if value is None else float(value)


class StoppedError(Exception):
    """The work was asked to stop, and what was under way is dropped. The loop catches it; nobody else sees it."""


def on() -> None:
    """Go on, whatever happens."""


@dataclass
class Walk:
    """One rollout on its way. Invariant: `turns` has one entry for each position that is behind."""

    stream: Stream
    repository: Repository
    turns: list[Turn] = field(default_factory=list)


@dataclass(frozen=True)
class Roller:
    """Everything that rollouts need beside tasks. `policy` None walks without a curator, the repository as it is.

    `go_on` is called before every position, equally often in all processes; what it raises ends the rollouts.
    """

    world: World
    executor: Executor
    retrieval: RetrievalOptions
    policy: Policy | None = None
    judge: ContentJudge | None = None
    opinion: SelfJudge = field(default_factory=OwnOpinion)
    temperature: float = 1.0
    clock: Clock = field(default_factory=Clock)
    together: Together = field(default_factory=Alone)
    go_on: Callable[[], None] = on

    def roll(
        self, streams: Sequence[Stream], *, seed: int, purpose: str, skills: Sequence[Skill] = ()
    ) -> tuple[Rollout, ...]:
        """Walk all streams, each with a repository of its own that starts with `skills`.

        `seed` and `purpose` (such as "step-7") name where the answers' randomness comes from. Of several processes
        each walks its share; all get all rollouts.
        """
        walks = [Walk(stream, Repository(skills)) for stream in share(streams, self.together)]
        for position in range(max((len(stream.tasks) for stream in streams), default=0)):
            self.go_on()
            going = [walk for walk in walks if position < len(walk.stream.tasks)]
            if going:
                self._position(position, going, seed, purpose)
        return tuple(self.together.gather([Rollout(walk.stream, tuple(walk.turns)) for walk in walks]))

    def _position(self, position: int, walks: Sequence[Walk], seed: int, purpose: str) -> None:
        began = time.perf_counter()
        given = [(walk.stream.tasks[position], self._retrieve(walk, position)) for walk in walks]
        found = time.perf_counter()
        episodes = self.opinion.judge(self.world.name, self.executor.run(self.world, given))
        tried = time.perf_counter()
        self.clock.executor += tried - found
        self.clock.other += found - began
        # A position that was lost has nothing to curate.
        curated = [index for index, episode in enumerate(episodes) if self.policy and episode.success is not None]
        inputs = {index: CurationInput(episodes[index], given[index][1]) for index in curated}
        prompts = {index: self.policy.prompt(inputs[index]) for index in curated} if self.policy else {}
        seeds = [
            derive(seed, purpose, walks[index].stream.group, walks[index].stream.rollout, position) for index in curated
        ]
        prompted = time.perf_counter()
        answers: dict[int, Answer] = {}
        if self.policy and curated:
            made = self.policy.generate(
                [prompts[index] for index in curated], temperature=self.temperature, seeds=seeds
            )
            answers = dict(zip(curated, made, strict=True))
        answered = time.perf_counter()
        turns = [Turn(position, episodes[index], given[index][1]) for index in range(len(walks))]
        if self.policy:
            for index, answer in answers.items():
                turns[index] = self._applied(
                    self.policy, walks[index], turns[index], inputs[index], prompts[index], answer
                )
            turns = self._judged(turns)
        for walk, turn in zip(walks, turns, strict=True):
            walk.turns.append(turn)
        self.clock.generate += answered - prompted
        self.clock.other += (time.perf_counter() - answered) + (prompted - tried)

    def _retrieve(self, walk: Walk, position: int) -> tuple[Skill, ...]:
        hits = retrieve(
            walk.repository.skills,
            walk.stream.tasks[position].text,
            top_k=self.retrieval.top_k,
            min_overlap=self.retrieval.min_overlap,
        )
        return tuple(hit.skill for hit in hits)

    def _applied(
        self, policy: Policy, walk: Walk, turn: Turn, given: CurationInput, prompt: Sequence[int], answer: Answer
    ) -> Turn:
        """Apply an answer to the walk's repository."""
        verdicts = walk.repository.apply(calls.parse(policy.render(answer.ids, given)))
        skills = walk.repository.skills
        return replace(
            turn,
            prompt=tuple(prompt),
            answer=answer,
            verdicts=verdicts,
            judgements=(None,) * len(verdicts),
            skills=skills,
            repo_tokens=sum(policy.tokens_of(skill) for skill in skills),
        )

    def _judged(self, turns: Sequence[Turn]) -> list[Turn]:
        """Judge what valid calls wrote, all of a position at once; what wrote nothing keeps None."""
        asked = [
            (at, place, content)
            for at, turn in enumerate(turns)
            for place, verdict in enumerate(turn.verdicts)
            if (content := _written(verdict)) is not None
        ]
        questions = [(content, turns[at].episode) for at, _, content in asked]
        found = [ContentVerdict(None)] * len(asked) if self.judge is None else self.judge.judge(questions)
        judgements = [list(turn.judgements) for turn in turns]
        for (at, place, _), judgement in zip(asked, found, strict=True):
            judgements[at][place] = judgement
        return [replace(turn, judgements=tuple(made)) for turn, made in zip(turns, judgements, strict=True)]


def _written(verdict: Verdict) -> str | None:
    """Return the content that a call brought into the repository; None where it brought none."""
    after, before = verdict.after, verdict.before
    if after is None or (before is not None and after.body == before.body):
        return None
    return after.content
