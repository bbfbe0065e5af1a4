"""A strategy that answers all traffic becomes a version of the agent: kept before, in the ledger, taken back by `R`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from core.evolution import strategy_release
from core.evolution.strategy_release import bring_into_force, follow_bank, governed_agents, settle
from core.foundation.clock import now_s
from core.foundation.errors import RefusedError
from core.state import ledger, rollback, snapshots
from core.state.agents import create_agent, edit_config
from core.state.fresh import ensure_home
from core.state.paths import AgentPaths
from core.state.timeline import timeline
from core.strategy.bank.bank import bank_of
from core.strategy.bank.releasing import ask_full
from core.strategy.bank.states import Actor, State, Step
from tui import commands

ID, PATH = "shop.late", "strategies/shop/shop.late.yaml"
ADA = Actor("ada", person=True)


def text(version: int, skill: str) -> str:
    head = f"schema: strategy/v1\nid: {ID}\nversion: {version}\npurpose: P.\ndomain: shop\nowner: ada\n"
    return f"{head}plan: {{run: {skill}}}\n"


@pytest.fixture
def agent(tmp_path: Path) -> AgentPaths:
    project = ensure_home(tmp_path / "home")
    made = create_agent(project, "clerk", name="Clerk", description="Serves.", agents_md="Be kind.\n")
    (made.state / PATH).parent.mkdir(parents=True)
    (made.state / PATH).write_text(text(1, "old"))
    bank = bank_of(project)
    (bank.root / "shop").mkdir(parents=True)
    (bank.root / "shop" / f"{ID}.yaml").write_text(text(2, "new"))
    bank.publish(ID, ADA)
    return made


def release(agent: AgentPaths, *states: State) -> None:
    for state in states:
        step = Step(state, ADA, now_s(), stage=0 if state == "gray" else -1, force=True, why="test")
        bank_of(agent.project).move(ID, 2, step)


@pytest.mark.meets("S73", "S91")
def test_an_active_version_comes_into_force_and_is_rolled_back_like_any_version(agent: AgentPaths) -> None:
    release(agent, "review", "shadow", "gray", "active")
    before = snapshots.current_version(agent)
    assert [one.id for one in governed_agents(bank_of(agent.project), ID)] == ["clerk"]
    done = bring_into_force(agent, ID, 2, "cli", "fallbacks fell by a third")
    assert done is not None
    assert (done.version, done.before, done.strategy_version) == ((before or 0) + 1, 1, 2)
    assert (agent.state / PATH).read_text() == text(2, "new")
    assert snapshots.drift(agent).state == "same"
    (record,) = ledger.read(agent.project, "clerk")
    assert (record.proposer, record.score, record.benchmark_id) == ("strategy", None, "traffic")
    assert [(edit.kind, edit.path, edit.added) for edit in record.edits] == [("strategy", PATH, 2)]
    assert "-plan: {run: old}" in record.diff
    assert "accepted" in [change.what for change in timeline(agent)]
    assert bring_into_force(agent, ID, 2, "cli") is None
    rollback.roll_back(agent, version=before, actor="test")
    assert (agent.state / PATH).read_text() == text(1, "old")


def test_what_is_not_active_does_not_come_into_force(agent: AgentPaths) -> None:
    release(agent, "review", "shadow", "gray")
    with pytest.raises(RefusedError, match="only an active version"):
        bring_into_force(agent, ID, 2, "cli")
    assert (agent.state / PATH).read_text() == text(1, "old")
    assert ledger.read(agent.project) == ()


@pytest.mark.meets("S103", "S106")
def test_full_traffic_that_is_approved_in_the_inbox_comes_into_force(agent: AgentPaths) -> None:
    release(agent, "review", "shadow")
    (agent.project.root / "strategies" / "shop" / f"{ID}.release.yaml").write_text(
        f"schema: release/v1\nid: {ID}\nversion: 2\nrollout: {{stages: [{{percent: 50}}]}}\n"
    )
    release(agent, "gray")
    asked = ask_full(agent.project, ID, 2, evidence=["ab-1"])
    told = commands.approve(agent.project, asked.id, "ten points more")
    assert "Approved: it is done" in told.text
    assert f"with {ID} version 2" in told.text
    assert (agent.state / PATH).read_text() == text(2, "new")
    (record,) = ledger.read(agent.project, "clerk")
    assert record.hypothesis == "ten points more"


def test_an_agent_whose_state_was_changed_keeps_its_version_and_is_named(agent: AgentPaths) -> None:
    release(agent, "review", "shadow", "gray", "active")
    broken = (agent.state / PATH).parent / "no-text"
    broken.symlink_to("/etc/passwd")
    (line,) = follow_bank(bank_of(agent.project), ID, "cli")
    assert line.startswith("clerk keeps the version it has: ")
    assert (agent.state / PATH).read_text() == text(1, "old")


@pytest.mark.meets("S73")
def test_what_is_taken_back_for_good_is_taken_out_of_the_agents(agent: AgentPaths) -> None:
    (agent.state / PATH).unlink()
    edit_config(agent, {"skills.selection": "strategy"})
    bank = bank_of(agent.project)
    release(agent, "review", "shadow", "gray", "active")
    (line,) = follow_bank(bank, ID, "cli")  # its gray stages answered there, so it goes on answering
    assert line.endswith(f"with {ID} version 2.")
    assert (agent.state / PATH).read_text() == text(2, "new")
    bank.take_back(ID, ADA, "complaints")
    (line,) = follow_bank(bank, ID, "cli")
    assert line.endswith(f"now, without {ID}.")
    assert not (agent.state / PATH).exists()
    assert follow_bank(bank, ID, "cli") == ()


def test_a_text_that_the_bank_never_published_is_left(agent: AgentPaths) -> None:
    release(agent, "review", "shadow", "gray")
    bank = bank_of(agent.project)
    bank.take_back(ID, ADA, "complaints")
    (line,) = follow_bank(bank, ID, "cli")
    assert "never published" in line
    assert (agent.state / PATH).read_text() == text(1, "old")


def test_a_version_that_no_agent_takes_says_how_to_give_it(agent: AgentPaths) -> None:
    (agent.state / PATH).unlink()
    release(agent, "review", "shadow", "gray", "active")
    (line,) = follow_bank(bank_of(agent.project), ID, "cli")
    assert "answers nobody" in line
    assert f"exuvia strategy enforce {ID} --agent" in line


class KilledError(BaseException):
    pass


STEPS = ("write_text", "put_in_place", "create", "append", "unlink")


def killed_at(patch: pytest.MonkeyPatch, step: str, *, after: bool) -> None:
    """Let the process end before or after a step of bringing a version into force."""
    owner: Any = {"create": snapshots, "append": ledger, "unlink": Path}.get(step, strategy_release)
    real = getattr(owner, step)
    whole = step != "create"  # the first snapshot is of what was before

    def dying(*arguments: Any, **more: Any) -> Any:
        nonlocal whole
        mine = step != "unlink" or arguments[0].name == "entering.json"
        if mine and whole and not after:
            raise KilledError
        found = real(*arguments, **more)
        if mine and whole:
            raise KilledError
        whole = whole or mine
        return found

    patch.setattr(owner, step, dying)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_is_made_up_for(
    agent: AgentPaths, step: str, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    release(agent, "review", "shadow", "gray", "active")
    before = snapshots.current_version(agent) or 0
    with monkeypatch.context() as patch:
        killed_at(patch, step, after=after)
        with pytest.raises(KilledError):
            bring_into_force(agent, ID, 2, "cli", "why")
    bring_into_force(agent, ID, 2, "cli", "why")
    assert (agent.state / PATH).read_text() == text(2, "new")
    assert snapshots.current_version(agent) == before + 1
    assert snapshots.drift(agent).state == "same"
    (record,) = ledger.read(agent.project, "clerk")
    assert (record.version, record.reference_version, record.hypothesis) == (before + 1, before, "why")
    assert bring_into_force(agent, ID, 2, "cli") is None


def half_done(agent: AgentPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the strategy's file new and the configuration, with the agent's version, old."""
    release(agent, "review", "shadow", "gray", "active")
    config = agent.config.read_bytes()
    with monkeypatch.context() as patch:
        killed_at(patch, "put_in_place", after=True)
        with pytest.raises(KilledError):
            bring_into_force(agent, ID, 2, "cli")
    agent.config.write_bytes(config)


def test_what_the_bank_took_back_meanwhile_is_not_finished(agent: AgentPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    half_done(agent, monkeypatch)
    bank = bank_of(agent.project)
    bank.take_back(ID, ADA, "it was wrong")
    follow_bank(bank, ID, "cli")
    assert (agent.state / PATH).read_text() == text(1, "old")
    assert ledger.read(agent.project) == ()


def test_what_somebody_changed_since_is_left(agent: AgentPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    half_done(agent, monkeypatch)
    agent.agents_md.write_text("Changed by hand.\n")
    settle(agent)
    assert agent.agents_md.read_text() == "Changed by hand.\n"
    assert ledger.read(agent.project) == ()


def test_two_that_bring_versions_into_force_wait_for_each_other(agent: AgentPaths) -> None:
    release(agent, "review", "shadow", "gray", "active")
    with ThreadPoolExecutor(4) as pool:
        done = [one.result() for one in [pool.submit(bring_into_force, agent, ID, 2, f"cli{n}") for n in range(4)]]
    assert [one is not None for one in done].count(True) == 1
    assert len(ledger.read(agent.project)) == 1
    assert snapshots.drift(agent).state == "same"
