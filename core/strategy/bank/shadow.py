"""A new version in the shadow of the old: same turn, same context, no effect of its own (STRATEGY S70, S71, X1).

The old version answers the user. The new one decides on a copy of the session as it was before the turn. What the old
run's skills said for the same inputs it is told again, in the time they took; other skills that only read are called
(as dry runs), those that write never are. Nothing of it reaches the session.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.foundation import strict_json
from core.foundation.visible import visible_line
from core.state import readonly
from core.state.atomic import write_text
from core.state.jsonlines import append_record, read_lines
from core.strategy.bank.bank import Bank
from core.strategy.bank.changes import SHADOW
from core.strategy.bank.comparison import Comparison, DiffReport, Side, compare, diff_report
from core.strategy.bank.executions import mentions
from core.strategy.bank.states import moment
from core.strategy.execution.clock import Clock
from core.strategy.execution.compiled import Compiled
from core.strategy.execution.compiler import CompiledBank
from core.strategy.execution.run import Assignment
from core.strategy.execution.session import SessionState
from core.strategy.execution.skills import Call, Outcome, Skill, Skills
from core.strategy.execution.suggestion import Suggestion
from core.strategy.execution.trace import canonical
from core.strategy.execution.turn import TurnResult, run_turn

_EVERY = 25  # comparisons between two writings of the report
WRITE_IN_SHADOW = "WRITE_IN_SHADOW"


@dataclass(frozen=True, slots=True)
class _Said:
    """What a skill said, None where its caller didn't wait for it, and how long that took."""

    outcome: Outcome | None
    ms: float


@dataclass
class Heard:
    """What skills said in the old run, by skill and inputs, in order. The last of equal calls is told for the rest."""

    clock: Clock
    said: dict[str, list[_Said]] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    write_ms: float = 0.0

    def listening(self, skills: Skills) -> dict[str, Skill]:
        """Return the skills, every answer of which is kept."""
        return {name: Skill(one.schema, self._listen(name, one)) for name, one in skills.items()}

    def _listen(self, name: str, skill: Skill) -> Any:
        async def call(inputs: Mapping[str, Any], request: Call) -> Outcome:
            begin, outcome = self.clock.monotonic_ms(), None
            try:
                outcome = await skill.call(inputs, request)
                return outcome
            finally:
                took = self.clock.monotonic_ms() - begin
                self.said.setdefault(_key(name, inputs), []).append(_Said(outcome, took))

        return call

    def replay(self, skills: Skills) -> Any:
        """Return what the executor asks first: what a skill that writes said for the same inputs."""

        def told(name: str, inputs: Mapping[str, Any]) -> Outcome | None:
            if not skills[name].schema.writes:
                return None  # told by `telling`, in the time that it took
            found = self._next(name, inputs)
            if found is None or found.outcome is None:
                return None
            self.write_ms += found.ms
            return found.outcome

        return told

    def telling(self, skills: Skills) -> dict[str, Skill]:
        """Return the skills for the new run: those that read say again what they said, those that write are shut."""
        return {
            name: Skill(one.schema, _shut if one.schema.writes else self._tell(name, one))
            for name, one in skills.items()
        }

    def _tell(self, name: str, skill: Skill) -> Any:
        async def call(inputs: Mapping[str, Any], request: Call) -> Outcome:
            found = self._next(name, inputs)
            if found is None:
                return await skill.call(inputs, request)
            await self.clock.sleep(found.ms)
            if found.outcome is None:  # nobody knows what it would have said later than that
                return await skill.call(inputs, request)
            return found.outcome

        return call

    def _next(self, name: str, inputs: Mapping[str, Any]) -> _Said | None:
        key = _key(name, inputs)
        held = self.said.get(key)
        if not held:
            return None
        number = self.asked.get(key, 0)
        self.asked[key] = number + 1
        return held[min(number, len(held) - 1)]


async def _shut(inputs: Mapping[str, Any], request: Call) -> Outcome:
    """Stand where a skill that writes would be: the executor doesn't call it in a dry run, and nothing else may."""
    return Outcome(None, WRITE_IN_SHADOW, "a skill that writes is never called in shadow")


@dataclass(frozen=True, slots=True)
class Shadowed:
    """A turn with both versions: `answer` is the old one's, which the user gets; `comparison` says how they differ."""

    answer: TurnResult
    shadow: TurnResult
    comparison: Comparison


