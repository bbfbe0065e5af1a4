"""What the executor costs, beside its targets: reload, compile, decision, node, reservations. Run on a quiet machine.

    python -P -m tests.perf.strategy [--rounds 40]

A made-up bank of 217 strategies in four domains (89, 63, 42 and 23, as the account's), with all four modes, 217
distinct triggers and calls four deep over 40 skills. CPU time of this process in one thread unless told otherwise;
least, median and 99th percentile over the rounds. Nothing is asserted: a line gives a number, its target, their ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from core.strategy.conditions.memory import Past
from core.strategy.conditions.truth import Truth
from core.strategy.documents.release import BankSettings
from core.strategy.documents.skill import SkillSchema
from core.strategy.execution.budget import Budget
from core.strategy.execution.clock import RealClock
from core.strategy.execution.compiled import Compiled
from core.strategy.execution.compiler import CompiledBank, compile_bank
from core.strategy.execution.deciding import candidates, judge_all
from core.strategy.execution.firing import fire
from core.strategy.execution.interpreter import execute
from core.strategy.execution.run import Frame, Journal, Run
from core.strategy.execution.scope import Scope
from core.strategy.execution.selection import choose
from core.strategy.execution.session import SessionState
from core.strategy.execution.skills import Call, Outcome, Skill
from core.strategy.execution.store import ContextStore
from core.strategy.execution.suggestion import Suggestion
from core.strategy.execution.trace import Recorder
from core.strategy.execution.turn import run_turn

DOMAINS: Mapping[str, int] = {"aftersale": 89, "presale": 63, "content": 42, "ops": 23}
SKILLS, DEEP = 40, 4
SETTINGS = BankSettings.model_validate(
    {"registry": {"order.id": "string", "order.status": "string", "order.amount": "number", "order.due": "date"}}
)
_WHEN = (
    'intent.name == "intent_{n}" && intent.confidence > 0.{t} && contains_any(utterance, ["say {n}", "word{n}"])',
    'intent.name in ["refund", "intent_{n}"] && is_empty(results.skill_{s}.lines) && order.status == "paid"',
    'order.amount > {n} && successes(2) == 0 && !(user.business_line == "line_{n}")',
    'results.skill_{s}.status == "state_{n}" || (order.amount > {n} && intent.confidence < 0.{t})',
    'days_from_now(order.due) < {n} && calls("skill_{s}", 3) > 0 && turn.count > 1',
    'contains_any(utterance, ["parcel {n}", "where*", "order {n}"]) && intent.confidence >= 0.{t}',
)


def schemas() -> dict[str, SkillSchema]:
    """Return the schemas of 40 skills."""
    outputs = {
        "type": "object",
        "required": ["status"],
        "properties": {
            "status": {"type": "string"},
            "amount": {"type": "number"},
            "lines": {"type": "array"},
            "done": {"type": "boolean"},
        },
    }
    return {
        f"skill_{number}": SkillSchema.model_validate(
            {
                "skill": f"skill_{number}",
                "side_effects": "write" if number % 4 == 3 else "read",
                "idempotent": True,
                "signature": {
                    "inputs": {
                        "order_id": {"type": "string", "role": "domain_constraint", "optional": True},
                        "amount": {"type": "number", "role": "business_rule", "optional": True, "min": 0},
                    },
                    "outputs": outputs,
                },
                "context": {},
                "failure_modes": [
                    {"code": "NETWORK_TIMEOUT", "severity": "high", "auto_recovery": "retry_with_backoff"}
                ],
            }
        )
        for number in range(SKILLS)
    }


def files() -> dict[str, str]:
    """Return the bank's files. Of every five strategies the first calls the second, and so on: calls are four deep."""
    names = [f"{domain}.s{number}" for domain, count in DOMAINS.items() for number in range(count)]
    return {f"{name.replace('.', '/')}.yaml": _strategy(name, number, names) for number, name in enumerate(names)}


