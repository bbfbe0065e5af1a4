"""A fresh home, the operator agent, and what stays deleted."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.foundation.errors import NotFoundError
from core.state.agents import read_agent
from core.state.benchmark import read_benchmark
from core.state.fresh import OPERATOR_SKILLS, ensure_home, ensure_operator
from core.state.paths import HomePaths, ProjectPaths
from core.state.project import ModelPair, read_project
from tests.state.golden import tree_hash

HARMLESS = [
    "ls -l", "rm -r build", "rm old.txt", "cat a > /dev/null", "dd if=a of=/dev/null", "grep reboot log", "git init",
    "python3 -m black --format x", "perform -rf", "echo form", "cp -rf a b", "grep -rf patterns .", "rmdir x",
]  # fmt: skip
HARMFUL = {
    "delete-tree-by-force": ["rm -rf x", "cd a && rm -fr b", "rm -r -f x", "rm x -rf", "rm --recursive --force x"],
    "delete-root-or-home": ["rm -r /", "rm -R ~", 'rm -r "$HOME"'],
    "make-file-system": ["mkfs.ext4 /dev/sda1", "sudo mkfs /dev/sda"],
    "copy-onto-device": ["dd if=x of=/dev/sda bs=1M"],
    "redirect-onto-disk": ["echo x > /dev/sda", "cat x >/dev/nvme0n1"],
    "fork-bomb": [":(){ :|:& };:", "bomb() { bomb | bomb & }; bomb"],
    "power": ["shutdown -h now", "sudo reboot", "ls; init 0"],
    "windows-delete-tree": ["RD /S /Q C:\\", "del /q /s x"],
    "windows-format-or-remove": ["format c:", "Remove-Item x -Recurse -Force"],
}


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    return ensure_home(tmp_path / "deep" / "home")


def _library(root: Path) -> Path:
    for name in OPERATOR_SKILLS:
        (root / name).mkdir(parents=True)
        (root / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: d\n---\n")
    return root


def test_a_fresh_home_is_complete_and_private(project: ProjectPaths) -> None:
    assert project.config.stat().st_mode & 0o777 == 0o600
    config = read_project(project)
    assert config.diagnostics == ()
    assert config.default_model == ModelPair("rehearsal", "rehearsal-1")
    rehearsal = config.model("rehearsal", "rehearsal-1")
    assert rehearsal is not None
    assert rehearsal.price is None
    assert not any(model.has_key for model in config.models)
    assert read_agent(project.agent("default_agent")).version == 1
    assert HomePaths(project.root.parent).project_ids() == ("default_project",)
    assert [path.name for path in project.root.parent.iterdir()] == ["default_project"]
    assert not project.own.exists()


def test_the_example_says_that_it_is_one(project: ProjectPaths) -> None:
    paths = project.agent("default_agent").benchmark("example-benchmark")
    benchmark = read_benchmark(paths)
    assert benchmark.diagnostics == ()
    assert benchmark.reading.dropped == ()
    assert "Example data" in (benchmark.description or "")
    assert [case.title for case in benchmark.cases] == [
        "Turn meeting notes into a task list",
        "Add up hours per person",
    ]
    assert [e.version for e in benchmark.reading.evaluations] == [1, 2, 3]
    assert all("Example data" in (e.summary or "") + (e.summary_title or "") for e in benchmark.reading.evaluations)
    assert paths.scoreboard.read_text().startswith("# Example data: these numbers are made up")
    assert all(case.rubric_readme.is_file() for case in map(paths.case, paths.case_ids()))


def test_the_nine_rules_catch_what_they_name(project: ProjectPaths) -> None:
    policy = read_project(project).command_policy
    assert [rule.name for rule in policy.rules] == list(HARMFUL)
    assert [command for command in HARMLESS if not policy.verdict(command).allowed] == []
    for name, commands in HARMFUL.items():
        rule = next(rule for rule in policy.rules if rule.name == name)
        assert rule.compiled is not None
        assert [command for command in commands if not rule.compiled.search(command)] == []
        assert rule.description


def test_what_was_deleted_stays_deleted(project: ProjectPaths) -> None:
    shutil.rmtree(project.agent("default_agent").benchmark("example-benchmark").root)
    before = tree_hash(project.root)
    assert ensure_home(project.root.parent) == project
    assert tree_hash(project.root) == before
    shutil.rmtree(project.agent("default_agent").root)
    ensure_home(project.root.parent)
    assert project.agent_ids() == ()


def test_two_starts_at_once_make_one_home(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = set(pool.map(ensure_home, [tmp_path / "h"] * 4))
    assert len(made) == 1
    assert [path.name for path in (tmp_path / "h").iterdir()] == ["default_project"]
    assert read_agent(made.pop().agent("default_agent")).version == 1


def test_the_operator_has_the_four_skills_and_is_made_once(project: ProjectPaths, tmp_path: Path) -> None:
    library = _library(tmp_path / "library")
    operator = ensure_operator(project, library=library)
    assert sorted(path.name for path in operator.skills.iterdir()) == sorted(OPERATOR_SKILLS)
    assert read_agent(operator).name == "Exuvia operator"
    shutil.rmtree(operator.skills / "benchmark-design")
    before = tree_hash(operator.root)
    assert ensure_operator(project, library=library) == operator
    assert tree_hash(operator.root) == before


def test_the_operator_takes_the_skills_that_come_with_the_program(project: ProjectPaths) -> None:
    operator = ensure_operator(project)
    assert sorted(path.name for path in operator.skills.iterdir()) == sorted(OPERATOR_SKILLS)
    assert "__pycache__" not in {path.name for path in operator.skills.rglob("*")}


def test_a_library_may_have_the_other_name_of_a_skill(project: ProjectPaths, tmp_path: Path) -> None:
    library = _library(tmp_path / "library")
    (library / "agent-creation").rename(library / "agent-initialization")
    skill = library / "agent-initialization" / "SKILL.md"
    skill.write_text(skill.read_text().replace("agent-creation", "agent-initialization"))
    operator = ensure_operator(project, library=library)
    assert (operator.skills / "agent-initialization" / "SKILL.md").is_file()


def test_without_its_skills_there_is_no_operator(project: ProjectPaths, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        ensure_operator(project, library=tmp_path)
    assert project.agent_ids() == ("default_agent",)
