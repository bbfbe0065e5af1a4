"""The form that starts a run: its fields, the spec that they make, what is wrong with them, what it may take.

Nothing here reads a file after `gather`; a spec's own validators judge each field as it is typed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core.foundation.errors import ExuviaError
from core.state.paths import OPERATOR_AGENT, ProjectPaths, check_id
from tui.stores import estimates
from tui.stores.forms import Field

if TYPE_CHECKING:
    from pydantic import BaseModel

    from core.evolution.run_view import RunView
    from core.evolution.specs import RunSpec
    from core.models.interface import ModelEntry

Values = Mapping[str, str]
KINDS = ("build", "optimize", "curate", "try", "evaluate")
_KIND_SAYS = {
    "build": "A Builder designs and calibrates a benchmark for an agent, asks you before it freezes it, and measures "
    "the Baseline. It ends there; you start the Optimizer.",
    "optimize": "An Optimizer proposes bounded changes to the agent, measures each, and keeps only what is strictly "
    "better.",
    "curate": "A curator reads what the agent went through, writes skills from it, and has them measured: kept if "
    "strictly better.",
    "try": "Measures the edit that you made to the agent's state as a Candidate: kept if strictly better, else rolled "
    "back.",
    "evaluate": "Measures the agent as it is, and puts the result on the scoreboard.",
}
_REHEARSED = (
    " The rehearsal model takes no notice of it: it plays from a script, and always makes the Cases of data-chores."
)
_WHOLE = frozenset({"pilots", "cases", "runs", "rounds", "sessions", "seed", "concurrency", "max_tokens"})
_NUMBERS = frozenset({"baseline_score", "target_score", "max_cost", "max_minutes"})
_BUDGETS = {"max_cost": "cost_usd", "max_tokens": "tokens", "max_minutes": "wall_s"}


@dataclass(frozen=True, slots=True)
class Facts:
    """What a form stands on: agents with their benchmarks (and how many Cases each has), models, durations of cells."""

    agents: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    models: Mapping[str, ModelEntry] = field(default_factory=dict)
    model: str = "rehearsal/rehearsal-1"
    cell_s: Mapping[str, float] = field(default_factory=dict)
    fault: str = ""


def gather(project: ProjectPaths, views: tuple[RunView, ...] = ()) -> Facts:
    """Read what the form stands on. Never raises for what files hold: `fault` says what could not be read."""
    from core.models.registry import entries
    from core.state.project import read_project

    agents: dict[str, dict[str, int]] = {}
    for agent_id in project.agent_ids():
        if agent_id != OPERATOR_AGENT:
            agent = project.agent(agent_id)
            agents[agent_id] = {name: len(agent.benchmark(name).case_ids()) for name in agent.benchmark_ids()}
    fault, chosen = "", "rehearsal/rehearsal-1"
    models: dict[str, ModelEntry] = {}
    try:
        models = {f"{entry.ref.provider}/{entry.ref.model_id}": entry for entry in entries(project)}
        default = read_project(project).default_model
        if default is not None:
            chosen = f"{default.provider}/{default.model_id}"
    except (ExuviaError, OSError) as error:
        fault = str(error)
    cells = {
        name: seconds
        for name, entry in models.items()
        if (seconds := estimates.cell_seconds(views, entry.ref.provider, entry.ref.model_id)) is not None
    }
    return Facts(agents, models, chosen if chosen in models else next(iter(models), chosen), cells, fault)


def fields_of(values: Values, facts: Facts) -> tuple[Field, ...]:
    """Return the fields for what is chosen so far."""
    kind, agent = values.get("kind", KINDS[0]), values.get("agent_id", "")
    agents, benchmarks = tuple(facts.agents), tuple(facts.agents.get(agent, {}))
    fields = [Field("kind", "What", _KIND_SAYS.get(kind, ""), KINDS, typed=False)]
    if kind == "build":
        fields += [
            Field("agent_id", "Agent", "The agent to be measured; a new name makes a new agent.", agents),
            Field(
                "requirement",
                "Requirement",
                "What the agent is for, in a sentence. Needed where the agent does not exist yet.",
                unset="(the agent is there)" if agent in facts.agents else "",
            ),
            Field(
                "capability",
                "Capability",
                "What the benchmark shall measure, in a sentence."
                + (_REHEARSED if values.get("model", facts.model).startswith("rehearsal/") else ""),
            ),
            Field(
                "benchmark_id",
                "Benchmark",
                "Name of the new benchmark.",
                unset=f"{agent}-benchmark" if agent else "AGENT-benchmark",
            ),
            Field(
                "baseline_score",
                "Baseline",
                "The score that the agent should have at most before it is improved: hard enough to leave room.",
                unset=_default("build", "baseline_score"),
            ),
            Field(
                "pilots",
                "Pilots",
                "How many rounds of calibration at most; each measures every Case once.",
                unset=_default("build", "pilots"),
            ),
            Field("cases", "Cases", "How many Cases at most.", unset="the Builder's choice"),
            Field(
                "approve",
                "Freeze",
                "ask: you read the Cases and approve; auto: it freezes by the rules alone.",
                ("ask", "auto"),
                typed=False,
            ),
        ]
    else:
        said = "The agent to be improved." if kind in ("optimize", "curate") else "The agent to be measured."
        fields += [
            Field("agent_id", "Agent", said, agents, typed=False),
            Field("benchmark_id", "Benchmark", "The benchmark it is measured on.", benchmarks, typed=False),
        ]
    if kind in ("optimize", "curate"):
        fields += [
            Field(
                "target_score", "Target", "It stops once this score is reached.", unset=_default(kind, "target_score")
            ),
            Field(
                "rounds",
                "Rounds",
                "How many Candidates at most; each is one bounded change, measured on every Case.",
                unset=_default(kind, "rounds"),
            ),
        ]
    if kind == "curate":
        fields.append(
            Field(
                "sessions",
                "Sessions",
                "How many finished Sessions lead to one Candidate; those with the fewest points come first.",
                unset=_default(kind, "sessions"),
            )
        )
    if kind != "build":
        fields.append(
            Field(
                "runs",
                "Runs",
                "How often each Case is run: more runs, less noise, more cost.",
                unset=_default(kind, "runs"),
            )
        )
    if kind == "try":
        fields.append(
            Field("hypothesis", "Hypothesis", "Why your edit should help.", unset=_default(kind, "hypothesis"))
        )
    if kind == "evaluate":
        fields.append(
            Field("append", "Scoreboard", "yes: the result goes on the scoreboard; no: it is evidence of the run only.",
                  ("yes", "no"), typed=False)
        )  # fmt: skip
    if kind in ("build", "optimize", "curate"):
        fields.append(
            Field(
                "tool_approval",
                "Tool calls",
                "allow-all: it works on its own, confined; always-ask: each call waits in your inbox.",
                ("allow-all", "always-ask"),
                typed=False,
            )
        )
    return (*fields, *_common(facts))


def _common(facts: Facts) -> tuple[Field, ...]:
    return (
        Field(
            "model",
            "Model",
            "PROVIDER/ID of the model that plays every role. rehearsal/... asks no model: it plays from a "
            "script, offline, and its Builder always makes the Cases of data-chores.",
            tuple(facts.models),
            typed=False,
        ),
        Field("max_cost", "Max cost", "Budget in USD; the run stops when it is reached, and can go on.", unset="none"),
        Field("max_tokens", "Max tokens", "Budget in tokens, where no price is configured.", unset="none"),
        Field("max_minutes", "Max minutes", "Budget of working time; waiting for you does not count.", unset="none"),
        Field(
            "concurrency", "At a time", "How many cells are measured at once.", unset=_default("build", "concurrency")
        ),
        Field(
            "seed", "Seed", "Makes rehearsal runs reproducible; real models ignore it.", unset=_default("build", "seed")
        ),
        Field(
            "isolation",
            "Walls",
            "required: without a way to confine commands the run refuses to start; off is not safe.",
            ("required", "off"),
            typed=False,
        ),
    )


def filled(values: Values, facts: Facts) -> dict[str, str]:
    """Return values in which each choice is one that there is; the rest as it was typed."""
    done = dict(values)
    done["kind"] = values.get("kind") if values.get("kind") in KINDS else KINDS[0]  # type: ignore[assignment]  # narrowed
    if not done.get("model") or done["model"] not in facts.models:
        done["model"] = facts.model
    for _ in range(2):  # the benchmarks depend on the agent
        for one in fields_of(done, facts):
            if not one.typed and done.get(one.name) not in one.choices:
                # What a run is about is never guessed: where there are several, the operator chooses.
                guessed = one.name not in ("agent_id", "benchmark_id") or len(one.choices) == 1
                done[one.name] = one.choices[0] if one.choices and guessed else ""
    return done


def document_of(values: Values, facts: Facts) -> dict[str, Any]:
    """Return the spec that the values make, as a document. An empty field is left to the spec's own default."""
    kind = values["kind"]
    names = {one.name for one in fields_of(values, facts)}
    document: dict[str, Any] = {"kind": kind}
    budgets: dict[str, Any] = {}
    for name in names - {"kind", "model", "isolation", "append"}:
        value = values.get(name, "").strip()
        if not value:
            continue
        if name in _BUDGETS:
            number = _number(name, value)
            budgets[_BUDGETS[name]] = number * 60 if name == "max_minutes" and isinstance(number, float) else number
        else:
            document[name] = _number(name, value)
    if kind == "build":
        document.setdefault("benchmark_id", f"{values.get('agent_id', '').strip()}-benchmark")
    if kind == "evaluate":
        document["append"] = values.get("append") != "no"
    provider, _, model_id = values["model"].partition("/")
    document["model"] = {"provider": provider, "model_id": model_id}
    document["budgets"] = budgets
    document["allow_unisolated"] = values.get("isolation") == "off"
    return document


