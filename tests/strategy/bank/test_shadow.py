"""Old and new side by side: the old one answers, the new one has no effect, differences are told by group."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.strategy.bank import shadow
from core.strategy.bank.bank import Bank
from core.strategy.bank.comparison import Comparison, diff_report
from core.strategy.documents.release import BankSettings
from core.strategy.documents.skill import SkillSchema
from core.strategy.execution.clock import VirtualClock
from core.strategy.execution.compiled import Compiled
from core.strategy.execution.compiler import CompiledBank, compile_bank
from core.strategy.execution.session import SessionState
from core.strategy.execution.skills import Call, Outcome, Skill
from core.strategy.execution.store import ContextStore
from core.strategy.execution.suggestion import Suggestion
from tests.strategy.bank.banks import ADA, make, release_text, step, strategy_text, write

TRIGGER = "trigger: {when: 'intent.name == \"refund\"'}\n"
EFFECTS = {"look": "read", "slow": "read", "refund": "irreversible", "note": "write", "hand_off": "none"}


def schema(name: str) -> SkillSchema:
    return SkillSchema.model_validate(
        {
            "skill": name,
            "side_effects": EFFECTS[name],
            "idempotent": True,
            "signature": {"inputs": {}, "outputs": {"type": "object"}},
            "context": {},
            "failure_modes": [],
        }
    )


SCHEMAS = {name: schema(name) for name in EFFECTS}


class World:
    """Five skills; `calls` are those that really ran, with whether it was a dry run."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.calls: list[tuple[str, bool]] = []

    def skills(self) -> dict[str, Skill]:
        return {name: Skill(one, self._call(name)) for name, one in SCHEMAS.items()}

    def _call(self, name: str) -> Any:
        async def call(inputs: Mapping[str, Any], request: Call) -> Outcome:
            self.calls.append((name, request.dry_run))
            await self.clock.sleep(4_000 if name == "slow" else 50)
            return Outcome({"from": name, "number": sum(one == name for one, _ in self.calls)})

        return call


def compiled(plan: str, version: int = 1, trigger: str = TRIGGER) -> tuple[CompiledBank, Compiled]:
    text = strategy_text(version=version, more=trigger, plan=plan)
    bank = compile_bank({"shop/shop.refund.yaml": text}, BankSettings(), SCHEMAS)
    assert not bank.faults
    return bank, bank.strategies["shop.refund"]


def run(
    old: str, new: str, user: Mapping[str, Any] | None = None, **more: str
) -> tuple[shadow.Shadowed, World, SessionState]:
    bank, _ = compiled(old)
    _, version = compiled(new, 2, **more)
    clock = VirtualClock()
    world = World(clock)
    session = SessionState("session-1", ContextStore(), user or {"id": "u"})
    suggestion = Suggestion(intent="refund", confidence=0.9, intended_skill="look")
    told = asyncio.run(shadow.shadow_turn(bank, version, session, "refund?", suggestion, world.skills(), clock))
    return told, world, session


@pytest.mark.meets("S70", "X1")
def test_the_old_version_answers_and_the_new_one_has_no_effect() -> None:
    told, world, session = run("[{run: look}, {run: refund}]", "[{run: look}, {run: note}, {run: refund}]")
    assert told.answer.executions[0].version == 1
    assert told.answer.output is not None
    assert told.answer.output["from"] == "refund"
    assert [name for name, _ in world.calls] == ["look", "refund"]  # each once: the new run was told what they said
    assert told.comparison.withheld == ("note",)
    assert told.comparison.same["path"] is False
    assert told.comparison.same["output"] is None  # behind a write that was not made, nothing is known
    assert session.turn == 1  # the new run's turn is not one of the session
    assert told.shadow.executions[0].dry_run


def test_equal_versions_agree_and_are_told_the_same_answers() -> None:
    plan = "[{run: look}, {run: refund}]"
    told, world, _ = run(plan, plan)
    assert told.comparison.same == {"path": True, "output": True, "validation": True}
    assert (told.comparison.old_version, told.comparison.new_version) == (1, 2)
    assert told.comparison.latency_old == told.comparison.latency_new == 100
    assert len(world.calls) == 2


@pytest.mark.meets("S70")
def test_answers_are_told_in_the_time_they_took() -> None:
    degraded = "{run: slow, timeout_ms: 3000, recover: {TIMEOUT: {do: {run: hand_off}}}}"
    told, world, _ = run("{run: slow}", degraded)
    assert (told.comparison.latency_old, told.comparison.latency_new) == (4_000, 3_050)
    assert told.comparison.same["output"] is False
    assert ("hand_off", True) in world.calls  # what the old run never asked is asked, as a dry run
    # What the old run did not wait for is unknown: the new one, which waits longer, asks the skill itself.
    told, world, _ = run(degraded, "{run: slow}")
    assert world.calls.count(("slow", True)) == 1
    assert told.shadow.output is not None
    assert told.shadow.output["from"] == "slow"


