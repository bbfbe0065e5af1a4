"""What a Target process is told on its stdin: all it needs, read beforehand, so that it reads nothing it may not.

The key and the vault's values stand in it: it goes through a pipe to that one process and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core.models.interface import ThinkingLevel
from core.models.route import Route
from core.state.command_policy import CommandPolicy, command_rule
from core.state.paths import ProjectPaths

from .approval import ApprovalMode
from .budgets import Budgets
from .governed import Governed
from .tools.builtin import ToolSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """The Session of a Target process, told whole."""

    project: ProjectPaths
    agent_id: str
    agent_state: Path
    readable: tuple[Path, ...]
    workspace: Path
    scratchpad: Path
    session_id: str
    trace_path: Path
    live_path: Path
    message: str
    route: Route
    system_prompt: str
    tools: tuple[ToolSettings, ...]
    vault: Mapping[str, str]
    command_policy: CommandPolicy
    notices: tuple[str, ...]
    approval: ApprovalMode
    thinking_level: ThinkingLevel
    max_tokens: int
    request_timeout_s: float
    context_limit: int
    budgets: Budgets
    seed: int | None
    allow_unisolated: bool
    governed: Governed | None = None

    def __repr__(self) -> str:
        return f"Orders({self.session_id!r})"

    def to_line(self) -> bytes:
        """Return the orders as one line of JSON, SECRETS INCLUDED."""
        document = {
            "project": str(self.project.root),
            "agent_id": self.agent_id,
            "agent_state": str(self.agent_state),
            "readable": [str(path) for path in self.readable],
            "workspace": str(self.workspace),
            "scratchpad": str(self.scratchpad),
            "session_id": self.session_id,
            "trace_path": str(self.trace_path),
            "live_path": str(self.live_path),
            "message": self.message,
            "route": self.route.as_json(),
            "system_prompt": self.system_prompt,
            "tools": [asdict(tool) for tool in self.tools],
            "vault": dict(self.vault),
            "command_policy": {
                "enabled": self.command_policy.enabled,
                "rules": [
                    [rule.name, rule.pattern, rule.description, rule.enabled] for rule in self.command_policy.rules
                ],
            },
            "notices": list(self.notices),
            "approval": self.approval,
            "thinking_level": self.thinking_level,
            "max_tokens": self.max_tokens,
            "request_timeout_s": self.request_timeout_s,
            "context_limit": self.context_limit,
            "budgets": asdict(self.budgets),
            "seed": self.seed,
            "allow_unisolated": self.allow_unisolated,
            "governed": None if self.governed is None else self.governed.to_json(),
        }
        return json.dumps(document).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Orders:
        """Return the orders that `to_line` wrote."""
        told: dict[str, Any] = json.loads(line)
        policy = told["command_policy"]
        return cls(
            **{
                **told,
                "project": ProjectPaths(Path(told["project"])),
                **{name: Path(told[name]) for name in _PATHS},
                "readable": tuple(Path(path) for path in told["readable"]),
                "route": Route.from_json(told["route"]),
                "tools": tuple(ToolSettings(**tool) for tool in told["tools"]),
                "command_policy": CommandPolicy(
                    policy["enabled"],
                    tuple(command_rule(name, text, said, enabled=on) for name, text, said, on in policy["rules"]),
                ),
                "notices": tuple(told["notices"]),
                "budgets": Budgets(**told["budgets"]),
                "governed": Governed.from_json(told["governed"]) if told["governed"] is not None else None,
            }
        )


_PATHS = ("agent_state", "workspace", "scratchpad", "trace_path", "live_path")
