"""The training loop (CURATION 1.3, Algorithm 1): imitate, then roll out, reward, update, until the steps are done.

Everything it does is told by files of the run: events, samples, checkpoints, summary. What is random in a step comes
from the run's seed and the step's number, so a run that was killed and resumed ends with the same weights.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import torch

from core.curation import training_records
from core.curation.content_judge import ContentJudge
from core.curation.executors import Executor
from core.curation.jobs import JobPaths, Work
from core.curation.self_judgement import SelfJudge
from core.curation.worlds import Task, World
from core.foundation import strict_json
from core.state import atomic
from trainer import checkpoint, device, step_report
from trainer.alarms import alarms
from trainer.batch import samples_of
from trainer.demonstrations import Carelessness, demonstrations
from trainer.distributed import Follower
from trainer.evaluate import STREAM_SEED, Bench, Measurement
from trainer.grpo import UpdateReport, advantages, update
from trainer.imitation import imitate
from trainer.policies.phrases import PhraseBook
from trainer.policies.policy import Policy
from trainer.rewards import Reward, reward, totals
from trainer.rollout import Clock, Roller, Rollout, StoppedError, by_group
from trainer.seeds import derive
from trainer.settings import Training
from trainer.summary import summary_of
from trainer.task_groups import grouped_streams, mixed_streams, rollouts_of, task_groups
from trainer.together import Alone, Together
from trainer.worlds.lexicon import lexicon_of

_SAID = 10  # imitation steps between two records
BASE = 0  # the step of the untrained base's checkpoint


@dataclass
class Trainer:
    """One run. Invariant: `history` has a record a finished GRPO step, and `step` is their number.

    Of several processes all run the same loop; the first alone writes.
    """

    training: Training
    world: World
    executor: Executor
    policy: Policy
    judge: ContentJudge | None
    opinion: SelfJudge
    work: Work | Follower
    together: Together = field(default_factory=Alone)
    pool: Sequence[Sequence[Task]] = ()
    step: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    validated: dict[int, float] = field(default_factory=dict)
    spent: float = 0.0  # seconds of earlier processes
    cpu_spent: float = 0.0  # processor seconds of earlier processes

    def __post_init__(self) -> None:
        options = self.training.optimizer
        self.began = time.monotonic()
        self.optimizer = torch.optim.AdamW(
            self.policy.parameters(),
            options.lr,
            betas=(options.beta1, options.beta2),
            weight_decay=options.weight_decay,
        )
        self.bench = Bench(
            self.world,
            self.executor,
            self.training.retrieval,
            self.training.evaluation.temperature,
            self.opinion,
            self.together,
            self._stop_where_asked,
        )

    @property
    def job(self) -> JobPaths:
        return self.work.job

    def run(self) -> dict[str, Any] | None:
        """Train to the end and return the summary; None where somebody asked to stop before it."""
        found = checkpoint.latest(self.job.root)
        self._agree()  # nobody writes before all have looked
        try:
            if found is None:
                self._start()
                self._imitate()
            else:
                self._resume(found)
        except StoppedError:
            self._stopped("in the imitation phase")
            return None
        try:
            if self._unvalidated():  # the base, and a step after which an earlier process was stopped
                self._validate("trained" if self.step else "base")
            if found is None or self.step in self.validated:
                self._keep()
            while self.step < self.training.steps:
                self._wait()
                self._stop_where_asked()
                self._grpo_step()
        except StoppedError:
            self._keep()
            self._stopped(f"after step {self.step}")
            return None
        try:
            return self._finish()
        except StoppedError:
            self._stopped("in the last measurement")
            return None

    # The phases ---------------------------------------------------------------------------------------------

    def _start(self) -> None:
        told = dict(self.policy.describe())
        self._say(
            "start",
            spec=strict_json.parse(self.job.spec.read_bytes()),
            parameters=told.get("trained"),
            device=str(self.policy.device),
        )

    def _resume(self, found: checkpoint.Checkpoint) -> None:
        before = checkpoint.restore(found, self.policy, self.optimizer)
        self.step, self.history, self.validated = found.step, before.history, before.validated
        self.spent, self.cpu_spent = before.seconds, before.cpu_seconds
        self._reference()
        self._say("resume", step=self.step)

    def _imitate(self) -> None:
        """Make the base. Raises StoppedError where it was stopped on the way (it begins anew then: it is short)."""
        options = self.training.imitation
        if options.steps:
            book = PhraseBook(self.world.name, lexicon_of(self.world.name))
            shown = demonstrations(
                self.world,
                book,
                self.training.executor.name,
                self.training.retrieval,
                count=options.demonstrations,
                longest=self.training.max_response,
                seed=self.training.seed,
                careless=Carelessness(update=options.updates),
            )
            pairs = [(self.policy.prompt(one.given), self.policy.target(one)) for one in shown]
            began = self.seconds

            def on_step(step: int, loss: float) -> bool:
                self._wait()
                if step % _SAID == 0 or step == options.steps:
                    seconds = round(self.seconds - began, 3)
                    self._say("imitation", step=step, steps=options.steps, loss=loss, seconds=seconds)
                return not self.work.stopping

            imitate(self.policy, pairs, options, seed=self.training.seed, on_step=on_step, together=self.together)
            self._stop_where_asked()
        self._reference()

    def _reference(self) -> None:
        """Keep pi_ref, which is the base, whatever the step."""
        if not self.training.grpo.beta:
            return
        base = checkpoint.directory(self.job.root, BASE)
        if self.step == BASE or not base.is_dir():
            self.policy.keep_reference()
            return
        now = {name: value.to("cpu", copy=True) for name, value in self.policy.state().items()}
        self.policy.restore(checkpoint.weights(base))
        self.policy.keep_reference()
        self.policy.restore(now)

    def _grpo_step(self) -> None:
        """Sample groups, roll out, reward, update (Algorithm 1)."""
        began = time.perf_counter()
        training, number = self.training, self.step + 1
        groups = task_groups(self.world, training.group, seed=training.seed, step=self.step, pool=self.pool)
        streams = rollouts_of(groups, training.group.rollouts)
        clock = Clock()
        roller = Roller(
            self.world,
            self.executor,
            training.retrieval,
            self.policy,
            self.judge,
            self.opinion,
            training.grpo.temperature,
            clock,
            self.together,
            self._stop_where_asked,
        )
        rollouts = roller.roll(streams, seed=training.seed, purpose=f"step-{number}")
        grouped = by_group(rollouts)
        rewards = [
            [
                reward([turn.reward_position(training.judge.success) for turn in one.turns], training.reward)
                for one in group
            ]
            for group in grouped
        ]
        sums = [totals(group, training.reward) for group in rewards]
        gains = [advantages(group, std=training.grpo.std) for group in sums]
        samples = samples_of(grouped, gains)
        Random(derive(training.seed, "minibatches", number)).shuffle(samples)
        rate = self._set_rate()
        updating = time.perf_counter()
        report = (
            update(self.policy, self.optimizer, samples, training.grpo, together=self.together) if samples else None
        )
        ended = time.perf_counter()
        self.step = number
        self._tell(rollouts, rewards, sums, gains, report, rate, clock, ended - updating, ended - began)
        if training.sample_every and number % training.sample_every == 0:
            self._write_samples(rollouts)
        last = number == training.steps
        if self._unvalidated():
            self._validate("trained")
        if last or (training.checkpoint_every and number % training.checkpoint_every == 0):
            self._keep()  # the last one always: without it there is nothing that was trained

    def _finish(self) -> dict[str, Any]:
        """Measure every arm on the final tasks, the best checkpoint as "trained", and write the summary."""
        best = self.best_step()
        options, training = self.training.evaluation, self.training
        mixed = mixed_streams(
            self.world, "test", seed=STREAM_SEED, purpose="final", count=options.streams, tasks=options.tasks
        )
        grouped = grouped_streams(self.world, seed=STREAM_SEED, options=options, size=training.group.smallest)
        measured: list[Measurement] = []
        # Kept off the device: beside a large model there is no room for a second one.
        last = {name: value.to("cpu", copy=True) for name, value in self.policy.state().items()}
        for arm, step in (("none", None), ("oracle", None), ("base", BASE), ("trained", best)):
            if step is not None:
                self.policy.restore(checkpoint.weights(checkpoint.directory(self.job.root, step)))
            for stream, tasks in (("mixed", mixed), ("grouped", grouped)):
                self._wait()
                skills = self.world.oracle() if arm == "oracle" else ()
                policy = None if step is None else self.policy
                found = self.bench.measure(arm, stream, tasks, policy=policy, skills=skills)
                measured.append(found)
                self._say("evaluation", step=self.step, split="test", weights=step, **found.event())
        self.policy.restore(last)
        summary = summary_of(
            training,
            self.world,
            measured,
            self.history,
            best=checkpoint.directory(self.job.root, best),
            best_step=best,
            validated=self.validated,
            wall_s=self.seconds,
            cpu_s=self.cpu_spent + time.process_time(),
        )
        if self.together.rank == 0:
            atomic.write_text(self.job.summary, strict_json.dumps(summary, indent=1) + "\n")
        self._say("end", state="finished", reason="", summary=summary)
        return summary

    # The parts ----------------------------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """How long this run has worked, all processes together."""
        return self.spent + time.monotonic() - self.began

    def best_step(self) -> int:
        """Return the step of the checkpoint that did best on the validation streams; the last where none was measured.

        The base is none of them: a run whose training only hurt shows it.
        """
        kept = {one.step for one in checkpoint.complete(self.job.root)}
        measured = {step: share for step, share in self.validated.items() if step in kept and step != BASE}
        return max(measured, key=lambda step: (measured[step], step)) if measured else max(kept)

    def _unvalidated(self) -> bool:
        """Tell whether the present step is one after which the policy is validated, and it wasn't yet."""
        every, step = self.training.evaluate_every, self.step
        return bool(every) and (step % every == 0 or step == self.training.steps) and step not in self.validated

    def _validate(self, arm: str) -> None:
        """Measure the policy on tasks that neither training nor the final measurement uses."""
        self._wait()
        options = self.training.evaluation
        if not options.validation:
            return
        streams = mixed_streams(
            self.world,
            "train",
            seed=STREAM_SEED,
            purpose="validation",
            count=options.validation,
            tasks=options.validation_tasks,
        )
        if arm == "base":
            nobody = self.bench.measure("none", "mixed", streams)
            self._say("evaluation", step=self.step, split="validation", **nobody.event())
        found = self.bench.measure(arm, "mixed", streams, policy=self.policy)
        self._say("evaluation", step=self.step, split="validation", weights=self.step, **found.event())
        if found.success_micro is not None:
            self.validated[self.step] = found.success_micro

    def _keep(self) -> None:
        """Write a checkpoint of the step that is done."""
        state = {
            "seed": self.training.seed,
            "heldout": self.validated.get(self.step),
            "validated": {str(step): share for step, share in self.validated.items()},
            "seconds": round(self.seconds, 3),
            "cpu_seconds": round(self.cpu_spent + time.process_time(), 3),
            "history": self.history,
        }
        if self.together.rank == 0:
            path, digest = checkpoint.write(self.job.root, self.step, self.policy, self.optimizer, state)
            self._say(
                "checkpoint",
                step=self.step,
                path=str(path.relative_to(self.job.root)),
                sha256=digest,
                heldout=self.validated.get(self.step),
            )
        self._agree()  # the others read it

    def _set_rate(self) -> float:
        rate = self.training.optimizer.rate(self.step, self.training.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def _tell(
        self,
        rollouts: Sequence[Rollout],
        rewards: Sequence[Sequence[Reward]],
        sums: Sequence[Sequence[float | None]],
        gains: Sequence[Sequence[float | None]],
        report: UpdateReport | None,
        rate: float,
        clock: Clock,
        updating: float,
        total: float,
    ) -> None:
        """Write the step's record, and the alarms that it completes."""
        fields = {
            "step": self.step,
            "steps": self.training.steps,
            **step_report.reward_fields(rewards, sums),
            **step_report.advantage_fields([gain for group in gains for gain in group if gain is not None]),
            **step_report.update_fields(report, rate),
            **step_report.rollout_fields(rollouts, self.world.max_steps),
        }
        fields |= step_report.time_fields(fields["tokens"], clock, updating, total)
        fields["device"] = device.reading(self.policy.device)
        self._say("step", **fields)
        self.history.append({name: fields[name] for name in step_report.REMEMBERED})
        for alarm in alarms(self.history):
            self._say("alarm", step=self.step, kind=alarm.kind, text=alarm.text)

    def _write_samples(self, rollouts: Sequence[Rollout]) -> None:
        if self.together.rank:
            return
        name = f"samples/step-{self.step:05d}.json"
        path = self.job.root / name
        path.parent.mkdir(exist_ok=True)
        atomic.write_text(path, strict_json.dumps(step_report.samples(self.step, rollouts)) + "\n")
        self._say("sample", step=self.step, file=name)

    def _wait(self) -> None:
        if self.work.paused:
            self._say("pause")
            self.began += self.work.wait_while_paused()
            self._say("resume", step=self.step)

    def _stop_where_asked(self) -> None:
        """Raise StoppedError where one of the processes shall stop."""
        if self._agree(self.work.stopping):
            raise StoppedError

    def _stopped(self, where: str) -> None:
        self._say("end", state="stopped", reason=f"stopped {where}; it can be resumed", summary=None)

    def _agree(self, wanted: bool = False) -> bool:
        """Wait for all processes; return whether one of them wants it."""
        return any(self.together.gather([wanted]))

    def _say(self, event: str, **fields: Any) -> None:
        if self.together.rank == 0:
            training_records.write(self.job.events, event, **fields)
