"""Diagnoses: each looks at real records and names the fix (STRATEGY S120 to S129). The rows are in `troubles`.

A diagnosis that found nothing returns nothing: no record is no trouble, and no proof of health either.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.statistics.unpaired import fisher
from core.strategy.bank.representation import Representation
from core.strategy.conditions.utterance import normal
from core.strategy.documents.skill import SkillSchema
from core.strategy.documents.strategy import Strategy
from core.strategy.execution.records import Execution
from core.strategy.execution.store import Snapshot
from core.strategy.execution.trace import DecisionTrace
from core.strategy.governance.conflicts import Conflict
from core.strategy.governance.laws import never_failing
from core.strategy.governance.troubles import Name

_IMPACT = 0.5
_LEAST = 20
_DROP = 0.5
_ALPHA = 0.01
_HEAVY = 0.25
_BIAS = 0.02
_ROUNDS = 9
_OF_THE_TURN = frozenset({"utterance", "utterance_raw", "intent", "turn", "event"})
"""Values that every turn brings along: they differ by themselves."""
_REFUSED = re.compile(
    r"(?:limit|quota) (?:is |was )?(?:reached|exceeded|used up)|exceed|fail(?:ed|ure)?\b|error|refus|reject|denied"
    r"|not (?:sent|done|found|delivered)"
    r"|失败|超限|上限|拒绝|错误|未发送",
    re.IGNORECASE,
)
_NO_TROUBLE = re.compile(
    r"\b(?:no|0|without) (?:error|failure)s?\b|\"(?:errors?|failed|failures?|rejected)\": (?:null|\[\]|\"\"|0|false)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found. `subject` is the strategy (or release) it is about, `evidence` what it rests on, in numbers and
    names, `fix` the change to make.
    """

    trouble: Name
    subject: str
    found: str
    evidence: Mapping[str, Any]
    fix: str


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """What a provider really said in a call that its skill called a success."""

    strategy_id: str
    skill: str
    raw: Any


def logged_success(
    executions: Iterable[Execution], answers: Iterable[RawAnswer] = (), schemas: Mapping[str, SkillSchema] | None = None
) -> tuple[Diagnosis, ...]:
    """Row 1 (S120): successes that are none.

    A strategy is named where a probe found no effect, where outcomes from outside are bad although it logged success,
    or where a raw answer speaks of failure; and where its checks never failed, which is a reason to doubt them.
    """
    held: dict[str, list[Execution]] = defaultdict(list)
    for one in executions:
        if one.strategy_id is not None and not one.dry_run and one.ok:
            held[one.strategy_id].append(one)
    spoken: dict[str, list[RawAnswer]] = defaultdict(list)
    for answer in answers:
        if contradiction(answer.raw):
            spoken[answer.strategy_id].append(answer)
    blind = {lint.strategy_id for lint in never_failing(itertools.chain(*held.values()), least=_LEAST)}
    found = []
    for name in sorted({*held, *spoken}):
        runs = held[name]
        pseudo = sum(run.pseudo_success is True for run in runs)
        known = [run.business_impact for run in runs if run.business_impact is not None]
        impact = sum(known) / len(known) if len(known) >= _LEAST else None
        if not (pseudo or spoken[name] or (impact is not None and impact < _IMPACT)):
            continue
        said = [f"{pseudo} probes found no effect"] if pseudo else []
        said += [f"{len(known)} outcomes say {impact:.0%}"] if impact is not None and impact < _IMPACT else []
        said += (
            [f"{len(spoken[name])} raw answers speak of failure ({_shown(spoken[name][0])})"] if spoken[name] else []
        )
        said += ["no check ever failed"] if name in blind else []
        evidence = {"runs": len(runs), "pseudo_success": pseudo, "impact": impact, "raw": len(spoken[name])}
        fix = _level1(spoken[name], schemas or {})
        found.append(Diagnosis("logged_success", name, f"success is logged, but {'; '.join(said)}", evidence, fix))
    return tuple(found)


def contradiction(raw: Any) -> str:
    """Return the words of a raw answer that speak of failure, "" where none do."""
    text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False, default=str)
    match = _REFUSED.search(_NO_TROUBLE.sub(" ", text))
    return match[0] if match else ""


def _shown(answer: RawAnswer) -> str:
    return f"{answer.skill}: {contradiction(answer.raw)!r}"


