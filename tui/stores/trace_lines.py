"""One line for each entry of a trace. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime

from core.foundation.clock import parse_ms
from core.traces.parsing import Entry, Gap, TraceRecord
from core.traces.survey import is_failure
from tui.stores.trace_whole import dump as _dump
from tui.stores.trace_whole import lean, lean_text, unread_of

_SUMMARY = 400
_ABOUT = ("description", "title", "summary")
"""Arguments that say what a call is for: first in its row."""
_BARE = frozenset({*_ABOUT, "cmd", "command", "file_path", "path", "pattern", "query", "prompt", "text", "url"})
"""Arguments whose values say enough without their names."""
_NAME = re.compile(r'(^\s*\{|"?\s*,)\s*"(\w+)"\s*:\s*"?')


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
    return TraceLine(number, clock(entry.timestamp), kind, _one_line(lean_text(text, unread_of(entry))), tone, leads)


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
            return "calls", f"{record.text('name')}  {call_words(record.text('arguments'))}", "call", ""
        case "tool_call_output":
            output = record.text("output")
            images = payload.get("images")
            told = f"{output} {' '.join(map(str, images))}" if isinstance(images, list) else output
            return "answer", told, "bad" if is_failure(record) else "plain", _session_in(output)
        case "subagent":
            return "starts", f"session {record.text('session_id')}", "accent", record.text("session_id")
        case "request_begin":
            return "asks", "the model", "dim", ""
        case "request_end":
            text = f"{record.text('status')}  {record.text('error_message')}".rstrip()
            return "request", text, "bad" if is_failure(record) else "dim", ""
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
            return (
                kind or record.type,
                _dump(lean(payload, unread_of(record))),
                "bad" if is_failure(record) else "dim",
                "",
            )


def call_words(arguments: str) -> str:
    """Return what a call was given without JSON's marks: what it is for, then each value, named where it needs it.

    A row has room for a few words, and names and quotes would take it. `arguments` may be cut off anywhere.
    """
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        return _NAME.sub(_named, arguments).replace("\\n", " ") if arguments.lstrip().startswith("{") else arguments
    about = [str(given[name]) for name in _ABOUT if isinstance(given.get(name), str) and given[name]][:1]
    rest = {name: value for name, value in given.items() if not about or value != about[0]}
    words = ", ".join(_value(name, value) for name, value in rest.items())
    return ": ".join(part for part in (*about, words) if part)


def _named(match: re.Match[str]) -> str:
    name = "" if match[2] in _BARE else f"{match[2]} "
    return name if "{" in match[1] else f", {name}"


def _value(name: str, value: object) -> str:
    words = value if isinstance(value, str) else _dump(value)
    return words if name in _BARE else f"{name} {words}"


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
    return " ".join(text[: 4 * _SUMMARY].split())[:_SUMMARY]
