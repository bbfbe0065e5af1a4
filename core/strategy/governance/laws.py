"""Lints: what makes a strategy hard to trust or to keep (STRATEGY S107, S43, S45, S90).

A lint is advice with a reason and a way out; "error" is for what the laws forbid outright, "warning" for what a person
should look at. All functions are pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from core.strategy.documents.release import Governance
from core.strategy.documents.skill import SkillSchema
from core.strategy.documents.strategy import Strategy
from core.strategy.execution.records import Execution
from core.strategy.governance.measures import branches, logical_lines, nodes

Law = Literal["purpose", "branches", "lines", "validation_budget", "network_check", "never_fails", "prompt"]
Severity = Literal["error", "warning"]
SYNC_SHARE = 0.25
"""Checks that somebody waits for may take this share of the checked skill's time limit (S43)."""
_UNIVERSAL = re.compile(
    r"\b(?:all|any|every|everything|whatever|anything|universal)\b|所有|全部|一切|任何|通用",
    re.IGNORECASE,
)
_SECOND = re.compile(
    r";|；|, and\b|\band then\b|\band also\b|\bas well as\b|\band/or\b|[.!?。！？]\s*\S|以及|并且|同时|还要|另外",
    re.IGNORECASE,
)
_SENDS = re.compile(r"(?:^|[_-])(?:send|notify|mail|email|sms|message|push)(?:[_-]|$)")
_LEAST_CONDITION = 12
_LEAST_RUNS = 100


@dataclass(frozen=True, slots=True)
class Lint:
    """What is off. `path` is the key, "" for the whole strategy; `hint` is the way out."""

    strategy_id: str
    law: Law
    severity: Severity
    path: str
    text: str
    hint: str

    def __str__(self) -> str:
        place = f"{self.strategy_id}: {self.path}" if self.path else self.strategy_id
        return f"{place}: {self.text} ({self.hint})"


def lint(
    strategy: Strategy, schemas: Mapping[str, SkillSchema], governance: Governance | None = None
) -> tuple[Lint, ...]:
    """Return what the laws say of one strategy. `governance` are the bank's numbers, the usual ones without it."""
    governance = governance or Governance()
    return (*_completeness(strategy, governance), *_budgets(strategy, schemas))


def _completeness(strategy: Strategy, governance: Governance) -> Iterator[Lint]:
    """Law 1: one strategy solves exactly one problem (S107)."""
    if found := _UNIVERSAL.search(strategy.purpose):
        text, hint = f"{found[0]!r} makes it a universal strategy", "name the one problem; split off the others"
        yield Lint(strategy.id, "purpose", "error", "purpose", text, hint)
    if found := _SECOND.search(strategy.purpose.rstrip(" .。!！")):
        text, hint = (
            f"has a second clause at {found[0].strip()!r}",
            "one clause, one problem; split it where there are two",
        )
        yield Lint(strategy.id, "purpose", "warning", "purpose", text, hint)
    ways = branches(strategy.trigger.when) if strategy.trigger else 0
    if ways is not None and ways > governance.most_branches:
        text = f"can come true in {ways} ways, {governance.most_branches} at most"
        hint = "split the alternatives into strategies of their own"
        yield Lint(strategy.id, "branches", "error", "trigger.when", text, hint)
    lines = logical_lines(strategy)
    if lines > governance.most_lines:
        text = f"has {lines} logical lines, {governance.most_lines} at most"
        yield Lint(strategy.id, "lines", "error", "", text, "move a part of the plan into a strategy and call it")


def _budgets(strategy: Strategy, schemas: Mapping[str, SkillSchema]) -> Iterator[Lint]:
    """Checks that the user waits for stay small beside what they check (S43)."""
    checks = strategy.validate_
    if checks is None:
        return
    at = {node.alias: node for node in nodes(strategy.plan) if node.alias} if strategy.plan else {}
    budgets: dict[str, int] = {}
    for level in (checks.level0, checks.level1):
        for alias in {one.at for one in level.checks} if level else ():
            budgets[alias] = budgets.get(alias, 0) + (level.budget_ms if level else 0)
    for alias, budget in sorted(budgets.items()):
        node = at.get(alias)
        if node is not None and node.timeout_ms and budget > SYNC_SHARE * node.timeout_ms:
            text = (
                f"checks may take {budget} ms, over {SYNC_SHARE:.0%} of the {node.timeout_ms} ms of {node.run or alias}"
            )
            hint = "lower budget_ms, or move checks to level2"
            yield Lint(strategy.id, "validation_budget", "warning", f"validate ({alias})", text, hint)
    for number, one in enumerate(checks.level0.checks):
        if one.run is None:
            continue
        skill = (at[one.at].run if one.at in at else None) or ""
        sends = bool(_SENDS.search(skill)) and (skill not in schemas or schemas[skill].writes)
        text = f"calls {one.run} each time" + (f" that {skill} sends something" if sends else "")
        hint = "level 0 looks at the answer alone; put it into level2, which nobody waits for"
        severity: Severity = "error" if sends else "warning"
        yield Lint(strategy.id, "network_check", severity, f"validate.level0.checks[{number}]", text, hint)


def never_failing(executions: Iterable[Execution], *, least: int = _LEAST_RUNS) -> tuple[Lint, ...]:
    """Return strategies whose checks passed in all of at least `least` runs: they may look at nothing (S45).

    With n runs without a failure, the true rate is still up to about 3/n at 95 % confidence (Hanley and
    Lippman-Hand 1983), which the text says.
    """
    judged: dict[str, list[bool]] = {}
    for one in executions:
        levels = [level for level in one.validation_result.values() if level is not None]
        if one.strategy_id is not None and not one.dry_run and any(level.passed or level.failed for level in levels):
            judged.setdefault(one.strategy_id, []).append(any(level.failed for level in levels))
    hint = "look at a raw answer; check a key field at level 1, or probe the effect"
    found = []
    for name, failed in sorted(judged.items()):
        if len(failed) >= least and not any(failed):
            text = f"not one of {len(failed)} runs failed a check; the true rate may be up to {3 / len(failed):.1%}"
            found.append(Lint(name, "never_fails", "warning", "validate", text, hint))
    return tuple(found)


def prompt_leaks(prompts: Mapping[str, str], strategies: Iterable[Strategy]) -> tuple[Lint, ...]:
    """Return where a prompt holds a strategy's id, purpose or condition (S90). `prompts` is name to text."""
    found = []
    flat = {name: " ".join(text.split()) for name, text in prompts.items()}
    for strategy in strategies:
        conditions = [strategy.trigger.when] if strategy.trigger else []
        conditions += (
            [case.when for node in nodes(strategy.plan) for case in node.switch or ()] if strategy.plan else []
        )
        parts = [("id", strategy.id), ("purpose", strategy.purpose)]
        parts += [("condition", " ".join(text.split())) for text in conditions if len(text) >= _LEAST_CONDITION]
        for name, text in flat.items():
            for what, part in parts:
                whole = rf"(?<![\w.]){re.escape(part)}(?![\w.])" if what == "id" else re.escape(part)
                if re.search(whole, text):
                    told, hint = f"the prompt holds its {what}", "a model only suggests; no strategy is told to it"
                    found.append(Lint(strategy.id, "prompt", "error", name, told, hint))
    return tuple(found)
