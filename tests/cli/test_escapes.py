"""Nothing that an agent or a file says reaches the terminal raw, whatever the encoding (FAULTS: escape injection)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from core.state import approvals, snapshots
from core.state.approvals import Approval
from core.state.benchmark import write_benchmark_config
from core.state.evaluation import RunScore, evaluation_of
from core.state.paths import ProjectPaths
from core.state.scoreboard import append_evaluation
from tests.cli.program import call, environment, spawn

ATTACK = "\x1b]0;owned\x07\x1b[2K\rALL PASSED\x9b31m\u202egnp.exe\u2066 caf\u00e9 \u4f60"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SESSION = "session-2026-01-01-00-00-00-0badc0de"


@pytest.fixture
def hostile(project: ProjectPaths) -> ProjectPaths:
    """A project in which every name, title and text that may hold it is an attack."""
    agent = project.agent("default_agent")
    config = agent.config.read_text()
    quoted = json.dumps(ATTACK)
    config = re.sub(r"^name:.*$", lambda _: f"name: {quoted}", config, flags=re.MULTILINE)
    config = re.sub(r"^description:.*$", lambda _: f"description: {quoted}", config, flags=re.MULTILINE)
    agent.config.write_text(config)
    skill = agent.skills / "bad"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\nname: bad\ndescription: {ATTACK!r}\n---\n{ATTACK}\n".replace("\r", "\x0c"))
    (skill / "name \x1b[31m\u202e.md").write_text(ATTACK)
    benchmark = agent.benchmark("hostile")
    case = benchmark.case("CASE-001-a")
    case.statement.mkdir(parents=True)
    case.rubric.mkdir(parents=True)
    case.statement_readme.write_text(f"# {ATTACK}\n")
    case.rubric_readme.write_text("- 100 pts: done\n")
    write_benchmark_config(benchmark, ATTACK, ATTACK)
    run = RunScore(score=50.0, cost=None, duration_ms=1, session_id=SESSION)
    append_evaluation(
        benchmark, evaluation_of(1, ("p" + ATTACK, "m" + ATTACK, "medium"), {"CASE-001-a": [run]}, title=ATTACK)
    )
    records = [
        ("session_meta", {"session_id": SESSION, "provider": ATTACK, "model_id": ATTACK, "system_prompt": ATTACK,
                          "agent_state": "/a", "workspace": f"/w/{ATTACK}"}),
        ("model_msg", {"type": "text", "role": "user", "text": ATTACK, "stop_reason": "completed"}),
        ("model_msg", {"type": "tool_call", "name": ATTACK, "arguments": json.dumps({"command": ATTACK}),
                       "tool_call_id": "1"}),
        ("model_msg", {"type": "tool_call_output", "tool_call_id": "1", "output": ATTACK}),
        ("event_msg", {"type": ATTACK, "note": ATTACK}),
    ]  # fmt: skip
    day = agent.traces / "2026-01-01"
    day.mkdir(parents=True)
    (day / f"{SESSION}_001.jsonl").write_text(
        "".join(
            json.dumps({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload}, ensure_ascii=False)
            + "\n"
            for kind, payload in records
        ),
    )
    approvals.request(
        project,
        Approval(
            id="freeze-1",
            kind="freeze",
            run_id="build-1",
            agent_id="default_agent",
            benchmark_id="hostile",
            created="2026-01-01T00:00:00.000Z",
            title=ATTACK,
            body={"cases": [{"case_id": ATTACK, "title": ATTACK}], "pilots": [{"i": 1, "predicted": ATTACK}],
                  "findings": [{"case_id": ATTACK, "kind": ATTACK, "text": ATTACK, "waived_reason": ATTACK}]},
        ),
    )  # fmt: skip
    return project


SHOWING: list[list[str]] = [
    ["agent", "list"],
    ["agent", "show", "default_agent"],
    ["trace", "list"],
    ["trace", "show", SESSION],
    ["trace", "tree", SESSION],
    ["trace", "analyze", SESSION],
    ["scoreboard", "default_agent", "hostile", "--candidates"],
    ["skill", "list", "--agent", "default_agent"],
    ["skill", "show", "bad", "--agent", "default_agent"],
    ["skill", "search", "bad", "--agent", "default_agent"],
    ["skill", "diff", "library", "default_agent"],
    ["skill", "diff", "library", "default_agent", "--patch"],
    ["skill", "show", ATTACK.replace("\x00", ""), "--agent", "default_agent"],
    ["skill", "validate", "SKILL"],
    ["approvals", "list"],
    ["approvals", "show", "freeze-1"],
    ["snapshot", "diff", "default_agent", "v1"],
    ["agent", "show", ATTACK],
    ["trace", "show", ATTACK],
    ["runs", "show", ATTACK],
    [ATTACK],
    ["doctor", "--no-providers"],
]


@pytest.mark.parametrize("words", SHOWING, ids=lambda words: " ".join(words).encode("unicode_escape").decode()[:40])
def test_no_control_reaches_the_terminal(words: list[str], hostile: ProjectPaths) -> None:
    if words[:2] == ["snapshot", "diff"]:
        agent = hostile.agent("default_agent")
        odd = agent.skills / "bad" / "name \x1b[31m\u202e.md"
        odd.unlink()  # such a name can't be kept in a snapshot, but it can appear beside one
        snapshots.create(agent)
        (agent.skills / "bad" / "name \x1b[31m\u202e.md").write_text(ATTACK + "\nmore\n")
        agent.agents_md.write_text(ATTACK)
    place = [] if words == [ATTACK] or words[1:2] == ["validate"] else ["--home", str(hostile.root.parent)]
    words = [str(hostile.agent("default_agent").skills / "bad") if word == "SKILL" else word for word in words]
    ended = call(*words, *place)
    for text in (ended.out, ended.err):
        assert not RAW.search(text), text
        assert "\nALL PASSED" not in text
    machine = call(*words, *place, "--json")
    assert machine.out.isascii()
    assert not RAW.search(machine.out)
    json.loads(machine.out)


def test_the_attack_is_shown_not_swallowed(hostile: ProjectPaths) -> None:
    ended = call("trace", "show", SESSION, "--home", hostile.root.parent)
    assert "␛" in ended.out
    assert "<U+202E>" in ended.out
    facts = call("trace", "show", SESSION, "--json", "--home", hostile.root.parent).document
    assert facts["entries"][1]["payload"]["text"] == ATTACK  # the facts themselves are whole


@pytest.mark.e2e
@pytest.mark.parametrize(
    "extra",
    [{"LANG": "C", "LC_ALL": "C"}, {"PYTHONIOENCODING": "cp1252"}, {"PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "0"}],
    ids=str,
)
def test_no_encoding_stops_a_command(extra: dict[str, str], hostile: ProjectPaths) -> None:
    home = hostile.root.parent
    for words in (["trace", "show", SESSION], ["agent", "list"], ["skill", "show", "bad", "--agent", "default_agent"]):
        ended = spawn(*words, "--home", home, env=environment(**extra))
        assert ended.returncode == 0, ended.stderr
        assert ended.stderr == b""
        assert b"\x1b" not in ended.stdout
        assert ended.stdout
    ended = spawn("--help", env=environment(**extra))
    assert ended.returncode == 0
    assert ended.stdout.isascii()


@pytest.mark.e2e
def test_texts_are_utf_8_on_disk_in_any_locale(tmp_path: Path) -> None:
    home = tmp_path / "home"
    said = "Räumt Tabellen auf. 你好"
    ended = spawn(
        "agent", "create", "helper", "--requirement", said, "--home", home,
        env=environment(LANG="C", LC_ALL="C"),
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert said in (home / "default_project/agents/helper/agent_state/AGENTS.md").read_text(encoding="utf-8")