async def shadow_turn(
    bank: CompiledBank,
    new: Compiled,
    session: SessionState,
    utterance: str,
    suggestion: Suggestion,
    skills: Skills,
    clock: Clock,
    *,
    assignment: Assignment | None = None,
    dropped: tuple[str, ...] = (),
) -> Shadowed:
    """Run a turn by the version that holds for the user, then the same turn with `new` in its place, and compare.

    Raises what `run_turn` raises for the old version. The new one's run changes nothing, whatever it does.
    """
    before = session.scratch()
    heard = Heard(clock)
    begin = clock.monotonic_ms()
    time = clock.now().isoformat(timespec="milliseconds")
    answer = await run_turn(
        bank, session, utterance, suggestion, heard.listening(skills), clock, assignment=assignment, dropped=dropped
    )
    took = clock.monotonic_ms() - begin
    begin = clock.monotonic_ms()
    shadow = await run_turn(
        bank,
        before,
        utterance,
        suggestion,
        heard.telling(skills),
        clock,
        dry_run=True,
        assignment={**(assignment or {}), new.id: new},
        replay=heard.replay(skills),
        dropped=dropped,
    )
    shadow_took = clock.monotonic_ms() - begin + heard.write_ms
    held = (assignment or {}).get(new.id, bank.strategies.get(new.id))
    comparison = compare(
        _side(answer, took),
        _side(shadow, shadow_took),
        new.id,
        (held.strategy.version if held is not None else None, new.strategy.version),
        time=time,
        session=session.id,
        turn=session.turn,
        user=session.user,
    )
    return Shadowed(answer, shadow, comparison)


def _side(result: TurnResult, ms: float) -> Side:
    withheld = tuple(str(event["skill"]) for event in result.trace.of("withheld"))
    output = result.output if result.question is None else result.question.to_json()
    return Side(result.kind, result.executions, output, ms, withheld)


def append(bank: Bank, comparison: Comparison) -> None:
    """Keep a comparison; the report is written again at the first, and every 25, later every 250 (S71)."""
    path = _log(bank, comparison.strategy_id, comparison.new_version)
    readonly.refuse(path)
    append_record(path, comparison.to_json(), fsync=False)
    count = path.read_bytes().count(b"\n")
    if count & (count - 1) == 0 or count % (_EVERY if count < 40 * _EVERY else 10 * _EVERY) == 0:  # 1, 2, 4, 8, ...
        write_report(bank, comparison.strategy_id, comparison.new_version)


def holds(bank: Bank, comparison: Comparison) -> bool:
    """Tell whether a comparison is kept already; lines of other sessions are passed over unread."""
    path = _log(bank, comparison.strategy_id, comparison.new_version)
    kept = read_lines(path, wanted=mentions(comparison.session)).records
    return strict_json.dumps(comparison.to_json()) in map(strict_json.dumps, kept)


def read(bank: Bank, strategy_id: str, version: int) -> tuple[tuple[Comparison, ...], tuple[str, ...]]:
    """Return what a version's shadow run showed so far, and a word for each line that can't be read."""
    found: list[Comparison] = []
    findings: list[str] = []
    lines = read_lines(_log(bank, strategy_id, version))
    findings += (f"bytes {gap.start} to {gap.end}: {gap.reason}" for gap in lines.gaps)
    for line in lines.lines:
        try:
            one = Comparison.from_json(line.record)
            moment(one.time)
            found.append(one)
        except (KeyError, TypeError, ValueError) as error:
            findings.append(visible_line(f"byte {line.start}: is no comparison: {error}"))
    return tuple(found), tuple(findings)


def report(bank: Bank, strategy_id: str, version: int) -> DiffReport:
    """Return the report of a version's shadow run, by the attributes that its release names (`shadow.by`)."""
    comparisons, _ = read(bank, strategy_id, version)
    standing = bank.journal().standings.get((strategy_id, version))
    release = standing.release if standing is not None and standing.release is not None else bank.release(strategy_id)
    by = release.rollout.shadow.by if release is not None and release.rollout.shadow is not None else ()
    old = comparisons[-1].old_version if comparisons else None
    return diff_report(comparisons, strategy_id, (old, version), by)


def write_report(bank: Bank, strategy_id: str, version: int) -> Path:
    """Write the report beside the comparisons, as JSON and as a page; return the page."""
    found = report(bank, strategy_id, version)
    page = _log(bank, strategy_id, version).with_suffix(".report.md")
    page.parent.mkdir(parents=True, exist_ok=True)
    write_text(page.with_suffix(".json"), strict_json.dumps(found.to_json(), indent=1) + "\n")
    write_text(page, found.to_markdown())
    return page


def _log(bank: Bank, strategy_id: str, version: int) -> Path:
    return bank.records / SHADOW / f"{strategy_id}-{version}.jsonl"


def _key(skill: str, inputs: Mapping[str, Any]) -> str:
    return f"{skill} {canonical(dict(inputs))}"
