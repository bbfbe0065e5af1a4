"""Pause and stop are heard in every phase of a run: imitation, validation, rollouts, the last measurement (K16)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from core.foundation import strict_json
from tests.trainer.small import SMALL, events
from trainer import presets
from trainer.commands.run import opened
from trainer.distributed import Follower
from trainer.making import make_trainer
from trainer.settings import table

SETTINGS = {**SMALL, "steps": 2, "imitation.steps": 4, "evaluation.groups": 1}


class Operator(Follower):
    """Stops, and pauses for a moment, where the run's events say so."""

    def __init__(
        self, root: Path, stops: Callable[[list[str]], bool], pauses: Callable[[list[str]], bool] = lambda _: False
    ) -> None:
        super().__init__(root)
        self._stops, self._pauses, self._waited = stops, pauses, False

    def _said(self) -> list[str]:
        return [f"{one['event']} {one.get('split', '')}".strip() for one in events(self.job.root)]

    @property
    def stopping(self) -> bool:  # type: ignore[override]  # it is looked up each time
        return self._stops(self._said())

    @property
    def paused(self) -> bool:  # type: ignore[override]  # as above
        return not self._waited and self._pauses(self._said())

    def wait_while_paused(self) -> float:
        self._waited = True
        return 0.0


def worked(root: Path, stops: Callable[[list[str]], bool], **more: Callable[[list[str]], bool]) -> bool:
    """Let a process work on the run; return whether it came to its end."""
    training = presets.resolve("cpu-demo", seed=3, settings=SETTINGS)
    root.mkdir(exist_ok=True)
    (root / "spec.json").write_text(strict_json.dumps({"settings": table(training)}))
    return make_trainer(training, opened(training), Operator(root, stops, **more)).run() is not None


def test_a_run_that_is_stopped_anywhere_keeps_what_it_has_and_comes_to_the_same(tmp_path: Path) -> None:
    whole, root = tmp_path / "whole", tmp_path / "stopped"
    assert worked(whole, lambda _: False)
    validated = "evaluation validation"
    assert not worked(root, lambda said: validated in said, pauses=lambda said: "start" in said)
    told = [one["event"] for one in events(root)]
    assert told.index("pause") < told.index("resume") < told.index("imitation")  # not only after all of its steps
    assert [one["step"] for one in events(root, "checkpoint")] == [0]  # the imitation is not done again
    assert not worked(root, lambda said: "step" in said)  # in the validation behind the last step, or before
    assert not worked(root, lambda said: "evaluation test" in said)
    ends = [one["reason"] for one in events(root, "end")]
    assert [reason.partition(";")[0] for reason in ends] == [
        "stopped after step 0", "stopped after step 1", "stopped in the last measurement",
    ]  # fmt: skip
    assert worked(root, lambda _: False)
    ours, theirs = (strict_json.parse((one / "summary.json").read_bytes()) for one in (root, whole))
    for name in ("heldout", "validation", "reward", "checkpoint"):
        assert ours[name] == theirs[name]