def _level1(answers: Sequence[RawAnswer], schemas: Mapping[str, SkillSchema]) -> str:
    for answer in answers:
        schema = schemas.get(answer.skill)
        fields = list(schema.signature.outputs.get("required", ())) if schema else []
        if fields:
            paths = ", ".join(f"x.{name}" for name in fields)
            return f"validate.level1.checks: [{{at: x, present: [{paths}]}}], x being the node that runs {answer.skill}"
    return "check key fields at level 1, or look at the effect with a probe (validate.cross)"


@dataclass(frozen=True, slots=True)
class Asked:
    """One turn as it was decided: what was said, what the model was sure of, what was known, which way it went."""

    session: str
    turn: int
    utterance: str
    confidence: float | None
    context: Mapping[str, Any]
    strategy_id: str | None


def asked_of(snapshots: Iterable[Snapshot], traces: Iterable[DecisionTrace]) -> tuple[Asked, ...]:
    """Return the turns of one session from its store's snapshots (those at the beginning of a turn) and its traces."""
    held = {one.turn: one for one in snapshots if one.label == "begin"}
    found = []
    for trace in traces:
        turn = next(iter(trace.of("turn")), None)
        snapshot = held.get(turn["number"]) if turn else None
        if turn is None or snapshot is None:
            continue
        used = next((event for event in trace.of("used") if event.get("by") == "turn"), {})
        values = snapshot.body.get("values", {})
        said = str(values.get("utterance_raw") or values.get("utterance") or turn.get("utterance", ""))
        context = {name: value for name, value in values.items() if name not in _OF_THE_TURN}
        asked = Asked(snapshot.session, snapshot.turn, said, turn.get("confidence"), context, used.get("strategy"))
        found.append(asked)
    return tuple(found)


def other_path(turns: Iterable[Asked]) -> tuple[Diagnosis, ...]:
    """Row 2 (S121): one question (in its normal form, in one session), several ways.

    The evidence names what differed: the wording before it was normalised, the confidence, and which values of the
    context. `consistency` is the share of repeats that went the way of the time before.
    """
    groups: dict[tuple[str, str], list[Asked]] = defaultdict(list)
    for one in turns:
        groups[one.session, normal(one.utterance)].append(one)
    ways: dict[str, list[list[Asked]]] = defaultdict(list)
    for group in groups.values():
        ordered = sorted(group, key=lambda one: one.turn)
        if len({one.strategy_id for one in ordered}) > 1:
            ways[ordered[0].strategy_id or "(none)"].append(ordered)
    found = []
    for name, unsteady in sorted(ways.items()):
        pairs = [pair for group in unsteady for pair in itertools.pairwise(group)]
        turned = [(a, b) for a, b in pairs if a.strategy_id != b.strategy_id]
        keys = Counter(key for a, b in turned for key in differing(a.context, b.context))
        sure = sum(a.confidence != b.confidence for a, b in turned)
        worded = sum(a.utterance != b.utterance for a, b in turned)
        evidence = {
            "questions": len(unsteady),
            "consistency": 1 - len(turned) / len(pairs),
            "confidence": sure,
            "wording": worded,
            "context": dict(keys.most_common(10)),
            "ways": sorted({one.strategy_id or "(none)" for group in unsteady for one in group}),
        }
        causes = [f"intent.confidence in {sure}"] if sure else []
        causes += [f"{key} in {count}" for key, count in keys.most_common(3)]
        told = (
            f"{len(turned)} of {len(pairs)} repeats went another way; what differed: {', '.join(causes) or 'nothing'}"
        )
        fix = f"{name}: trigger.stability: {{min_score: 0.6, below: lock_first_path}}"
        found.append(Diagnosis("other_path", name, told, evidence, fix))
    return tuple(found)


def differing(first: Mapping[str, Any], second: Mapping[str, Any], before: str = "") -> tuple[str, ...]:
    """Return the paths at which two contexts differ."""
    found: list[str] = []
    for key in sorted({*first, *second}):
        path, a, b = f"{before}{key}", first.get(key), second.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            found += differing(a, b, f"{path}.")
        elif a != b:
            found.append(path)
    return tuple(found)


