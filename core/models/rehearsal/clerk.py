"""The rehearsal model where strategies govern skills: it suggests what the words sound like and passes on what comes.

It has no knowledge of a trade: a skill whose name and description share most words with what was said is what it has in
mind, the more words the surer. It never makes up an answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from core.models.interface import Request, Text
from core.models.rehearsal.transcript import Reply, Transcript, call, json_object, newest_prompt

TOOL = "suggest"
_SKILL = re.compile(r"^- ([a-z0-9][a-z0-9_-]*): ?(.*)$", re.MULTILINE)
_WORD = re.compile(r"[a-z]{3,}")
_ORDER = re.compile(r"\b[A-Z]{1,4}-?\d{1,12}\b")
_AMOUNT = re.compile(r"(?<!\w)[$€¥£] ?(\d+(?:\.\d{1,2})?)|\b(\d+(?:\.\d{1,2})?) ?(?:dollars|euros|yuan)\b")
_COMMON = frozenset(
    _WORD.findall("the and for with that this what when where how you your from have has are was not but can")
)


def reply(request: Request, seed: int) -> Reply:
    """Suggest once for what the user said last, then say what came of it."""
    del seed
    script = Transcript.of(newest_prompt(request))
    suggested = [step for step in script.steps if step.name == TOOL]
    if not suggested:
        return (call(request, 0, TOOL, _suggestion(request, script.first_user)),)
    told = json_object(suggested[-1].output or "") or {}
    return (Text("assistant", _said(told, suggested[-1].output or "")),)


def _suggestion(request: Request, said: str) -> dict[str, Any]:
    spec = next(tool for tool in request.tools if tool.name == TOOL)
    words = _words(said)
    scored = [
        (len(words & _words(f"{name.replace('_', ' ')} {about}")), name)
        for name, about in _SKILL.findall(spec.description)
    ]
    most = max((score for score, _ in scored), default=0)
    best = next((name for score, name in scored if score == most), "") if most else ""
    suggestion: dict[str, Any] = {
        "intent": best or "unclear",
        "confidence": round(min(0.5 + 0.15 * most, 0.95), 2) if best else 0.2,
        "arguments": _arguments(said),
    }
    return suggestion | ({"intended_skill": best} if best else {})


def _words(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in _WORD.findall(text.lower()) if word not in _COMMON)


def _stem(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def _arguments(said: str) -> dict[str, Any]:
    order, amount = _ORDER.search(said), _AMOUNT.search(said)
    found: dict[str, Any] = {"order_id": order.group()} if order else {}
    return found | ({"amount": float(amount[1] or amount[2])} if amount else {})


def _said(told: Mapping[str, Any], output: str) -> str:
    question = told.get("question")
    if isinstance(question, str):
        options = ", ".join(str(option).replace("_", " ") for option in told.get("options") or ())
        return f"{question} ({options})" if options else question
    if "failed" in told:
        return f"That could not be done: {told['failed']}. {told.get('message', '')}".strip()
    if "result" in told:
        facts = told["result"] or {}
        return "Done. " + "; ".join(f"{key}: {value}" for key, value in facts.items()) if facts else "Done."
    return output
