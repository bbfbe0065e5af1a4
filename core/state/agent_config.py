"""What system_config.yaml says (EVOLUTION 1.4), with the format's defaults where it says nothing usable."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pydantic import BaseModel, ConfigDict

from core.foundation.errors import DamagedError
from core.state import yaml12
from core.state.diagnostics import Diagnostic

ThinkingLevel = Literal["none", "low", "medium", "high", "xhigh", "max"]
THINKING_LEVELS: tuple[str, ...] = get_args(ThinkingLevel)
HIDDEN = "(hidden)"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class PromptBlock(_Frozen):
    """A part of the system prompt that can be switched off; `workspace_prompt` is memory's second text."""

    enabled: bool = False
    prompt: str = ""
    workspace_prompt: str = ""


class SkillsBlock(PromptBlock):
    """The skills in the prompt. `selection` says who chooses among them: nobody (`all`), a search by the message that
    keeps the best `top_k` (`bm25`), or the strategies in force (`strategy`), behind one tool.
    """

    selection: Literal["all", "bm25", "strategy"] = "all"
    top_k: int = 5


class Compaction(_Frozen):
    """When and how a long conversation is shortened. -1 turns: no limit by turns."""

    max_context_length: int = 256_000
    max_session_turns: int = -1
    mode: Literal["summarize", "discard"] = "summarize"
    prompt: str = ""


class BuiltinTool(_Frozen):
    """A built-in tool as configured. `for_model` limits it to models that see, or that don't."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = {}
    permission: Literal["r", "rw"] = "rw"
    timeout_ms: int = 30_000
    max_output_length: int = 16_000
    call_description: bool = False
    for_model: Literal["vision", "text-only"] | None = None


class AgentConfig(_Frozen):
    """An agent's configuration. `raw` is all of the file, with what may be secret (MCP env, headers, URLs) hidden."""

    name: str
    description: str
    version: int
    kernel_version: str | None
    system_prompt: str
    max_turns: int
    model_max_tokens: int
    thinking_level: ThinkingLevel
    timeout_ms: int
    compaction: Compaction
    memory: PromptBlock
    vault: PromptBlock
    skills: SkillsBlock
    schedules: PromptBlock
    tools: tuple[BuiltinTool, ...]
    mcp_servers: tuple[str, ...]
    raw: Mapping[str, Any]
    diagnostics: tuple[Diagnostic, ...] = ()


def parse_config(text: str, agent_id: str, path: Path) -> AgentConfig:
    """Return the configuration in `text`; `agent_id` stands in for a missing name, `path` names it in messages.

    Raises DamagedError where the text is no YAML mapping or has no `system_prompt`. Other unusable values become
    their defaults, with a diagnostic.
    """
    try:
        raw = yaml12.load(text)
    except yaml12.YamlError as error:
        raise DamagedError(f"{path} is no valid YAML: {error}", hint="Repair the file at that line.") from error
    if not isinstance(raw, dict) or not isinstance(raw.get("system_prompt"), str):
        raise DamagedError(f"{path} has no system_prompt.", hint="A system_config.yaml needs at least that key.")
    fields = _Fields(raw, path)
    model, compaction = fields.section("model"), fields.section("compaction")
    tools = fields.section("tools")
    return AgentConfig(
        name=fields.text("name") or agent_id,
        description=fields.text("description"),
        version=fields.whole("version", 1, least=1),
        kernel_version=str(raw["kernel_version"]) if raw.get("kernel_version") is not None else None,
        system_prompt=raw["system_prompt"],
        max_turns=fields.whole("max_turns", -1, least=-1),
        model_max_tokens=model.whole("max_tokens", 32_000, least=1),
        thinking_level=cast("ThinkingLevel", model.choice("thinking_level", "medium", THINKING_LEVELS)),
        timeout_ms=model.whole("timeoutMs", 120_000, least=1),
        compaction=Compaction(
            max_context_length=compaction.whole("max_context_length", 256_000, least=1),
            max_session_turns=compaction.whole("max_session_turns", -1, least=-1),
            mode=cast('Literal["summarize", "discard"]', compaction.choice("mode", "summarize", ("discard",))),
            prompt=compaction.text("prompt"),
        ),
        memory=fields.block("memory"),
        vault=fields.block("vault"),
        skills=fields.skills(),
        schedules=fields.block("schedules"),
        tools=tools.builtin_tools(),
        mcp_servers=tuple(str(server.get("name", "?")) for server in tools.mappings("mcpServers")),
        raw=_without_secrets(raw),
        diagnostics=tuple(fields.told),
    )


