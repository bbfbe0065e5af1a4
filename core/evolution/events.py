"""The journal of a run: one JSON object a line, appended and never changed. It is the truth about the run.

Everything else (protocol state, what the console shows, what a resumed run knows) is a fold over its events.
An event is a flat mapping with `time` and `event`; the other fields depend on the event (see `EventName`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

from core.evolution.event_shapes import problem
from core.foundation import strict_json
from core.foundation.clock import now_ms
from core.foundation.errors import DamagedError
from core.state.atomic import append_line

Event = Mapping[str, Any]
State = TypeVar("State")


class EventName(StrEnum):
    """Every event a run may journal, with the fields beyond `time` and `event`."""

    RUN_STARTED = "run_started"  # pid, kind, spec
    RUN_RESUMED = "run_resumed"  # pid
    PHASE = "phase"  # phase, detail
    SESSION = "session"  # role, session_id, agent_id, trace?, cell?
    INTENT = "intent"  # call_id, tool, and what the act needs to be completed after a crash
    AGENT = "agent"  # agent_id, version, created, assumptions
    CONTRACT = "contract"  # capability, planned_cases, held_out, cases, ...
    REVISION = "revision"  # revision, pilot, kind, changed, hashes, findings, note, diagnosis, adjustment
    PREDICTION = "prediction"  # pilot, case_id, observed_strategy, desired_behaviour, separates_on, scores, points
    REVIEW = "review"  # scope, revision, case_id, verdicts, leaks, waivers, clean
    DISPATCH = "dispatch"  # pilot, revision, version, state_hash, standards, repair
    CELL = "cell"  # cell, case_id, run, version, stage, index, state, ...
    TARGET_STARTED = "target_started"  # cell, session_id, workspace, trace
    TARGET_FINISHED = "target_finished"  # cell, session_id, workspace, trace, exit_code
    TARGET_FAILED = "target_failed"  # cell, session_id
    PILOT = "pilot"  # i, revision, score, predicted, observed, missed, cases
    LOWEST = "lowest"  # pilot
    LOWEST_RESTORED = "lowest_restored"  # pilot, revision
    FLOOR = "floor"  # revision, floors
    APPROVAL_REQUESTED = "approval_requested"  # approval_id
    APPROVAL_DECIDED = "approval_decided"  # approval_id, decision, reason, actor
    ASKED = "asked"  # approval_id, kind, session_id, call_id, title: a Session waits for the operator
    ANSWERED = "answered"  # approval_id, kind, verdict, actor, signature
    TOLD = "told"  # session_id, word, text, actor, signature, sent: a word of the operator's was read
    FROZEN = "frozen"  # pilot, hashes
    BASELINE = "baseline"  # version, score, evaluation_time
    REFERENCE = "reference"  # version, score, cases, state_hash, evaluation_time
    CURATOR = "curator"  # name, instead_of, why: who curates in this life of the run
    CHOSEN = "chosen"  # batch, sessions: what a curator is shown for its next Candidate
    OPERATION = "operation"  # batch, about, session_id, call_id, op, title, arguments, style, valid, reason
    CURATED = "curated"  # batch, about, session_id, said: a curator is done with one Session
    PASSED = "passed"  # batch, reason: nothing to measure came of these Sessions
    CANDIDATE = "candidate"  # round, version, edits, hypothesis, prediction, state_hash
    EVALUATED = "evaluated"  # round, version, complete, score, failed
    DECISION = "decision"  # round, version, decision, score, reference_score, supported, prediction_held, note
    RESTORED = "restored"  # version, state_hash
    HELDOUT = "heldout"  # stage, version, score, cells
    TOOL_RESULT = "tool_result"  # call_id, output
    NUDGE = "nudge"  # session_id, turn, text
    SPENT = "spent"  # usd, unknown_requests, tokens
    GRANTED = "granted"  # usd, unknown_requests, tokens, seconds: spent before; from here the budgets count anew
    STOP_REQUESTED = "stop_requested"  # reason
    STOPPED = "stopped"  # actor
    BLOCKED = "blocked"  # reason
    FAILED = "failed"  # reason
    FINISHED = "finished"  # result


class Journal:
    """The one writer of a run's journal, holding what was read and written so far.

    Invariant: `events` equals what stands on disk, less the lines that no reader can use (`damaged`). The caller
    holds the run's lock.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._events, self.damaged = read_journal(path)
        self._watcher: Callable[[], object] | None = None

    @property
    def events(self) -> tuple[Event, ...]:
        """All events in order."""
        return tuple(self._events)

    def append(self, event: str, **fields: Any) -> Event:
        """Write one event durably, then return it. Raises OSError where the disk refuses."""
        record: dict[str, Any] = {"time": now_ms(), "event": str(event), **fields}
        line = json.dumps(record, allow_nan=False)
        append_line(self.path, line, fsync=True)
        # Through JSON and back, so that a live run folds exactly what a resumed one will read.
        parsed: Event = json.loads(line)
        self._events.append(parsed)
        if (watcher := self._watcher) is not None:
            self._watcher = None  # what a watcher itself journals is not news to it
            try:
                watcher()
            finally:
                self._watcher = watcher
        return parsed

    def watch(self, watcher: Callable[[], object]) -> None:
        """Call `watcher` after each event from now on; the last one given is the one called."""
        self._watcher = watcher
        watcher()

    def unwatch(self) -> None:
        """Call nobody after an event any more."""
        self._watcher = None

    def of_call(self, call_id: str, event: str) -> tuple[Event, ...]:
        """Return the events of one kind that a tool call has journalled."""
        return tuple(e for e in self._events if e["event"] == event and e.get("call_id") == call_id)


