"""The script that proves the path of large models on a GPU: it runs here too, and it can fail (K15)."""

from __future__ import annotations

import json
import math

import pytest
import torch

from tests.perf import gpu
from trainer.grpo import UpdateReport

torch.set_num_threads(1)


@pytest.mark.meets("K15")
def test_a_small_model_passes_on_a_cpu_in_every_way(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main(["--device", "cpu", "--quick", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["device"]["kind"] == "cpu"
    assert [way["way"] for way in told["ways"]] == ["float32", "mixed", "bfloat16, LoRA"]
    whole, mixed, lora = told["ways"]
    assert whole["trained"] == whole["parameters"] == mixed["trained"] == 31_456
    assert 0 < lora["trained"] < whole["trained"] < lora["parameters"]
    for way in told["ways"]:
        assert way["wrong"] == []
        assert way["generated"] == 64  # the second step's eight answers of eight tokens
        assert way["scored"] == 4 * (48 + 8) + 4 * (45 + 8)
        assert min(way["generate_s"], way["update_s"], way["peak_bytes"]) > 0
    assert max(largest for _, largest in whole["apart"]) < 1e-5
    assert max(largest for _, largest in lora["apart"]) > 1e-4  # that bfloat16 is used at all
    assert whole["alone"] == [2, 2]
    assert lora["repeats"] is True


def test_what_is_wrong_is_said_and_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(gpu, "WAYS", gpu.WAYS[:1])
    monkeypatch.setitem(gpu.BOUNDS, "float32", (-1.0, -1.0))
    monkeypatch.setattr(gpu, "update", lambda *_: UpdateReport(math.nan, None, 0.0, None, 0.0, 1))
    assert gpu.main(["--device", "cpu", "--quick"]) == 1
    told = capsys.readouterr().out
    for words in ("the loss of step 1 is nan", "no gradient in step 2", "no weight moved"):
        assert f"FAILED, float32: {words}." in told
    assert "nats apart in step 2 (largest; -1.0)." in told
    assert "All finite" not in told


def test_without_a_gpu_it_says_so_and_is_content(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert gpu.main([]) == 0
    assert "There is no GPU here" in capsys.readouterr().out
    assert gpu.main(["--device", "cuda"]) == 2
    assert "no device 'cuda'" in capsys.readouterr().err
