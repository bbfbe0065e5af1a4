"""What a Session says of itself and of others, in one pass over its records."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from core.foundation.clock import SESSION_ID, parse_ms
from core.traces.parsing import TraceRecord
from core.traces.tokens import Tokens, read_usage

_PROTOCOL_FIELD = re.compile(r"^(\w{1,40}):(.*)$", re.MULTILINE)
_PROTOCOL_FROM = 65_536  # characters looked at; an answer is a page, a runaway text may be megabytes
_WORKSPACE = re.compile(r"--workspace(?:=|\s+)(\"[^\"]*\"|'[^']*'|\S+)")
_SUBAGENT_ID = re.compile(r"\bsubagent-([0-9a-f]{8})\b")
_EVALUATOR_FIELDS = {"protocol_version", "case_id", "run", "expected_version"}


@dataclass(slots=True)
class ModelUsage:
    """Tokens spent on one model, as the pair; `unknown` requests were spent without a count."""

    provider: str
    model_id: str
    tokens: Tokens = field(default_factory=Tokens)
    requests: int = 0
    unknown: int = 0


@dataclass(slots=True)
class Call:
    """A tool call that may have started a Session."""

    call_id: str
    name: str
    moment: str
    prompt: str | None = None
    workspaces: tuple[str, ...] = ()
    output_ids: frozenset[str] = frozenset()
    launched: str | None = None


@dataclass(slots=True)
class Digest:
    """The Session in short. `answer` are the fields of its last protocol answer, {} where it gave none."""

    usage: list[ModelUsage] = field(default_factory=list)
    session_total: Tokens | None = None
    calls: list[Call] = field(default_factory=list)
    pointers: list[str] = field(default_factory=list)
    first_ts: str = ""
    last_ts: str = ""
    last_text: str = ""
    answer: dict[str, str] = field(default_factory=dict)
    records: int = 0

    @property
    def duration_ms(self) -> int | None:
        """Last minus first timestamp (DECISIONS 11); None where there are none."""
        first, last = parse_ms(self.first_ts), parse_ms(self.last_ts)
        return None if first is None or last is None else max(0, last - first)


def last_text(records: Iterable[TraceRecord]) -> str:
    """Return the last text of the assistant, "" where it said nothing."""
    said = ""
    for record in records:
        if record.kind == "text" and record.payload.get("role") == "assistant":
            said = record.text("text")
    return said


def protocol_fields(text: str) -> dict[str, str]:
    """Return the `key: value` lines of a protocol request or answer, for linking only; it judges nothing.

    Fences and narration around are passed over. The gate that decides whether an answer is valid is elsewhere.
    """
    fields = {match[1]: match[2].strip().strip("\"'") for match in _PROTOCOL_FIELD.finditer(text[:_PROTOCOL_FROM])}
    return fields if fields.keys() >= _EVALUATOR_FIELDS else {}


def digest(records: Iterable[TraceRecord]) -> Digest:
    """Go once over the records of a Session, shard after shard."""
    walk = DigestWalk()
    for record in records:
        walk.step(record)
    return walk.finish()


class DigestWalk:
    """A digest that grows with its Session.

    Invariant: `_open` says whether a request is under way; its usage is unknown until a token_usage counts it.
    """

    def __init__(self) -> None:
        self._digest = Digest()
        self._model = ModelUsage("", "")
        self._models: dict[tuple[str, str], ModelUsage] = {}
        self._calls: dict[str, Call] = {}
        self._open = self._answered = self._counted = False

    def step(self, record: TraceRecord) -> None:
        """Take in the next record."""
        self._digest.records += 1
        if record.timestamp and parse_ms(record.timestamp) is not None:
            self._digest.first_ts = min(self._digest.first_ts or record.timestamp, record.timestamp)
            self._digest.last_ts = max(self._digest.last_ts, record.timestamp)
        if record.payload.get("role") == "assistant":
            self._answered = True
        match record.kind:
            case "session_meta":
                self._take_model(record.text("provider"), record.text("model_id"))
            case "request_begin":
                self._close_request("")
                self._open = True
            case "request_end":
                self._close_request(record.text("status"))
            case "token_usage":
                self._count(record.payload)
            case "subagent":
                self._digest.pointers.append(record.text("session_id"))
            case "tool_call":
                self._call(record)
            case "tool_call_output":
                self._output(record)
            case "text" if record.payload.get("role") == "assistant":
                self._digest.last_text = record.text("text")
                if (fields := protocol_fields(self._digest.last_text)).get("session_id"):
                    self._digest.answer = fields

    def so_far(self) -> Digest:
        """Return what is known now, as a copy. A request under way is not counted: it may yet be told."""
        usage = [replace(model) for model in self._models.values()]
        calls = [replace(call) for call in self._calls.values()]
        return replace(self._digest, usage=usage, calls=calls, pointers=list(self._digest.pointers))

    def finish(self) -> Digest:
        """Return the digest of a Session that has ended: what it has not counted by now is unknown."""
        self._close_request("")
        self._digest.usage = list(self._models.values())
        self._digest.calls = list(self._calls.values())
        return self._digest

    def _take_model(self, provider: str, model_id: str) -> None:
        pair = (provider, model_id)
        self._model = self._models.setdefault(pair, ModelUsage(provider, model_id))

    def _count(self, payload: dict[str, Any]) -> None:
        usage = read_usage(payload)
        if usage is None:
            return
        if not self._models:
            self._take_model("", "")
        self._model.tokens += usage.request
        self._model.requests += 1
        self._digest.session_total = usage.session
        self._counted = True

    def _close_request(self, status: str) -> None:
        """Count a request as unknown where tokens were spent and no record tells how many (unknown is not 0)."""
        spent = self._answered or status in {"completed", "malformed", "aborted"}
        if self._open and spent and not self._counted:
            if not self._models:
                self._take_model("", "")
            self._model.requests += 1
            self._model.unknown += 1
        self._open = self._answered = self._counted = False

    def _call(self, record: TraceRecord) -> None:
        name = record.text("name")
        call = Call(record.text("tool_call_id"), name, record.timestamp)
        arguments = _object(record.text("arguments"))
        if name == "run_subagent" and isinstance(arguments.get("prompt"), str):
            call.prompt = arguments["prompt"]
        elif name == "exec_command" and isinstance(arguments.get("cmd"), str):
            call.workspaces = workspaces_in(arguments["cmd"])
        elif name != "launch_target":
            return
        self._calls[call.call_id] = call

    def _output(self, record: TraceRecord) -> None:
        call = self._calls.get(record.text("tool_call_id"))
        if call is None:
            return
        output = record.text("output")
        if call.name == "run_subagent":
            call.output_ids |= frozenset(_SUBAGENT_ID.findall(output))
        elif call.name == "launch_target":
            launched = _object(output).get("session_id")
            if isinstance(launched, str) and SESSION_ID.fullmatch(launched):
                call.launched = launched


def workspaces_in(command: str) -> tuple[str, ...]:
    """Return the absolute paths that a shell command gives as `--workspace`; variables are not followed."""
    found: list[str] = []
    for match in _WORKSPACE.finditer(command):
        try:
            words = shlex.split(match[1])
        except ValueError:
            continue
        if words and words[0].startswith("/") and words[0] not in found:
            found.append(words[0].rstrip("/") or "/")
    return tuple(found)


def _object(text: str) -> dict[str, Any]:
    """Return the JSON object that `text` is, {} where it is none: arguments are the model's, outputs a tool's."""
    if not text.lstrip().startswith("{"):
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
