"""Models that tests make for themselves: a Qwen3 of a few hundred thousand weights, and what it is asked."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch

from core.curation.curators import CurationInput
from core.curation.prompt import system_text
from core.curation.worlds import Episode, Step, Task
from core.skillrepo.repository import Repository
from core.skillrepo.skill import Skill
from trainer.policies.hf import HfOptions, HfPolicy
from trainer.policies.hf_model import Lora, with_adapter
from trainer.policies.tiny_qwen import Shape, build

torch.set_num_threads(1)

SMALL = Shape(hidden=64, layers=2, heads=2, key_value_heads=1, head_size=32, intermediate=128, vocabulary=1200)
CONTENT = (
    "---\nname: heat first\ndescription: Use when a thing must be hot.\n---\n# Workflow\n1. Take it.\n2. Heat it.\n"
)
CALL = '<tool_call>\n{"name": "skill_delete", "arguments": {"skill_name": "heat first"}}\n</tool_call>'


def curation(number: int = 0, *, steps: int = 3, skills: tuple[Skill, ...] = ()) -> CurationInput:
    """Return a curation whose text differs by `number`; `steps` makes its trajectory longer."""
    task = Task(f"t{number}", "heat", f"put a hot mug {number} in cabinet.", "train", number)
    walked = tuple(
        Step(f"go to shelf {step}", f"On the shelf {step}, you see a mug {number}.") for step in range(steps)
    )
    return CurationInput(Episode(task, number % 2 == 0, steps, walked, judged=number % 2 == 0), skills)


def skill() -> Skill:
    """Return a skill as a repository holds it."""
    from core.skillrepo.skill import read

    return read(CONTENT)


@lru_cache(maxsize=1)
def _parts(seed: int = 0) -> tuple[Any, Any]:
    texts = [system_text(native=True), CALL, CONTENT, *(str(curation(number)) for number in range(40))]
    return build(texts, seed=seed, shape=SMALL)


def small_policy(*, lora: Lora | None = None, **options: Any) -> HfPolicy:
    """Return a fresh policy with random weights, always the same ones."""
    model, tokenizer = _parts()
    fresh = type(model)(model.config)
    fresh.load_state_dict(model.state_dict())
    if lora is not None:
        fresh = with_adapter(fresh, lora, seed=1)
    settings = {"device": "cpu", "max_prompt": 4096, "max_answer": 24, **options}
    return HfPolicy(fresh, tokenizer, HfOptions(lora=lora, **settings))


def flat(policy: HfPolicy) -> torch.Tensor:
    """Return all trained weights in one row."""
    return torch.cat([weight.detach().flatten() for weight in policy.parameters()])


__all__ = ["CALL", "CONTENT", "SMALL", "Repository", "curation", "flat", "skill", "small_policy"]
