"""One line for each entry of a trace, and the whole of one for reading. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.foundation.clock import parse_ms
from core.traces.parsing import Entry, Gap, TraceRecord

DETAIL_CHARACTERS = 64 << 10
_SUMMARY = 400


@dataclass(frozen=True, slots=True)
class TraceLine:
    """An entry as a list shows it. `tone` names how it is drawn; `leads_to` is a Session that it points to."""

    number: int
    time: str
    kind: str
    text: str
    tone: str = "plain"
    leads_to: str = ""

    @property
    def is_problem(self) -> bool:
        """Whether an operator who looks for what went wrong should stop here."""
        return self.tone == "bad"


def clock(timestamp: str) -> str:
    """Return HH:MM:SS in local time, blanks where there is none."""
    moment = parse_ms(timestamp) if timestamp else None
    if moment is None:
        return "        "
    return datetime.fromtimestamp(moment / 1000).astimezone().strftime("%H:%M:%S")


def describe(entry: Entry, number: int) -> TraceLine:
    """Return the line of an entry."""
    if isinstance(entry, Gap):
        what = f"bytes {entry.start} to {entry.end}: {entry.reason.replace('_', ' ')} {entry.detail}".rstrip()
        return TraceLine(number, "        ", "gap", what, "bad")
    kind, text, tone, leads = _told(entry)
    return TraceLine(number, clock(entry.timestamp), kind, _one_line(text), tone, leads)


def _told(record: TraceRecord) -> tuple[str, str, str, str]:
    payload = record.payload
    match record.kind:
        case "session_meta":
            return "session", f"{record.text('provider')}/{record.text('model_id')}  {record.text('source')}", "dim", ""
        case "text":
            if payload.get("role") == "user":
                return record.text("sender") or "user", record.text("text"), "accent", ""
            return "model", record.text("text"), "plain", ""
        case "thinking":
            return "thinks", record.text("thinking"), "dim", ""
        case "tool_call":
            return "calls", f"{record.text('name')}  {record.text('arguments')}", "call", ""
        case "tool_call_output":
            output = record.text("output")
            bad = _failed(output, payload)
            return "answer", output, "bad" if bad else "plain", _session_in(output)
        case "subagent":
            return "starts", f"session {record.text('session_id')}", "accent", record.text("session_id")
        case "request_begin":
            return "asks", "the model", "dim", ""
        case "request_end":
            status = record.text("status")
            good = status in ("", "completed")
            return "request", f"{status}  {record.text('error_message')}".rstrip(), "dim" if good else "bad", ""
        case "token_usage":
            request = payload.get("request")
            total = request.get("total") if isinstance(request, dict) else None
            return "tokens", f"{total} in this request" if total is not None else "unknown", "dim", ""
        case "abort":
            return "abort", record.text("reason") or "the turn was broken off", "bad", ""
        case "approval_decision":
            decision = record.text("decision")
            return "policy", decision, "dim" if decision in ("allow", "approve", "approved") else "warn", ""
        case "tool_list_ready":
            tools = payload.get("tools")
            return "tools", f"{len(tools) if isinstance(tools, list) else 0} offered", "dim", ""
        case kind:
            return kind or record.type, _dump(payload), "dim", ""


def _failed(output: str, payload: dict[str, Any]) -> bool:
    if payload.get("stop_reason") not in (None, "completed"):
        return True
    start = output.lstrip()[:200]
    return start.startswith(("Error", "[interrupted", "[error")) or '"ok": false' in start or '"ok":false' in start


def _session_in(output: str) -> str:
    """Return the Session that an engine's answer names (EVOLUTION 2.6: our own launch links)."""
    if not output.lstrip().startswith("{") or '"session_id"' not in output:
        return ""
    try:
        found = json.loads(output)
    except (ValueError, RecursionError):
        return ""
    session_id = found.get("session_id") if isinstance(found, dict) else None
    return session_id if isinstance(session_id, str) else ""


def _one_line(text: str) -> str:
    return " ".join(text[:_SUMMARY].split())


def _dump(value: object, indent: int | None = None) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent)
    except (ValueError, RecursionError):
        return "(nested too deep to be shown)"


def whole(entry: Entry, raw: bytes) -> tuple[str, ...]:
    """Return an entry for reading, line by line, at most 64 Ki characters; a gap as the bytes that are there."""
    if isinstance(entry, Gap):
        head = f"No record: {entry.reason.replace('_', ' ')} {entry.detail}".rstrip()
        return (f"{head} (bytes {entry.start} to {entry.end})", "", *_lines(raw.decode("utf-8", "replace")))
    record = entry
    match record.kind:
        case "text" | "thinking":
            body = record.text("text") or record.text("thinking")
        case "tool_call":
            body = f"{record.text('name')}\n{_pretty(record.text('arguments'))}"
        case "tool_call_output":
            body = _pretty(record.text("output"))
        case _:
            body = _dump(record.payload, 1)
    return tuple(_lines(body))


def _pretty(text: str) -> str:
    """Return JSON laid out, with the line breaks of its strings as such, and anything else as it is."""
    if len(text) > DETAIL_CHARACTERS or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _dump(value, 1).replace("\\n", "\n    ")


def _lines(text: str) -> list[str]:
    cut = text[:DETAIL_CHARACTERS]
    lines = cut.split("\n")
    if len(text) > len(cut):
        lines.append(f"... {len(text) - len(cut)} characters more; the whole record: exuvia trace show")
    return lines
