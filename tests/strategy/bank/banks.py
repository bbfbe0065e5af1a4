"""A small bank on disk for the tests of core.strategy.bank."""

from __future__ import annotations

from pathlib import Path

from core.state.paths import ProjectPaths
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.states import Actor, Standing, Step

ADA = Actor("ada", person=True)
NIGHTLY = Actor("nightly", person=False)


def strategy_text(
    strategy_id: str = "shop.refund", version: int = 1, *, more: str = "", plan: str = "{run: refund}"
) -> str:
    domain = strategy_id.partition(".")[0]
    return (
        f"schema: strategy/v1\nid: {strategy_id}\nversion: {version}\npurpose: One thing.\ndomain: {domain}\n"
        f"owner: team\n{more}plan: {plan}\n"
    )


def release_text(version: int = 1, rollout: str = "", strategy_id: str = "shop.refund", more: str = "") -> str:
    return f"schema: release/v1\nid: {strategy_id}\nversion: {version}\n{rollout}{more}"


def write(bank: Bank, text: str, strategy_id: str = "shop.refund", ending: str = ".yaml") -> Path:
    path = bank.root / strategy_id.partition(".")[0] / f"{strategy_id}{ending}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def make(tmp_path: Path) -> Bank:
    bank = bank_of(ProjectPaths(tmp_path / "project"))
    bank.root.mkdir(parents=True)
    return bank


def step(to: str, hour: int = 0, *, actor: Actor = ADA, **more: object) -> Step:
    return Step(to, actor, f"2026-06-{1 + hour // 24:02d}T{hour % 24:02d}:00:00Z", **more)  # type: ignore[arg-type]


def to_gray(bank: Bank, version: int = 1, *, hour: int = 0, strategy_id: str = "shop.refund") -> Standing:
    bank.move(strategy_id, version, step("review", hour))
    bank.move(strategy_id, version, step("shadow", hour))
    return bank.move(strategy_id, version, step("gray", hour, stage=0))


def to_active(bank: Bank, version: int = 1, *, hour: int = 0, strategy_id: str = "shop.refund") -> Standing:
    to_gray(bank, version, hour=hour, strategy_id=strategy_id)
    return bank.move(strategy_id, version, step("active", hour, force=True, why="known from before"))
