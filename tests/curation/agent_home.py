"""An agent with a frozen two-Case benchmark, its baseline, and traces of the Sessions behind it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.curation.agent_curation import curate_flow
from core.evolution.events import Event, EventName, Journal
from core.evolution.specs import CurateSpec, RunPaths
from core.models.interface import ModelEntry, ModelRef, Request, ToolCall
from core.skillrepo.operations import INSERT, UPDATE
from core.skillrepo.skill import write
from core.state.paths import AgentPaths
from core.state.scoreboard import read_scoreboard
from core.traces import records
from core.traces.writer import TraceWriter, new_trace_path
from tests.curation.scripted_model import Reply, Script, text_of
from tests.evolution.bench import CASES, Bench, make_bench

MODEL = ModelRef("test", "model-1")
Steps = Sequence[tuple[str, str, str]]
"""(tool, argument as a command, output) each."""


def write_session(
    agent: AgentPaths,
    session_id: str,
    prompt: str,
    steps: Steps = (("exec_command", "sum data.csv", "3"),),
    *,
    said: str | None = "Done.",
    broken: str = "",
    source: str | None = None,
    then: str = "",
) -> Path:
    """Write a trace as a Session does: what it was asked, did, said and heard `then`, or why it was broken off."""
    path = new_trace_path(agent, session_id)
    trace = TraceWriter(path)
    trace.append(
        records.session_meta(
            session_id=session_id,
            provider="rehearsal",
            model_id="rehearsal-1",
            model_context_window=None,
            system_prompt="You are an agent.",
            agent_state=agent.state,
            workspace=agent.workspaces / "ws-1",
            source=source,
        )
    )
    trace.append(records.user_text(prompt))
    trace.append(records.tool_list_ready([]))
    for number, (tool, command, output) in enumerate(steps, 1):
        trace.append(records.request_begin())
        trace.append(records.tool_call(f"call_{number}", tool, json.dumps({"cmd": command})))
        trace.append(records.request_end())
        trace.append(records.tool_call_output(f"call_{number}", output))
    if then:
        trace.append(records.user_text(then))
    trace.append(records.request_begin())
    if said is not None:
        trace.append(records.assistant_text(said))
    trace.append(records.request_end())
    if broken:
        trace.append(records.abort(broken))
    trace.close()
    return path


@dataclass
class Home:
    """`bench` scores cells as the test says; `bench.run` is the curation's own run."""

    bench: Bench

    @property
    def agent(self) -> AgentPaths:
        return self.bench.agent

    @property
    def sessions(self) -> list[str]:
        """The Sessions behind the newest evaluation of version 1."""
        evaluations = read_scoreboard(self.bench.desk.benchmark.scoreboard).evaluations
        return [run.session_id for case in evaluations[0].cases for run in case.runs]

    def events(self, name: str) -> list[Event]:
        return [event for event in self.bench.journal.events if event["event"] == name]

    def killed(self) -> Home:
        """Return what a new engine on the same directory would find."""
        return Home(self.bench.again())

    async def curate(self, answers: Callable[[Request], Reply] | Script, **settings: Any) -> dict[str, Any]:
        """Run the whole flow with a curator whose answers the test gives."""
        script = answers if isinstance(answers, Script) else Script(once(answers))
        given = {"agent_id": self.agent.id, "benchmark_id": "chores", "runs": 1, "rounds": 1, "sessions": 2}
        spec = CurateSpec(**{**given, **settings})
        if not self.events(EventName.RUN_STARTED):  # as the engine begins
            self.bench.journal.append(EventName.RUN_STARTED, pid=1, kind="curate", spec=spec.model_dump(mode="json"))
        return await curate_flow(self.bench.desk, spec, script, ModelEntry(MODEL))


async def make_home(tmp_path: Path, *, private: str = "the sum is right") -> Home:
    """Return an agent whose baseline is 40 on both measured Cases; the third is held out.

    `private` stands in every rubric.
    """
    built = make_bench(tmp_path)

    def write_all(words: str = "") -> None:
        for case_id in CASES:
            built.write_case(case_id, words=words, rubric=f"- 60 pts: {private}\n- 40 pts: the answer is a file\n")

    built.write_all = write_all  # type: ignore[method-assign]  # the same Cases with other rubrics
    await built.frozen()
    run = RunPaths(built.project.runs / "curate-20260101-000000-abcd")
    run.root.mkdir(parents=True)
    home = Home(Bench(built.project, run, Journal(run.journal), scores={}))
    for session_id in home.sessions:
        write_session(home.agent, session_id, "Read README.md and do it.")
    return home


def once(answers: Callable[[Request], Reply]) -> Callable[[Request], Reply]:
    """Return a model that answers a question as `answers` says, and anything after its calls with a closing word."""
    return lambda request: answers(request) if len(request.messages) == 1 else "That is all."


def call(name: str, number: int = 1, **arguments: Any) -> ToolCall:
    return ToolCall(f"call_{number}", name, json.dumps(arguments))


def insert(title: str = "sum-columns", body: str = "# Workflow\n1. Sum by a script.", number: int = 1) -> ToolCall:
    content = write(title, "Add up a column of a file exactly.", body).content
    return call(INSERT, number, skill_name=title, content=content)


def update(title: str, content: str, number: int = 1) -> ToolCall:
    return call(UPDATE, number, skill_name=title, new_content=content)


def first_only(*calls: ToolCall) -> Callable[[Request], Reply]:
    """Return a curator that makes `calls` at its first Episode and changes nothing afterwards."""
    asked: list[str] = []

    def answer(request: Request) -> Reply:
        asked.append(text_of(request))
        return ("I write it down.", calls) if len(asked) == 1 else "Nothing to change."

    return answer
