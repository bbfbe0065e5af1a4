"""May this call run? The approval mode, the operator, and above both the command policy (EVOLUTION 4.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, get_args

from core.models.interface import ToolCall
from core.state.command_policy import CommandPolicy

from .conversation import Decision

ApprovalMode = Literal["allow-all", "deny-all", "read-only", "always-ask"]
APPROVAL_MODES: tuple[str, ...] = get_args(ApprovalMode)
Ask = Callable[[ToolCall], Awaitable[bool]]

DENIED_BY_USER = "Tool call denied by user."
DENIED_BY_POLICY = "Tool call denied by policy."
_COMMANDS = ("cmd", "chars")  # arguments that a shell or a running command reads


async def decide(
    call: ToolCall,
    arguments: Mapping[str, Any],
    *,
    permission: Literal["r", "rw"],
    mode: ApprovalMode,
    policy: CommandPolicy,
    ask: Ask | None,
) -> Decision:
    """Return allow, deny or forbidden. With always-ask and nobody to ask, the answer is deny."""
    if forbidden_by(policy, arguments):
        return "forbidden"
    if mode == "allow-all":
        return "allow"
    if mode == "deny-all":
        return "deny"
    if mode == "read-only":
        return "allow" if permission == "r" else "deny"
    return "allow" if ask is not None and await ask(call) else "deny"


def forbidden_by(policy: CommandPolicy, arguments: Mapping[str, Any]) -> str:
    """Return why the policy forbids the command in `arguments`, or an empty text."""
    for name in _COMMANDS:
        command = arguments.get(name)
        if isinstance(command, str) and command:
            verdict = policy.verdict(command)
            if not verdict.allowed:
                return verdict.reason
    return ""
