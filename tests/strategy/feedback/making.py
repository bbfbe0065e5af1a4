"""Records for these tests, with what isn't under test filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.strategy.documents.reading import read
from core.strategy.documents.skill import SkillSchema
from core.strategy.documents.strategy import Strategy
from core.strategy.execution.records import Execution, LevelResult
from core.strategy.execution.trace import DecisionTrace
from core.strategy.feedback.bad_cases import BadCase, capture


def execution(**changed: Any) -> Execution:
    """Return a successful run of shop.one, version 2, but for what is given."""
    values: dict[str, Any] = {
        "session": "s1",
        "turn": 1,
        "time": "2026-06-01T10:00:00+00:00",
        "strategy_id": "shop.one",
        "version": 2,
        "event": "turn",
        "trigger_condition_met": True,
        "execution_path": ("run price_query",),
        "validation_result": {"level0": LevelResult(passed=1)},
        "business_impact": None,
        "latency_ms": 120.0,
        "code": "",
    }
    return Execution(**{**values, **changed})


def trace(*events: Mapping[str, Any]) -> DecisionTrace:
    """Return a trace of these events."""
    return DecisionTrace(events)


def case(
    utterance: str, session: str = "s1", *, skill: str = "price_query", code: str = "TIMEOUT", **more: Any
) -> BadCase:
    """Return the bad case of a skill that failed."""
    made = capture(
        execution(session=session, code=code, **more),
        trace({"event": "called", "at": "0:plan", "skill": skill, "code": code}),
        utterance,
        {"intent": "ask"},
    )
    assert made is not None
    return made


def schema(skill: str = "price_query", effects: str = "read", codes: tuple[str, ...] = ("TIMEOUT",)) -> SkillSchema:
    """Return a skill's schema whose failure profile has these codes, with the fallback `hand_over`."""
    rows = "".join(f"  - {{code: {code}, severity: low, fallback_skill: hand_over}}\n" for code in codes)
    text = (
        f"skill: {skill}\nside_effects: {effects}\nidempotent: true\ntypical_ms: 400\n"
        "signature: {inputs: {}, outputs: {type: object}}\ncontext: {}\n"
        f"failure_modes:{'' if codes else ' []'}\n{rows}"
    )
    return read(text, SkillSchema, "skill.yaml")[0]


def strategy(body: str, name: str = "shop.one", purpose: str = "One.", version: int = 1) -> Strategy:
    """Return a strategy whose layers are in `body`."""
    head = f"schema: strategy/v1\nid: {name}\nversion: {version}\npurpose: {purpose}\n"
    return read(f"{head}domain: {name.partition('.')[0]}\nowner: team\n{body}\n", Strategy, f"{name}.yaml")[0]
