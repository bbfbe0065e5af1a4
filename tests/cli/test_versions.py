"""`exuvia snapshot`: what the console compares, keeps and tells, the command line does too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.evolution.candidate import stage
from core.evolution.freeze import frozen_files, write_frozen
from core.evolution.specs import run_paths
from core.state.paths import ProjectPaths
from tests.cli.program import call
from tests.tui.home import AGENT, BENCHMARK, CASES, OPTIMIZE, make_home

SECRET = "s3cr3t-Value-9876"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_home(tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def project(home: Path) -> ProjectPaths:
    return ProjectPaths(home / "default_project")


def test_a_note_and_the_history(home: Path) -> None:
    call("snapshot", "create", AGENT, "--note", "before the feast", "--home", home)
    call("rollback", AGENT, "--version", "1", "--home", home)
    call("rollback", AGENT, "--undo", "--home", home)
    listed = call("snapshot", "list", AGENT, "--json", "--home", home).document
    assert [entry["note"] for entry in listed["snapshots"]] == ["", "before the feast"]
    assert "before the feast" in call("snapshot", "list", AGENT, "--home", home).out
    changes = call("snapshot", "history", AGENT, "--json", "--home", home).document["changes"]
    assert [(change["what"], change["version"], change["before"]) for change in changes] == [
        ("accepted", 2, 1), ("kept", 2, 2), ("rolled back", 1, 2), ("undone", 2, 1),
    ]  # fmt: skip
    told = call("snapshot", "history", AGENT, "--home", home).out
    assert "rolled back" in told
    assert "Reading notes first helps" in told


def test_an_agent_without_history_says_so(fresh: Path) -> None:
    assert call("snapshot", "history", "default_agent", "--home", fresh).out.startswith("Nothing is on record")


def test_a_candidate_is_compared_as_it_was_tried(home: Path, project: ProjectPaths) -> None:
    root = run_paths(project, OPTIMIZE).root / "candidates" / "v3"
    stage(project.agent(AGENT), root, 3, lambda state: (state / "AGENTS.md").unlink() or None, {})  # type: ignore[func-returns-value]  # a lambda must return something
    files = call("snapshot", "diff", AGENT, "reference:3", "candidate:3", "--json", "--home", home).document["files"]
    assert [(file["path"], file["status"]) for file in files] == [
        ("AGENTS.md", "removed"),
        ("system_config.yaml", "changed"),
    ]
    assert [file["note"] for file in files] == ["", "only the version number, 2 -> 3"]
    told = call("snapshot", "diff", AGENT, "v2", "v3", "--home", home).out
    assert "removed AGENTS.md" in told
    assert "changed system_config.yaml  +1 -1  (only the version number, 2 -> 3)" in told


def test_a_benchmark_is_compared_with_its_freeze(home: Path, project: ProjectPaths) -> None:
    benchmark = project.agent(AGENT).benchmark(BENCHMARK)
    write_frozen(run_paths(project, OPTIMIZE), benchmark, frozen_files(benchmark), approval_id="a", pilot=1)
    words = ("snapshot", "diff", AGENT, "frozen", "--benchmark", BENCHMARK, "--home", home)
    assert call(*words).out == "No difference.\n"
    benchmark.case(CASES[0]).rubric_readme.write_text("changed\n")
    told = call(*words).out
    assert f"changed {CASES[0]}/rubric/README.md  +0 -0  (not kept)" in told
    assert "sha256 " in told
    (file,) = call(*words, "--json").document["files"]
    assert (file["unread"], file["diff"]) == ("not kept", "")


def test_an_archive_is_compared_before_it_comes_in(home: Path, tmp_path: Path) -> None:
    written = tmp_path / "one.tar.gz"
    call("snapshot", "export", AGENT, written, "--version", "1", "--home", home)
    told = call("snapshot", "diff", AGENT, "current", f"archive:{written}", "--home", home)
    assert told.code == 0
    assert "+# Rules of version 1" in told.out


def test_secrets_are_hidden_in_text_patch_and_json(home: Path, project: ProjectPaths) -> None:
    config = project.agent(AGENT).config
    server = f"    - name: a\n      transport: stdio\n      command: x\n      env:\n        DEPLOY: {SECRET}\n"
    config.write_text(config.read_text().replace("  mcpServers: []\n", "  mcpServers:\n" + server))
    for extra in ([], ["--patch"], ["--json"]):
        told = call("snapshot", "diff", AGENT, "v2", *extra, "--home", home).out
        assert "DEPLOY: (hidden)" in told
        assert SECRET not in told
    assert json.loads(told)["files"][0]["hidden"] is True
