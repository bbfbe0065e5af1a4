"""A small world of scripted skills, and a turn in it, for the tests of execution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

import yaml

from core.strategy.documents.release import BankSettings
from core.strategy.documents.skill import SkillSchema
from core.strategy.execution.clock import VirtualClock
from core.strategy.execution.compiler import CompiledBank, compile_bank
from core.strategy.execution.session import SessionState
from core.strategy.execution.skills import Call, Outcome, Skill
from core.strategy.execution.store import ContextStore
from core.strategy.execution.suggestion import Suggestion
from core.strategy.execution.turn import TurnResult, answer, run_turn

Says = Mapping[str, Any] | str | Callable[[Mapping[str, Any]], Any]
"""What a skill says: an output, a failure code, or a function of its inputs that returns one of them."""


def schema(name: str, **told: Any) -> SkillSchema:
    """Return a skill's schema. `inputs` may be names alone, which are optional texts."""
    inputs = told.pop("inputs", {})
    if isinstance(inputs, list):
        inputs = {each: {"type": "string", "role": "domain_constraint", "optional": True} for each in inputs}
    return SkillSchema.model_validate(
        {
            "skill": name,
            "side_effects": told.pop("effects", "read"),
            "idempotent": told.pop("idempotent", True),
            "signature": {"inputs": inputs, "outputs": told.pop("outputs", {"type": "object"})},
            "context": {
                "needs": told.pop("needs", []),
                "provides": told.pop("provides", []),
                "providers": told.pop("providers", {}),
            },
            "failure_modes": told.pop("failures", []),
            **told,
        }
    )


@dataclass
class World:
    """Skills by name with their scripts; every call is kept in `calls` with its time and what it was told."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    store: ContextStore = field(default_factory=ContextStore)
    skills: dict[str, Skill] = field(default_factory=dict)
    calls: list[tuple[str, dict[str, Any], Call]] = field(default_factory=list)

    def skill(self, name: str, *says: Says, ms: float = 0, **told: Any) -> World:
        """Add a skill that says these one after the other, the last one from then on, after `ms` each."""
        script = list(says) or [{"ok": True}]

        async def call(inputs: Mapping[str, Any], call: Call) -> Outcome:
            self.calls.append((name, dict(inputs), call))
            await self.clock.sleep(ms)
            said = script.pop(0) if len(script) > 1 else script[0]
            said = said(inputs) if callable(said) else said
            if isinstance(said, str):
                return Outcome(None, said, "scripted")
            return said if isinstance(said, Outcome) else Outcome(said)

        self.skills[name] = Skill(schema(name, **told), call)
        return self

    @property
    def called(self) -> list[str]:
        """The names of what was called, in order."""
        return [name for name, _, _ in self.calls]

    def bank(self, *strategies: str, allow_faults: bool = False, **settings: Any) -> CompiledBank:
        """Return the bank of these strategies, each a YAML text without its head (see `text`)."""
        files = {f"{number}.yaml": text(one) for number, one in enumerate(strategies)}
        made = BankSettings.model_validate({"schema": "bank/v1", **settings})
        bank = compile_bank(files, made, {name: one.schema for name, one in self.skills.items()})
        assert allow_faults or not bank.faults, [str(fault) for fault in bank.faults]
        return bank

    def session(self, name: str = "s1", user: Mapping[str, Any] | None = None, **values: Any) -> SessionState:
        """Return a session that knows these values (top-level names)."""
        session = SessionState(name, self.store, user or {})
        session.put(values)
        return session

    async def turn(
        self, bank: CompiledBank, said: str = "hello", session: SessionState | None = None, **told: Any
    ) -> TurnResult:
        """Run a turn; `intent`, `confidence`, `skill`, `arguments`, `required` make the suggestion."""
        suggestion = Suggestion(
            told.pop("intent", ""),
            told.pop("confidence", None),
            told.pop("skill", ""),
            tuple(told.pop("required", ())),
            told.pop("arguments", {}),
        )
        session = session or self.session()
        return await run_turn(bank, session, said, suggestion, self.skills, self.clock, **told)

    async def answer(self, bank: CompiledBank, session: SessionState, said: str) -> TurnResult:
        """Answer the question that the session waits for."""
        return await answer(bank, session, said, self.skills, self.clock)


def text(body: str) -> str:
    """Return a strategy's file: its head is filled in where `body` doesn't have it."""
    value = yaml.safe_load(dedent(body))
    name = value.get("id", "shop.one")
    head = {
        "schema": "strategy/v1",
        "id": name,
        "version": 1,
        "purpose": "One thing.",
        "domain": name.partition(".")[0],
        "owner": "someone",
    }
    if "plan" in value and "trigger" not in value and not value.pop("called", False):
        value["trigger"] = {"when": "true"}
    return yaml.safe_dump({**head, **value}, sort_keys=False)