def _number(name: str, value: str) -> Any:
    """Return the number that was typed, or the text where it is none, for the spec to refuse."""
    try:
        if name in _WHOLE:
            return int(value.replace(",", "").replace("_", ""))
        return float(value) if name in _NUMBERS else value
    except ValueError:
        return value


def faults_of(values: Values, facts: Facts) -> dict[str, str]:
    """Return what is wrong with each field, in plain words, by its name; "" stands for the form as a whole."""
    from pydantic import ValidationError

    document, faults = document_of(values, facts), {"": facts.fault} if facts.fault else {}
    for name in ("agent_id", "benchmark_id"):
        try:
            if not document.get(name):
                raise ExuviaError("name one" if values["kind"] == "build" else "choose one: Left, Right")
            check_id(name.removesuffix("_id"), document[name])
        except ExuviaError as error:
            faults[name] = "letters, digits, _ and - only" if document.get(name) else str(error)
            document[name] = "name"
    try:
        _spec(values["kind"]).model_validate(document)
    except ValidationError as error:
        names = {spec: name for name, spec in _BUDGETS.items()}
        for found in error.errors(include_url=False, include_input=False):
            place = str(found["loc"][-1]) if found["loc"] else ""
            faults.setdefault(names.get(place, place), _plain(found))
    except ExuviaError as error:
        faults.setdefault("", str(error))
    _of_project(values, facts, faults)
    if "max_cost" not in faults and estimates.needs_budget(document["model"]["provider"], document["budgets"]):
        faults["max_cost"] = "a real model needs a budget: here, or in tokens"
    return faults