def _strategy(name: str, number: int, names: Sequence[str]) -> str:
    def run(step: int, alias: str) -> dict[str, Any]:
        return {
            "run": f"skill_{(number + step) % SKILLS}",
            "as": alias,
            "with": {"order_id": "$order.id"},
            "timeout_ms": 3_000,
            "retry": {"max": 1, "backoff_ms": [200], "jitter": True},
            "recover": {"TIMEOUT": {"do": {"run": f"skill_{(number + 9) % SKILLS}"}}},
        }

    calls = [{"call": names[number + 1]}] if number % 5 < DEEP and number + 1 < len(names) else []
    same_domain = calls and names[number + 1].partition(".")[0] == name.partition(".")[0]
    plan: list[Any] = [
        run(0, "first"),
        {"parallel": {"branches": [run(1, "left"), run(2, "right")], "join": "all"}},
        {
            "switch": [
                {"if": 'first.status == "ok"', "do": {"sequence": [run(4, "then"), *(calls if same_domain else [])]}},
                {"else": {"loop": {"do": run(5, "again"), "until": "again.done", "max_iterations": 3}}},
            ]
        },
    ]
    when = _WHEN[number % len(_WHEN)].format(n=number, t=50 + number % 45, s=number % SKILLS)
    return yaml.safe_dump(
        {
            "schema": "strategy/v1",
            "id": name,
            "version": 1 + number % 3,
            "purpose": f"Problem number {number}.",
            "domain": name.partition(".")[0],
            "owner": "team",
            "conflict_resolution": {"priority": number % 100},
            "trigger": {"when": when},
            "context": {"needs": ["order.id"]},
            "plan": plan,
            "validate": {
                "level0": {"checks": [{"at": "first", "present": ["status"]}]},
                "level1": {"when": "order.amount > 500", "checks": [{"at": "then", "expr": "then.amount >= 0"}]},
            },
        },
        sort_keys=False,
    )


def skills(found: Mapping[str, SkillSchema]) -> dict[str, Skill]:
    """Return skills that answer at once."""

    async def call(inputs: Mapping[str, Any], call: Call) -> Outcome:
        return Outcome({"status": "ok", "amount": 5, "lines": [], "done": True})

    return {name: Skill(schema, call) for name, schema in found.items()}


def told(what: str, ms: float, target_ms: float | None = None) -> None:
    """Print a line of the table."""
    aim = "" if target_ms is None else f"  target {target_ms:7.2f}  ratio {ms / target_ms:5.2f}"
    print(f"{what:<58} {ms:9.3f} ms{aim}")


def p99(values: Sequence[float]) -> float:
    """Return the 99th percentile."""
    return sorted(values)[min(len(values) - 1, round(0.99 * (len(values) - 1)))]


def reloads(texts: dict[str, str], found: dict[str, SkillSchema], rounds: int) -> CompiledBank:
    """Measure a cold load, then reloads after one change each, and the compiling of that one."""
    began = time.process_time()
    bank = compile_bank(texts, SETTINGS, found)
    told(f"cold load of {len(bank.strategies)} strategies", (time.process_time() - began) * 1000)
    assert len(bank.strategies) == sum(DOMAINS.values()), [str(fault) for fault in bank.faults[:3]]
    conditions = {one.when.text for one in bank.strategies.values() if one.when}
    print(f"{'distinct triggers':<58} {len(conditions):9}")
    names = sorted(texts)
    whole, one = [], []
    for number in range(rounds):
        name = names[number * 7 % len(names)]
        texts = {**texts, name: f"{texts[name]}# change {number}\n"}
        began = time.process_time()
        bank = compile_bank(texts, SETTINGS, found, bank)
        whole.append((time.process_time() - began) * 1000)
        assert bank.compiled_anew == 1
        began = time.process_time()
        compile_bank({name: texts[name] + f"# {number}\n"}, SETTINGS, found, bank)
        one.append((time.process_time() - began) * 1000)
    told("reload after one change, median", statistics.median(whole), 83)
    told("reload after one change, 99th percentile", p99(whole))
    told("compiling the changed one, median", statistics.median(one), 10)
    return bank


