"""May this call run? The approval mode, the operator, and above both the command policy (EVOLUTION 4.3)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from core.models.interface import ToolCall

from .conversation import Decision

ApprovalMode = Literal["allow-all", "deny-all", "read-only", "always-ask"]
Ask = Callable[[ToolCall], Awaitable[bool]]

DENIED_BY_USER = "Tool call denied by user."
DENIED_BY_POLICY = "Tool call denied by policy."

_JS_NAMED_GROUP = re.compile(r"\(\?<(?=[A-Za-z_$])")
_JS_NAMED_REFERENCE = re.compile(r"\\k<([A-Za-z_]\w*)>")


class CommandRuleLike(Protocol):
    """A rule as the project file has it."""

    @property
    def name(self) -> str: ...

    @property
    def pattern(self) -> str: ...

    @property
    def enabled(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class CommandRule:
    """A rule of the command policy: `pattern` is a JavaScript regular expression."""

    name: str
    pattern: str
    description: str = ""
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class CommandPolicy:
    """Compiled rules. `broken` names those whose pattern Python cannot take: with one of them no command runs."""

    rules: tuple[tuple[str, re.Pattern[str]], ...] = ()
    broken: tuple[str, ...] = ()

    @classmethod
    def of(cls, rules: Iterable[CommandRuleLike]) -> CommandPolicy:
        """Compile the enabled rules (DECISIONS 20)."""
        compiled: list[tuple[str, re.Pattern[str]]] = []
        broken: list[str] = []
        for rule in rules:
            if not rule.enabled:
                continue
            try:
                compiled.append((rule.name, re.compile(_python_pattern(rule.pattern))))
            except (re.error, OverflowError, RecursionError):
                broken.append(rule.name)
        return cls(tuple(compiled), tuple(broken))

    def forbids(self, arguments: Mapping[str, Any]) -> str | None:
        """Return the name of the rule that forbids the shell command in `arguments`, or None."""
        for key in ("cmd", "chars"):
            command = arguments.get(key)
            if not isinstance(command, str) or not command:
                continue
            if self.broken:
                return self.broken[0]
            for name, pattern in self.rules:
                if pattern.search(command):
                    return name
        return None


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
    if policy.forbids(arguments) is not None:
        return "forbidden"
    if mode == "allow-all":
        return "allow"
    if mode == "deny-all":
        return "deny"
    if mode == "read-only":
        return "allow" if permission == "r" else "deny"
    return "allow" if ask is not None and await ask(call) else "deny"


def _python_pattern(pattern: str) -> str:
    """Turn the spellings of JavaScript that differ into Python's."""
    pattern = _JS_NAMED_GROUP.sub("(?P<", pattern)
    pattern = _JS_NAMED_REFERENCE.sub(r"(?P=\1)", pattern)
    return pattern.replace("[^]", r"[\s\S]").replace(r"\/", "/")
