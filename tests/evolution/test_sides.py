"""Everything that can be compared is found, named and opened; what can't says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.evolution import sides
from core.evolution.candidate import stage
from core.evolution.freeze import frozen_files, write_frozen
from core.evolution.side import Side
from core.evolution.specs import run_paths
from core.foundation.errors import ConflictError, DamagedError, NotFoundError, UsageError
from core.state import snapshots, transfer
from core.state.archive import read_archive
from core.state.paths import AgentPaths, ProjectPaths
from tests.tui.home import AGENT, BENCHMARK, CASES, OPTIMIZE, make_home


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    made = make_home(tmp_path / "home")
    root = run_paths(made, OPTIMIZE).root / "candidates" / "v3"
    stage(made.agent(AGENT), root, 3, lambda state: (state / "AGENTS.md").unlink(), {"AGENTS.md": "Less is more."})
    return made


@pytest.fixture
def agent(project: ProjectPaths) -> AgentPaths:
    return project.agent(AGENT)


def test_all_sides_are_listed_the_present_first(project: ProjectPaths, agent: AgentPaths) -> None:
    agent.agents_md.write_text("mine\n")
    snapshots.create(agent)
    benchmark = agent.benchmark(BENCHMARK)
    write_frozen(run_paths(project, OPTIMIZE), benchmark, frozen_files(benchmark), approval_id="a", pilot=1)
    run_paths(project, OPTIMIZE).lowest.mkdir(parents=True)
    found = [(entry.side.words, entry.what) for entry in sides.sides(project, AGENT, BENCHMARK)]
    assert [what for _, what in found] == [
        "v2", "accepted", "kept beside", "kept", "rejected", "on disk", "frozen", "pilot",
    ]  # fmt: skip
    assert found[1][0].startswith("v2 (")
    assert found[2][0].startswith("v2 (")
    assert [words for words, _ in found[3:]] == [
        "v1", "Candidate v3", f"{BENCHMARK} now", f"{BENCHMARK} as frozen", f"{BENCHMARK}, lowest pilot",
    ]  # fmt: skip
    assert all(entry.side.kind not in sides.OF_BENCHMARK for entry in sides.sides(project, AGENT))
    for entry in sides.sides(project, AGENT, BENCHMARK):
        assert sides.files_of(project, entry.side).hashes is not None


def test_states_are_told_apart_by_content_under_one_number(project: ProjectPaths, agent: AgentPaths) -> None:
    agent.agents_md.write_text("mine\n")
    kept = snapshots.create(agent)
    beside = Side("snapshot", AGENT, 2, content=kept.content_hash)
    assert sides.compare(project, beside, Side("current", AGENT)) == ()
    (found,) = sides.compare(project, Side("snapshot", AGENT, 2), beside)
    assert "+mine" in found.text
    assert sides.parse(project, agent, f"v2@{kept.content_hash.removeprefix('sha256:')[:8]}") == beside


def test_a_candidate_against_its_reference(project: ProjectPaths, agent: AgentPaths) -> None:
    left, right = (Side(kind, AGENT, 3) for kind in ("reference", "candidate"))
    found = {file.path: file.status for file in sides.compare(project, left, right)}
    assert found == {"AGENTS.md": "removed", "system_config.yaml": "changed"}
    assert sides.reasons(project, right) == {"AGENTS.md": "Less is more.", "system_config.yaml": ""} or sides.reasons(
        project, right
    ) == {"AGENTS.md": "Less is more."}
    assert sides.reasons(project, Side("candidate", AGENT, 88)) == {}


def test_words_of_the_command_line(project: ProjectPaths, agent: AgentPaths, tmp_path: Path) -> None:
    named = {
        "current": Side("current", AGENT),
        "1": Side("snapshot", AGENT, 1),
        "v2": Side("snapshot", AGENT, 2),
        "v3": Side("candidate", AGENT, 3),
        "candidate:3": Side("candidate", AGENT, 3),
        "reference:v3": Side("reference", AGENT, 3),
        "benchmark": Side("benchmark", AGENT, benchmark_id=BENCHMARK),
    }
    for word, side in named.items():
        assert sides.parse(project, agent, word, BENCHMARK) == side
    written = transfer.export(agent, 1, tmp_path / "one.tar.gz")
    assert sides.parse(project, agent, f"archive:{written}") == Side("archive", AGENT, 1, path=str(written))
    for wrong in ("", "v", "v0", "-1", "x", "candidate:", "candidate:x", "benchmark", "v1@zz", "archive:", "\u0663"):
        with pytest.raises(UsageError):
            sides.parse(project, agent, wrong)
    with pytest.raises(NotFoundError):
        sides.parse(project, agent, "frozen", BENCHMARK)


def test_what_is_not_there_or_not_of_a_kind_is_refused(project: ProjectPaths, tmp_path: Path) -> None:
    now = Side("current", AGENT)
    (tmp_path / "x.tar.gz").write_bytes(b"no archive")
    for other, error in (
        (Side("snapshot", AGENT, 9), NotFoundError),
        (Side("candidate", AGENT, 9), NotFoundError),
        (Side("candidate", AGENT, 3, "optimize-20260101-110000-zzzz"), NotFoundError),
        (Side("current", "nobody"), NotFoundError),
        (Side("benchmark", AGENT, benchmark_id=BENCHMARK), UsageError),
        (Side("archive", AGENT, 1, path=str(tmp_path / "none")), NotFoundError),
        (Side("archive", AGENT, 1, path=str(tmp_path / "x.tar.gz")), DamagedError),
    ):
        with pytest.raises(error):
            sides.compare(project, now, other)


def test_an_archive_must_still_be_the_one_that_was_named(
    project: ProjectPaths, agent: AgentPaths, tmp_path: Path
) -> None:
    one, two = (transfer.export(agent, version, tmp_path / f"{version}.tar.gz") for version in (1, 2))
    named = Side("archive", AGENT, 1, content=read_archive(one).whole_hash, path=str(one))
    assert sides.compare(project, Side("snapshot", AGENT, 1), named) == ()
    one.write_bytes(two.read_bytes())
    with pytest.raises(ConflictError, match="changed since"):
        sides.compare(project, Side("current", AGENT), named)


def test_a_frozen_file_has_its_text_where_some_place_still_holds_it(project: ProjectPaths, agent: AgentPaths) -> None:
    benchmark, run = agent.benchmark(BENCHMARK), run_paths(project, OPTIMIZE)
    write_frozen(run, benchmark, frozen_files(benchmark), approval_id="a", pilot=1)
    frozen = Side("frozen", AGENT, run_id=run.id, benchmark_id=BENCHMARK)
    now = Side("benchmark", AGENT, benchmark_id=BENCHMARK)
    assert sides.compare(project, frozen, now) == ()
    assert sides.compare(project, Side("frozen", AGENT, benchmark_id=BENCHMARK), now) == ()
    with pytest.raises(NotFoundError):
        sides.compare(project, Side("lowest", AGENT, benchmark_id=BENCHMARK), now)
    rubric = benchmark.case(CASES[0]).rubric_readme
    before = rubric.read_bytes()
    rubric.write_bytes(before + b"- 5 pts: more\n")
    benchmark.case(CASES[1]).statement_readme.unlink()
    found = {file.path: (file.status, file.unread) for file in sides.compare(project, frozen, now)}
    assert found == {
        f"{CASES[0]}/rubric/README.md": ("changed", "not kept"),
        f"{CASES[1]}/statement/README.md": ("removed", "not kept"),
    }
    kept = run.lowest / CASES[0] / "rubric" / "README.md"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(before)
    (changed, _) = sides.compare(project, frozen, now)
    assert (changed.unread, changed.added, changed.removed) == ("", 1, 0)
    kept.write_bytes(b"not what was frozen")
    (changed, _) = sides.compare(project, frozen, now)
    assert changed.unread == "not kept"


def test_a_damaged_freeze_or_spec_is_passed_over(project: ProjectPaths, agent: AgentPaths) -> None:
    run = run_paths(project, OPTIMIZE)
    run.frozen.write_text("{")
    assert "frozen" not in [entry.what for entry in sides.sides(project, AGENT, BENCHMARK)]
    with pytest.raises(NotFoundError):
        sides.files_of(project, Side("frozen", AGENT, run_id=run.id, benchmark_id=BENCHMARK))
    run.spec.write_text("{")
    assert "rejected" not in [entry.what for entry in sides.sides(project, AGENT, BENCHMARK)]


def test_a_name_that_leads_elsewhere_opens_nothing(project: ProjectPaths) -> None:
    for side in (
        Side("frozen", AGENT, run_id="../../x", benchmark_id=BENCHMARK),
        Side("candidate", AGENT, 3, "../x"),
        Side("benchmark", AGENT, benchmark_id="../agent_state"),
        Side("current", "../../x"),
    ):
        with pytest.raises((UsageError, NotFoundError)):
            sides.files_of(project, side)