def ready(bank: CompiledBank, store: ContextStore, name: str = "s") -> SessionState:
    """Return a session with a long history."""
    session = SessionState(name, store, {"id": "u1", "business_line": "aftersale"})
    result = {"status": "ok", "amount": 12.5, "lines": [{"sku": "a"}] * 3, "text": "x" * 60}
    session.put(
        {
            "order": {"id": "o1", "status": "paid", "amount": 120, "due": "2026-12-30"},
            "results": {f"skill_{number}": result for number in range(SKILLS)},
            "utterance": "Where is my parcel?",
            "intent": {"name": "refund", "confidence": 0.9},
            "user": {"business_line": "aftersale"},
            "turn": {"count": 3},
        }
    )
    session.remember([Past(number // 3, f"skill_{number % SKILLS}", True) for number in range(60)], None)
    return session


def decisions(bank: CompiledBank, rounds: int) -> None:
    """Measure one decision: a view made, every trigger judged, one chosen."""
    session, clock = ready(bank, ContextStore()), RealClock()
    run = Run(
        bank, session, {}, clock, Budget(SETTINGS.turn, clock, clock.monotonic_ms()), Suggestion(), "x", Journal(),
        execute, fire,
    )  # fmt: skip
    frame = Frame(None, Scope(session), Recorder(), "turn")
    took = []
    for _ in range(rounds * 25):
        began = time.process_time()
        waiting = candidates(run, "turn")
        judged = judge_all(run, frame, waiting, "turn")
        fired: list[Compiled] = [one for one in waiting if judged[one.id].truth is Truth.TRUE]
        choose([one.rival for one in fired], lambda wide, narrow: False)
        took.append((time.process_time() - began) * 1000)
    print(f"{'triggers judged, fired':<58} {len(waiting):5} {len(fired):4}")
    told("decision, least", min(took))
    told("decision, median", statistics.median(took))
    told("decision, 99th percentile", p99(took), 1)


def nodes(found: dict[str, SkillSchema], rounds: int) -> None:
    """Measure the executor's own cost a node: a plan of 20 calls to skills that answer at once, less one of none."""
    plan = ", ".join(f"{{run: skill_{number}, as: a{number}}}" for number in range(20))
    head = "schema: strategy/v1\nid: ops.x\nversion: 1\npurpose: X.\ndomain: ops\nowner: me\ntrigger: {when: 'true'}\n"
    both = [compile_bank({"x.yaml": f"{head}plan: [{steps}]\n"}, SETTINGS, found) for steps in (plan, "{run: skill_0}")]
    callable_ = skills(found)

    async def measure(bank: CompiledBank, store: ContextStore) -> float:
        session = ready(bank, store)
        began = time.process_time()
        result = await run_turn(bank, session, "hello", Suggestion(), callable_, RealClock())
        assert result.kind == "done", result.message
        return (time.process_time() - began) * 1000

    async def rows() -> None:
        with tempfile.TemporaryDirectory() as place:
            for kind, path in (("in memory", None), ("in a file", Path(place) / "c.sqlite")):
                store = ContextStore(path)
                many, few = [], []
                for _ in range(rounds):  # interleaved, as other work on the machine hits both alike
                    many.append(await measure(both[0], store))
                    few.append(await measure(both[1], store))
                each = (statistics.median(many) - statistics.median(few)) / 19
                told(f"a node, context store {kind}, 40 results known", each, 0.5)
                told(f"a turn of one node, context store {kind}", statistics.median(few))
                store.close()

    asyncio.run(rows())


def reservations(found: dict[str, SkillSchema]) -> None:
    """A hundred sessions at once, each with ten reservations."""
    head = "schema: strategy/v1\nid: ops.x\nversion: 1\npurpose: X.\ndomain: ops\nowner: me\ntrigger: {when: 'true'}\n"
    steps = ", ".join(f"{{run: skill_3, as: a{number}, tx: {{reserve: ticket_id}}}}" for number in range(10))
    bank = compile_bank({"x.yaml": f"{head}plan: [{steps}]\n"}, SETTINGS, found)
    taken: list[str] = []

    async def all_at_once(store: ContextStore) -> None:
        sessions = [ready(bank, store, f"s{number}") for number in range(100)]
        callable_ = skills(found)
        turns = (run_turn(bank, session, "x", Suggestion(), callable_, RealClock()) for session in sessions)
        for result in await asyncio.gather(*turns):
            taken.extend(event["id"] for event in result.trace.of("reserved"))

    with tempfile.TemporaryDirectory() as place:
        store = ContextStore(Path(place) / "c.sqlite")
        began = time.monotonic()
        asyncio.run(all_at_once(store))
        took = (time.monotonic() - began) * 1000
        store.close()
    print(
        f"{'reservations by 100 sessions, distinct, lost or doubled':<58} {len(taken):5} {len(set(taken)):5}", end=" "
    )
    print(1_000 - len(set(taken)))
    told("all of them, wall time", took)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    found = schemas()
    bank = reloads(files(), found, rounds)
    decisions(bank, rounds)
    nodes(found, rounds)
    reservations(found)


if __name__ == "__main__":
    main()
