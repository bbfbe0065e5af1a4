"""From an agent's configuration to what a Session takes, and what of it this engine does not do, said aloud."""

from __future__ import annotations

from core.models.interface import ModelEntry
from core.state.agents import AgentConfig

from .tools.builtin import ToolSettings

_DEFAULT_CONTEXT = 128_000
_RESERVED = 2048
_SMALLEST_CONTEXT = 4096
_FOR_IMAGES = frozenset({"read_image", "describe_image"})


def tool_settings(config: AgentConfig, *, vision: bool = False) -> tuple[ToolSettings, ...]:
    """Return the built-in tools that the configuration offers to a model that sees (`vision`) or does not."""
    skipped = "text-only" if vision else "vision"
    return tuple(
        ToolSettings(
            name=tool.name,
            description=tool.description,
            parameters=tool.parameters,
            permission=tool.permission,
            timeout_s=tool.timeout_ms / 1000,
            max_output=tool.max_output_length,
        )
        for tool in config.tools
        if tool.for_model != skipped
    )


def context_limit(config: AgentConfig, entry: ModelEntry) -> int:
    """Return the tokens of context at which the configuration wants compaction (EVOLUTION 1.4 no. 14)."""
    window = entry.context_window
    if window is None or window < _SMALLEST_CONTEXT:
        window = _DEFAULT_CONTEXT
    return min(config.compaction.max_context_length, window - _RESERVED)


def lacking(config: AgentConfig) -> tuple[str, ...]:
    """Return what the configuration asks for and this engine does not do, a sentence each."""
    told = [
        f"MCP servers are not started here: {', '.join(config.mcp_servers)}; their tools are missing."
        if config.mcp_servers
        else "",
        f"Conversations are not compacted here: max_session_turns = {config.compaction.max_session_turns} does nothing."
        if config.compaction.max_session_turns > 0
        else "",
    ]
    images = sorted({tool.name for tool in config.tools} & _FOR_IMAGES)
    if images:
        told.append(f"Images are not read here: {', '.join(images)} is missing.")
    return tuple(text for text in told if text)
