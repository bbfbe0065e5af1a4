"""The rehearsal Builder and Optimizer at the engine's own doors; only the cells' scores come from a function."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from core.agents.tool import Tool, ToolContext
from core.evolution.builder_freeze import FreezeDoors
from core.evolution.builder_state import Limits
from core.evolution.builder_tools import BuilderDoors
from core.evolution.cells import CellRequest, CellResult
from core.evolution.desk import Desk
from core.evolution.events import EventName, Journal
from core.evolution.optimizer_state import Goal
from core.evolution.optimizer_tools import OptimizerDoors
from core.evolution.specs import run_paths
from core.evolution.trials import Trials, measured_cases
from core.models.interface import ModelRef
from core.models.rehearsal import RehearsalOptions, RehearsalProvider, optimizer
from core.state.fresh import ensure_home
from core.state.paths import ProjectPaths
from tests.rehearsal.build_protocol import write_library
from tests.rehearsal.conversation import Conversation
from tests.rehearsal.test_builder import LIBRARY, MESSAGE, by_level
from tests.rehearsal.test_optimizer import LESSONS
from tests.rehearsal.test_optimizer import MESSAGE as OPTIMIZE

NAMES = count()
ScoreOf = Callable[[str], float]


@dataclass
class Place:
    """A project with one run's desk; `score` gives a Case's score from what lies on disk."""

    project: ProjectPaths
    desk: Desk


def place(tmp_path: Path, kind: str, score: Callable[[Desk, str], float]) -> Place:
    project = ensure_home(tmp_path / "home")
    run = run_paths(project, f"{kind}-20261201-100000-{next(NAMES):04x}")
    run.workspace.mkdir(parents=True)
    agent = project.agent("clerk")
    journal = Journal(run.journal)

    async def run_cells(cells: Sequence[CellRequest]) -> tuple[CellResult, ...]:
        results = []
        for cell in cells:
            session = f"session-2026-12-01-10-00-00-{next(NAMES):08x}"
            result = CellResult(
                cell.cell_id, cell.case_id, cell.run, "scored", score(desk, cell.case_id), None, 5, session
            )
            journal.append(
                EventName.CELL,
                **cell.fields(),
                state="scored",
                score=result.score,
                cost=None,
                duration_ms=5,
                session_id=session,
                evaluator_session_id="e",
            )
            results.append(result)
        return tuple(results)

    desk = Desk(
        run, agent, agent.benchmark("chores"), journal, ModelRef("rehearsal", "rehearsal-1"), run_cells, approve="auto"
    )
    return Place(project, desk)


def functions(tools: Sequence[Tool]) -> dict[str, Callable[[Mapping[str, Any]], Any]]:
    return {tool.spec.name: lambda _: "" for tool in tools}


class Talk(Conversation):
    """A conversation with real tools, which are coroutines."""

    async def go(self, text: str, tools: Sequence[Tool], limit: int = 300) -> str:
        from core.models.interface import Text, ToolCall, ToolOutput

        by_name = {tool.spec.name: tool for tool in tools}
        self.messages.append(Text("user", text))
        for _ in range(limit):
            reply = self.speak(self.request())
            self.messages += reply
            calls = [message for message in reply if isinstance(message, ToolCall)]
            if not calls:
                return "\n".join(message.text for message in reply if isinstance(message, Text))
            for call in calls:
                self.messages.append(ToolOutput(call.call_id, await self._called(call, by_name)))
        raise AssertionError("no end")

    async def _called(self, call: Any, by_name: Mapping[str, Tool]) -> str:
        try:
            arguments = json.loads(call.arguments)
        except ValueError:
            self.called.append((call.name, None))
            return "The call was not made: the arguments are no JSON."
        self.called.append((call.name, arguments))
        if call.name in by_name:
            context = ToolContext("session", call.call_id, Path("/"))
            output = (await by_name[call.name].call(arguments, context)).output
            answer = json.loads(output)
            assert answer.get("refused") != "bad_arguments", output[:600]
            return output
        if call.name not in self.tools:
            return f'There is no tool "{call.name}".'
        return str(self.tools[call.name](arguments))


def level(desk: Desk, case: str) -> int:
    (name,) = desk.benchmark.case(case).statement.glob("only-at-*.txt")
    return int(name.stem.rsplit("-", 1)[1])


def by_files(desk: Desk, case: str) -> float:
    return by_level(case, level(desk, case))


async def build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, clumsy: bool = False, seed: int = 7
) -> tuple[Place, BuilderDoors, Talk]:
    async def no_floor(*_: Any, **__: Any) -> float:
        return 0.0

    monkeypatch.setattr("core.evolution.builder_freeze.null_floor", no_floor)
    there = place(tmp_path, "build", by_files)
    library = write_library(tmp_path / "library", LIBRARY, ("CASE-004-d",))
    doors = BuilderDoors(there.desk, Limits(45, 4), library)
    tools = (*doors.tools(), *FreezeDoors(doors).tools())
    from tests.rehearsal.build_protocol import BuildProtocol

    hands = BuildProtocol(tmp_path / "hands", library, score=by_level)
    plain = {"read_file": hands.read_file, "exec_command": hands.exec_command}
    speak = RehearsalProvider(RehearsalOptions(seed=seed, clumsy=clumsy)).reply
    talk = Talk(speak, {**functions(tools), **plain}, seed=seed)
    await talk.go(MESSAGE, tools)
    for _ in range(40):
        if doors.state().phase == "report":
            break
        await talk.go("The protocol has not finished. " + json.dumps({"state": dict(doors.view())}), tools)
    return there, doors, talk


async def test_the_builder_gets_through_the_engines_doors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, doors, talk = await build(tmp_path, monkeypatch)
    state = doors.state()
    assert state.stop_reason is None
    assert state.baseline is not None
    assert len(state.valid_pilots) >= 3
    assert any(pilot.missed for pilot in state.pilots)
    assert state.lowest_pilot is not None
    assert state.lowest_pilot.i == state.frozen
    refused = [m for m in talk.messages if '"ok": false' in getattr(m, "output", "")]
    assert refused == []


@pytest.mark.parametrize("seed", range(6))
async def test_so_does_the_clumsy_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(Talk, "_called", _tolerant)
    _, doors, _ = await build(tmp_path, monkeypatch, clumsy=True, seed=seed)
    assert doors.state().baseline is not None, doors.state().stop_reason


async def _tolerant(self: Talk, call: Any, by_name: Mapping[str, Tool]) -> str:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return "The call was not made: the arguments are no JSON."
    if call.name in by_name:
        return (await by_name[call.name].call(arguments, ToolContext("session", call.call_id, Path("/")))).output
    return str(self.tools[call.name](arguments)) if call.name in self.tools else f'There is no tool "{call.name}".'


def by_state(desk: Desk, case: str) -> float:
    points = 30.0
    table = case < "CASE-003"
    points += 35 if table and (desk.agent.skills / "tidy-tables").exists() else 0
    points += 40 if not table and (desk.agent.skills / "read-logs").exists() else 0
    rules = desk.agent.agents_md.read_text()
    return points + (10 if "look-twice" in rules else 0) - (12 if "hurry" in rules else 0)


async def test_the_optimizer_gets_through_the_engines_doors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built, _, _ = await build(tmp_path, monkeypatch)
    skilled = [lesson if lesson.edit != "skill" else _whole(lesson) for lesson in LESSONS]
    monkeypatch.setattr(optimizer, "lessons", lambda: tuple(skilled))
    # The library's statements say too little to tell the chores apart; they are all taken as tables.
    there = place(tmp_path, "optimize", by_state)
    trials = Trials(there.desk, Goal(90, 2, 5))
    trials.establish_reference()
    statements = tmp_path / "statements"
    for case in measured_cases(there.desk.benchmark):
        (statements / case).mkdir(parents=True)
        (statements / case / "README.md").write_text("# Register\n\nTidy the rows of `in.csv`: a log of errors.\n")
    doors = OptimizerDoors(trials, statements)
    tools = doors.tools()
    readable = {
        "read_file": lambda a: Path(a["file_path"]).read_text() if Path(a["file_path"]).is_file() else "Error: no"
    }
    talk = Talk(RehearsalProvider().reply, {**functions(tools), **readable})
    text = await talk.go(OPTIMIZE, tools)
    state = trials.state()
    assert state.rounds_done == 5, (
        state.stop_reason,
        [m for m in talk.messages if '"ok": false' in getattr(m, "output", "")],
    )
    assert {entry.decision for entry in state.history} == {"accepted", "rejected"}
    assert state.reference is not None
    assert state.reference.score > 31
    assert "Report of the Optimizer" in text
    assert built.project == there.project


def _whole(lesson: Any) -> Any:
    from dataclasses import replace

    return replace(lesson, body=f"---\nname: {lesson.skill}\ndescription: For {lesson.skill}.\n---\n\n{lesson.body}")
