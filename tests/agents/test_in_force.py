"""Which strategies govern a Session: the state's own, and for a user what is released to them (S67, S70, S79)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from core.agents.governed import Governed
from core.agents.in_force import governed
from core.foundation.clock import now_s
from core.state.agent_config import AgentConfig, parse_config
from core.state.paths import AgentPaths, ProjectPaths
from core.strategy.bank.assign import User
from core.strategy.bank.bank import bank_of
from core.strategy.bank.states import Actor, State, Step

ID = "shop.late"
ADA = Actor("ada", person=True)


def text(version: int, skill: str) -> str:
    head = f"schema: strategy/v1\nid: {ID}\nversion: {version}\npurpose: P.\ndomain: shop\nowner: ada\n"
    return f"{head}plan: {{run: {skill}}}\n"


@pytest.fixture
def agent(tmp_path: Path) -> AgentPaths:
    project = ProjectPaths(tmp_path / "p")
    made = project.agent("clerk")
    (made.state / "strategies" / "shop").mkdir(parents=True)
    (made.state / "strategies" / "shop" / f"{ID}.yaml").write_text(text(1, "old"))
    (made.state / "strategies" / "shop" / f"{ID}.release.yaml").write_text("x")
    (project.root / "strategies" / "shop").mkdir(parents=True)
    return made


def config(agent: AgentPaths, selection: str = "strategy") -> AgentConfig:
    return parse_config(f"system_prompt: x\nskills: {{selection: {selection}}}\n", "clerk", agent.config)


def release(agent: AgentPaths, *states: State) -> None:
    bank = bank_of(agent.project)
    (bank.root / "shop" / f"{ID}.yaml").write_text(text(2, "new"))
    bank.publish(ID, ADA)
    for state in states:
        bank.move(ID, 2, Step(state, ADA, now_s(), stage=0 if state == "gray" else -1, force=True, why="test"))


def test_skills_that_are_left_free_are_governed_by_nothing(agent: AgentPaths) -> None:
    assert governed(agent, config(agent, "all"), User("u")) is None


@pytest.mark.meets("S67")
def test_a_user_in_gray_gets_the_new_version_and_a_benchmark_never_does(agent: AgentPaths) -> None:
    release(agent, "review", "shadow", "gray")
    name = f"shop/{ID}.yaml"
    drawn = [governed(agent, config(agent), User(f"user-{number}")) for number in range(600)]
    new = [one for one in drawn if one is not None and "run: new" in one.files[name]]
    assert 0 < len(new) < 30  # one in a hundred
    assert all("run: old" in one.files[name] for one in drawn if one is not None and one not in new)
    measured = governed(agent, config(agent))
    assert measured is not None
    assert measured.files == {name: text(1, "old")}
    assert measured.user == {}
    assert governed(agent, config(agent), User(new[0].user["id"])) == new[0]  # the same user, the same version


@pytest.mark.meets("S70")
def test_a_version_in_shadow_runs_beside_and_governs_nothing(agent: AgentPaths) -> None:
    release(agent, "review", "shadow")
    found = governed(agent, config(agent), User("u", {"device": "ios"}))
    assert found is not None
    assert found.files == {f"shop/{ID}.yaml": text(1, "old")}
    assert found.shadow == {f"shop/{ID}.yaml": text(2, "new")}
    assert found.user == {"id": "u", "device": "ios"}


def test_a_release_file_with_a_fault_stops_nobody_and_is_told(agent: AgentPaths) -> None:
    (bank_of(agent.project).root / "shop" / f"{ID}.release.yaml").write_text("schema: release/v1\n")
    found = governed(agent, config(agent), User("u"), "m")
    assert found is not None
    assert found.fits == {}
    assert found.told[0].startswith(f"not adapted to the model: shop/{ID}.release.yaml:1:1: id: is missing")


def test_a_file_that_cannot_be_read_costs_itself_and_is_told(agent: AgentPaths) -> None:
    folder = agent.state / "strategies" / "shop"
    os.mkfifo(folder / "shop.pipe.yaml")
    (folder / "shop.folder.yaml").mkdir()
    (folder / "shop.latin.yaml").write_bytes(b"purpose: caf\xe9\n")
    (folder / "shop.link.yaml").symlink_to("/etc/passwd")
    os.mkfifo(agent.state / "strategies" / "bank.yaml")
    found = governed(agent, config(agent))
    assert found is not None
    assert found.files == {f"shop/{ID}.yaml": text(1, "old")}
    assert [fault.split(":")[1] for fault in found.told] == [
        " shop/shop.folder.yaml",
        " shop/shop.latin.yaml",
        " shop/shop.link.yaml is a link",
        " shop/shop.pipe.yaml",
        " bank.yaml",
    ]
    assert Governed.from_json(json.loads(json.dumps(found.to_json()))) == found


@pytest.mark.parametrize("states", [("review", "shadow"), ("review", "shadow", "gray")])
def test_a_damaged_version_answers_nobody_and_leaves_the_old_one(agent: AgentPaths, states: tuple[State, ...]) -> None:
    release(agent, *states)
    path = bank_of(agent.project).root / ".versions" / ID / "2.yaml"
    path.chmod(0o644)
    path.write_text(text(2, "forged"))
    users = [governed(agent, config(agent), User(f"user-{number}")) for number in range(600)]
    assert all(one is not None and one.files == {f"shop/{ID}.yaml": text(1, "old")} for one in users)
    assert all(one is not None and one.shadow == {} for one in users)
    assert any("is not what was published" in fault for one in users if one is not None for fault in one.told)