def read_journal(path: Path) -> tuple[list[Event], tuple[int, ...]]:
    """Return the events of a journal and the numbers of lines that are none.

    Such are a torn tail, NULs after a crash, and an event that lacks what it should hold (`event_shapes`).
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return [], ()
    events: list[Event] = []
    damaged: list[int] = []
    for number, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip():
            continue
        if (event := _event(line)) is not None:
            events.append(event)
        else:
            damaged.append(number)
    return events, tuple(damaged)


def read_outline(path: Path) -> list[Event]:
    """Return the events of a journal that tell how its run stands: all but those of its cells and calls.

    A long journal is mostly about cells; passed over unparsed, it is read in a tenth of the time. The last event is
    always there, whatever it is about, so that a fold knows when the journal was last written. What does not depend on
    cells, calls and what was spent (state, phase, start, rounds, pilots, what waits) folds as from the whole journal;
    what does depend on them is not to be taken from these events. A line is passed over only where it plainly is one
    of `Journal`'s own; any other is read as `read_journal` reads it. Raises OSError where the file can't be read.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return []
    lines = raw.split(b"\n")
    about_cells, plain = _ABOUT_CELLS.match, b"\\" not in raw
    events: list[Event] = []
    for line in lines:
        # Behind a backslash, or a second "event", may stand a name other than the one in front.
        if (found := about_cells(line)) and (plain or b"\\" not in line) and line.find(b'"event"', found.end()) < 0:
            continue
        if line.strip() and (event := _event(line)) is not None:
            events.append(event)
    last = next((event for line in reversed(lines) if line.strip() and (event := _event(line)) is not None), None)
    if last is not None and (not events or events[-1] != last):
        events.append(last)
    return events


_ABOUT_CELLS = re.compile(
    rb'\{"time": "[^"]*", "event": "(?:cell|target_started|target_finished|target_failed|intent|tool_result|spent|'
    rb'nudge|session", "role": "(?:evaluator|target))", '
)
"""How a line begins that says nothing of how its run stands, as `Journal.append` writes it."""


def _event(line: bytes) -> Event | None:
    """Return the event that a line of a journal is, None where it is none."""
    try:
        record: Any = strict_json.parse(line)
    except ValueError:
        return None
    return record if problem(record) is None else None


def fold(apply: Callable[[State, Event], State], initial: State, events: Iterable[Event]) -> State:
    """Return the state that `events` lead to from `initial`."""
    return reduce(apply, events, initial)


def spec_of(events: Iterable[Event]) -> Mapping[str, Any]:
    """Return the spec that a journal's run was started with. Raises DamagedError where it never started."""
    for event in events:
        if event["event"] == EventName.RUN_STARTED:
            spec: Mapping[str, Any] = event["spec"]
            return spec
    raise DamagedError("The journal holds no run_started event.", hint="The run never began; start a new one.")
