"""Use of what was learned: policies as Hugging Face folders, repositories as SKILL.md folders (K19)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from core.foundation.errors import UsageError
from core.skillrepo.document import read_skill
from trainer.commands.export import main
from trainer.policies.curator import curator_for
from trainer.policies.hf import HfPolicy
from trainer.policies.hf_export import export
from trainer.policies.hf_model import Lora, open_model
from trainer.policies.loading import open_policy

from .small_models import curation, small_policy

pytestmark = pytest.mark.meets("K19")


def learnt(lora: Lora | None) -> HfPolicy:
    policy = small_policy(lora=lora, worlds=("household",))
    torch.manual_seed(1)
    with torch.no_grad():
        for weight in policy.parameters():
            weight.add_(torch.randn_like(weight) * 0.05)
    return policy


def logits(model: torch.nn.Module, policy: HfPolicy) -> torch.Tensor:
    ids = torch.tensor([policy.prompt(curation())])
    with torch.no_grad():
        found: torch.Tensor = model(ids).logits
    return found


@pytest.mark.parametrize("lora", [None, Lora(rank=4)])
def test_a_policy_becomes_an_ordinary_folder(
    lora: Lora | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = learnt(lora)
    checkpoint = tmp_path / "run" / "checkpoints" / "step-00003"
    checkpoint.mkdir(parents=True)
    policy.save(checkpoint)
    (checkpoint / "optimizer.pt").write_bytes(b"x")
    out = tmp_path / "out"
    assert main([str(tmp_path / "run"), str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["kind"], told["worlds"]) == ("hf", ["household"])
    model = AutoModelForCausalLM.from_pretrained(out)
    tokenizer = AutoTokenizer.from_pretrained(out)
    assert torch.allclose(logits(model, policy), logits(policy.model, policy), atol=1e-4)
    assert tokenizer(CARD)["input_ids"] == policy.tokenizer(CARD)["input_ids"]
    assert not (out / "optimizer.pt").exists()
    assert "synthetic traces" in (out / "README.md").read_text()
    again = open_policy(out)
    assert again.worlds == ("household",)
    assert main([str(tmp_path / "run"), str(out)]) == 1  # never over something
    assert "is not empty" in capsys.readouterr().err


CARD = "put a hot mug in cabinet. <tool_call>"


def test_a_merged_export_names_the_base_that_it_came_from(tmp_path: Path) -> None:
    policy = small_policy(lora=Lora(rank=4), base="models/some-135m")
    export(policy, tmp_path)
    again = open_policy(tmp_path)
    assert isinstance(again, HfPolicy)
    assert (again.options.base, again.options.lora) == ("models/some-135m", None)
    card = (tmp_path / "README.md").read_text()
    assert "Base: models/some-135m" in card
    assert "synthetic traces" not in card


def test_adapters_can_stay_apart(tmp_path: Path) -> None:
    policy = learnt(Lora(rank=4))
    (tmp_path / "kept").mkdir()
    policy.save(tmp_path / "kept")
    assert main([str(tmp_path / "kept"), str(tmp_path / "out"), "--adapter"]) == 0
    assert (tmp_path / "out" / "adapter_model.safetensors").is_file()
    opened = open_policy(tmp_path / "out")
    assert isinstance(opened, HfPolicy)
    assert torch.equal(logits(opened.model, policy), logits(policy.model, policy))


def test_an_exported_policy_curates_any_world_and_agents_too(tmp_path: Path) -> None:
    learnt(None).save(tmp_path)
    policy = open_policy(tmp_path)
    for world in ("household", "shop", "agent"):
        curator = curator_for(policy, "exported", world, temperature=0.7)
        (answer,) = curator.curate([curation()])
        assert answer.answer_tokens
        assert not answer.failure


def samples(run: Path) -> None:
    position = {"position": 0, "task": "t", "family": "f", "success": True, "judged": True, "retrieved": [], "ops": []}
    content = "---\nname: Heat first\ndescription: Use when it must be hot.\n---\n\n# Workflow\nHeat it.\n"
    empty = {**position, "repo": []}
    full = {**position, "position": 1, "repo": [{"title": "Heat first", "content": content}]}
    document = {"step": 7, "rollouts": [{"group": group, "rollout": 0, "positions": [empty, full]} for group in (0, 2)]}
    (run / "samples").mkdir(parents=True)
    (run / "samples" / "step-00007.json").write_text(json.dumps(document))


def test_the_repository_of_a_sample_becomes_skill_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples(tmp_path / "run")
    assert main([str(tmp_path / "run"), str(tmp_path / "skills"), "--skills", "--group", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["skills"] == ["Heat first"]
    (written,) = (tmp_path / "skills").rglob("SKILL.md")
    document = read_skill(written.parent)
    assert document.valid
    assert document.body.strip() == "# Workflow\nHeat it."
    assert main([str(tmp_path / "run"), str(tmp_path / "other"), "--skills", "--group", "9"]) == 2
    assert "Groups: 0, 2" in capsys.readouterr().err
    assert main([str(tmp_path / "run"), str(tmp_path / "other"), "--skills", "--step", "3"]) == 2
    assert "no sample of step 3" in capsys.readouterr().err


def test_what_isn_t_there_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none"), str(tmp_path / "out")]) == 2
    assert "nothing at" in capsys.readouterr().err


def test_code_that_a_folder_brings_along_is_neither_run_nor_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Unsaid, transformers asks whoever sits at the terminal, and runs it.
    mark = tmp_path / "run"
    asked: list[str] = []

    def yes(prompt: str = "") -> str:
        asked.append(prompt)
        return "y"

    monkeypatch.setattr("builtins.input", yes)
    classes = {
        "AutoConfig": "theirs.Config",
        "AutoModelForCausalLM": "theirs.Model",
        "AutoTokenizer": ["theirs.T", None],
    }
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "theirs", "auto_map": classes}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"auto_map": classes}))
    (tmp_path / "theirs.py").write_text(f"import os\nos.mkdir({str(mark)!r})\n")
    with pytest.raises(UsageError, match="can't be opened"):
        open_model(tmp_path, device=torch.device("cpu"), dtype="float32")
    assert asked == []
    assert not mark.exists()
