"""May this call run? The approval mode, the operator, and above both the command policy (EVOLUTION 4.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from core.models.interface import ToolCall
from core.state.command_policy import CommandPolicy

from .conversation import Decision

ApprovalMode = Literal["allow-all", "deny-all", "read-only", "always-ask"]
APPROVAL_MODES: tuple[str, ...] = get_args(ApprovalMode)
Permission = Literal["r", "rw"]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What was decided of a call; `reason` is a person's word for the model, empty where there is none."""

    decision: Decision
    reason: str = ""


Ask = Callable[[ToolCall, Permission], Awaitable[Ruling]]
"""Asks a person whether a call may run, and waits as long as it takes."""

DENIED_BY_USER = "Tool call denied by user."
DENIED_BY_POLICY = "Tool call denied by policy."
_ASKS_ITSELF = "ask_operator"  # nobody is asked whether they may be asked
_COMMANDS = ("cmd", "chars")  # arguments that a shell or a running command reads


async def decide(
    call: ToolCall,
    arguments: Mapping[str, Any],
    *,
    permission: Permission,
    mode: ApprovalMode,
    policy: CommandPolicy,
    ask: Ask | None,
) -> Ruling:
    """Return allow, deny or forbidden. With always-ask and nobody to ask, the answer is deny.

    The policy stands above all: what it forbids no person is asked about.
    """
    if forbidden_by(policy, arguments):
        return Ruling("forbidden")
    if mode == "always-ask" and call.name != _ASKS_ITSELF:
        return await ask(call, permission) if ask is not None else Ruling("deny")
    allowed = mode in ("allow-all", "always-ask") or (mode == "read-only" and permission == "r")
    return Ruling("allow" if allowed else "deny")


def denial(ruling: Ruling) -> str:
    """Return what a model reads for a call that may not run; a person's reason goes with it."""
    if ruling.decision == "forbidden":
        return DENIED_BY_POLICY
    return f"{DENIED_BY_USER} Reason: {ruling.reason}" if ruling.reason else DENIED_BY_USER


def forbidden_by(policy: CommandPolicy, arguments: Mapping[str, Any]) -> str:
    """Return why the policy forbids the command in `arguments`, or an empty text."""
    for name in _COMMANDS:
        command = arguments.get(name)
        if isinstance(command, str) and command:
            verdict = policy.verdict(command)
            if not verdict.allowed:
                return verdict.reason
    return ""
