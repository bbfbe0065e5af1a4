"""How the rehearsal roles talk with the operator: a word that was put in is acknowledged, and a Builder may ask.

The Builder's question (option `asks`) is one that its contract really leaves open, and the answer goes into the
contract, so one can see in the files what came of it.
"""

from __future__ import annotations

import json
from dataclasses import replace

from core.models.interface import Request, Text, ToolCall
from core.models.rehearsal.transcript import STEERING, Reply, Transcript, call, json_object

ASK = "ask_operator"
OPTIONS = ("What the note in the material says", "What the task says", "Either, if the result says which")
_DENIED = ("Tool call denied", "[interrupted")
_LONGEST = 300  # characters of an answer or a word that a reply quotes


def question(capability: str) -> str:
    """Return what the Builder asks before it declares its contract."""
    return (
        f"The benchmark shall measure: {capability.rstrip('.')}. Where a task and a note in its material disagree, "
        "what shall a Case count as right?"
    )


def asked_first(request: Request, reply: Reply) -> Reply:
    """Return the Builder's question in place of a contract that it is about to declare, or the contract with the
    answer in it; any other reply as it is.
    """
    place = next((n for n, part in enumerate(reply) if isinstance(part, ToolCall) and _declares(part)), None)
    if place is None or ASK not in {tool.name for tool in request.tools}:
        return reply
    contract = reply[place]
    assert isinstance(contract, ToolCall)
    arguments = dict(json_object(contract.arguments) or {})
    asked = Transcript.of(request).last(ASK)
    if asked is None or asked.output is None:
        what = {"question": question(str(arguments.get("capability", ""))), "options": list(OPTIONS)}
        return (Text("assistant", "One thing is left open before I draft. I ask.\n"), call(request, 0, ASK, what))
    if asked.output.startswith(_DENIED):
        return reply
    settled = f"Settled with the operator: {_short(asked.output)}"
    arguments["description"] = f"{arguments.get('description', '')} {settled}".strip()
    declared = replace(contract, arguments=json.dumps(arguments, ensure_ascii=False))
    return (*reply[:place], declared, *reply[place + 1 :])


def acknowledged(request: Request, reply: Reply) -> Reply:
    """Return the reply with a word about what the operator put in since the last one."""
    told: list[str] = []
    for message in reversed(request.messages):
        if isinstance(message, ToolCall) or (isinstance(message, Text) and message.role == "assistant"):
            break
        if isinstance(message, Text) and (match := STEERING.fullmatch(message.text)):
            told.insert(0, _short(match[1]))
    if not told or not reply:
        return reply
    said = f"The operator says: {' / '.join(told)}. I go on with that in mind.\n"
    first = reply[0]
    if isinstance(first, Text):
        return (replace(first, text=said + first.text), *reply[1:])
    return (Text("assistant", said), *reply)


def _declares(part: ToolCall) -> bool:
    return part.name == "declare_contract"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 1] + "…"
