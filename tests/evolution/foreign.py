"""Another program at work, as its files tell of it: Sessions written record by record, without a journal."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from core.state.paths import ProjectPaths
from core.traces import records
from core.traces.records import Record
from core.traces.tokens import Tokens
from core.traces.writer import TraceWriter

SOLVER, BUILDER, BENCHMARK = "solver", "default_agent", "riddles"
CASES = ("CASE-001-owl", "CASE-002-fox")
_ECHO = "case_id: {case}\nrun: {run}\nexpected_version: {version}\nprovider: lab\nmodel_id: lab-1\n"
ANSWER = f"protocol_version: 1\nstatus: ok\n{_ECHO}"
ANSWER += "thinking_level: medium\nscore: {score}\ncost: null\nduration_ms: 900\nsession_id: {session}"
FAILURE = f"protocol_version: 1\nstatus: failed\n{_ECHO}thinking_level: null\nfailure_code: benchmark_invalid"


class Offered(NamedTuple):
    """A tool that a Session was given."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class World:
    """A Project with a solver and a benchmark, and a clock that moves a second a record."""

    def __init__(self, root: Path) -> None:
        self.project = ProjectPaths(root / "default_project")
        self.moment = 1_790_000_000.0
        self._ids = itertools.count(1)
        for agent_id in (SOLVER, BUILDER):
            agent = self.project.agent(agent_id)
            agent.state.mkdir(parents=True)
            agent.config.write_text(f"name: {agent_id}\nversion: 1\nsystem_prompt: hello\n")
        self.benchmark = self.project.agent(SOLVER).benchmark(BENCHMARK)
        self.benchmark.root.mkdir(parents=True)
        self.benchmark.scoreboard.write_text("evaluations: []\n")

    def tick(self) -> str:
        self.moment += 1
        return datetime.fromtimestamp(self.moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def session(self, agent_id: str, prompt: str, **more: Any) -> Session:
        return Session(self, agent_id, f"session-2026-09-21-14-00-00-{next(self._ids):08x}", prompt, **more)

    def score(self, version: int, scores: dict[str, list[tuple[float, str]]]) -> None:
        """Append an evaluation the way any program may write it."""
        cases = [
            {
                "case": case,
                "score": sum(points for points, _ in runs) / len(runs),
                "cost": None,
                "duration_ms": 800,
                "runs": [{"score": s, "cost": None, "duration_ms": 800, "session_id": sid} for s, sid in runs],
            }
            for case, runs in scores.items()
        ]
        mean = sum(float(str(case["score"])) for case in cases) / len(cases)
        row = {"time": self.tick(), "version": version, "provider": "lab", "model_id": "lab-1"}
        row |= {"thinking_level": "medium", "score": mean, "cost": None, "duration_ms": 800, "cases": cases}
        text = self.benchmark.scoreboard.read_text().replace("evaluations: []\n", "evaluations:\n")
        self.benchmark.scoreboard.write_text(text + f"  - {json.dumps(row)}\n")


class Session:
    """A Session that is being written."""

    def __init__(
        self,
        world: World,
        agent_id: str,
        session_id: str,
        prompt: str,
        *,
        parent: Session | None = None,
        workspace: str = "/home/u/work",
        source: str | None = None,
        tools: tuple[str, ...] = ("exec_command", "run_subagent"),
    ) -> None:
        self.world, self.id = world, session_id
        agent = world.project.agent(agent_id)
        path = agent.traces / "2026-09-21" / f"{session_id}_001.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        self.writer = TraceWriter(path)
        self.path = path
        self._calls = itertools.count(1)
        source = "subagent" if parent else source
        self.write(
            records.session_meta(
                session_id=session_id,
                provider="lab",
                model_id="lab-1",
                model_context_window=128_000,
                system_prompt="(elided)",
                agent_state=agent.state,
                workspace=workspace,
                source=source,
            )
        )
        self.ask(prompt, sender="parent_agent" if parent else "user")
        self.write(records.tool_list_ready([Offered(name, "", {}) for name in tools]))

    def write(self, *written: Record) -> Self:
        for record in written:
            self.writer.append(record, self.world.tick())
        return self

    def ask(self, text: str, *, sender: str = "user") -> Self:
        return self.write(records.user_text(text, sender=sender))

    def call(self, name: str, **arguments: Any) -> str:
        """Make a request that ends in a tool call; return the call's id."""
        call_id = f"call_{next(self._calls)}"
        usage = Tokens(0, 100, 10)
        self.write(records.request_begin(), records.tool_call(call_id, name, json.dumps(arguments)))
        self.write(records.token_usage(usage, usage), records.request_end())
        return call_id

    def output(self, call_id: str, text: str = "ok") -> Self:
        return self.write(records.tool_call_output(call_id, text))

    def say(self, text: str) -> Self:
        """End the turn with a text."""
        return self.write(records.request_begin(), records.assistant_text(text), records.request_end())

    def evaluator(self, case: str, run: int = 1, version: int = 1) -> Evaluator:
        """Dispatch an Evaluator, as the existing system does."""
        prompt = (
            "Use the `agent-evaluation` Skill.\n"
            f"protocol_version: 1\ncase_id: {case}\nrun: {run}\nexpected_version: {version}\n"
            f"test_agent_id: {SOLVER}\nbenchmark_id: {BENCHMARK}\nprovider: lab\nmodel_id: lab-1"
        )
        self.call("run_subagent", description="evaluate", prompt=prompt)
        child = self.world.session(BUILDER, prompt, parent=self)
        self.write(records.subagent(child.id))
        return Evaluator(child, case, run, version)


class Evaluator:
    """An Evaluator's Session, with the Target that it starts."""

    def __init__(self, session: Session, case: str, run: int, version: int) -> None:
        self.session, self.case, self.run, self.version = session, case, run, version
        self.target: Session | None = None

    def launch(self, source: str | None = None) -> Session:
        workspace = f"/data/agents/{SOLVER}/workspaces/{self.session.id[-8:]}"
        self._call = self.session.call("exec_command", cmd=f'W="{workspace}"\nrun --workspace "$W" --message go')
        self.target = self.session.world.session(
            SOLVER, "Read README.md and do it.", workspace=workspace, source=source
        )
        return self.target

    def answer(self, score: float, text: str = ANSWER) -> str:
        """Let the Target end and the Evaluator answer; return the Target's id."""
        target = self.target or self.launch()
        target.say("Done.")
        self.session.output(self._call)
        self.session.say(
            text.format(case=self.case, run=self.run, version=self.version, score=score, session=target.id)
        )
        return target.id
