"""A policy as a Curator: what a stream, or another process, asks (core.curation.curators)."""

from __future__ import annotations

from collections.abc import Sequence

from core.curation.curators import Curation, CurationInput
from core.foundation.errors import RefusedError
from core.skillrepo import calls
from trainer.policies.policy import Policy

BATCH = 64
"""Most answers that are generated at once."""


class PolicyCurator:
    """Answers with what the policy samples at `temperature`, each answer drawn by its input's own seed."""

    def __init__(self, policy: Policy, name: str, *, temperature: float) -> None:
        self._policy = policy
        self._temperature = temperature
        self.name = name

    def refuses(self, world: str) -> str:
        return self._policy.refuses(world)

    def curate(self, inputs: Sequence[CurationInput]) -> Sequence[Curation]:
        """Answer each input. Raises RefusedError where one comes from a world that the policy wasn't trained for."""
        answers: list[Curation] = []
        for start in range(0, len(inputs), BATCH):
            answers += self._batch(inputs[start : start + BATCH])
        return answers

    def _batch(self, inputs: Sequence[CurationInput]) -> list[Curation]:
        prompts = [self._policy.prompt(given) for given in inputs]
        made = self._policy.generate(prompts, temperature=self._temperature, seeds=[given.seed for given in inputs])
        found: list[Curation] = []
        for given, prompt, answer in zip(inputs, prompts, made, strict=True):
            text = self._policy.render(answer.ids, given)
            found.append(Curation(text, calls.parse(text), len(prompt), len(answer.ids)))
        return found


def curator_for(policy: Policy, name: str, world: str, *, temperature: float) -> PolicyCurator:
    """Return the policy as a curator of `world`. Raises RefusedError with the reason where it can't be."""
    if reason := policy.refuses(world):
        raise RefusedError(reason, hint="Take a policy that was trained for this world, or an hf policy.")
    return PolicyCurator(policy, name, temperature=temperature)