def _of_project(values: Values, facts: Facts, faults: dict[str, str]) -> None:
    """Add what the project says against the values."""
    agent = values.get("agent_id", "").strip()
    if values["kind"] != "build":
        cases = facts.agents.get(agent, {}).get(values.get("benchmark_id", ""), 0)
        if agent and values.get("benchmark_id") and not cases:
            faults.setdefault("benchmark_id", "it has no Case to measure")
        if agent and not values.get("benchmark_id"):
            faults["benchmark_id"] = "it has none yet: build one first"
        return
    name = values.get("benchmark_id", "").strip() or f"{agent}-benchmark"
    if agent in facts.agents and name in facts.agents[agent]:
        faults.setdefault("benchmark_id", f"{name} is there already")
    if agent and agent not in facts.agents and not values.get("requirement", "").strip():
        faults.setdefault("requirement", "needed: this agent does not exist yet")


def spec_of(values: Values, facts: Facts) -> RunSpec:
    """Return the spec. Raises UsageError where the values make none."""
    from core.evolution.specs import parse_spec

    return parse_spec(document_of(values, facts))


def expected_of(values: Values, facts: Facts) -> estimates.Expected | None:
    """Return what the run may take, None where that can't be told from the values."""
    entry = facts.models.get(values.get("model", ""))
    kind = values["kind"]
    numbers = {name: _or_default(kind, name, values) for name in ("pilots", "runs", "rounds", "concurrency")}
    cases = facts.agents.get(values.get("agent_id", ""), {}).get(values.get("benchmark_id", ""), 0)
    if entry is None or any(number is None for number in numbers.values()):
        return None
    pilots, runs, rounds = (numbers[name] or 1 for name in ("pilots", "runs", "rounds"))
    if kind == "build":
        planned = _number("cases", values.get("cases", "").strip() or "0")
        cells = estimates.build_cells(pilots, planned if isinstance(planned, int) and planned > 0 else None)
    else:
        cells = cases * runs * (rounds if kind in ("optimize", "curate") else 1)
    sessions = estimates.sessions_of(cells, role=kind in ("build", "optimize"))
    if kind == "curate":  # a Session of its own for each that is curated
        sessions += rounds * (_or_default(kind, "sessions", values) or 0)
    return estimates.expected(
        sessions, entry, concurrency=numbers["concurrency"] or 1, cell_s=facts.cell_s.get(values["model"])
    )


