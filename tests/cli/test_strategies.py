"""`exuvia strategy` over a bank: what is listed, and the whole way of a version by commands (S58 to S73, S106)."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from core.state import audit
from core.state.paths import ProjectPaths
from core.state.versions import next_version
from core.strategy.bank.bank import bank_of
from tests.cli.program import call
from tui.cli.strategies import strategy

NAME = "shop.late_parcel"


def text(version: int, skill: str = "look") -> str:
    return (
        f"schema: strategy/v1\nid: {NAME}\nversion: {version}\npurpose: A parcel that is late.\n"
        f"domain: shop\nowner: ada\nplan: {{run: {skill}}}\n"
    )


RELEASE = """schema: release/v1
id: shop.late_parcel
version: {version}
rollout:
  stages: [{{percent: 10, hold_hours: 0}}, {{percent: 100, hold_hours: 1}}]
"""


@pytest.fixture
def home(fresh: Path) -> Path:
    root = ProjectPaths(fresh / "default_project").root / "strategies" / "shop"
    root.mkdir(parents=True)
    (root / f"{NAME}.yaml").write_text(text(1))
    return fresh


def file(home: Path, name: str = f"{NAME}.yaml") -> Path:
    return home / "default_project" / "strategies" / "shop" / name


def run(home: Path, *words: str) -> str:
    ended = call("strategy", *words, "--home", str(home))
    assert ended.code == 0, ended.err
    return ended.out


@pytest.mark.meets("S58", "S67", "S73", "S105", "S106")
def test_the_whole_way_of_a_version(home: Path) -> None:
    assert "+ unpublished" in run(home, "list")
    assert run(home, "publish", NAME).splitlines() == [
        f"{NAME} version 1: draft", f"Next: exuvia strategy submit {NAME}",
    ]  # fmt: skip
    early = call("strategy", "gray", NAME, "--home", str(home))
    assert early.code == 1
    assert "1 is draft" in early.err
    run(home, "submit", NAME)
    run(home, "approve", NAME, "--reason", "read it")
    file(home, f"{NAME}.release.yaml").write_text(RELEASE.format(version=1))
    assert "stage 1 of 2 (10 %)" in run(home, "gray", NAME)
    assert "stage 2 of 2 (100 %)" in run(home, "gray", NAME)
    held = call("strategy", "gray", NAME, "--home", str(home))
    assert held.code == 1
    assert "holds until" in held.err
    assert f"{NAME} version 1: active" in run(home, "gray", NAME, "--force", "--reason", "all well")
    assert f"{NAME} version 1: offline" in run(home, "rollback", NAME, "--reason", "complaints")
    told = run(home, "history")
    assert [line.split()[3] for line in told.splitlines()[1:]] == [
        "published", "review", "shadow", "gray", "gray", "active", "offline",
    ]  # fmt: skip
    shown = call("strategy", "show", NAME, "--json", "--home", str(home)).document
    assert shown["versions"][0]["reviewed_by"] == audit.signature()
    assert shown["text"] == text(1)


@pytest.mark.meets("S73")
def test_what_answers_everybody_comes_into_force_in_agents_and_goes_back_with_a_rollback(home: Path) -> None:
    state = home / "default_project" / "agents" / "default_agent" / "agent_state" / "strategies" / "shop"
    state.mkdir(parents=True)
    (state / f"{NAME}.yaml").write_text(text(1))
    number = next_version(ProjectPaths(home / "default_project").agent("default_agent"))
    for version in (1, 2):
        file(home).write_text(text(version, "look" if version == 1 else "see"))
        file(home, f"{NAME}.release.yaml").write_text(RELEASE.format(version=version))
        for move in ("publish", "submit", "approve"):
            run(home, move, NAME)
        run(home, "gray", NAME)
        run(home, "gray", NAME)
        told = call("strategy", "gray", NAME, "--force", "--reason", "well", "--json", "--home", str(home)).document
        assert told["state"] == "active"
    assert told["agents"] == [f"default_agent is version {number} now, with {NAME} version 2."]
    assert (state / f"{NAME}.yaml").read_text() == text(2, "see")
    back = run(home, "rollback", NAME, "--reason", "worse")
    assert f"default_agent is version {number + 1} now, with {NAME} version 1." in back
    assert (state / f"{NAME}.yaml").read_text() == text(1)


def test_versions_are_compared_and_never_changed(home: Path) -> None:
    run(home, "publish", NAME)
    file(home).write_text(text(1, "see"))
    changed = call("strategy", "publish", NAME, "--home", str(home))
    assert changed.code == 1
    assert "version" in changed.err
    file(home).write_text(text(2, "see"))
    run(home, "publish", NAME)
    assert "+plan: {run: see}" in run(home, "diff", NAME, "1", "2")
    assert run(home, "diff", NAME, "2") == "No difference.\n"
    assert len(bank_of(ProjectPaths(home / "default_project")).entry(NAME).versions) == 2


def test_a_fault_is_listed_with_its_place(home: Path) -> None:
    file(home).write_text(text(1) + "trigger: {whn: x}\n")
    assert f"FAULT shop/{NAME}.yaml:8:11: trigger.whn" in run(home, "show", NAME)
    assert "FAULT" in run(home, "list")
    refused = call("strategy", "publish", NAME, "--home", str(home))
    assert refused.code == 2
    assert f"shop/{NAME}.yaml:8:1: trigger.when: is missing (and 1 more)" in refused.err


def test_filters_and_what_is_not_there(home: Path) -> None:
    listed = call("strategy", "list", "--owner", "bob", "--json", "--home", str(home)).document
    assert listed["strategies"] == []
    assert len(call("strategy", "list", "--domain", "shop", "--json", "--home", str(home)).document["strategies"]) == 1
    missing = call("strategy", "show", "shop.other", "--home", str(home))
    assert missing.code == 2
    assert "strategy list" in missing.err
    assert call("strategy", "history", "--git", "--home", str(home)).code == 2


def test_the_groups_help_names_every_command_once_below_its_task() -> None:
    told = call("strategy", "--help").out
    headings = re.findall(r"^([A-Z].*):$", told, re.MULTILINE)
    assert headings == ["Options", "See", "Write", "Release", "Watch and learn", "Keep order"]
    names = re.findall(r"^  ([a-z]+)  ", told, re.MULTILINE)
    assert sorted(names) == strategy.list_commands(click.Context(strategy))
