"""Was it right: the levels of validation after a node, and the look whether its effect is there (S34 to S45)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.strategy.conditions.truth import Truth
from core.strategy.documents.skill import SkillSchema
from core.strategy.documents.strategy import Check, Probe, Validation
from core.strategy.execution import inputs as given
from core.strategy.execution.calling import call
from core.strategy.execution.compiled import Compiled
from core.strategy.execution.failure import SCHEMA_MISMATCH, NodeFailedError
from core.strategy.execution.paths import MISSING, filled, known
from core.strategy.execution.records import Verdict
from core.strategy.execution.run import Deferred, Frame, Run, Timing, judge
from core.strategy.execution.scope import Scope
from core.strategy.schema.outputs import check_output, prepare


@dataclass(frozen=True, slots=True)
class Checked:
    """A node that has just run: its names, the skill's schema if it ran one, and its output."""

    names: frozenset[str]
    schema: SkillSchema | None
    output: Mapping[str, Any]
    key: str

    @property
    def skill(self) -> str:
        """The skill's name, "" for a node that ran none."""
        return self.schema.skill if self.schema else ""


async def validate(run: Run, frame: Frame, node: Checked) -> None:
    """Check a node's output. Raises NodeFailedError with the code of the first check that isn't passed.

    A check that can't be judged does not pass: what must be true is not known to be. What wasn't reached within a
    level's budget is told as unknown and fails nothing.
    """
    sources = tuple(_sources(run, frame, node))
    scope = Scope(frame.scope.session, frame.scope)
    for name in node.names:
        scope.name(name, node.output)
    held = Frame(frame.compiled, scope, frame.recorder, frame.key, frame.stack, frame.timings)
    _prepare(run, sources, node)
    budget = min([run.bank.settings.level0_budget_ms, *(one.level0.budget_ms for _, one in sources)])
    async with _Level(run, held, "level0", budget) as level:
        if node.schema is not None:
            level.note(_contract(run, node.skill, node.output), "schema", SCHEMA_MISMATCH, node, {})
        for compiled, one in sources:
            await _checks(level, compiled, one, one.level0.checks, node)
    for compiled, one in sources:
        if one.level1 and _applies(run, held, compiled, one.level1.when):
            async with _Level(run, held, "level1", one.level1.budget_ms) as level:
                await _checks(level, compiled, one, one.level1.checks, node)
    for compiled, one in sources:
        for probe in one.cross:
            if probe.at in node.names:
                await _probe(run, held, compiled, one, probe, node)
    for compiled, one in sources:
        wanted = [check for check in (one.level2.checks if one.level2 else ()) if check.at in node.names]
        if wanted and one.level2 and _applies(run, held, compiled, one.level2.when):
            values = dict.fromkeys(node.names, node.output)
            for check in wanted:
                # Not judged yet: an unknown of this run, whose verdict comes as a run of its own.
                held.say("checked", node.key, level="level2", check=told(check), verdict="unknown", deferred=True)
                run.deferred.append(Deferred(compiled, check, values))


def _sources(run: Run, frame: Frame, node: Checked) -> Iterator[tuple[Compiled, Validation]]:
    """Yield the strategy under way and those that only check, as far as they look at this node."""
    for one in (frame.compiled, *run.bank.checkers):
        if one is None or one.strategy.validate_ is None:
            continue
        validation = one.strategy.validate_
        names = node.names if one is frame.compiled else {node.skill}
        levels = [level for level in (validation.level0, validation.level1, validation.level2) if level]
        if any(check.at in names for level in levels for check in level.checks) or any(
            probe.at in names for probe in validation.cross
        ):
            yield one, validation


def _prepare(run: Run, sources: tuple[tuple[Compiled, Validation], ...], node: Checked) -> None:
    """Make ready what is made once, so that no check's budget pays for it."""
    checks = [check for _, one in sources for level in (one.level0, one.level1) if level for check in level.checks]
    named = {(check.schema_ or "").partition(".")[0] for check in checks if check.at in node.names} | {node.skill}
    for skill in named & run.bank.schemas.keys():
        prepare(run.bank.schemas[skill].signature.outputs)


class _Level:
    """One level at work, within its budget: an overrun is told, and what wasn't reached is unknown (S40)."""

    def __init__(self, run: Run, frame: Frame, name: str, budget_ms: float) -> None:
        self.run = run
        self.frame = frame
        self.name = name
        self.budget_ms = budget_ms
        self.began = run.clock.monotonic_ms()

    async def __aenter__(self) -> _Level:
        return self

    async def __aexit__(self, *_: object) -> None:
        took = self.run.clock.monotonic_ms() - self.began
        timing = self.frame.timings.setdefault(self.name, Timing())
        timing.ms += took
        timing.overrun = timing.overrun or took > self.budget_ms

    @property
    def left_ms(self) -> float:
        return self.budget_ms - (self.run.clock.monotonic_ms() - self.began)

    def note(self, verdict: Verdict, what: str, code: str, node: Checked, rules: Mapping[str, Any]) -> None:
        failed = verdict != "passed"
        self.frame.say("checked", node.key, level=self.name, check=what, verdict=verdict, code=code if failed else "")
        if failed:
            error = NodeFailedError(code, f"{self.name}: {what}", skill=node.skill)
            error.rules = rules
            raise error

    def unreached(self, what: str, node: Checked) -> None:
        self.frame.say("checked", node.key, level=self.name, check=what, verdict="unknown", budget_ms=self.budget_ms)


