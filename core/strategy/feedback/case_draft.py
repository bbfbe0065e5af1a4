"""A benchmark's Case drafted from a bad case: what was asked, anonymised, and what must hold next time (STRATEGY S96).

The draft is for a person to complete: the statement has what the records know, the rubric an item for each thing that
went wrong. No check is made up: an item that a program could decide says so, and which expression decides it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.foundation.errors import ConflictError
from core.state.atomic import write_new
from core.strategy.feedback.bad_cases import BadCase

_TOTAL = 100


@dataclass(frozen=True, slots=True)
class CaseDraft:
    """A Case as files: path below its directory to text. `name` is the directory's, CASE-<nnn>-<words>."""

    name: str
    files: Mapping[str, str]


def draft_case(case: BadCase, number: int) -> CaseDraft:
    """Return the draft of Case `number` (from 1)."""
    words = re.sub(r"[^a-z0-9]+", "-", f"{case.skill} {case.code}".lower()).strip("-") or "bad-case"
    title = f"{case.skill or 'A step'}: {case.code or 'fallback'}".replace("_", " ")
    items = _items(case)
    share, rest = divmod(_TOTAL, len(items))
    points = [share + (place < rest) for place in range(len(items))]
    rubric = "\n".join(f"- {count} pts: {item}" for count, item in zip(points, items, strict=True))
    known = json.dumps(dict(case.suggestion.get("arguments") or {}), ensure_ascii=False, sort_keys=True)
    statement = f"# {title.capitalize()}\n\nA customer says:\n\n{_quoted(case.utterance)}\n\nHandle it"
    statement += f"; what the conversation has told so far: `{known}`.\n" if known != "{}" else ".\n"
    files = {
        "statement/README.md": statement,
        "rubric/README.md": f"# Rubric: {title.capitalize()}\n\nDrafted from {case.id}.\n\n{rubric}\n",
    }
    return CaseDraft(f"CASE-{number:03d}-{words[:48].strip('-')}", files)


def write_case(draft: CaseDraft, benchmark: Path) -> Path:
    """Write a draft into a benchmark's directory and return its own. Raises ConflictError where it is there already."""
    root = benchmark / draft.name
    if root.exists():
        raise ConflictError(f"{draft.name} is there already.", hint="Take the next number.")
    for name, text in draft.files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_new(path, text.encode("utf-8"))
    return root


def _items(case: BadCase) -> list[str]:
    failed = [
        f"`{event['check']}` holds ({event.get('level', 'check')}; it failed with {event['code']})."
        for event in case.events
        if event.get("event") == "checked" and event.get("verdict") == "failed"
    ]
    items = list(dict.fromkeys(failed))
    if "timeout" in case.reasons:
        items.append("The answer comes in time; nothing that was waited for ran into its limit.")
    if case.code and not failed:
        items.append(f"{case.skill or 'The step'} does not end in {case.code}, or another way does what was asked.")
    if case.fallbacks:
        items.append(f"What was asked is done, without {' or '.join(dict.fromkeys(case.fallbacks))}.")
    return items or ["What was asked is done."]


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines() or [""])
