"""Titles of Cases, links out of them, and writing a benchmark's config."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from core.foundation.errors import DamagedError, UsageError
from core.state.benchmark import case_title, read_benchmark, within_material, write_benchmark_config
from core.state.paths import BenchmarkPaths, CasePaths, HomePaths


@pytest.fixture
def benchmark(tmp_path: Path) -> BenchmarkPaths:
    paths = HomePaths(tmp_path).project("p").agent("a").benchmark("b")
    paths.root.mkdir(parents=True)
    return paths


def _case(benchmark: BenchmarkPaths, readme: str | None) -> CasePaths:
    case = benchmark.case("CASE-001-x")
    case.statement.mkdir(parents=True, exist_ok=True)
    if readme is not None:
        case.statement_readme.write_bytes(readme.encode())
    return case


@pytest.mark.parametrize(
    ("readme", "title"),
    [
        ("# Title\n", "Title"),
        ("text\n\n# Second line\n# Third", "Second line"),
        ("# Case 12: Sort it\n", "Sort it"),
        ("# cAsE 1 : x", "x"),
        ("# Case 3:\n", "CASE-001-x"),
        ("# Case study: x\n", "Case study: x"),
        ("## no heading\n", "CASE-001-x"),
        ("#nospace\n", "CASE-001-x"),
        ("\ufeff# after a mark\n", "CASE-001-x"),
        ("```\n# in a fence\n```\n", "in a fence"),
        ("# Windows\r\nmore", "Windows"),
        ("#\n\nnext paragraph\n", "next paragraph"),
        ("", "CASE-001-x"),
        ("x" * 65_536 + "\n# too late\n", "CASE-001-x"),
        (None, "CASE-001-x"),
    ],
)
def test_case_titles(benchmark: BenchmarkPaths, readme: str | None, title: str) -> None:
    assert case_title(_case(benchmark, readme)) == title


def test_a_readme_linked_to_from_outside_is_not_read(benchmark: BenchmarkPaths, tmp_path: Path) -> None:
    case = _case(benchmark, None)
    (tmp_path / "secret.md").write_text("# Secret\n")
    case.statement_readme.symlink_to(tmp_path / "secret.md")
    assert case_title(case) == "CASE-001-x"
    assert not within_material(case, case.statement_readme)
    (case.statement / "real.md").write_text("# Inside\n")
    case.statement_readme.unlink()
    case.statement_readme.symlink_to("real.md")
    assert case_title(case) == "Inside"


def test_a_statement_directory_that_is_a_link_is_not_followed(benchmark: BenchmarkPaths, tmp_path: Path) -> None:
    case = benchmark.case("CASE-001-x")
    case.root.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "README.md").write_text("# Elsewhere\n")
    case.statement.symlink_to(tmp_path / "elsewhere")
    assert case_title(case) == "CASE-001-x"


def test_a_loop_of_links_is_no_title(benchmark: BenchmarkPaths) -> None:
    case = _case(benchmark, None)
    case.statement_readme.symlink_to("README.md")
    assert case_title(case) == "CASE-001-x"


@pytest.mark.parametrize(
    ("config", "title", "description", "runs"),
    [
        ('title = ""\nruns = 2.0\n', "b", None, 2),
        ('title = 5\ndescription = 5\nruns = "2"\n', "b", None, None),
        ("runs = true\n", "b", None, None),
        ("runs = inf\n", "b", None, None),
        ("runs = nan\n", "b", None, None),
        ("runs = 1.5\n", "b", None, None),
        ('title = "T"\nhold = 1\n', "T", None, None),
    ],
)
def test_config_values(
    benchmark: BenchmarkPaths, config: str, title: str, description: str | None, runs: int | None
) -> None:
    benchmark.config.write_text(config)
    read = read_benchmark(benchmark)
    assert (read.title, read.description, read.runs) == (title, description, runs)


def test_a_benchmark_that_is_not_there_is_said_to_be_missing(benchmark: BenchmarkPaths) -> None:
    with pytest.raises(UsageError):
        read_benchmark(BenchmarkPaths(benchmark.root.parent / "none"))


def test_writing_a_config_keeps_what_others_wrote(benchmark: BenchmarkPaths) -> None:
    benchmark.config.write_text('# mine\nstatus = "draft" # theirs\ntitle = "old"\n')
    write_benchmark_config(benchmark, "New", "What it is", runs=2, held_out=["CASE-007-h"])
    text = benchmark.config.read_text(encoding="utf-8")
    assert text.startswith('# mine\nstatus = "draft" # theirs\n')
    assert tomllib.loads(text) == {
        "status": "draft",
        "title": "New",
        "description": "What it is",
        "runs": 2,
        "held_out": ["CASE-007-h"],
    }
    read = read_benchmark(benchmark)
    assert (read.title, read.runs, read.held_out) == ("New", 2, ("CASE-007-h",))
    write_benchmark_config(benchmark, "New", "What it is")
    assert read_benchmark(benchmark).held_out == ()


@pytest.mark.parametrize(
    ("title", "description", "runs"), [("", "", 1), ("x" * 201, "", 1), ("x", "y" * 2001, 1), ("x", "", 0)]
)
def test_a_config_out_of_bounds_is_refused(benchmark: BenchmarkPaths, title: str, description: str, runs: int) -> None:
    with pytest.raises(UsageError):
        write_benchmark_config(benchmark, title, description, runs=runs)
    assert not benchmark.config.exists()


def test_a_broken_config_is_never_overwritten(benchmark: BenchmarkPaths) -> None:
    benchmark.config.write_text("title = \n")
    with pytest.raises(DamagedError):
        write_benchmark_config(benchmark, "T", "D")
    assert benchmark.config.read_text() == "title = \n"
