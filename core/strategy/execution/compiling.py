"""From a strategy's record to what runs: syntax, names, providers and dates checked, every fault with its place.

(STRATEGY S78, S81, S82.) What holds between strategies is checked in `bank`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime

import yaml

from core.strategy.conditions.condition import Condition, compile_condition
from core.strategy.conditions.errors import ConditionError
from core.strategy.conditions.place import fault_in
from core.strategy.conditions.registry import SESSION, Registry, output_types
from core.strategy.documents.plan import Node
from core.strategy.documents.reading import Fault, FaultyFileError, Source
from core.strategy.documents.skill import ROLES, SkillSchema
from core.strategy.documents.strategy import Check, Strategy
from core.strategy.execution.compiled import Compiled, Edge, Path, name_of, walk
from core.strategy.execution.paths import references
from core.strategy.execution.selection import Rival

Schemas = Mapping[str, SkillSchema]


def compile_strategy(
    strategy: Strategy,
    source: Source,
    registry: Registry,
    schemas: Schemas,
    *,
    file: str,
    sha256: str = "",
    outside: Collection[str] = (),
) -> Compiled:
    """Return the strategy ready to run. Raises FaultyFileError with all that is wrong in it.

    `schemas` are the skills that there are, by name; `outside` the names of the context that come from no skill, as
    bank.yaml's registry has them. What it says of other strategies is not looked at here.
    """
    return _Compiler(strategy, source, registry, schemas, file, frozenset(outside) | SESSION.keys()).result(sha256)


class _Compiler:
    """Compiles one strategy; collects faults instead of stopping at the first."""

    def __init__(
        self,
        strategy: Strategy,
        source: Source,
        registry: Registry,
        schemas: Schemas,
        file: str,
        outside: frozenset[str],
    ) -> None:
        self.strategy = strategy
        self.source = source
        self.registry = registry
        self.schemas = schemas
        self.file = file
        self.outside = outside
        self.faults: list[Fault] = []
        self.conditions: dict[str, Condition] = {}
        self.edges: list[Edge] = []
        self.nodes = list(walk(strategy.plan)) if strategy.plan else []
        if strategy.validate_:
            for code, rule in strategy.validate_.on_fail.items():
                if rule.do:
                    self.nodes += walk(rule.do, ("validate", "on_fail", code, "do"))
        self.extra = dict(self._names())

    def result(self, sha256: str) -> Compiled:
        strategy = self.strategy
        when, target = self._trigger()
        for node, path in self.nodes:
            self._node(node, path)
        self._context()
        self._validation()
        self._edges()
        starts = self._date("effective_from")
        ends = self._date("deprecation_date")
        if starts and ends and ends <= starts:
            self._fault(("deprecation_date",), "lies before effective_from: it would never be in force")
        if self.faults:
            raise FaultyFileError(tuple(sorted(self.faults, key=lambda fault: (fault.line, fault.column))))
        conflict = strategy.conflict_resolution
        return Compiled(
            id=strategy.id,
            strategy=strategy,
            file=self.file,
            sha256=sha256,
            when=when,
            target=target,
            plan=strategy.plan or (Node(run=target) if target else None),
            conditions=self.conditions,
            edges=tuple(self.edges),
            starts=starts,
            ends=ends,
            modifies=self._modifies(target),
            rival=Rival(
                strategy.id,
                strategy.version,
                conflict.priority,
                starts.astimezone(UTC).isoformat() if starts else "",
                conflict.overrides,
                conflict.yields_to,
            ),
            line=self.source.place(("id",))[0],
        )

    def _names(self) -> Iterator[tuple[str, str]]:
        """Yield the names that only this strategy knows: outputs of its nodes, and what it is given or asks for."""
        seen: dict[str, str] = {}
        for node, _ in self.nodes:
            name, schema = name_of(node), self.schemas.get(node.run or "")
            if not name:
                continue
            types = output_types(schema, name) if schema else {name: "any"}
            if seen.setdefault(name, node.run or node.kind) != (node.run or node.kind):
                types = {name: "any"}  # two nodes of one name: either's fields
            yield from types.items()
            if name not in types:
                yield f"{name}.estimated", "boolean"
            if node.ask:
                yield node.ask.into, "any"
        if self.strategy.validate_:
            for check in self._checks():
                if check[0].at not in seen and (schema := self.schemas.get(check[0].at)):
                    yield from output_types(schema, check[0].at).items()
        for path in (*self.strategy.context.needs, *self.strategy.context.ask):
            if self.registry.type_of(tuple(path.split(".")), {}) is None:
                yield path, "any"

    # The three layers

    def _trigger(self) -> tuple[Condition | None, str]:
        trigger = self.strategy.trigger
        if trigger is None:
            return None, ""
        target = ""
        when = None
        try:
            when = compile_condition(trigger.when, self.registry)
            target = when.activates or ""
        except ConditionError as error:
            self._condition_fault(("trigger", "when"), error)
        if target and target not in self.schemas:
            self._fault(("trigger", "when"), f"there is no skill {target} to activate")
        kind, _, named = trigger.event.partition(":")
        skill = named.partition("/")[0]
        if kind in ("skill_result", "failure") and skill not in self.schemas:
            self._fault(("trigger", "event"), f"there is no skill {skill}")
        for role, path in trigger.bind.items():
            if role not in ROLES:
                self._fault(("trigger", "bind", role), f"is no role; the roles are {', '.join(ROLES)}")
            self._path(("trigger", "bind", role), path)
        return when, target

    def _node(self, node: Node, path: Path) -> None:
        for key, skill in (("run", node.run), ("skip", node.skip)):
            if skill and skill not in self.schemas:
                self._fault((*path, key), f"there is no skill {skill}")
        if node.parallel and node.parallel.merge and node.parallel.merge not in self.schemas:
            self._fault((*path, "parallel", "merge"), f"there is no skill {node.parallel.merge}")
        if node.parallel and isinstance(node.parallel.join, int) and node.parallel.join > len(node.parallel.branches):
            self._fault((*path, "parallel", "join"), f"asks for more than its {len(node.parallel.branches)} branches")
        if node.call:
            self.edges.append(Edge("call", node.call, *self.source.place(self._written((*path, "call")))))
        for number, case in enumerate(node.switch or ()):
            if case.when:
                self._condition((*path, "switch", number, "if"), case.when)
        if node.loop:
            self._condition((*path, "loop", "until"), node.loop.until)
        for key, value in node.with_.items():
            for reference in references(value):
                self._path((*path, "with", key), reference)
        schema = self.schemas.get(node.run or "")
        if schema:
            for key in node.with_:
                if key not in schema.signature.inputs:
                    self._fault((*path, "with", key), f"{schema.skill} has no input {key}")
            for needed in schema.context.needs:
                self._provided((*path, "run"), needed, schema)
        if node.tx:
            for text in (node.tx.reserve, node.tx.idempotency_key):
                for reference in references(text):
                    self._path((*path, "tx"), reference)

    def _context(self) -> None:
        context = self.strategy.context
        for path, skill in context.complete.items():
            self._reader(("context", "complete", path), skill)
        for number, needed in enumerate(context.needs):
            self._provided(("context", "needs", number), needed, None)
        for name, path in context.inject.items():
            self._path(("context", "inject", name), path)

    def _checks(self) -> Iterator[tuple[Check, Path]]:
        validation = self.strategy.validate_
        assert validation is not None
        for level in ("level0", "level1", "level2"):
            found = getattr(validation, level)
            for number, check in enumerate(found.checks if found else ()):
                yield check, ("validate", level, "checks", number)

    def _validation(self) -> None:
        validation = self.strategy.validate_
        if validation is None:
            return
        for level in ("level1", "level2"):
            found = getattr(validation, level)
            if found and found.when:
                self._condition(("validate", level, "when"), found.when)
        for check, path in self._checks():
            self._at(check.at, (*path, "at"))
            if check.expr is not None:
                self._condition((*path, "expr"), check.expr)
            if check.schema_ is not None:
                skill, _, rest = check.schema_.partition(".")
                if skill not in self.schemas or rest != "output":
                    self._fault((*path, "schema"), "must be <skill>.output of a skill that is there")
            if check.run is not None:
                self._reader((*path, "run"), check.run)
        for number, probe in enumerate(validation.cross):
            place: Path = ("validate", "cross", number)
            self._at(probe.at, (*place, "at"))
            self._reader((*place, "probe"), probe.probe)
            for key, value in probe.with_.items():
                for reference in references(value):
                    self._path((*place, "with", key), reference)
            schema = self.schemas.get(probe.probe)
            self._condition((*place, "expr"), probe.expr, output_types(schema, "probe") if schema else {"probe": "any"})

    def _edges(self) -> None:
        conflict = self.strategy.conflict_resolution
        for kind in ("overrides", "yields_to"):
            for number, other in enumerate(getattr(conflict, kind)):
                self.edges.append(Edge(kind, other, *self.source.place(("conflict_resolution", kind, number))))
        event = self.strategy.trigger.event if self.strategy.trigger else ""
        if event.startswith("strategy_failed:"):
            self.edges.append(Edge("event", event.partition(":")[2], *self.source.place(("trigger", "event"))))

    # What is checked of each part

    def _condition(self, path: Path, text: str, more: Mapping[str, str] | None = None) -> None:
        try:
            self.conditions[text] = compile_condition(text, self.registry, extra={**self.extra, **(more or {})})
        except ConditionError as error:
            self._condition_fault(path, error)

    def _condition_fault(self, path: Path, error: ConditionError) -> None:
        self.faults.append(fault_in(self.source, self._written(path), error))

    def _path(self, place: Path, path: str) -> None:
        if self.registry.type_of(tuple(path.split(".")), self.extra) is None and not path.startswith("arguments."):
            near = self.registry.nearest(path, self.extra)
            hint = f"; did you mean {near}?" if near else ""
            self._fault(place, f"nothing is known as {path}{hint}")

    def _provided(self, place: Path, path: str, schema: SkillSchema | None) -> None:
        """A needed path must come from somewhere: a provider, an earlier node, a question, or from outside (S82)."""
        context = self.strategy.context
        if path in context.complete or path in context.ask or provider_of(path, schema, self.schemas):
            return
        if schema is None and self.strategy.trigger is None:
            return  # it is only called, and whoever calls it hands this over
        made = {name for name, _ in self.extra.items()} - set(context.needs)
        outputs = (name for one in self.schemas.values() for name in output_types(one, f"results.{one.skill}"))
        if any(
            path == name or path.startswith(f"{name}.") or name.startswith(f"{path}.")
            for name in (*made, *self.outside, *outputs)
        ):
            return
        who = f"{schema.skill} needs" if schema else "is needed:"
        self._fault(
            place,
            f"{who} {path}, which no skill provides; name a provider under context.complete, a question under "
            "context.ask, or the name in bank.yaml's registry",
        )

    def _reader(self, place: Path, skill: str) -> None:
        schema = self.schemas.get(skill)
        if schema is None:
            self._fault(place, f"there is no skill {skill}")
        elif schema.writes:
            self._fault(place, f"{skill} writes ({schema.side_effects}); only a skill that reads may stand here")

    def _at(self, name: str, place: Path) -> None:
        names = {name_of(node) for node, _ in self.nodes} | {node.run for node, _ in self.nodes}
        if name not in names and (self.strategy.plan is not None or name not in self.schemas):
            self._fault(place, f"no node of the plan is known as {name}")

    def _date(self, key: str) -> datetime | None:
        text = getattr(self.strategy, key)
        if text is None:
            return None
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            self._fault((key,), "is no date of ISO 8601, such as 2026-06-01T00:00:00+08:00")
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def _modifies(self, target: str) -> bool:
        if self.strategy.plan is None:
            return False if target else self.strategy.trigger is not None and self.strategy.trigger.event != "turn"
        leaves: Iterable[Node] = (node for node, path in self.nodes if not node.children and path[0] == "plan")
        return all(leaf.kind in ("skip", "emit") for leaf in leaves)

    def _fault(self, path: Path, reason: str) -> None:
        self.faults.append(self.source.fault(self._written(path), reason))

    def _written(self, path: Path) -> Path:
        """Return a path as it is in the file, where a list stands for a sequence."""
        found: list[str | int] = []
        for part in path:
            if part != "sequence" or isinstance(self.source.node(tuple(found)), yaml.MappingNode):
                found.append(part)
        return tuple(found)


def provider_of(path: str, schema: SkillSchema | None, schemas: Schemas) -> str | None:
    """Return the skill that provides a path of the context: the one that `schema` names, else the first by name.

    A skill that writes is no provider: completing the context must change nothing outside (S52, X1).
    """
    named = schema.context.providers.get(path) if schema else None
    if named and named in schemas and not schemas[named].writes:
        return named
    return next(
        (name for name in sorted(schemas) if path in schemas[name].context.provides and not schemas[name].writes), None
    )
