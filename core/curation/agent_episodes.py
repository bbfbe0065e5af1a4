"""An agent's finished Session as the Episode that a curator reads: task, bounded trajectory, result.

The task of a scored Session is its Case's public statement, that of the agent's own work the prompt it was given.
Nothing here opens a rubric, an Evaluator's trace or a scratchpad.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from core.agents.arguments import ArgumentsError, read_arguments
from core.curation.agent_sessions import FinishedSession
from core.curation.worlds import Episode, Step, Task
from core.foundation.visible import decode
from core.state.paths import AgentPaths, BenchmarkPaths
from core.traces.parsing import TraceRecord
from core.traces.session_trace import SessionTrace

ACTION_CHARS = 1_200
OBSERVATION_CHARS = 1_200
TRAJECTORY_CHARS = 24_000
TASK_CHARS = 8_000
WORLD = "agent"
"""The name under which a curator is asked whether it may curate an agent (`Curator.refuses`)."""


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    arguments: str
    output: str | None = None


def episode_of(agent: AgentPaths, benchmark: BenchmarkPaths, session: FinishedSession, *, success_at: float) -> Episode:
    """Return the Episode of a Session. Raises NotFoundError where its trace is gone, OSError where it can't be read.

    A scored one is a success from `success_at` points on (0 to 100), and its `score` is points / 100: the Case is
    not held out, so its points may be used. `judged` says the same, for that is what a curator sees (K5). Of own work
    nobody knows the outcome: `success` and `score` are None, and `judged` is False only where it was broken off.
    """
    told = told_by(agent, session.session_id)
    text = _statement(benchmark, session.case_id) or told.prompt
    success = None if session.points is None else session.points >= success_at
    return Episode(
        task=Task(session.session_id, session.case_id or "own-work", shortened(text, TASK_CHARS), "train", 0),
        success=success,
        steps=told.actions,
        trajectory=told.steps,
        score=None if session.points is None else session.points / 100,
        judged=False if success is None and session.broken_off else success,
        tokens=told.tokens,
        used=told.skills,
        failure="" if success is not None else "nobody scored it",
    )


@dataclass(frozen=True, slots=True)
class Told:
    """What a trace tells: the first prompt, the steps within their bounds, how many actions there were in all, the
    skills whose SKILL.md was read, and the Session's tokens, None where nothing counts them.
    """

    prompt: str
    steps: tuple[Step, ...]
    actions: int
    skills: tuple[str, ...]
    tokens: int | None


def told_by(agent: AgentPaths, session_id: str) -> Told:
    """Read a Session of the agent. Raises NotFoundError where it has none by that id."""
    steps: list[Step] = []
    prompt, used, tokens, actions = "", list[str](), None, 0
    with SessionTrace(agent, session_id, index=False) as trace:
        for item in _items(trace.iter_records()):
            match item:
                case str() if not prompt:
                    prompt = item
                case str():
                    steps.append(Step(HEARS + shortened(item.strip(), ACTION_CHARS), ""))
                case Step():
                    steps.append(item)
                case int():
                    tokens = item
                case _Call():
                    actions += 1
                    steps.append(_step(item))
                    if (name := _skill_read(item, agent)) and name not in used:
                        used.append(name)
    return Told(prompt, bounded(steps), actions, tuple(used), tokens)


SAYS, HEARS = "says: ", "hears: "
"""How steps begin that are no actions: what the agent said, and what it was told after its first prompt."""


def _items(records: Iterable[TraceRecord]) -> Iterable[str | Step | int | _Call]:
    """Yield what it was told, what it said, its answered calls in order of their answers, and its tokens."""
    open_calls: dict[str, _Call] = {}
    for record in records:
        match record.kind:
            case "text" if record.payload.get("role") == "user":
                if record.text("sender") in ("", "user"):
                    yield record.text("text")
            case "text" if said := record.text("text").strip():
                yield Step(SAYS + shortened(said, ACTION_CHARS), "")
            case "tool_call":
                open_calls[record.text("tool_call_id")] = _Call(record.text("name"), record.text("arguments"))
            case "tool_call_output":
                call = open_calls.pop(record.text("tool_call_id"), None)
                if call is not None:
                    yield _Call(call.name, call.arguments, record.text("output"))
            case "abort":
                yield Step("(broken off)", record.text("reason"))
            case "token_usage":
                session: Any = record.payload.get("session")
                total = session.get("total") if isinstance(session, dict) else None
                if isinstance(total, int) and not isinstance(total, bool):
                    yield total
    for call in open_calls.values():
        yield call


def _step(call: _Call) -> Step:
    output = "(no answer)" if call.output is None else shortened(call.output.strip(), OBSERVATION_CHARS)
    return Step(shortened(_said(call), ACTION_CHARS), output)


def _said(call: _Call) -> str:
    """Return a call as people would write it: a command by its own text, any other by name and arguments."""
    try:
        arguments = read_arguments(call.arguments, {})
    except ArgumentsError:
        return f"{call.name} {call.arguments}"
    if isinstance(command := arguments.get("cmd"), str):
        why = arguments.get("description")
        return f"{call.name}: {why}\n{command}" if isinstance(why, str) and why else f"{call.name}\n{command}"
    return f"{call.name} " + ", ".join(f"{name}={value}" for name, value in arguments.items())


def _skill_read(call: _Call, agent: AgentPaths) -> str | None:
    """Return the skill whose SKILL.md a call names: the agent looked at it."""
    _, found, rest = call.arguments.partition(f"{agent.skills}/")
    name, end, _ = rest.partition("/SKILL.md")
    return name if found and end and "/" not in name else None


def bounded(steps: list[Step], limit: int = TRAJECTORY_CHARS) -> tuple[Step, ...]:
    """Return the steps within `limit` characters: from both ends, with a word about how many were left out between.

    How a task began and how it ended says more of it than its middle.
    """
    sizes = [len(step.action) + len(step.observation) for step in steps]
    if sum(sizes) <= limit:
        return tuple(steps)
    head, tail, left = 0, len(steps), limit
    while head < tail:
        from_head = head <= len(steps) - tail
        size = sizes[head] if from_head else sizes[tail - 1]
        if size > left:
            break
        left -= size
        head, tail = (head + 1, tail) if from_head else (head, tail - 1)
    return (*steps[:head], Step(f"({tail - head} steps are left out here)", ""), *steps[tail:])


def shortened(text: str, limit: int) -> str:
    """Return a text within `limit` characters: its beginning and its end, with a word between where it was cut."""
    if len(text) <= limit:
        return text
    half = (limit - 40) // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"


def _statement(benchmark: BenchmarkPaths, case_id: str | None) -> str:
    if case_id is None:
        return ""
    readme = benchmark.case(case_id).statement_readme
    return decode(readme.read_bytes()) if readme.is_file() else ""