LEAVES = st.sampled_from(["{run: look}", "{run: slow}", "{run: refund}", "{run: note}", "{run: hand_off}"])
PLANS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda some: f"{{sequence: [{', '.join(some)}]}}"),
        st.lists(inner, min_size=1, max_size=2).map(lambda some: f"{{parallel: {{branches: [{', '.join(some)}]}}}}"),
        inner.map(lambda one: f"{{loop: {{do: {one}, until: 'false', max_iterations: 2}}}}"),
        inner.map(lambda one: f"{{switch: [{{if: 'true', do: {one}}}]}}"),
    ),
    max_leaves=5,
)


@pytest.mark.meets("S70", "X1")
@given(PLANS, PLANS)
@settings(max_examples=60, deadline=None)
def test_no_skill_that_writes_ever_runs_in_shadow(old: str, new: str) -> None:
    told, world, session = run(old, new)
    assert not [name for name, dry in world.calls if dry and SCHEMAS[name].writes]
    assert shadow.WRITE_IN_SHADOW not in {one.code for one in told.shadow.executions}
    alone = SessionState("session-1", ContextStore(), {"id": "u"})
    assert session.turn == alone.turn + 1


def comparison(number: int, age: str, *, gained: bool = False, same: bool | None = True) -> Comparison:
    return Comparison(
        time="2026-06-01T12:00:00+00:00",
        session=f"session-{number}",
        turn=1,
        strategy_id="shop.refund",
        old_version=1,
        new_version=2,
        same={"path": same, "output": same, "validation": True},
        fired_old=not gained,
        fired_new=True,
        code_old="",
        code_new="",
        latency_old=100.0,
        latency_new=80.0,
        withheld=("note",) if same is None else (),
        user={"age": age, "device": "ios"} if age else {},
    )


@pytest.mark.meets("S71", "S72")
def test_the_report_names_the_group_that_is_hit(tmp_path: Path) -> None:
    bank: Bank = make(tmp_path)
    write(bank, strategy_text(version=2))
    write(bank, release_text(2, "rollout: {shadow: {by: [age, device]}}\n"), ending=".release.yaml")
    bank.publish("shop.refund", ADA)
    bank.move("shop.refund", 2, step("review"))
    bank.move("shop.refund", 2, step("shadow"))
    for number in range(75):
        old = number % 5 == 0
        shadow.append(
            bank, comparison(number, "65|+" if old else "30", gained=old, same=None if number == 1 else not old)
        )
    pages = sorted(path.name for path in (bank.records / "shadow").iterdir())
    assert pages == ["shop.refund-2.jsonl", "shop.refund-2.report.json", "shop.refund-2.report.md"]
    told = json.loads((bank.records / "shadow" / "shop.refund-2.report.json").read_text())
    assert told["withheld"] == 1
    assert told["whole"]["differs"]["path"] == {"hits": 15, "count": 74, "share": 15 / 74}
    first = told["segments"][0]
    assert (first["value"], first["suspicious"]) == ("65|+", ["path", "output", "gained"])
    assert [row["suspicious"] for row in told["segments"][1:]] == [[], []]
    page = (bank.records / "shadow" / "shop.refund-2.report.md").read_text()
    assert r"| age 65\|+ | 15 | 100.0% | 100.0% | 0.0% | 100.0% | 0.0% |" in page
    path = bank.records / "shadow" / "shop.refund-2.jsonl"
    path.write_text(path.read_text() + '{"time": 1}\nx\n')
    found, findings = shadow.read(bank, "shop.refund", 2)
    assert (len(found), len(findings)) == (75, 2)


def test_nothing_is_said_of_no_turns_and_users_without_the_attribute_are_a_group() -> None:
    empty = diff_report([], "shop.refund", (None, 2), ["age"])
    assert empty.whole.differs["path"].value is None
    assert "| all | 0 | ? |" in empty.to_markdown()
    told = diff_report([comparison(1, "")], "shop.refund", (1, 2), ["age"])
    assert [row.value for row in told.rows] == ["unknown"]


def test_a_comparison_is_read_back_as_it_was_written() -> None:
    one = comparison(1, "30", same=None)
    assert Comparison.from_json(json.loads(json.dumps(one.to_json()))) == one
