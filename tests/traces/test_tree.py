"""Who started whom, and what the whole of it cost."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.foundation.errors import NotFoundError, UsageError
from core.models.interface import Price, Usage
from core.state.paths import ProjectPaths
from core.traces import records
from core.traces.cost import Cost, own_cost, roll_up
from core.traces.digest import digest, last_text, protocol_fields, workspaces_in
from core.traces.project_sessions import ProjectSessions
from core.traces.reader import TraceFile
from core.traces.tokens import Tokens, read_usage
from core.traces.tree import Link, SessionNode, build_tree
from core.traces.writer import TraceWriter

SAMPLE = ProjectPaths(Path(__file__).parents[1] / "fixtures" / "penguin-state" / "default_project")
OPTIMIZER = "session-2026-11-30-20-19-35-12166038"
EVALUATORS = ["session-2026-11-30-20-19-35-008d0bdb", "session-2026-11-30-20-19-35-87db1ee0"]
TARGETS = ["session-2026-11-30-20-19-35-52045d85", "session-2026-11-30-20-19-35-88a7fd51"]
MOCK = Price(cache_read=0.1, cache_write=1.0, output=4.0)


def shape(node: SessionNode) -> Any:
    return {node.session_id: [shape(child) for child in node.children]}


def test_the_golden_chain() -> None:
    tree = build_tree(SAMPLE, OPTIMIZER)
    assert shape(tree) == {
        OPTIMIZER: [{EVALUATORS[0]: [{TARGETS[0]: []}]}, {EVALUATORS[1]: [{TARGETS[1]: []}]}],
    }
    assert [node.role for node in tree.walk()] == ["optimizer", "evaluator", "target", "evaluator", "target"]
    assert [child.link for child in tree.children] == [
        Link("subagent", EVALUATORS[0], "call_0019"),
        Link("subagent", EVALUATORS[1], "call_0020"),
    ]
    targets = [child.children[0] for child in tree.children]
    assert [target.link for target in targets] == [
        Link("answer", TARGETS[0], "call_0021"),
        Link("answer", TARGETS[1], "call_0022"),
    ]
    assert [(r.benchmark_id, r.version, r.case_id, r.run, r.score) for t in targets for r in t.scored] == [
        ("csv-cleanup", 2, "CASE-001-dedupe", 1, 70),
        ("csv-cleanup", 2, "CASE-001-dedupe", 2, 85),
    ]
    assert {target.agent_id for target in targets} == {"csv_helper"}


def test_the_golden_chain_is_summed_with_children_and_targets() -> None:
    tree = build_tree(SAMPLE, OPTIMIZER)
    assert tree.tokens == Tokens(12000, 13957, 160)
    expected = sum((node.tokens for node in tree.walk()), Tokens())
    assert tree.tree_tokens == expected
    assert expected.total > tree.tokens.total
    cost = roll_up(tree, {("custom", "mock-1"): MOCK})
    assert cost.unknown_requests == 0
    assert cost.usd == pytest.approx((expected.cache_read * 0.1 + expected.cache_write * 1 + expected.output * 4) / 1e6)


def test_the_price_of_the_other_pair_is_not_used() -> None:
    tree = build_tree(SAMPLE, OPTIMIZER)
    cost = roll_up(tree, {("other", "mock-1"): MOCK, ("custom", "mock-2"): MOCK, ("custom", "mock-1"): None})
    assert cost == Cost(0.0, sum(part.requests for node in tree.walk() for part in node.usage))
    assert cost.unknown_requests == 15  # 4 + 2 + 3 of the agents, 3 + 3 of the Targets
    assert cost.usd is None


@pytest.mark.parametrize("count", [10**400, 2.0**1000, True, -1, math.inf])
def test_a_count_that_is_none_is_unknown_and_prices_nothing(count: float) -> None:
    counts = {"cache_read": count, "cache_write": count, "output": count, "total": count}
    read = read_usage({"request": counts, "session": counts})
    assert read is None


def test_one_million_tokens_cost_what_the_price_says() -> None:
    with TraceFile(next((SAMPLE.agents / "csv_helper" / "traces").glob(f"*/{TARGETS[0]}_001.jsonl"))) as trace:
        said = digest(trace.iter_records())
    tokens = replace(said.usage[0].tokens, cache_read=12096, cache_write=16529, output=200)
    said.usage[0].tokens = tokens
    node = SessionNode("s", "a", "target", None, ProjectSessions(SAMPLE).head(TARGETS[0]), said)
    assert own_cost(node, {("custom", "mock-1"): MOCK}).usd == pytest.approx(0.0185386)


@pytest.mark.parametrize("rate", [-1.0, math.nan, math.inf])
def test_a_senseless_price_is_none(rate: float) -> None:
    tree = build_tree(SAMPLE, TARGETS[0])
    assert roll_up(tree, {("custom", "mock-1"): Price(rate, 1, 1)}).usd is None


def test_a_free_model_costs_zero_and_an_unknown_one_does_not() -> None:
    tree = build_tree(SAMPLE, TARGETS[0])
    assert roll_up(tree, {("custom", "mock-1"): Price(0, 0, 0)}).usd == 0.0
    assert roll_up(tree, {}).usd is None


def test_every_evaluator_of_the_samples_finds_its_target() -> None:
    for session_id, target in [
        ("session-2026-11-30-20-17-34-444f53fb", "4cb09437"),
        ("session-2026-11-30-20-17-34-38f8d4fe", "e28665a7"),
    ]:
        (child,) = build_tree(SAMPLE, session_id).children
        assert child.session_id.endswith(target)


def test_unknown_sessions_and_unsafe_ids_are_refused() -> None:
    with pytest.raises(NotFoundError):
        build_tree(SAMPLE, "session-none")
    with pytest.raises(UsageError):
        build_tree(SAMPLE, "../x")


# Made projects


class Made:
    """A project whose traces a test writes; every record is one second after the last."""

    def __init__(self, root: Path) -> None:
        self.project = ProjectPaths(root)
        self.second = 0

    def now(self) -> str:
        self.second += 1
        return f"2026-01-01T{self.second // 3600:02d}:{self.second // 60 % 60:02d}:{self.second % 60:02d}.000Z"

    def write(
        self,
        agent_id: str,
        session_id: str,
        *written: records.Record,
        source: str | None = None,
        workspace: str = "/w",
        model_id: str = "m",
    ) -> None:
        agent = self.project.agent(agent_id)
        agent.state.mkdir(parents=True, exist_ok=True)
        agent.config.touch()
        head = records.session_meta(
            session_id=session_id,
            provider="p",
            model_id=model_id,
            model_context_window=None,
            system_prompt="",
            agent_state=agent.state,
            workspace=workspace,
            source=source,
        )
        with TraceWriter(agent.traces / "2026-01-01" / f"{session_id}_001.jsonl") as trace:
            for record in (head, *written):
                trace.append(record, self.now())


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path / "p")


def run_subagent(call_id: str, prompt: str) -> records.Record:
    return records.tool_call(call_id, "run_subagent", json.dumps({"description": "d", "prompt": prompt}))


def request(output: int | None = 1) -> list[records.Record]:
    answered = [records.request_begin(), records.assistant_text("ok")]
    if output is not None:
        answered.append(records.token_usage(Usage(0, 0, 99), Usage(0, 0, output)))
    return [*answered, records.request_end()]


def child_of(prompt: str) -> records.Record:
    return records.user_text(prompt, sender="parent_agent")


def test_equal_prompts_are_bound_first_in_first_out(made: Made) -> None:
    made.write(
        "a",
        "root",
        run_subagent("c1", "same"),
        run_subagent("c2", "other"),
        run_subagent("c3", "same"),
        records.subagent("k-2"),
        records.subagent("k-1"),
        records.subagent("k-3"),
    )
    for name, prompt in [("k-1", "same"), ("k-2", "other"), ("k-3", "same")]:
        made.write("a", name, child_of(prompt), source="subagent")
    tree = build_tree(made.project, "root")
    assert [(child.session_id, child.link and child.link.call_id) for child in tree.children] == [
        ("k-2", "c2"),
        ("k-1", "c1"),
        ("k-3", "c3"),
    ]


def test_a_short_id_in_the_output_outweighs_the_order(made: Made) -> None:
    made.write(
        "a",
        "root",
        run_subagent("c1", "same"),
        run_subagent("c2", "same"),
        records.subagent("x-aaaaaaaa"),
        records.subagent("x-bbbbbbbb"),
        records.tool_call_output("c2", "[subagent running in background with subagent_id subagent-aaaaaaaa; ...]"),
    )
    for name in ("x-aaaaaaaa", "x-bbbbbbbb"):
        made.write("a", name, child_of("same"), source="subagent")
    links = [child.link for child in build_tree(made.project, "root").children]
    assert [link and (link.session_id, link.call_id) for link in links] == [("x-aaaaaaaa", "c2"), ("x-bbbbbbbb", "c1")]


def test_a_child_that_no_call_asked_for_is_shown_unbound_and_a_lost_one_is_unknown(made: Made) -> None:
    made.write(
        "a",
        "root",
        *request(5),
        records.tool_call("c0", "run_subagent", "{broken"),
        run_subagent("c1", "asked"),
        records.subagent("stranger"),
        records.subagent("lost"),
    )
    made.write("b", "stranger", child_of("something else"), *request(7), source="subagent")
    tree = build_tree(made.project, "root")
    stranger, lost = tree.children
    assert (stranger.agent_id, stranger.link and stranger.link.call_id) == ("b", None)
    assert lost.is_missing
    assert tree.tree_tokens.output == 12
    assert tree.unknown_requests == 1
    assert roll_up(tree, {("p", "m"): Price(0, 0, 1e6)}) == Cost(12.0, 1)


def test_our_own_launch_is_a_link_even_without_its_pointer(made: Made) -> None:
    made.write(
        "op",
        "evaluator",
        records.tool_call("c1", "launch_target", "{}"),
        records.subagent("target-1"),
        records.tool_call_output("c1", '{"ok": true, "session_id": "target-1"}'),
        records.tool_call("c2", "launch_target", "{}"),
        records.tool_call_output("c2", '{"ok": true, "session_id": "target-2"}'),
        records.tool_call("c3", "launch_target", "{}"),
        records.tool_call_output("c3", '{"ok": false, "session_id": "../../etc"}'),
        records.tool_call("c4", "read_file", "{}"),
        records.tool_call_output("c4", '{"session_id": "target-3"}'),
        source="subagent",
    )
    for number in "123":
        made.write("t", f"target-{number}", *request())
    tree = build_tree(made.project, "evaluator")
    assert [child.link for child in tree.children] == [
        Link("launch", "target-1", "c1"),
        Link("launch", "target-2", "c2"),
    ]
    assert {child.role for child in tree.children} == {"target"}


def test_a_foreign_target_is_found_by_the_workspace_of_the_command(made: Made) -> None:
    made.write("t", "before", workspace="/ws/one")
    made.write(
        "op",
        "evaluator",
        child_of("protocol_version: 1\ncase_id: CASE-1\nrun: 1\nexpected_version: 1"),
        records.tool_call("c1", "exec_command", json.dumps({"cmd": 'x run --workspace "/ws/one/" --approve'})),
        source="subagent",
    )
    made.write("t", "target", workspace="/ws/one")
    made.write("t", "child-of-target", workspace="/ws/one", source="subagent")
    with TraceWriter(made.project.agent("op").traces / "2026-01-01" / "evaluator_001.jsonl") as trace:
        trace.append(records.assistant_text("no YAML"), made.now())
    made.write("t", "after", workspace="/ws/one")
    tree = build_tree(made.project, "evaluator")
    assert tree.role == "evaluator"
    assert [child.link for child in tree.children] == [Link("workspace", "target", "c1")]


def test_a_foreign_target_is_found_by_the_scoreboard(made: Made) -> None:
    request_text = (
        "protocol_version: 1\ncase_id: CASE-1\nrun: 2\nexpected_version: 3\ntest_agent_id: t\nbenchmark_id: b"
    )
    made.write("op", "evaluator", child_of(request_text), source="subagent")
    made.write("t", "target-1")
    made.write("t", "target-2")
    with TraceWriter(made.project.agent("op").traces / "2026-01-01" / "evaluator_001.jsonl") as trace:
        trace.append(records.assistant_text("done"), made.now())
    benchmark = made.project.agent("t").benchmark("b")
    benchmark.root.mkdir(parents=True)
    run = "{score: 1, cost: null, duration_ms: 1, session_id: %s}"
    benchmark.scoreboard.write_text(
        "evaluations:\n- {time: x, version: 3, provider: p, model_id: m, thinking_level: low, score: 1, cost: null, "
        "duration_ms: 1, cases: [{case: CASE-1, score: 1, cost: null, duration_ms: 1, runs: ["
        + run % "target-1"
        + ", "
        + run % "target-2"
        + "]}]}\n",
        encoding="utf-8",
    )
    assert [child.link for child in build_tree(made.project, "evaluator").children] == [Link("scoreboard", "target-2")]


def test_no_session_has_two_places_and_a_circle_ends(made: Made) -> None:
    made.write("a", "one", *request(1), records.subagent("two"), records.subagent("three"), records.subagent("two"))
    made.write("a", "two", *request(1), records.subagent("one"), records.subagent("three"), source="subagent")
    made.write("a", "three", *request(1), records.subagent("three"), source="subagent")
    tree = build_tree(made.project, "one")
    assert shape(tree) == {"one": [{"two": []}, {"three": []}]}
    assert tree.tree_tokens.output == 3


def test_a_very_deep_tree_is_built_and_summed(made: Made) -> None:
    depth = 1_200  # deeper than the interpreter's stack
    for number in range(depth):
        made.write("a", f"s{number:04d}", *request(1), records.subagent(f"s{number + 1:04d}"), source="subagent")
    tree = build_tree(made.project, "s0000")
    assert tree.tree_tokens.output == depth
    assert sum(1 for _ in tree.walk()) == depth + 1  # and the last pointer, whose trace is missing
    assert roll_up(tree, {("p", "m"): Price(0, 0, 1e6)}) == Cost(float(depth), 1)


@pytest.mark.parametrize(
    ("tool", "role"),
    [("request_freeze", "builder"), ("propose_candidate", "optimizer"), ("launch_target", "evaluator")],
)
def test_roles_by_engine_tools(made: Made, tool: str, role: str) -> None:
    made.write("a", "s", ("event_msg", {"type": "tool_list_ready", "tools": [{"name": tool}]}))
    assert build_tree(made.project, "s").role == role


# Usage of one Session


def read(path: Path) -> Any:
    with TraceFile(path) as trace:
        return digest(trace.iter_records())


def digest_of(made: Made, *written: records.Record) -> Any:
    made.write("a", "s", *written)
    return read(made.project.agent("a").traces / "2026-01-01" / "s_001.jsonl")


def test_spent_requests_without_a_count_are_unknown_not_zero(made: Made) -> None:
    said = digest_of(
        made,
        *request(3),
        *request(None),
        records.request_begin(),
        records.request_end("timeout", retry_in_ms=1),
        records.request_begin(),
        records.request_end("auth"),
        records.request_begin(),
        records.assistant_text("half", stop_reason="timeout"),
        records.request_end("timeout"),
        records.request_begin(),
        records.request_end("aborted"),
        records.request_begin(),
        records.assistant_text("then the process was killed"),
    )
    (part,) = said.usage
    assert (part.tokens, part.requests, part.unknown) == (Tokens(0, 0, 3), 5, 4)
    assert said.session_total == Tokens(0, 0, 99)


@pytest.mark.parametrize("count", [True, -1, 1.5, "7", None, math.nan])
def test_a_count_that_is_no_count_is_unknown(made: Made, count: object) -> None:
    said = digest_of(
        made,
        records.request_begin(),
        ("event_msg", {"type": "token_usage", "request": {"output": count}}),
        records.request_end(),
    )
    (part,) = said.usage
    assert (part.tokens.total, part.requests, part.unknown) == (0, 1, 1)


def test_each_model_pays_for_its_own(made: Made) -> None:
    made.write("a", "s", *request(1))
    path = made.project.agent("a").traces / "2026-01-01" / "s_001.jsonl"
    made.write("a", "s", *request(2), model_id="n")
    made.write("a", "s", *request(4))
    said = read(path)
    assert [(part.model_id, part.tokens.output) for part in said.usage] == [("m", 5), ("n", 2)]
    assert said.duration_ms == 14_000


def test_last_text_is_the_assistants(made: Made) -> None:
    digest_of(made, records.assistant_text("first"), records.assistant_text("last"), records.user_text("thanks"))
    with TraceFile(made.project.agent("a").traces / "2026-01-01" / "s_001.jsonl") as trace:
        assert last_text(trace.iter_records()) == "last"
    assert last_text([]) == ""


def test_protocol_fields_are_read_through_fences_for_linking() -> None:
    text = (
        'Here:\n```yaml\nprotocol_version: 1\nstatus: ok\ncase_id: C\nrun: 1\nexpected_version: 2\nsession_id: "s"\n```'
    )
    assert protocol_fields(text)["session_id"] == "s"
    assert protocol_fields("session_id: s") == {}
    assert protocol_fields("a:" + " " * 1_000_000) == {}


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("x --workspace /a/b", ("/a/b",)),
        ("x --workspace='/a b/' --workspace=/c", ("/a b", "/c")),
        ('x --workspace "$WS"', ()),
        ("x --workspace relative --workspace", ()),
        ("x --workspace /a'b", ()),
    ],
)
def test_workspaces_in_commands(command: str, found: tuple[str, ...]) -> None:
    assert workspaces_in(command) == found
