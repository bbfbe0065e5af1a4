"""Writing a trained language model for others: an ordinary Hugging Face folder, with a card that says what (K19)."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

from core.state.atomic import write_text

from .hf import POLICY_FILE, TINY, HfPolicy


def export(policy: HfPolicy, directory: Path, *, merged: bool = True) -> None:
    """Write the policy into the empty `directory`; `Auto*` of transformers opens it, and Exuvia too.

    `merged` adds LoRA adapters to the weights of their base, which ends the policy: its adapters are gone then.
    Unmerged, the folder holds the adapters, for peft, and names its base.
    """
    if policy.options.lora is None or not merged:
        policy.save(directory)
    else:
        policy.model.merge_and_unload().save_pretrained(directory)
        policy.tokenizer.save_pretrained(directory)
        facts = {"kind": policy.kind, **asdict(replace(policy.options, lora=None))}
        write_text(directory / POLICY_FILE, json.dumps(facts, indent=2) + "\n")
    write_text(directory / "README.md", card(policy))


def card(policy: HfPolicy) -> str:
    """Return the model card."""
    told = policy.describe()
    base = policy.options.base or "a small random Qwen3 made on the spot"
    worlds = ", ".join(policy.worlds) or "no world yet"
    made = (
        "\nIt was pre-trained on synthetic traces only and knows no language beyond them.\n"
        if policy.options.base in ("", TINY)
        else ""
    )
    return (
        "---\nlibrary_name: transformers\npipeline_tag: text-generation\ntags: [skill-curation]\n---\n\n"
        "# A skill curator\n\n"
        f"Reads how a task went and answers with operations on a repository of skills. Trained on: {worlds}.\n"
        f"Base: {base}. {told['model']}, {told['parameters']:,} parameters.\n{made}\n"
        "Its prompt is a chat with the tools `new_skill_insert`, `skill_update` and `skill_delete`; "
        "`exuvia stream run --curator FOLDER` asks it as it was trained.\n"
    )