def swallowed(
    before: Iterable[Execution], after: Iterable[Execution], new: str, conflicts: Iterable[Conflict]
) -> tuple[Diagnosis, ...]:
    """Row 3 (S123): strategies whose calls collapsed since `new` came, and that it is known to swallow.

    Named are those whose share of all turns fell by half or more, more than chance would have it (Fisher, one-sided at
    1 %). `before` and `after` are the executions of two periods; `conflicts` come from `conflicts.static` or
    `conflicts.empirical`.
    """
    counts, turns = zip(*(_calls(part) for part in (before, after)), strict=True)
    found = []
    for one in conflicts:
        if one.by != new:
            continue
        old, now = counts[0][one.swallowed], counts[1][one.swallowed]
        if not turns[0] or not turns[1] or not old or now / turns[1] > (1 - _DROP) * old / turns[0]:
            continue
        p_value = fisher(now, turns[1], old, turns[0])
        if p_value is None or p_value > _ALPHA:
            continue
        evidence = {"before": old, "after": now, "turns": turns, "p": p_value, "how": one.how, "share": one.share}
        told = (
            f"calls fell from {old} in {turns[0]} turns to {now} in {turns[1]}; {new} fires where it does ({one.how})"
        )
        found.append(Diagnosis("swallowed", one.swallowed, told, evidence, " or ".join(one.fixes)))
    return tuple(found)


def _calls(executions: Iterable[Execution]) -> tuple[Counter[str], int]:
    runs = [one for one in executions if not one.dry_run]
    turns = {(one.session, one.turn) for one in runs}
    called = {(one.session, one.turn, one.strategy_id) for one in runs if one.strategy_id}
    return Counter(str(name) for _, _, name in called), len(turns)


def heavy(strategies: Iterable[Strategy], executions: Iterable[Execution]) -> tuple[Diagnosis, ...]:
    """Row 4 (S126, S127): what takes the time: loops inside loops, and checks that are waited for.

    A loop goes round three times at most, but three inside each other make 27. Checks are named where those of levels
    0 and 1 and the probes took a quarter of a strategy's time, or ran over their budget.
    """
    runs: dict[str, list[Execution]] = defaultdict(list)
    for one in executions:
        if one.strategy_id is not None and not one.dry_run:
            runs[one.strategy_id].append(one)
    total = sum(run.latency_ms for group in runs.values() for run in group)
    found = []
    for strategy in sorted(strategies, key=lambda one: one.id):
        mine = runs[strategy.id]
        took = sum(run.latency_ms for run in mine)
        share = took / total if total else None
        rounds = _rounds(strategy)
        if rounds > _ROUNDS:
            told = f"loops inside each other may go round {rounds} times"
            fix = f"{strategy.id}: lower max_iterations, or take the inner loop out"
            found.append(Diagnosis("heavy", strategy.id, told, {"rounds": rounds, "share_of_time": share}, fix))
        for level in ("level0", "level1", "cross"):
            results = [result for run in mine if (result := run.validation_result.get(level)) is not None]
            spent, overruns = sum(one.ms for one in results), sum(one.overrun for one in results)
            if not overruns and (not took or spent < _HEAVY * took):
                continue
            part = spent / took if took else None
            told = f"{level} took {spent:.0f} of {took:.0f} ms in {len(mine)} runs, {overruns} times over its budget"
            evidence = {"share": part, "overruns": overruns, "runs": len(mine), "share_of_time": share}
            fix = f"{strategy.id}: move the checks of {level} that take long to validate.level2 (async)"
            found.append(Diagnosis("heavy", strategy.id, told, evidence, fix))
    return tuple(found)


def _rounds(strategy: Strategy) -> int:
    """Return how often the innermost body may run in one run of a strategy."""
    most = 0
    held = [(node, 1) for node in (strategy.plan,) if node is not None]
    while held:
        node, times = held.pop()
        times *= node.loop.max_iterations if node.loop else 1
        most = max(most, times)
        held += [(inner, times) for inner in node.children]
    return most


def left_out(release: str, found: Representation, *, most: float = _BIAS) -> tuple[Diagnosis, ...]:
    """Row 5 (S128, S129): a gray group that isn't like all users: a level whose share is off by more than `most`."""
    if found.bias is None or found.bias <= most:
        return ()
    off = [level for level in found.levels if abs(level.bias) > most]
    evidence = {
        "representativeness": found.representativeness,
        "bias": found.bias,
        "levels": {f"{level.attribute} {level.value}": level.bias for level in off},
    }
    missing = [f"{level.attribute} {level.value}" for level in off if not level.drawn]
    told = "; ".join([*found.lines(3), *([f"nobody of {', '.join(missing)}"] if missing else [])])
    fix = f"{release}: rollout.assign: {{stratify: active_days_30d, strata: [0, 1, 7, 20]}}, and stages that let all in"
    return (Diagnosis("left_out", release, told, evidence, fix),)
