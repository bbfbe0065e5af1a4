"""What the curator and the trainer must do (CURATION K1 to K20)."""

from __future__ import annotations

from collections.abc import Mapping

REQUIREMENTS: Mapping[str, str] = {
    "K1": "Skills are SKILL.md documents with two keys: read strictly, written to read back, found by exact title, "
    "kept as a directory",
    "K2": "Insert, update and delete are tool calls with a JSON schema, read from three styles, each with a verdict",
    "K3": "Retrieval is BM25, the best five over name and description, ties in a fixed order",
    "K4": "Executors are frozen, have 30 turns and recall three actions; what they write is parsed, coercions counted",
    "K5": "An executor judges itself; that opinion and the world's verdict are kept apart",
    "K6": "A stream begins empty and is walked once, all arms on the same tasks, with paired statistics",
    "K7": "Tasks are grouped by type, or by the annotated attributes with every gate of the paper",
    "K8": "The reward has four terms with their weights; what was not measured is masked",
    "K9": "Content is judged by four criteria, by rules or by a model; an unreadable verdict is unmeasured",
    "K10": "GRPO: the group's mean, no deviation, a clipped ratio, one advantage for every token; KL only if asked",
    "K11": "A rollout is one prompt a task with one advantage; denominators are fixed; measured positions are told",
    "K12": "Presets hold the paper's tables, and one runs here in minutes",
    "K13": "The embedded run learns: reward and held-out success rise, steps fall, inserts give way to updates",
    "K14": "Each part of the method can be switched off, and the comparison is printed with its spread",
    "K15": "The same loop trains any causal language model, whole or by LoRA, on whatever device there is",
    "K16": "A run that is killed goes on as if it had not been: the same weights to the bit",
    "K17": "A run tells everything the panel shows in a stream of events",
    "K18": "Behaviour is analysed: shares of operations, headings, meta skills, coverage, skills an example",
    "K19": "What was learned goes out: skills as folders, policies in the common format",
    "K20": "Many machines: an adapter and configurations for the paper's own stack",
}
