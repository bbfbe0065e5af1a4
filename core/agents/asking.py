"""What a Session asks its operator, as approvals, and what a decision means to the Session (EVOLUTION 4.3 no. 7).

The id of an approval follows from the Session and the call, so whoever asks again after a crash finds the same one.
"""

from __future__ import annotations

import hashlib
import json

from core.models.interface import ToolCall
from core.state import approvals
from core.state.approvals import Approval, Decision

from .approval import Permission, Ruling
from .tools.ask import Reply

_TITLE = 200  # characters


def approval_id(kind: approvals.Kind, session_id: str, call_id: str) -> str:
    """Return the id of what a call asks: the same each time, whoever asks again."""
    digest = hashlib.sha256(json.dumps([session_id, call_id]).encode()).hexdigest()
    return f"{kind.replace('_', '-')}-{digest[:12]}"


def question_of(
    session_id: str, call_id: str, text: str, options: tuple[str, ...], *, agent_id: str, role: str, **of_run: str
) -> Approval:
    """Return a Session's question as an approval; `of_run` gives run_id and benchmark_id, if there are."""
    return Approval(
        id=approval_id("question", session_id, call_id),
        kind="question",
        agent_id=agent_id,
        session_id=session_id,
        role=role,
        title=_line(text),
        body={"text": text, "options": list(options), "call_id": call_id},
        **of_run,
    )


def tool_call_of(
    session_id: str, call: ToolCall, permission: Permission, *, agent_id: str, role: str, **of_run: str
) -> Approval:
    """Return a tool call as an approval: its name, its arguments as the model wrote them, what it may do."""
    does = "change things" if permission == "rw" else "read only"
    return Approval(
        id=approval_id("tool_call", session_id, call.call_id),
        kind="tool_call",
        agent_id=agent_id,
        session_id=session_id,
        role=role,
        title=_line(f"{call.name} ({does}): {call.arguments}"),
        body={
            "tool": call.name,
            "arguments": call.arguments,
            "permission": permission,
            "call_id": call.call_id,
        },
        **of_run,
    )


def reply_of(decision: Decision) -> Reply:
    """Return what a question's asker is told."""
    return Reply(decision.text) if decision.verdict == "answer" else Reply(decision.reason, declined=True)


def ruling_of(decision: Decision) -> Ruling:
    """Return what a decision makes of a tool call."""
    return Ruling("allow" if decision.verdict == "approve" else "deny", decision.reason)


def _line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _TITLE else flat[: _TITLE - 1] + "…"
