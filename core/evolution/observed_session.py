"""What the records of one Session say of its part in a loop that another program runs (EVOLUTION 2.4, 2.5, 3.4).

Pure: records in, a frozen `Seen` out. Nothing here knows that we have no journal of it; it only listens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from core.evolution.gate import EvaluationRequest
from core.models.interface import ModelRef
from core.traces.digest import Digest, DigestWalk, protocol_fields
from core.traces.listing import SessionHead
from core.traces.parsing import TraceRecord

Turn = Literal["silent", "open", "ended", "aborted"]
OWN_TOOLS = frozenset({"request_freeze", "propose_candidate", "launch_target"})
"""Only our own engine gives these; its Sessions are told of by a journal, and never inferred."""

DESIGN, OPTIMIZATION = "benchmark-design", "agent-optimization"
_SKILL_READ = re.compile(rf"skills/({DESIGN}|{OPTIMIZATION})/SKILL\.md")
_SKILL_NAMED = re.compile(rf"\b({DESIGN}|{OPTIMIZATION})\b")
_IN_BENCHMARK = re.compile(
    r"agents/([A-Za-z0-9_-]{1,128})/benchmarks/([A-Za-z0-9_.-]{1,128})(?:/(CASE-[\w.-]{1,128}))?"
)
_LOOKED_AT = 65_536  # characters of a text or of a call's arguments; a runaway one may be megabytes
_COMMANDS = 50
_WHOLE = re.compile(r"[0-9]{1,9}")
_GOES_ON = ("[user_steering]", "[context_summary]")  # texts that continue a turn rather than ask anew


@dataclass(frozen=True, slots=True)
class Named:
    """A benchmark, or a Case of one, that a Session's tool calls touched."""

    agent_id: str
    benchmark_id: str
    case_id: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """A Session as its trace shows it so far.

    `turn` tells how its last turn stands: silent (none yet), open, ended, or aborted with `fault`. `said` is everything
    the assistant wrote since it was last asked, which for an Evaluator is its answer. `skills` are the loop's skills
    it was told to use or read, in order. `written` is when its files were last written, in seconds since the epoch.
    """

    head: SessionHead
    turn: Turn
    fault: str
    said: str
    asked: int
    requests: int
    skills: tuple[str, ...]
    named: tuple[Named, ...]
    commands: tuple[tuple[str, str], ...]
    digest: Digest
    written: float

    @property
    def session_id(self) -> str:
        return self.head.session_id

    @property
    def first_ts(self) -> str:
        return self.digest.first_ts or self.head.first_ts


class SessionWalk:
    """Follows the records of a Session.

    Invariant: `_turn` is "open" from the first request or question of a turn until a request of it completes without
    a tool call. What a compaction asks and answers is no turn (EVOLUTION 2.6 no. 61).
    """

    def __init__(self) -> None:
        self._digest = DigestWalk()
        self._turn: Turn = "silent"
        self._fault = ""
        self._said: list[str] = []
        self._asked = self._requests = self._calls = 0
        self._compacting = 0  # 1 once begun, 2 once its own prompt was seen
        self._skills: dict[str, None] = {}
        self._named: dict[Named, None] = {}
        self._commands: list[tuple[str, str]] = []

    def step(self, record: TraceRecord) -> None:
        """Take in the next record."""
        self._digest.step(record)
        match record.kind:
            case "compaction_begin":
                self._compacting = 1
            case "compaction_end":
                self._compacting = 0
            case "abort":
                self._turn, self._compacting = "aborted", 0
                self._fault = record.text("reason") or record.text("code") or self._fault
            case "text" if self._compacting == 1 and record.payload.get("role") == "user":
                self._compacting = 2
            case "text" if self._compacting == 2 and record.payload.get("role") == "user":
                self._compacting = 0  # a crash cut the compaction off, and somebody asks again
                self._question(record)
            case _ if self._compacting:
                return
            case "text" if record.payload.get("role") == "user":
                self._question(record)
            case "text" if record.payload.get("role") == "assistant":
                self._said.append(record.text("text")[:_LOOKED_AT])
            case "request_begin":
                self._turn, self._calls = "open", 0
                self._requests += 1
            case "request_end":
                self._request_end(record)
            case "tool_call":
                self._call(record)

    def seen(self, head: SessionHead, written: float) -> Seen:
        """Return what is known now."""
        return Seen(
            head=head,
            turn=self._turn,
            fault=self._fault if self._turn in ("open", "aborted") else "",
            said="\n".join(self._said)[: 2 * _LOOKED_AT],
            asked=self._asked,
            requests=self._requests,
            skills=tuple(self._skills),
            named=tuple(self._named),
            commands=tuple(self._commands),
            digest=self._digest.so_far(),
            written=written,
        )

    def _question(self, record: TraceRecord) -> None:
        text = record.text("text")[:_LOOKED_AT]
        harness = record.text("sender") == "harness"
        goes_on = harness or text.startswith(_GOES_ON)
        if self._turn != "open" or not goes_on:
            self._said.clear()
        if not goes_on:
            self._asked += 1
        self._turn = "open"
        self._skills.update(dict.fromkeys(_SKILL_NAMED.findall(text)))

    def _request_end(self, record: TraceRecord) -> None:
        if record.text("status") != "completed":
            self._fault = record.text("error_message") or record.text("message") or record.text("status")
            return
        self._fault = ""
        if not self._calls:
            self._turn = "ended"

    def _call(self, record: TraceRecord) -> None:
        self._calls += 1
        arguments, name = record.text("arguments")[:_LOOKED_AT], record.text("name")
        if name in ("read_file", "exec_command"):
            self._skills.update(dict.fromkeys(_SKILL_READ.findall(arguments)))
        if name == "exec_command" and len(self._commands) < _COMMANDS:
            self._commands.append((record.timestamp, arguments))
        if name in ("write_file", "edit_file", "exec_command"):
            self._named.update({Named(*found): None for found in _IN_BENCHMARK.findall(arguments)})


def request_of(prompt: str) -> EvaluationRequest | None:
    """Return the evaluation that a first text asks for, None where it asks for none that has a cell."""
    fields = protocol_fields(prompt)
    run, version = fields.get("run", ""), fields.get("expected_version", "")
    if fields.get("protocol_version") != "1" or not _WHOLE.fullmatch(run) or not _WHOLE.fullmatch(version):
        return None
    case_id, agent_id, benchmark_id = (fields.get(name, "") for name in ("case_id", "test_agent_id", "benchmark_id"))
    if not case_id or not agent_id or not benchmark_id or int(run) < 1 or int(version) < 1:
        return None
    model = ModelRef(fields.get("provider", ""), fields.get("model_id", ""))
    return EvaluationRequest(case_id[:200], int(run), int(version), agent_id, benchmark_id, model)
