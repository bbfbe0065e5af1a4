"""What a trained policy was trained with, as far as it matters to whoever lets it curate elsewhere."""

from __future__ import annotations

from pathlib import Path

from core.curation.fields import Fields
from core.curation.memories import Retrieval
from core.foundation import strict_json


def retrieval_of(policy: Path) -> Retrieval | None:
    """Return how skills were retrieved while a policy was trained; None where nothing tells it, as of an export.

    `policy` is a training run or one of its checkpoints.
    """
    for run in (policy, policy.parent.parent):
        try:
            document = strict_json.parse((run / "spec.json").read_bytes())
            settings = Fields(document if isinstance(document, dict) else {}).part("settings")
            top_k, min_overlap = settings.count("retrieval.top_k"), settings.share("retrieval.min_overlap")
        except (OSError, ValueError):
            continue
        if top_k is not None and min_overlap is not None:
            return Retrieval(top_k, min_overlap)
    return None