async def _checks(
    level: _Level, compiled: Compiled, validation: Validation, checks: tuple[Check, ...], node: Checked
) -> None:
    for check in checks:
        if check.at not in node.names:
            continue
        what = told(check)
        if level.left_ms <= 0:
            level.unreached(what, node)
            continue
        try:
            verdict = await verdict_of(level.run, level.frame, compiled, check, node.output, node.key, level.left_ms)
        except _OutOfTimeError:
            level.unreached(what, node)
            continue
        level.note(verdict, what, check.code, node, validation.on_fail)


class _OutOfTimeError(Exception):
    """A checking skill did not answer within what was left of the budget."""


def told(check: Check) -> str:
    """Return how a check is spoken of."""
    if check.name:
        return check.name
    return check.expr or check.schema_ or check.run or f"{', '.join(check.present or ())} present"


async def verdict_of(
    run: Run, frame: Frame, compiled: Compiled, check: Check, output: Mapping[str, Any], key: str, left_ms: float | None
) -> Verdict:
    """Judge one check of an output. Raises BudgetSpentError."""
    if check.expr is not None:
        return _judged(judge(run, frame.scope, compiled.conditions[check.expr]).truth)
    if check.schema_ is not None:
        return _contract(run, check.schema_.partition(".")[0], output)
    if check.present is not None:
        return "passed" if all(_present(frame.scope, output, path) for path in check.present) else "failed"
    skill = run.skills.get(check.run or "")
    if skill is None or skill.schema.writes:
        return "unknown"
    values = {**_same_names(skill.schema, output), **_same_names(skill.schema, given_by(run, frame, skill.schema))}
    place = f"{key}.check.{check.run}"
    outcome = await call(run, frame, place, skill.schema.skill, values, purpose="check", timeout_ms=left_ms)
    if outcome.code == "TIMEOUT":
        raise _OutOfTimeError
    ok = (outcome.output or {}).get("ok") if outcome.ok else None
    return "unknown" if not isinstance(ok, bool) else "passed" if ok else "failed"


def given_by(run: Run, frame: Frame, schema: SkillSchema) -> dict[str, Any]:
    """Return the inputs of a skill that nobody gave any: what the context has under their names."""
    found = {}
    for name in schema.signature.inputs:
        for path in given.paths_of(name):
            value = frame.scope.look(path)
            if value is not MISSING and value is not None:
                found[name] = value
                break
    return found


def _same_names(schema: SkillSchema, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in schema.signature.inputs}


async def _probe(
    run: Run, frame: Frame, compiled: Compiled, validation: Validation, probe: Probe, node: Checked
) -> None:
    """Ask another skill whether the effect is there; success without effect is PSEUDO_SUCCESS (S38, S39)."""
    schema = run.bank.schemas[probe.probe]
    values = given_by(run, frame, schema) | filled(dict(probe.with_), frame.scope.look)
    place = f"{node.key}.probe.{probe.probe}"
    timeout = schema.typical_ms * 10 if schema.typical_ms else None
    outcome = await call(run, frame, place, probe.probe, values, purpose="probe", timeout_ms=timeout)
    verdict: Verdict = "unknown"
    if outcome.ok:
        scope = Scope(frame.scope.session, frame.scope)
        scope.name("probe", outcome.output)
        verdict = _judged(judge(run, scope, compiled.conditions[probe.expr]).truth)
    failed = verdict != "passed"
    frame.say(
        "checked",
        node.key,
        level="cross",
        check=probe.expr,
        probe=probe.probe,
        verdict=verdict,
        code=probe.code if verdict == "failed" else "PROBE_FAILED" if failed else "",
    )
    if failed:
        error = NodeFailedError(
            probe.code if verdict == "failed" else "PROBE_FAILED", f"{probe.probe}: {probe.expr}", skill=node.skill
        )
        error.rules = validation.on_fail
        raise error


def _applies(run: Run, frame: Frame, compiled: Compiled, when: str) -> bool:
    """Tell whether a level's guard lets it be checked. Where that isn't known it is checked: care costs less."""
    return not when or judge(run, frame.scope, compiled.conditions[when]).truth is not Truth.FALSE


def _judged(truth: Truth) -> Verdict:
    return "passed" if truth is Truth.TRUE else "failed" if truth is Truth.FALSE else "unknown"


def _contract(run: Run, skill: str, output: Mapping[str, Any]) -> Verdict:
    try:
        return "failed" if check_output(run.bank.schemas[skill].signature.outputs, output) else "passed"
    except ValueError:
        return "unknown"  # the contract itself is no JSON Schema: nothing can be said of the output


def _present(scope: Scope, output: Mapping[str, Any], path: str) -> bool:
    """Tell whether a key field holds something: no null, no empty text, list or mapping (S40)."""
    if known(output, path):
        value: Any = output
        for part in path.split("."):
            value = value[part]
    else:
        value = scope.look(path)
    return value is not MISSING and value is not None and value not in ("", [], {})
