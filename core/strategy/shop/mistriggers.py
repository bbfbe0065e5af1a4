"""How often a trigger fires that should not: by keywords, with the model's confidence, with memory too (S14).

The account reports 34 %, 9 % and 2.3 %; these are our own numbers, on utterances that no trigger was written with.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

from core.state import yaml12
from core.statistics.intervals import over_clusters
from core.strategy.conditions.condition import Condition, compile_condition
from core.strategy.conditions.memory import Memory, Past
from core.strategy.conditions.registry import registry_of
from core.strategy.conditions.truth import Truth
from core.strategy.conditions.view import View
from core.strategy.execution.clock import BEGINNING
from core.strategy.shop.banks import settings
from core.strategy.shop.talk import SKILL_OF, TASKS, Model, suggest
from core.strategy.shop.toolbox import schemas
from core.strategy.shop.visits import Visit, visits

Rule = Literal["keywords", "confidence", "memory", "without keywords"]
RULES: Mapping[Rule, str] = {
    "keywords": "contains_any(utterance, {phrases})",
    "confidence": 'contains_any(utterance, {phrases}) && intent.name == "{task}" && intent.confidence > 0.85',
    "memory": 'contains_any(utterance, {phrases}) && intent.name == "{task}" && intent.confidence > 0.85'
    " && successes(2) == 0",
    "without keywords": 'intent.name == "{task}" && intent.confidence > 0.85 && successes(2) == 0',
}
"""The first three are the account's, each adds a term to the one before; the last is how the shop's bank writes it."""
FAILED_BEFORE = 0.2
"""How often the first attempt did nothing for the customer, who then says it again: memory must let that through."""


@dataclass(frozen=True, slots=True)
class Said:
    """One turn: what is truly wanted (`task` is one of TASKS, or nothing is wanted), and what is known in it."""

    task: str
    utterance: str
    intent: str
    confidence: float
    memory: Memory


@dataclass(frozen=True, slots=True)
class Share:
    """What one rule did over all seeds. `mistriggers`: turns in which a strategy fired that nobody wanted, of all
    turns; `missed`: turns whose own strategy did not fire, of those that wanted one. `interval` is Student's over
    seeds, 95 %, None for fewer than two.
    """

    rule: Rule
    turns: int
    mistriggers: float
    missed: float
    interval: tuple[float, float] | None


@cache
def phrases() -> Mapping[str, tuple[str, ...]]:
    """Return the keywords of each task."""
    text = resources.files("core.strategy.shop").joinpath("keywords.yaml").read_text(encoding="utf-8")
    return {task: tuple(found) for task, found in yaml12.load(text).items()}


@cache
def conditions(rule: Rule) -> Mapping[str, Condition]:
    """Return the condition of each task's strategy under a rule."""
    registry = registry_of(settings(), schemas().values())
    return {
        task: compile_condition(_written(rule, task, phrases()[task]), registry) for task in TASKS if task in phrases()
    }


def _written(rule: Rule, task: str, found: Sequence[str]) -> str:
    listed = ", ".join(f'"{phrase}"' for phrase in found)
    return RULES[rule].format(phrases=f"[{listed}]", task=task)


def turns_of(visit: Visit, model: Model) -> Iterator[Said]:
    """Yield the turns of a visit as a session would know them: the first, a second try where the first one failed,
    and what is said when all is done."""
    draw = random.Random(f"shop:again:{visit.id}")
    failed = draw.random() < FAILED_BEFORE
    skill = SKILL_OF.get(visit.task, "answer_faq")
    first = visit.turns[0]
    yield _said(visit, model, first.task, first.utterance, first.arguments, Memory(), 0)
    if failed and visit.task in TASKS:
        memory = Memory((Past(1, skill, ok=False, code="NETWORK_TIMEOUT"),), 2)
        yield _said(visit, model, first.task, first.utterance, first.arguments, memory, 1)
    for turn in visit.turns[1:]:
        memory = Memory((Past(1, skill, ok=True),), 2)
        yield _said(visit, model, turn.task, turn.utterance, turn.arguments, memory, 2)


def _said(
    visit: Visit, model: Model, task: str, utterance: str, arguments: Mapping[str, Any], memory: Memory, number: int
) -> Said:
    suggested = suggest(model, task, arguments, f"{visit.id}:s14:{number}", visit.customer.age_band)
    return Said(task, utterance, suggested["intent"], suggested["confidence"], memory)


def fired(said: Said, rule: Rule) -> frozenset[str]:
    """Return the tasks whose strategy fires in a turn."""
    values = {"utterance": said.utterance, "intent": {"name": said.intent, "confidence": said.confidence}}
    view = View(values, said.memory, BEGINNING)
    return frozenset(task for task, condition in conditions(rule).items() if condition.judge(view).truth is Truth.TRUE)


def measure(seeds: Iterable[int], model: Model | None = None) -> tuple[Share, ...]:
    """Return the shares over the shop's visits, in the order of RULES."""
    model = model or Model()
    by_seed = [[said for visit in visits(seed) for said in turns_of(visit, model)] for seed in seeds]
    return tuple(_share(rule, by_seed) for rule in RULES)


def _share(rule: Rule, by_seed: Sequence[Sequence[Said]]) -> Share:
    wrong: list[list[float]] = []
    missed: list[bool] = []
    for turns in by_seed:
        found = [(said, fired(said, rule)) for said in turns]
        wrong.append([float(bool(tasks - {said.task})) for said, tasks in found])
        missed += [said.task not in tasks for said, tasks in found if said.task in TASKS]
    count = sum(map(len, wrong))
    interval = over_clusters(wrong)
    return Share(
        rule,
        count,
        sum(map(sum, wrong)) / count,
        sum(missed) / len(missed),
        (max(0.0, interval.low), interval.high) if interval else None,
    )
