"""Looking changes nothing: no command that reads alters a byte, a mode or a time of a home (DECISIONS 21)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.program import FIXTURES, call, tree_hash

SESSION = "session-2026-11-30-20-19-35-12166038"
LOOKING: list[list[str]] = [
    ["agent", "list"],
    ["agent", "show", "csv_helper"],
    ["agent", "show", "default_agent"],
    ["runs", "list"],
    ["approvals", "list"],
    ["snapshot", "list", "csv_helper"],
    ["snapshot", "diff", "csv_helper", "v1", "v2"],
    ["snapshot", "diff", "csv_helper", "v1"],
    ["trace", "list"],
    ["trace", "list", "--agent", "csv_helper"],
    ["trace", "show", SESSION],
    ["trace", "tree", SESSION],
    ["trace", "analyze", SESSION],
    ["trace", "search", "README"],
    ["trace", "search", "README", "--filter", "role:target"],
    ["trace", "list", "--filter", "status:failed"],
    ["trace", "times", SESSION],
    ["scoreboard", "csv_helper", "csv-cleanup"],
    ["scoreboard", "csv_helper", "csv-cleanup", "--candidates"],
    ["skill", "list", "--agent", "csv_helper"],
    ["skill", "list"],
    ["skill", "show", "benchmark-design"],
    ["strategy", "list"],
    ["strategy", "board"],
    ["strategy", "check"],
    ["strategy", "lint"],
    ["strategy", "review"],
    ["strategy", "cases"],
    ["strategy", "clusters"],
    ["strategy", "audit"],
    ["strategy", "advise"],
    ["strategy", "conflicts"],
    ["strategy", "troubles"],
    ["strategy", "matrix"],
    ["strategy", "domain", "list"],
    ["strategy", "schema", "csv_helper"],
    ["doctor", "--no-providers"],
    ["runs", "show", "nothing"],
    ["approvals", "show", "nothing"],
    ["approvals", "approve", "nothing"],
    ["optimize", "csv_helper", "nothing"],
]  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home for the whole module: no test may change it."""
    return Path(shutil.copytree(FIXTURES / "penguin-state", tmp_path_factory.mktemp("looked-at") / "home"))


@pytest.mark.parametrize("words", LOOKING, ids=" ".join)
def test_looking_changes_nothing(words: list[str], home: Path) -> None:
    before = tree_hash(home)
    for arguments in ([*words, "--home", str(home)], [*words, "--json", "--home", str(home)]):
        ended = call(*arguments)
        assert ended.code in {0, 1, 2}
        assert tree_hash(home) == before, arguments


def test_every_edge_case_can_be_looked_at(tmp_path: Path) -> None:
    home = Path(shutil.copytree(FIXTURES / "penguin-edge", tmp_path / "edge"))
    before = tree_hash(home)
    agent = home / "default_project/agents/edge_agent"
    names = sorted(path.name for path in (agent / "benchmarks").iterdir() if path.is_dir())
    assert len(names) > 20
    for name in names:
        ended = call("scoreboard", "edge_agent", name, "--json", "--home", home)
        assert ended.code == 0, (name, ended)
        document = ended.document
        assert {"evaluations", "dropped", "diagnostics"} <= set(document)
        assert call("scoreboard", "edge_agent", name, "--home", home).code == 0
    sessions = call("trace", "list", "--json", "--home", home, "--limit", "1000").document["sessions"]
    assert sessions
    for session in sessions:
        for verb in ("show", "tree", "analyze"):
            assert call("trace", verb, session["session_id"], "--json", "--home", home).code == 0
            assert call("trace", verb, session["session_id"], "--home", home).code == 0
    assert tree_hash(home) == before
