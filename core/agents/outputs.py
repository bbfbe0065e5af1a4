"""What of a tool's output the model and the trace get: well-formed, without secrets, no longer than allowed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from .tool import ToolResult

REDACTED = "[redacted]"
_SHORTEST_SECRET = 4  # a vault value of three characters would blot out half of any text


def redact(text: str, secrets: Iterable[str]) -> str:
    """Replace every secret value in `text`, the longest first."""
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, REDACTED)
    return text


def redacted(value: Any, secrets: Collection[str]) -> Any:
    """Return plain JSON with every secret replaced in every text of it, keys included."""
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, Mapping):
        return {redacted(key, secrets): redacted(inner, secrets) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(inner, secrets) for inner in value]
    return value


def bounded(result: ToolResult, *, limit: int, call_id: str, archive: Path | None) -> ToolResult:
    """Cut an overlong output in the middle; the whole of it goes to `archive` (EVOLUTION 4.1).

    Head and tail stay: an error's cause stands as often at the end as at the beginning.
    """
    text = result.output
    if len(text) <= limit:
        return result
    where = _store(text, call_id, archive)
    kept = max(limit - 200, limit // 2)
    head = text[: kept * 2 // 3]
    tail = text[len(text) - (kept - len(head)) :]
    note = f"\n[{len(text) - len(head) - len(tail)} of {len(text)} characters cut here{where}]\n"
    return ToolResult(head + note + tail, result.stop_reason)


def _store(text: str, call_id: str, archive: Path | None) -> str:
    if archive is None:
        return ""
    name = "".join(char if char.isalnum() or char in "-_" else "-" for char in call_id)[:80] or "call"
    target = archive / f"{name}.txt"
    try:
        archive.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        return f"; the whole could not be kept: {error.strerror}"
    return f"; the whole is in {target}"