class _Fields:
    """Reads typed values out of a mapping; whatever is unusable becomes the default and is told."""

    def __init__(
        self, raw: Mapping[str, Any], path: Path, prefix: str = "", told: list[Diagnostic] | None = None
    ) -> None:
        self.raw = raw
        self.path = path
        self.prefix = prefix
        self.told: list[Diagnostic] = [] if told is None else told

    def _tell(self, key: str, text: str) -> None:
        self.told.append(Diagnostic(self.path, 0, f"{self.prefix}{key} {text}"))

    def section(self, key: str) -> _Fields:
        value = self.raw.get(key)
        if value is not None and not isinstance(value, dict):
            self._tell(key, "is no mapping; it is ignored")
        return _Fields(value if isinstance(value, dict) else {}, self.path, f"{self.prefix}{key}.", self.told)

    def text(self, key: str) -> str:
        value = self.raw.get(key)
        if value is not None and not isinstance(value, str):
            self._tell(key, "is no text; it is ignored")
        return value if isinstance(value, str) else ""

    def whole(self, key: str, default: int, *, least: int) -> int:
        value = self.raw.get(key)
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(number, int) and not isinstance(number, bool) and number >= least:
            return number
        if value is not None:
            self._tell(key, f"= {value!r} is no whole number from {least} on; {default} is used")
        return default

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.raw.get(key)
        if value is not None and not isinstance(value, bool):
            self._tell(key, f"= {value!r} is neither true nor false; {str(default).lower()} is used")
        return value if isinstance(value, bool) else default

    def choice(self, key: str, default: str, others: tuple[str, ...]) -> str:
        value = self.raw.get(key)
        if value is not None and value != default and value not in others:
            self._tell(key, f"= {value!r} is none of {', '.join(dict.fromkeys((default, *others)))}; {default} is used")
            return default
        return default if value is None else str(value)

    def block(self, key: str) -> PromptBlock:
        inner = self.section(key)
        return PromptBlock(
            enabled=inner.flag("enabled", default=key in self.raw),
            prompt=inner.text("prompt"),
            workspace_prompt=inner.text("workspace_prompt"),
        )

    def skills(self) -> SkillsBlock:
        inner = self.section("skills")
        return SkillsBlock(
            **dict(self.block("skills")),
            selection=cast(
                'Literal["all", "bm25", "strategy"]', inner.choice("selection", "all", ("bm25", "strategy"))
            ),
            top_k=inner.whole("top_k", 5, least=1),
        )

    def mappings(self, key: str) -> list[dict[str, Any]]:
        value = self.raw.get(key)
        if value is not None and not isinstance(value, list):
            self._tell(key, "is no list; it is ignored")
        return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []

    def builtin_tools(self) -> tuple[BuiltinTool, ...]:
        tools = []
        for number, raw in enumerate(self.mappings("builtin")):
            inner = _Fields(raw, self.path, f"{self.prefix}builtin[{number}].", self.told)
            if not inner.text("name"):
                inner._tell("name", "is missing; the tool is ignored")
                continue
            parameters = raw.get("parameters")
            for_model = raw.get("forModel")
            tools.append(
                BuiltinTool(
                    name=inner.text("name"),
                    description=inner.text("description"),
                    parameters=parameters if isinstance(parameters, dict) else {},
                    permission="r" if inner.choice("permission", "rw", ("r",)) == "r" else "rw",
                    timeout_ms=inner.whole("timeoutMs", 30_000, least=1),
                    max_output_length=inner.whole("maxOutputLength", 16_000, least=1),
                    call_description=inner.flag("call_description", default=False),
                    for_model=for_model if for_model in ("vision", "text-only") else None,
                )
            )
        return tuple(tools)


def _without_secrets(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the file's mapping with the connection details of MCP servers hidden: keys live in env, headers, URLs."""
    result = dict(raw)
    tools = raw.get("tools")
    servers = tools.get("mcpServers") if isinstance(tools, dict) else None
    if isinstance(tools, dict) and isinstance(servers, list):
        public = {"name", "transport"}
        hidden = [
            {key: value if key in public else HIDDEN for key, value in server.items()}
            if isinstance(server, dict)
            else HIDDEN
            for server in servers
        ]
        result["tools"] = {**tools, "mcpServers": hidden}
    return result
