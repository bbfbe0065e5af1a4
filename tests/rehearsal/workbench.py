"""Run the rehearsal Target without an engine: its commands as plain processes, a rubric's checks, a score.

It keeps what the engine would: one tool call a turn, a limit of turns, the statement's files alone in the
workspace, and checks that decide points by exit code.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from core.agents.isolation.environment import search_path
from core.models.interface import Message, ModelRef, Request, Text, ToolCall, ToolOutput, ToolSpec
from core.models.rehearsal.lesson_library import Lesson
from core.models.rehearsal.target import reply

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "data-chores"
MATERIAL = BENCHMARK / "material"
PROMPT = "Read README.md in the current Workspace and complete the task exactly as specified there."
CAUTIOUS_TURNS = 8
TOOLS = tuple(ToolSpec(name, "", {"type": "object"}) for name in ("read_file", "exec_command"))
# One process for all checks of a rubric; `test_cases` shows that the commands themselves give the same.
_DRIVER = """
import contextlib, importlib.util, io, json, os, sys
spec = importlib.util.spec_from_file_location("check", os.environ["CASE_RUBRIC"] + "/check.py")
check = importlib.util.module_from_spec(spec); spec.loader.exec_module(check)
def passes(arguments):
    try:
        return bool(check.main(*arguments))
    except Exception:
        return False
print(json.dumps([passes(a) for a in json.loads(sys.argv[1])]))
"""


@dataclass(frozen=True)
class State:
    """An agent's state as far as the Target feels it."""

    agents_md: str = "# Agent\n\nYou do clerical work on files with care.\n"
    skills: tuple[tuple[str, str], ...] = ()
    max_turns: int = CAUTIOUS_TURNS

    def with_lessons(self, *lessons: Lesson) -> State:
        """Return this state with the lessons' edits."""
        agents_md, skills, turns = self.agents_md, dict(self.skills), self.max_turns
        for lesson in lessons:
            if lesson.edit == "agents_md":
                agents_md = lesson.agents_md(agents_md)
            elif lesson.edit == "skill":
                skills[lesson.skill] = lesson.body
            else:
                turns = int(str(lesson.settings.get("max_turns", turns)))
        return State(agents_md, tuple(sorted(skills.items())), turns)


@dataclass(frozen=True)
class Work:
    """What a Target left: its last words, the number of turns, and the commands that it ran."""

    text: str
    turns: int
    commands: tuple[str, ...]


def _metadata(directory: Path) -> str:
    lines = []
    for path in sorted(directory.glob("*/SKILL.md")):
        front = yaml.safe_load(path.read_text(encoding="utf-8").split("---")[1])
        lines.append(f"- {front['name']}: {front['description']} (path: {path})")
    return "\n".join(lines)


def work(statement: Path, workspace: Path, state: State, seed: int = 7) -> Work:
    """Let the Target work on a copy of `statement` in `workspace`."""
    shutil.copytree(statement, workspace)
    with tempfile.TemporaryDirectory() as home:
        for name, text in state.skills:
            path = Path(home) / "skills" / name / "SKILL.md"
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
        prompt = (
            f"You are an agent.\n\n# AGENTS.md\n\n{state.agents_md}\n\n# Skills\n\n{_metadata(Path(home) / 'skills')}\n"
        )
        messages: list[Message] = [Text("user", PROMPT)]
        commands: list[str] = []
        for turn in range(1, state.max_turns + 1):
            request = Request(ModelRef("rehearsal", "rehearsal-1"), prompt, tuple(messages), TOOLS, seed=seed)
            (answer,) = reply(request, seed)
            messages.append(answer)
            if not isinstance(answer, ToolCall):
                return Work(answer.text, turn, tuple(commands))
            arguments = json.loads(answer.arguments)
            if answer.name == "read_file":
                path = workspace / arguments["file_path"]
                output = path.read_text(encoding="utf-8") if path.is_file() else "Error: no such file"
            else:
                commands.append(arguments["cmd"])
                done = subprocess.run(
                    ["/bin/sh", "-c", arguments["cmd"]],
                    cwd=workspace,
                    env={"PATH": search_path(), "HOME": home, "LANG": "C.UTF-8"},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=60,
                    check=False,
                )
                output = done.stdout.decode("utf-8", errors="replace")[-16000:]
            messages.append(ToolOutput(answer.call_id, output))
        return Work("", state.max_turns, tuple(commands))


@cache
def _checks(rubric: Path) -> tuple[tuple[str, float, tuple[str, ...]], ...]:
    document = yaml.safe_load((rubric / "checks.yaml").read_text(encoding="utf-8"))
    return tuple(
        (entry["id"], float(entry["points"]), tuple(entry["command"].split('check.py" ')[1].split()))
        for entry in document["checks"]
    )


def points(workspace: Path, rubric: Path) -> dict[str, float]:
    """Return the points of each check."""
    checks = _checks(rubric)
    done = subprocess.run(
        [sys.executable, "-c", _DRIVER, json.dumps([arguments for _, _, arguments in checks])],
        cwd=workspace,
        env={"PATH": search_path(), "CASE_RUBRIC": str(rubric), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return {name: worth if ok else 0.0 for (name, worth, _), ok in zip(checks, json.loads(done.stdout), strict=True)}


def naive() -> State:
    """Return the state of an agent that nobody taught."""
    return State()


def oracle() -> State:
    """Return the hand-written state that knows all that can be learned: tests/fixtures/oracle_state."""
    root = Path(__file__).resolve().parents[1] / "fixtures" / "oracle_state"
    skills = tuple(
        (path.parent.name, path.read_text(encoding="utf-8")) for path in sorted(root.glob("skills/*/SKILL.md"))
    )
    limits = yaml.safe_load((root / "settings.yaml").read_text(encoding="utf-8"))
    return State((root / "AGENTS.md").read_text(encoding="utf-8"), skills, limits["max_turns"])


@cache
def score(case: Path, state: State, seed: int = 7) -> float:
    """Return what a Target in `state` reaches on the Case directory `case`."""
    with tempfile.TemporaryDirectory() as root:
        workspace = Path(root) / "workspace"
        work(case / "statement", workspace, state, seed)
        return sum(points(workspace, case / "rubric").values())


def cases() -> tuple[Path, ...]:
    """Return the final Cases of the benchmark, in order."""
    return tuple(sorted(BENCHMARK.glob("CASE-*")))


def held_out() -> frozenset[str]:
    """Return the ids of the Cases that are held out."""
    return frozenset(tomllib.loads((BENCHMARK / "benchmark_config.toml").read_text(encoding="utf-8"))["held_out"])


def open_cases() -> tuple[Path, ...]:
    """Return the final Cases that are not held out."""
    return tuple(case for case in cases() if case.name not in held_out())


def revision_at(case: Path, pilot: int) -> Path:
    """Return the material of a Case as it stands at a pilot, from 1."""
    root = MATERIAL / case.name
    here = root / "draft"
    for step in sorted((root / "sharpenings").glob("*"), key=lambda path: int(path.name)):
        if yaml.safe_load((step / "sharpening.yaml").read_text(encoding="utf-8"))["pilot"] <= pilot:
            here = step
    return here


def average(places: Iterable[Path], state: State, seed: int = 7) -> float:
    """Return the mean score over Case directories."""
    found = [score(place, state, seed) for place in places]
    return sum(found) / len(found)
