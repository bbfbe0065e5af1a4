"""What a change touches: the share of call paths and of tracked turns that go through it (STRATEGY S66).

A call path is one way from a strategy's trigger to its end: which skills it calls, through which strategies. Paths are
read off the plans (every branch of a switch, every recovery, once round a loop); how often each is taken, only what was
tracked can say. Both are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from core.strategy.bank.dashboards import Share
from core.strategy.conditions.errors import ConditionError
from core.strategy.conditions.sugar import to_expression
from core.strategy.documents.plan import Node
from core.strategy.documents.strategy import Strategy
from core.strategy.execution.records import Execution

MOST_PATHS = 500
"""Of one strategy; beyond, what is told is of these and says so."""


@dataclass(frozen=True, slots=True)
class CallPath:
    """One way through an entry: the skills in order, and every strategy it passes, the entry too."""

    entry: str
    skills: tuple[str, ...]
    strategies: frozenset[str]


@dataclass(frozen=True, slots=True)
class ImpactReport:
    """What changing one strategy touches.

    `affected` are the strategies that depend on it, itself among them; `skills` those that it calls itself. `paths`:
    of all call paths that use one of those skills, how many pass an affected strategy. `by_skill` the same for each.
    `turns`: of the tracked turns in which a strategy ran, those in which an affected one did. `capped`: some strategy
    has more than MOST_PATHS ways.
    """

    strategy_id: str
    affected: tuple[str, ...]
    skills: tuple[str, ...]
    paths: Share
    by_skill: Mapping[str, Share]
    turns: Share
    capped: bool

    @property
    def text(self) -> str:
        """Say it in a line."""
        return f"{self.strategy_id} affects {_told(self.paths, 'call paths of ' + _names(self.skills))}{self._rest}"

    @property
    def _rest(self) -> str:
        some = " (at least: not every path was walked)" if self.capped else ""
        return f"{some}, {_told(self.turns, 'tracked turns')}, strategies: {', '.join(self.affected)}"

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON; a share is {hits, count, share}, share null where nothing was counted."""
        return {
            "strategy": self.strategy_id,
            "affected": list(self.affected),
            "skills": list(self.skills),
            "paths": _json(self.paths),
            "by_skill": {skill: _json(share) for skill, share in self.by_skill.items()},
            "turns": _json(self.turns),
            "capped": self.capped,
            "text": self.text,
        }


def impact(strategy_id: str, strategies: Mapping[str, Strategy], executions: Iterable[Execution] = ()) -> ImpactReport:
    """Return what a change of a strategy touches, in the bank `strategies` and in what was tracked. Pure."""
    affected = dependents(strategies, strategy_id)
    paths, capped = call_paths(strategies)
    own = sorted({skill for path in paths if strategy_id == path.entry for skill in path.skills})
    if not own and strategy_id in strategies:
        ways, _ = _through(strategies, strategies[strategy_id], ())
        own = sorted({skill for way in ways for skill in way[0]})
    of_skill = {skill: [path for path in paths if skill in path.skills] for skill in own}
    whole = [path for path in paths if set(own) & set(path.skills)]
    turns: dict[tuple[str, int], bool] = {}
    for one in executions:
        if one.strategy_id is not None and not one.dry_run:
            turns[(one.session, one.turn)] = turns.get((one.session, one.turn), False) or one.strategy_id in affected
    return ImpactReport(
        strategy_id,
        tuple(sorted(affected)),
        tuple(own),
        _passing(whole, affected),
        {skill: _passing(some, affected) for skill, some in of_skill.items()},
        Share(sum(turns.values()), len(turns)),
        capped,
    )


def dependents(strategies: Mapping[str, Strategy], changed: str) -> frozenset[str]:
    """Return the strategies that a change may touch: who calls it, waits for its failure or for what it emits, gives
    way to it or goes before it, and whoever depends on one of those. It is among them. Pure."""
    back: dict[str, set[str]] = {}
    emitters: dict[str, set[str]] = {}
    for one in strategies.values():
        for node in nodes_of(one):
            if node.call:
                back.setdefault(node.call, set()).add(one.id)
            if node.emit:
                emitters.setdefault(node.emit, set()).add(one.id)
        for other in one.conflict_resolution.overrides:
            back.setdefault(one.id, set()).add(other)
        for other in one.conflict_resolution.yields_to:
            back.setdefault(other, set()).add(one.id)
    for one in strategies.values():
        kind, _, what = (one.trigger.event if one.trigger else "").partition(":")
        sources = {what} if kind == "strategy_failed" else emitters.get(what, set()) if kind == "emitted" else set()
        for source in sources:
            back.setdefault(source, set()).add(one.id)
    found, front = {changed}, [changed]
    while front:
        new = back.get(front.pop(), set()) - found
        found |= new
        front += new
    return frozenset(found)


