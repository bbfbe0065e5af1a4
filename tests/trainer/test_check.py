"""What can't begin is told before anything is made for it (`python -P -m trainer check`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.curation import streams, training
from core.curation.stream_spec import StreamSpec
from core.foundation.errors import ExuviaError, UsageError
from core.state.fresh import ensure_home
from core.state.paths import ProjectPaths
from trainer import presets
from trainer.commands.check import can_begin
from trainer.policies import hf, options
from trainer.policies.tiny_qwen import Shape


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"foo": 3}, "no setting 'foo'"), ({"steps": -3}, "steps must be at least 0"),
        ({"steps": "abc"}, "a whole number"), ({"optimizer.lr": "high"}, "a number"),
        ({"min_overlap": 7}, "Do you mean retrieval.min_overlap"), ({"retrieval.min_overlap": 7}, "a share"),
        ({"reward.task": -9}, "reward.task"), ({"world": "moon"}, "no world 'moon'"),
        ({"world_options.size": 3}, "can't be opened with size"), ({"executor.name": "nobody"}, "no executor"),
        ({"executor.name": "acme/one"}, "acme"), ({"judge.content": "me"}, "no content judge"),
        ({"judge.opinion": "me"}, "no opinion"), ({"policy.kind": "hf"}, "needs policy.path"),
        ({"policy.path": "/nowhere"}, "no model at policy.path"),
        ({"policy.options.layers": -1}, "layers can't be -1"), ({"policy.options.depth": 1}, "no option 'depth'"),
        ({"policy.options.heads": 7}, "can't be shared"), ({"group.by": "pipeline"}, "needs group.file"),
        ({"group.by": "pipeline", "group.file": "/nowhere"}, "no file '/nowhere'"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value),
)  # fmt: skip
def test_a_setting_that_no_run_can_have_is_told_at_once(tmp_path: Path, settings: dict[str, Any], words: str) -> None:
    preset = "smollm2-135m" if "policy.path" in settings else "cpu-demo"
    with pytest.raises(ExuviaError) as refused:
        can_begin(presets.resolve(preset, settings=settings), ProjectPaths(tmp_path))
    assert words in f"{refused.value} {refused.value.hint}"


def test_what_can_begin_is_let_through(tmp_path: Path) -> None:
    project = ProjectPaths(tmp_path)
    can_begin(presets.resolve("cpu-demo"), project)
    can_begin(presets.resolve("qwen3-tiny-ci"), project)


def test_imitation_by_a_model_is_refused_before_a_run_is_made(tmp_path: Path) -> None:
    project = ensure_home(tmp_path / "home")
    entry = '\n[[models]]\nprovider = "openai"\nmodel_id = "gpt-x"\napi_key = "k"\n'
    project.config.write_text(project.config.read_text() + entry)
    named = {"executor.name": "openai/gpt-x"}
    with pytest.raises(UsageError, match="needs an executor of the world's own, not 'openai/gpt-x'") as refused:
        can_begin(presets.resolve("cpu-demo", settings=named), project)
    assert "weak, mid, strong, or imitation.steps=0" in refused.value.hint
    can_begin(presets.resolve("cpu-demo", settings={**named, "imitation.steps": 0}), project)


def test_the_options_that_are_looked_at_are_those_that_a_model_takes() -> None:
    known = hf._OPTIONS | hf._SIZES | {"lora_rank", "lora_alpha", "memory_gb"}
    for name in {*options._HF, *options._SWITCHES, "memory_gb"}:
        assert name in known
    assert {*Shape.__dataclass_fields__} <= {*options._HF}


def test_the_process_answers_for_a_run_and_for_a_stream(tmp_path: Path) -> None:
    project = ProjectPaths(tmp_path / "default_project")
    with pytest.raises(UsageError, match="no setting 'foo'"):
        training.start(project, "cpu-demo", settings={"foo": 3})
    streams.check(project, StreamSpec("household", arms=("none", "oracle")), named=("none", "oracle"))
    assert not project.training.exists()
