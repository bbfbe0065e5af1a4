"""What the looking commands tell, for people and as JSON, on a home that the existing system wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.state.fresh import ensure_home
from tests.cli.program import call, spawn
from tests.tui.home import AGENT, BENCHMARK, OPTIMIZE, make_home

TARGET = "session-2026-11-30-20-19-35-88a7fd51"
CALLER = "session-2026-11-30-20-19-35-12166038"


def test_agents(penguin: Path) -> None:
    rows = call("agent", "list", "--json", "--home", penguin).document["agents"]
    assert [(row["agent_id"], row["version"], row["benchmarks"]) for row in rows] == [
        ("csv_helper", 2, ["csv-cleanup"]),
        ("default_agent", 1, ["example-benchmark"]),
    ]
    table = call("agent", "list", "--home", penguin).out.splitlines()
    assert table[0].split() == ["AGENT", "VERSION", "BENCHMARKS", "NAME", "DESCRIPTION"]
    assert table[1].split()[:3] == ["csv_helper", "v2", "csv-cleanup"]


def test_an_agent(penguin: Path) -> None:
    facts = call("agent", "show", "csv_helper", "--json", "--home", penguin).document
    assert facts["version"] == 2
    assert facts["drift"] == "same"
    assert facts["snapshots"] == [1, 2]
    (benchmark,) = facts["benchmarks"]
    assert benchmark["latest"] == {"version": 2, "score": 77.5}
    told = call("agent", "show", "csv_helper", "--home", penguin).out
    assert "CSV Helper (csv_helper) v2: Cleans small CSV files." in told
    assert "csv-cleanup: CSV cleanup, 1 Case, v2 77.5" in told


def test_secrets_stay_where_they_are(penguin: Path) -> None:
    root = penguin / "default_project"
    (root / "agents/csv_helper/agent_state/.vault.toml").write_text('TOKEN = "sesame-in-the-vault"\n')
    config = root / ".project_config.toml"
    assert "api_key" in config.read_text()
    keys = [line.split("=", 1)[1].strip().strip('"') for line in config.read_text().splitlines() if "api_key" in line]
    words = (
        ["agent", "show", "csv_helper"],
        ["doctor", "--no-providers"],
        ["snapshot", "diff", "csv_helper", "v1"],
        ["agent", "list"],
    )
    for command in words:
        for more in ([], ["--json"]):
            ended = call(*command, *more, "--home", penguin)
            for secret in ["sesame-in-the-vault", *(key for key in keys if key)]:
                assert secret not in ended.out + ended.err


def test_a_scoreboard(penguin: Path) -> None:
    facts = call("scoreboard", "csv_helper", "csv-cleanup", "--json", "--home", penguin).document
    assert [(entry["version"], entry["score"], entry["cost"]) for entry in facts["evaluations"]] == [
        (1, 60, None),
        (2, 77.5, None),
    ]
    assert facts["dropped"] == []
    told = call("scoreboard", "csv_helper", "csv-cleanup", "--home", penguin).out
    assert "unknown" in told  # a cost that is not known is no zero
    assert "Case-insensitive dedupe accepted" in told
    assert "60.00" in told, "a score has two decimals wherever it stands"
    assert "77.50" in told


def test_candidates_name_their_run_and_have_scores_of_two_decimals(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home").root.parent
    told = call("scoreboard", AGENT, BENCHMARK, "--candidates", "--home", home).out
    heading, accepted, rejected = told.splitlines()[-3:]
    assert heading.split()[:2] == ["RUN", "ROUND"]
    assert accepted.split()[:7] == [OPTIMIZE, "1", "v2", "optimizer", "accepted", "65.00", "45.00"]
    assert rejected.split()[:7] == [OPTIMIZE, "2", "v3", "optimizer", "rejected", "45.00", "45.00"]


def test_an_evaluation_that_a_strict_reader_drops_is_named(penguin: Path) -> None:
    board = penguin / "default_project/agents/csv_helper/benchmarks/csv-cleanup/scoreboard.yaml"
    board.write_text(board.read_text().replace("score: 77.5", "score: .nan", 1))
    facts = call("scoreboard", "csv_helper", "csv-cleanup", "--json", "--home", penguin).document
    assert [entry["version"] for entry in facts["evaluations"]] == [1]
    (dropped,) = facts["dropped"]
    assert dropped["line"] > 1
    assert "score" in dropped["reason"]
    assert f"Not counted, line {dropped['line']}:" in call(
        "scoreboard", "csv_helper", "csv-cleanup", "--home", penguin
    ).out  # fmt: skip


def test_traces(penguin: Path) -> None:
    sessions = call("trace", "list", "--json", "--home", penguin).document["sessions"]
    ids = [session["session_id"] for session in sessions]
    assert ids == sorted(ids, reverse=True)
    assert {TARGET, CALLER} <= set(ids)
    one = call("trace", "list", "--json", "--agent", "csv_helper", "--limit", "1", "--home", penguin).document
    assert [session["session_id"] for session in one["sessions"]] == [TARGET]


def test_a_trace_by_window(penguin: Path) -> None:
    whole = call("trace", "show", TARGET, "--json", "--home", penguin).document
    part = call("trace", "show", TARGET, "--from", "2", "--count", "3", "--json", "--home", penguin).document
    assert part["entries"] == whole["entries"][2:5]
    assert whole["entries"][0]["type"] == "session_meta"
    told = call("trace", "show", TARGET, "--count", "3", "--home", penguin).out.splitlines()
    assert len(told) == 4
    assert told[-1] == f"{whole['total'] - 3} more: --from 3"


def test_a_gap_is_shown_with_its_bytes(penguin: Path) -> None:
    path = next((penguin / "default_project/agents/csv_helper/traces").rglob(f"{TARGET}_001.jsonl"))
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2][:80] + b"\n"
    path.write_bytes(b"".join(lines))
    entry = call("trace", "show", TARGET, "--json", "--home", penguin).document["entries"][2]
    start = len(b"".join(lines[:2]))
    assert entry["bytes"][0] == start
    assert entry["gap"]
    assert f"bytes {start} to" in call("trace", "show", TARGET, "--home", penguin).out


def test_a_tree_with_its_children(penguin: Path) -> None:
    facts = call("trace", "tree", CALLER, "--json", "--home", penguin).document
    assert facts["session_id"] == CALLER
    below = {child["session_id"] for child in facts["children"]}
    assert below
    told = call("trace", "tree", CALLER, "--home", penguin).out
    for session in below:
        assert session in told


def test_numbers_of_a_trace(penguin: Path) -> None:
    facts = call("trace", "analyze", TARGET, "--json", "--home", penguin).document
    assert facts
    told = call("trace", "analyze", TARGET, "--home", penguin).out
    assert "requests" in told
    assert "tokens:" in told


def test_versions(penguin: Path) -> None:
    facts = call("snapshot", "list", "csv_helper", "--json", "--home", penguin).document
    assert facts["current_version"] == 2
    assert [(entry["version"], entry["beside"]) for entry in facts["snapshots"]] == [(1, False), (2, False)]
    files = call("snapshot", "diff", "csv_helper", "v1", "v2", "--json", "--home", penguin).document["files"]
    assert {entry["path"] for entry in files} >= {"AGENTS.md", "system_config.yaml"}
    told = call("snapshot", "diff", "csv_helper", "1", "2", "--home", penguin).out
    assert "+version: 2" in told
    assert call("snapshot", "diff", "csv_helper", "v2", "--home", penguin).out == "No difference.\n"


def test_nothing_yet_is_said_with_the_next_step(penguin: Path, tmp_path: Path) -> None:
    ensure_home(tmp_path / "home")
    assert "exuvia demo" in call("runs", "list", "--home", tmp_path / "home").out
    assert call("runs", "list", "--json", "--home", tmp_path / "home").document == {"runs": []}
    assert "Nothing waits" in call("approvals", "list", "--home", penguin).out
    assert call("approvals", "list", "--json", "--home", penguin).document["pending"] == []


def test_built_in_skills() -> None:
    rows = call("skill", "list", "--json").document["skills"]
    names = {row["name"] for row in rows}
    assert {"agent-creation", "benchmark-design", "agent-evaluation", "agent-optimization"} <= names
    assert all(row["valid"] for row in rows)
    for name in names:
        assert call("skill", "show", name, "--json").document["body"].strip()
        assert call("skill", "show", name).out.startswith("---\n")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("---\nname: tidy-rows\ndescription: Tidies rows.\n---\n\nDo it.\n", 0),
        ("---\nname: tidy-rows\ndescription: Use when: rows\n---\n\nDo it.\n", 1),
        ("no front matter\n", 1),
    ],
)
def test_a_skill_is_judged(text: str, code: int, tmp_path: Path) -> None:
    skill = tmp_path / "tidy-rows"
    skill.mkdir()
    (skill / "SKILL.md").write_text(text)
    for path in (skill, skill / "SKILL.md"):
        ended = call("skill", "validate", path)
        assert ended.code == code, ended
        facts = call("skill", "validate", path, "--json")
        assert facts.code == code
        assert facts.document["valid"] is (code == 0)
        assert bool(facts.document["diagnostics"]) is (code == 1)


def test_the_doctor_names_a_fix_for_each_finding(penguin: Path) -> None:
    (penguin / "default_project/.project_config.toml").chmod(0o644)
    for vault in penguin.rglob(".vault.toml"):
        vault.chmod(0o600)
    ended = call("doctor", "--json", "--no-providers", "--home", penguin)
    assert ended.code == 1
    findings = ended.document["findings"]
    assert {"exuvia", "isolation", "home", "keys", "torch"} <= {finding["subject"] for finding in findings}
    for finding in findings:
        assert finding["level"] in {"ok", "warn", "bad"}
        assert finding["level"] == "ok" or finding["fix"], finding
    (keys,) = [finding for finding in findings if finding["subject"] == "keys"]
    assert keys["fix"].startswith("chmod 600 ")
    (penguin / "default_project/.project_config.toml").chmod(0o600)
    assert call("doctor", "--no-providers", "--home", penguin).code == 0


def test_the_doctor_on_no_home_at_all(tmp_path: Path) -> None:
    ended = call("doctor", "--json", "--home", tmp_path / "none")
    assert ended.code == 0
    assert not (tmp_path / "none").exists()


@pytest.mark.e2e
def test_the_real_program_says_the_same(penguin: Path) -> None:
    for words in (
        ["agent", "list"],
        ["trace", "list", "--json"],
        ["scoreboard", "csv_helper", "csv-cleanup", "--json"],
    ):
        real, here = spawn(*words, "--home", penguin), call(*words, "--home", penguin)
        assert (real.returncode, real.stdout.decode(), real.stderr.decode()) == (here.code, here.out, here.err)


@pytest.mark.e2e
def test_alone_without_a_terminal_it_says_so(penguin: Path) -> None:
    ended = spawn("--home", penguin)
    assert ended.returncode == 2
    assert b"terminal" in ended.stderr
    assert b"Traceback" not in ended.stderr