def nodes_of(strategy: Strategy) -> list[Node]:
    """Return every node of a strategy, those of recoveries and of `on_fail` too."""
    roots = [strategy.plan] if strategy.plan is not None else []
    checks = strategy.validate_
    roots += [rule.do for rule in (checks.on_fail.values() if checks else ()) if rule.do is not None]
    found: list[Node] = []
    while roots:
        node = roots.pop(0)
        found.append(node)
        roots += node.children
    return found


_Way = tuple[tuple[str, ...], frozenset[str]]
_NOTHING: _Way = ((), frozenset())


def call_paths(strategies: Mapping[str, Strategy]) -> tuple[tuple[CallPath, ...], bool]:
    """Return the call paths of every strategy that has a trigger, and whether some were too many to walk. Pure."""
    found: list[CallPath] = []
    capped = False
    for _, one in sorted(strategies.items()):
        if one.trigger is None:
            continue
        ways, cut = _through(strategies, one, ())
        capped = capped or cut
        found += (CallPath(one.id, skills, passed) for skills, passed in ways)
    return tuple(found), capped


def _through(strategies: Mapping[str, Strategy], one: Strategy, stack: tuple[str, ...]) -> tuple[list[_Way], bool]:
    walk = _Walk(strategies, (*stack, one.id))
    if one.plan is not None:
        ways = walk.ways(one.plan)
    else:
        target = _target(one)
        ways = [((target,) if target else (), frozenset())]
    if one.validate_ is not None:
        after = [way for rule in one.validate_.on_fail.values() if rule.do is not None for way in walk.ways(rule.do)]
        ways = walk.joined(ways, [_NOTHING, *after])
    mine = frozenset({one.id})
    return list(dict.fromkeys((skills, passed | mine) for skills, passed in ways)), walk.capped


def _target(one: Strategy) -> str:
    """Return the skill that a strategy without a plan activates, "" where the condition names none."""
    try:
        return (to_expression(one.trigger.when)[1] or "") if one.trigger else ""
    except ConditionError:
        return ""


class _Walk:
    """A plan being walked. Invariant: at most MOST_PATHS ways are held; `capped` tells that there were more."""

    def __init__(self, strategies: Mapping[str, Strategy], stack: tuple[str, ...]) -> None:
        self.strategies = strategies
        self.stack = stack
        self.capped = False

    def ways(self, node: Node) -> list[_Way]:
        plain = self._plain(node)
        recovered = [
            way
            for rule in node.recover.values()
            if rule.do is not None
            for way in self.joined(plain, self.ways(rule.do))
        ]
        return self._most([*plain, *recovered])

    def _plain(self, node: Node) -> list[_Way]:
        if node.run:
            return [((node.run,), frozenset())]
        if node.call:
            called = self.strategies.get(node.call)
            if called is None or node.call in self.stack:
                return [((), frozenset({node.call}))]
            ways, cut = _through(self.strategies, called, self.stack)
            self.capped = self.capped or cut
            return ways
        if node.switch is not None:
            cases = [way for case in node.switch for way in self.ways(case.node)]
            return self._most([*cases, *([] if node.switch[-1].otherwise is not None else [_NOTHING])])
        if node.loop is not None:
            return self.ways(node.loop.do)
        found = [_NOTHING]
        for child in (*(node.sequence or ()), *(node.parallel.branches if node.parallel else ())):
            found = self.joined(found, self.ways(child))
        return found

    def joined(self, first: list[_Way], then: list[_Way]) -> list[_Way]:
        return self._most([(one[0] + two[0], one[1] | two[1]) for one in first for two in then])

    def _most(self, ways: list[_Way]) -> list[_Way]:
        different = list(dict.fromkeys(ways))
        self.capped = self.capped or len(different) > MOST_PATHS
        return different[:MOST_PATHS]


def _passing(paths: list[CallPath], affected: frozenset[str]) -> Share:
    return Share(sum(1 for path in paths if path.strategies & affected), len(paths))


def _json(share: Share) -> dict[str, Any]:
    return {"hits": share.hits, "count": share.count, "share": share.value}


def _told(share: Share, what: str) -> str:
    return f"no {what} (none known)" if share.value is None else f"{share.value:.0%} of {share.count} {what}"


def _names(skills: tuple[str, ...]) -> str:
    return ", ".join(skills) if skills else "its skills"
