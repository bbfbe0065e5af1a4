"""The rehearsal model where strategies govern skills: it suggests what the words sound like and passes on what comes.

It has no knowledge of a trade. Where its AGENTS.md lists intents ("## Intents", `- name: what it sounds like`), the one
that shares most words with what was said is what it hears, the more words the surer; the skill it has in mind is found
likewise by name and description, and is the intent where none are listed. It never makes up an answer.

A task that lies in a file is read first: a customer's words are what stands there in quotes (`> ...`), and where the
task names a file for the answer (... to `answer.txt`) it is written there too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from core.models.interface import Request, Text
from core.models.rehearsal.transcript import Reply, Transcript, call, json_object, newest_prompt

TOOL = "suggest"
_LISTED = re.compile(r"^- ([a-z0-9][a-z0-9_-]*): ?(.*)$", re.MULTILINE)
_INTENTS = re.compile(r"^## Intents\n(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"\b([\w.-]+\.md)\b")
_QUOTED = re.compile(r"^> ?(.*)$", re.MULTILINE)
_ANSWER_FILE = re.compile(r"\bto `([\w.-]+)`")
_WORD = re.compile(r"[a-z]{3,}")
_ORDER = re.compile(r"\b[A-Z]{1,4}-?\d{1,12}\b")
_AMOUNT = re.compile(r"(?<!\w)[$€¥£] ?(\d+(?:\.\d{1,2})?)|\b(\d+(?:\.\d{1,2})?) ?(?:dollars|euros|yuan)\b")
_COMMON = frozenset(
    _WORD.findall("the and for with that this what when where how you your from have has are was not but can")
)


def reply(request: Request, seed: int) -> Reply:
    """Read the task where it lies in a file, suggest once for what was said, then say what came of it."""
    del seed
    script = Transcript.of(newest_prompt(request))
    tools = {tool.name for tool in request.tools}
    said, answer_file = script.first_user, ""
    named = _FILE.search(said)
    if named is not None and "read_file" in tools:
        if not script.asked(named[1]):
            return (call(request, 0, "read_file", {"file_path": named[1]}),)
        task = script.file(named[1]) or said
        said = " ".join(_QUOTED.findall(task)) or task
        wanted = _ANSWER_FILE.search(task)
        answer_file = wanted[1] if wanted is not None and "write_file" in tools else ""
    suggested = [step for step in script.steps if step.name == TOOL]
    if not suggested:
        return (call(request, 0, TOOL, _suggestion(request, said)),)
    output = suggested[-1].output or ""
    answer = _said(json_object(output) or {}, output)
    if answer_file and script.last("write_file") is None:
        return (call(request, 0, "write_file", {"file_path": answer_file, "content": answer + "\n"}),)
    return (Text("assistant", answer),)


def _suggestion(request: Request, said: str) -> dict[str, Any]:
    spec = next(tool for tool in request.tools if tool.name == TOOL)
    words = _words(said)
    skill, of_skill = _nearest(words, _LISTED.findall(spec.description))
    listed = _INTENTS.search(request.system_prompt)
    intent, most = _nearest(words, _LISTED.findall(listed[1])) if listed else (skill, of_skill)
    suggestion: dict[str, Any] = {
        "intent": intent or "unclear",
        "confidence": round(min(0.5 + 0.15 * most, 0.95), 2) if intent else 0.2,
        "arguments": _arguments(said),
    }
    return suggestion | ({"intended_skill": skill} if skill else {})


def _nearest(words: frozenset[str], listed: Iterable[tuple[str, str]]) -> tuple[str, int]:
    """Return what shares most words with what was said, the first of equals, and how many; "" where none shares one."""
    scored = [(len(words & _words(f"{name.replace('_', ' ')} {about}")), name) for name, about in listed]
    most = max((score for score, _ in scored), default=0)
    return (next(name for score, name in scored if score == most), most) if most else ("", 0)


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