def _or_default(kind: str, name: str, values: Values) -> int | None:
    """Return a whole number of the form, the spec's own where nothing was typed, None where it is none."""
    value = _number(name, values.get(name, "").strip() or _default(kind, name) or "1")
    return value if isinstance(value, int) and 0 < value <= 1000 else None


def _default(kind: str, name: str) -> str:
    """Return what a spec takes where nothing is said, "" where there is nothing."""
    found = _spec(kind).model_fields.get(name)
    value = found.default if found is not None else None
    return f"{value:g}" if isinstance(value, int | float) else value if isinstance(value, str) else ""


def _spec(kind: str) -> type[BaseModel]:
    from core.evolution.specs import BuildSpec, CurateSpec, EvaluateSpec, OptimizeSpec, TrySpec

    specs: dict[str, type[BaseModel]] = {
        "build": BuildSpec,
        "optimize": OptimizeSpec,
        "curate": CurateSpec,
        "try": TrySpec,
        "evaluate": EvaluateSpec,
    }
    return specs[kind]


def _plain(found: Mapping[str, Any]) -> str:
    """Return a validator's complaint in plain words."""
    limits = found.get("ctx", {})
    match found["type"]:
        case "int_type" | "int_parsing" | "int_from_float":
            return "a whole number"
        case "float_type" | "float_parsing" | "finite_number":
            return "a number"
        case "greater_than_equal":
            return f"at least {limits['ge']:g}"
        case "greater_than":
            return f"more than {limits['gt']:g}"
        case "less_than_equal":
            return f"at most {limits['le']:g}"
        case "string_too_short" | "missing":
            return "say something here"
        case _:
            return str(found["msg"]).removeprefix("Value error, ")
