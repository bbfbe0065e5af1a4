"""A training run as files, of plausible figures that a named seed draws: for tests of whoever reads runs.

The figures move as those of a real run do; no test takes them for a result.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.curation import training_records
from core.curation.jobs import JobPaths
from core.foundation import strict_json
from core.state.paths import ProjectPaths

FAMILIES = ("pick", "look", "clean", "heat", "cool", "two")
RUN = "cpu-demo-20260101-100000-aaaa"
ENDED = "cpu-demo-20251231-100000-bbbb"
"""An older run, for tests of two."""
STEPS = 60


def skill(title: str, *lines: str) -> str:
    """Return a SKILL.md of the two keys."""
    body = "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
    head = f"---\nname: {title}\ndescription: What to do to {title}.\n---\n"
    return f"{head}# Workflow\n{body}\n\n# When NOT to use\n- Else.\n"


class TrainingFiles:
    """Writes a run under a Project, event by event."""

    def __init__(self, project: ProjectPaths, run_id: str = RUN, *, seed: int = 0, steps: int = STEPS) -> None:
        self.job = JobPaths(project.training / run_id)
        self.steps = steps
        self._random = random.Random(seed)
        self.job.root.mkdir(parents=True)
        self.spec = {
            "preset": "cpu-demo", "seed": seed, "world": {"name": "household", "fingerprint": "f" * 64},
            "executor": "weak", "steps": steps, "min_overlap": 0.51, "group_size": 10, "rollouts": 8,
        }  # fmt: skip
        self._json(self.job.request, {"time": _time(0), "preset": "cpu-demo", "seed": seed, "settings": {}})
        self._json(self.job.spec, self.spec)

    def _json(self, path: Path, document: object) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(strict_json.dumps(document, indent=1), encoding="utf-8")

    def event(self, event: str, at: float, **values: Any) -> None:
        """Write an event `at` seconds after the run began."""
        line = {"time": _time(at), "event": event, **values}
        assert training_records.record_of(line) is not None
        with self.job.events.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def begin(self) -> None:
        """Start, imitation, and the arms that are measured before GRPO."""
        self.event("start", 0, spec=self.spec, parameters=612_352, device="cpu, 2 threads")
        for step in range(100, 401, 100):
            self.event("imitation", step / 20, step=step, steps=400, loss=3.0 * math.exp(-step / 150), seconds=5.0)
        self.arm("none", 0, 0.429, 24.0, 0.0)
        self.arm("base", 0, 0.474, 22.5, 13.0)
        self.arm("oracle", 0, 0.871, 15.2, 6.0)

    def arm(
        self, arm: str, step: int, success: float, actions: float, skills: float, stream: str = "mixed",
        **more: Any,
    ) -> None:  # fmt: skip
        """Measure an arm on held-out tasks; `more` are fields with other values."""
        spread = dict(zip(FAMILIES, (0.2, 0.1, -0.05, -0.1, -0.1, -0.05), strict=True))
        values: dict[str, Any] = {
            "step": step, "arm": arm, "stream": stream, "success_micro": success, "success_macro": success - 0.02,
            "steps_mean": actions, "repo_skills": skills, "streams": 3, "tasks": 420, "seconds": 9.0,
            "by_family": {family: min(1.0, max(0.0, success + by)) for family, by in spread.items()},
        }  # fmt: skip
        self.event("evaluation", 20 + 2 * step, **{**values, **more})

    def train(self, first: int, last: int) -> None:
        """Write the steps `first` to `last`."""
        for step in range(first, last + 1):
            self.step(step)
            if step % 10 == 0 or step == 1:
                self.sample(step)
            if step % 10 == 0:
                self.checkpoint(step, 0.47 + 0.25 * step / self.steps - (0.05 if step == self.steps else 0))

    def step(self, step: int, **changes: Any) -> None:
        """Write a step; `changes` are fields with other values."""
        share, draw = step / self.steps, self._random.gauss
        late = 1 / (1 + math.exp(8 * (0.45 - share)))
        task, calls = 0.48 + 0.38 * late + draw(0, 0.02), min(0.99, 0.66 + 0.32 * late + draw(0, 0.01))
        content, compression = 0.14 + 0.5 * late + draw(0, 0.02), 0.36 + 0.33 * late + draw(0, 0.02)
        counts = {"insert": round(230 - 190 * late), "update": round(60 + 215 * late), "delete": round(22 - 20 * late)}
        noise = abs(draw(0, 0.02))
        values: dict[str, Any] = {
            "step": step, "steps": self.steps,
            "reward": {"total": task + calls + 0.1 * content + 0.05 * compression, "task": task, "calls": calls,
                       "content": content, "compression": compression},
            "spread": {"total": 0.16 - 0.08 * late + noise, "task": 0.14 - 0.07 * late + noise, "calls": 0.05,
                       "content": 0.1, "compression": 0.08},
            "advantage": {"min": -0.45 + 0.2 * late, "max": 0.4 - 0.2 * late, "std": 0.17 - 0.08 * late + noise},
            "zero_variance_groups": 0.25 if step > 50 and step % 7 == 0 else 0.0, "entropy": 0.9 - 0.6 * late + noise,
            "clip_fraction": 0.03 + noise, "gradient_norm": 0.8 - 0.3 * late + noise, "loss": draw(0, 0.01), "kl": None,
            "lr": 4e-4, "ops": {**counts, "other": 2 if step < 10 else 0}, "valid_calls": calls,
            "positions": {"expected": 320, "measured": 320 - (step % 11 == 0)}, "masked": int(step % 11 == 0),
            "judge_unmeasured": 0, "success": task, "steps_mean": 22.5 - 5 * late, "repo_skills": 8.5 - 3.5 * late,
            "repo_tokens": 900 - 300 * late, "tokens": {"prompt": 21_000, "answer": 9_800},
            "tokens_per_s": 4_900 + draw(0, 80),
            "seconds": {"total": 2.1, "generate": 0.9, "executor": 0.3, "update": 0.7, "other": 0.2},
            "headings": {"workflow": 200, "tips": round(90 * (1 - late)), "failure": round(10 + 120 * late)},
            "meta_share": 0.05 + 0.3 * late, "coverage": 0.55 + 0.2 * late, "skills_per_example": 2.4 - 0.9 * late,
            "device": {"kind": "cpu", "utilisation": None, "memory_bytes": None, "cpu_percent": 187.0,
                       "rss_bytes": 812_000_000},
        }  # fmt: skip
        self.event("step", 20 + 2.1 * step, **{**values, **changes})

    def sample(self, step: int) -> None:
        """Write one rollout of two groups."""
        name = f"samples/step-{step:05}.json"
        self._json(self.job.root / name, {"step": step, "rollouts": [self._rollout(0, step), self._rollout(1, step)]})
        self.event("sample", 20 + 2.1 * step, step=step, file=name)

    def _rollout(self, group: int, step: int) -> dict[str, Any]:
        family = FAMILIES[3 + group]
        title, late = f"{family} things", step > self.steps // 3
        lines = [f"Take the object before you {family} it.", "Go to the place that can do it."]
        positions: list[dict[str, Any]] = []
        repository: dict[str, str] = {}
        for position in range(1, 5):
            kind = "update" if late and repository else "insert"
            name = title if late or position == 1 else f"{title} {position}"
            if position > 1:
                lines = [*lines, f"Put it where it belongs, then look again ({position})."] if late else lines
            valid = position != 3 or late
            content = skill(name, *lines)
            if valid:
                repository[name] = content
            positions.append(
                {
                    "position": position, "task": f"{family} some object and put it in a place", "family": family,
                    "success": None if position == 4 and group else position % 2 == 0 or late,
                    "judged": position % 2 == 0,
                    "retrieved": list(repository)[:5],
                    "repo": [{"title": t, "content": c} for t, c in repository.items()],
                    "ops": [{"op": kind, "title": name, "valid": valid, "content": content,
                             "reason": "" if valid else f"there is a skill {title!r} already"}],
                }
            )  # fmt: skip
        return {"group": group, "rollout": 0, "positions": positions}

    def checkpoint(self, step: int, heldout: float | None) -> Path:
        """Keep weights, and write down their hash."""
        directory = self.job.root / "checkpoints" / f"step-{step:05}"
        directory.mkdir(parents=True)
        weights = directory / "model.safetensors"
        weights.write_bytes(f"weights of step {step}".encode())
        digest = hashlib.sha256(weights.name.encode() + weights.read_bytes()).hexdigest()
        path = str(directory.relative_to(self.job.root))
        self.event("checkpoint", 20 + 2.1 * step, step=step, path=path, sha256=f"sha256:{digest}", heldout=heldout)
        return weights

    def end(self, state: str = "finished", reason: str = "") -> None:
        """Measure the trained arm and end."""
        self.arm("trained", self.steps, 0.707, 19.1, 4.3)
        self.arm("trained", self.steps, 0.86, 16.9, 3.8, "grouped")
        self.event("end", 200, state=state, reason=reason, summary={"wall_s": 200})


def _time(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"2026-01-01T10:{int(minutes):02}:{rest:06.3f}Z"


def whole_run(project: ProjectPaths, run_id: str = RUN, *, seed: int = 0) -> TrainingFiles:
    """Write a run from its start to its end."""
    files = TrainingFiles(project, run_id, seed=seed)
    files.begin()
    files.train(1, STEPS)
    files.end()
    return files


def run_in_its_middle(project: ProjectPaths, run_id: str = RUN, *, last: int = 34) -> TrainingFiles:
    """Write a run that is at step `last`, with an alarm."""
    files = TrainingFiles(project, run_id)
    files.begin()
    files.train(1, last)
    files.event("alarm", 90, step=last - 3, kind="zero_variance", text="Half of the groups have equal rewards.")
    return files


Make = Callable[[ProjectPaths], TrainingFiles]
GiveTrainer = Callable[[TrainingFiles], "subprocess.Popen[bytes]"]
"""Lets a harmless process stand for the trainer of a run."""
