"""Curation of an agent, step by step: what is shown, what is let in, what is measured, and what a kill leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.curation import skill_curators
from core.curation.curator_process import CuratorProcess
from core.curation.promotion import weights_hash
from core.foundation.errors import BlockedError
from core.models.interface import Request, ToolCall
from core.skillrepo.calls import render
from core.skillrepo.operations import DELETE, INSERT, TOOLS
from core.skillrepo.skill import write
from core.state import audit, ledger
from core.state.fingerprint import state_hash
from core.state.fresh import ensure_operator
from core.traces.listing import list_sessions
from core.traces.session_trace import SessionTrace
from tests.curation.agent_home import Home, call, first_only, insert, make_home, once, update, write_session
from tests.curation.scripted_model import Reply, Script, overloaded, refused, text_of
from tests.curation.test_curator_process import command
from tests.evolution.bench import HELD_OUT, MEASURED, Bench

pytestmark = pytest.mark.meets("K2")
PRIVATE = "the controller rounds half cents towards the even digit before adding the freight charge"


def skill_file(home: Home, name: str = "sum-columns") -> Path:
    return home.agent.skills / name / "SKILL.md"


def lenient(home: Home, name: str = "keep-books") -> bytes:
    """Install a skill whose head is no strict one, and measure nothing anew: as if it had been there before."""
    raw = (
        b"---\r\nname: keep-books\r\ndescription: Columns: and files, kept.\r\nversion: 3\r\n---\r\n\r\nKeep them.\r\n"
    )
    path = skill_file(home, name)
    path.parent.mkdir(parents=True)
    path.write_bytes(raw)
    return raw


async def test_better_is_kept_and_equal_is_taken_back(tmp_path: Path) -> None:
    home = await make_home(tmp_path)
    home.bench.scores = dict.fromkeys(MEASURED, 60.0)
    result = await home.curate(first_only(insert()))
    assert [(r["version"], r["decision"], r["score"]) for r in result["rounds"]] == [(2, "accepted", 60.0)]
    assert skill_file(home).is_file()
    assert result["operations"][0]["valid"] is True
    (record,) = ledger.read(home.bench.project, home.agent.id)
    assert record.proposer == "curator"
    assert "sum-columns" in record.hypothesis
    assert record.prediction["cases"]
    assert [entry.detail["decision"] for entry in audit.read(home.bench.project) if entry.action == "curate"] == [
        "accepted"
    ]


async def test_equal_is_taken_back_byte_for_byte(tmp_path: Path) -> None:
    home = await make_home(tmp_path)
    home.bench.scores = dict.fromkeys(MEASURED, 40.0)
    before = state_hash(home.agent.state)
    result = await home.curate(first_only(insert()))
    assert [(r["decision"], r["score"], r["reference_score"]) for r in result["rounds"]] == [("rejected", 40.0, 40.0)]
    assert state_hash(home.agent.state) == before
    assert not skill_file(home).exists()


async def test_a_curator_sees_its_episode_and_the_skills_that_its_task_finds(tmp_path: Path) -> None:
    home = await make_home(tmp_path)
    script = Script(once(first_only(insert())))
    await home.curate(script)
    first = next(request for request in script.seen if len(request.messages) == 1)
    assert "# skill-curation" in first.system_prompt
    assert {tool.name for tool in first.tools} == {str(tool["name"]) for tool in TOOLS}
    text = text_of(first)
    assert "Add up the column in data.csv." in text
    assert "exec_command\nsum data.csv" in text
    assert "judged a failure" in text
    second = next(request for request in script.seen[1:] if len(request.messages) == 1)
    assert '<skill name="sum-columns">' in text_of(second), "what was just written is there for the next Session"


async def test_what_no_operation_touches_keeps_its_bytes(tmp_path: Path) -> None:
    home = await make_home(tmp_path)
    home.bench.scores = dict.fromkeys(MEASURED, 60.0)
    raw = lenient(home)
    result = await home.curate(first_only(insert()), dry_run=True)
    assert [edit["path"] for edit in result["edits"]] == ["skills/sum-columns/SKILL.md"]
    assert skill_file(home, "keep-books").read_bytes() == raw


async def test_a_lenient_skill_that_is_touched_becomes_a_curated_one(tmp_path: Path) -> None:
    home = await make_home(tmp_path)
    lenient(home)
    result = await home.curate(first_only(update("keep-books", "# Workflow\n1. Keep them in order.")), dry_run=True)
    (edit,) = result["edits"]
    assert (
        edit["content"]
        == write("keep-books", "Columns: and files, kept.", "# Workflow\n1. Keep them in order.").content
    )


REFUSED: list[tuple[ToolCall, str]] = [
    (insert("agent-optimization"), "belongs to the library"),
    (insert("sum", f"# Workflow\n1. In {MEASURED[0]}, sum."), "names CASE-001-sums"),
    (insert("sum", f"# Workflow\n1. Know that {PRIVATE}."), "private rubric"),
    (insert("sum", "# Workflow\n1. Sum. " + "x" * (33 << 10)), "more than 32 KiB"),
    (call(DELETE, skill_name="nowhere"), "there is no skill"),
    (call(INSERT, skill_name="sum", content="no head"), "no curated SKILL.md"),
    (call(INSERT, skill_name="sum"), "missing"),
    (ToolCall("call_1", INSERT, '{"skill_name": "sum", "content": '), "not valid JSON"),
    (call(INSERT, skill_name="sum", content="x", also="y"), "unknown argument"),
]


@pytest.mark.parametrize(("made", "why"), REFUSED, ids=[why for _, why in REFUSED])
async def test_operations_that_may_not_be_are_told_and_change_nothing(tmp_path: Path, made: ToolCall, why: str) -> None:
    home = await make_home(tmp_path, private=PRIVATE)
    result = await home.curate(first_only(made), dry_run=True)
    (operation,) = result["operations"]
    assert operation["valid"] is False
    assert why in operation["reason"]
    assert result["edits"] == []


async def test_a_candidate_stays_within_the_edit_surface(tmp_path: Path) -> None:
    """The ninth skill of one batch is refused where it is made; the eight before it are the Candidate."""
    home = await make_home(tmp_path)
    calls = [insert(f"sum-{word}", number=n) for n, word in enumerate("abcdefghi", 1)]
    result = await home.curate(first_only(*calls), dry_run=True)
    assert [operation["valid"] for operation in result["operations"]] == [True] * 8 + [False]
    assert "at most 8 files" in result["operations"][-1]["reason"]
    assert len(result["edits"]) == 8


async def test_calls_that_a_model_writes_into_its_text_count_too(tmp_path: Path) -> None:
    home = await make_home(tmp_path)
    made = insert()
    block = render(
        INSERT, {"skill_name": "sum-columns", "content": write("sum-columns", "Sum.", "# Workflow\n1. x").content}
    )
    answers = iter([block, "Nothing."])
    result = await home.curate(lambda request: next(answers), dry_run=True)
    (operation,) = result["operations"]
    assert operation["valid"] is True
    assert operation["op"] == made.name


async def test_nothing_changed_is_nothing_measured(tmp_path: Path) -> None:
    home = await make_home(tmp_path)
    result = await home.curate(lambda request: "Nothing to change.", rounds=3)
    assert result["rounds"] == []
    assert home.bench.ran == [cell for cell in home.bench.ran if cell.startswith("heldout")]
    assert "not curated before" in result["stop_reason"]
    assert [event["reason"] for event in home.events("passed")] == ["the curator changed nothing"]


async def test_failed_cells_are_tried_again_before_a_candidate_is_given_up(tmp_path: Path) -> None:
    home = await make_home(tmp_path)
    home.bench.failures = {MEASURED[0]: "evaluation_failed"}
    with pytest.raises(BlockedError, match="could not be measured"):
        await home.curate(first_only(insert()))
    assert sum(cell.startswith("round") for cell in home.bench.ran) == 1 + 3, "the good cell once, the bad one thrice"
    (record,) = ledger.read(home.bench.project, home.agent.id)
    assert (record.decision, record.score) == ("unevaluable", None)
    assert not skill_file(home).exists()


# Sessions -------------------------------------------------------------------------------------------------


async def test_only_what_may_be_learned_from_is_shown(tmp_path: Path) -> None:
    home = await make_home(tmp_path)
    agent, held_out = home.agent, home.bench.desk.benchmark.case(HELD_OUT).statement_readme.read_text(encoding="utf-8")
    own_work = "session-2026-01-01-10-00-00-own"
    write_session(agent, own_work, "Count the birds in birds.csv, please.", then="Without the geese!")
    write_session(agent, "session-2026-01-02-10-00-00-held", f"Do this:\n\n{held_out}")
    write_session(agent, "session-2026-01-03-10-00-00-child", "Look into it.", source="subagent")
    write_session(agent, "session-2026-01-04-10-00-00-open", "Count again.", said=None)
    write_session(agent, "session-2026-01-05-10-00-00-lost", "Count.", said=None, broken="llm request error: no route")
    write_session(
        agent, "session-2026-01-06-10-00-00-cut", "Sum it all.", said=None, broken="budget: 8 requests, the limit is 8"
    )
    script = Script(once(lambda request: "VERDICT: FAILURE" if not request.tools else "Nothing."))
    await home.curate(script, sessions=20, dry_run=True)
    (chosen,) = home.events("chosen")
    assert chosen["sessions"] == [
        *sorted(home.sessions),
        "session-2026-01-06-10-00-00-cut",
        own_work,
    ]
    own = next(text_of(r) for r in script.seen if r.tools and "birds.csv" in text_of(r))
    assert "judged a failure" in own, "the model's own opinion, where nobody scored it"
    assert "hears: Without the geese!" in own, "what its user said of it later"


async def test_sessions_are_curated_once_unless_asked_again(tmp_path: Path) -> None:
    home = await make_home(tmp_path)
    home.bench.scores = dict.fromkeys(MEASURED, 40.0)
    await home.curate(first_only(insert()))
    decided = home.sessions
    later = Home(Bench(home.bench.project, _next_run(home), _journal(home), scores={}))
    first = await later.curate(lambda request: "Nothing.")
    assert first["rounds"] == []
    assert later.events("chosen") == [], first["stop_reason"]
    again = Home(Bench(home.bench.project, _next_run(home, "c"), _journal(home, "c"), scores={}))
    await again.curate(lambda request: "Nothing.", again=True)
    assert again.events("chosen")[0]["sessions"] == sorted(decided)


def _next_run(home: Home, letter: str = "b") -> Any:
    from core.evolution.specs import RunPaths

    root = home.bench.project.runs / f"curate-20260102-000000-000{letter}"
    root.mkdir(parents=True, exist_ok=True)
    return RunPaths(root)


def _journal(home: Home, letter: str = "b") -> Any:
    from core.evolution.events import Journal

    return Journal(_next_run(home, letter).journal)


# Faults ---------------------------------------------------------------------------------------------------


async def test_a_model_that_is_gone_blocks_the_run_and_what_was_curated_stays(tmp_path: Path) -> None:
    home = await make_home(tmp_path)
    home.bench.scores = dict.fromkeys(MEASURED, 60.0)
    asked: list[str] = []

    def answer(request: Request) -> Reply:
        asked.append(text_of(request))
        return ("I keep it.", (insert(),)) if len(asked) == 1 else refused()

    with pytest.raises(BlockedError, match="no reply"):
        await home.curate(answer)
    resumed = home.killed()
    script = Script(once(lambda request: "Nothing."))
    result = await resumed.curate(script)
    assert [r["decision"] for r in result["rounds"]] == ["accepted"]
    assert len(script.seen) == 1, "the first Session is not curated again"


@pytest.mark.parametrize("after", ["operation", "curated", "intent", "candidate", "evaluated", "decision"])
async def test_cut_after_any_step_it_comes_to_the_same_end(tmp_path: Path, after: str) -> None:
    """The journal ends there, as a kill leaves it; a new engine goes on and nothing is done twice."""
    home = await make_home(tmp_path)
    home.bench.scores = dict.fromkeys(MEASURED, 60.0)

    class Cut(BaseException):
        pass

    append = home.bench.journal.append

    def cutting(event: str, **fields: Any) -> Any:
        done = append(event, **fields)
        if str(event) == after:
            raise Cut
        return done

    home.bench.journal.append = cutting  # type: ignore[method-assign]  # the kill comes with the line on disk
    with pytest.raises(Cut):
        await home.curate(first_only(insert()))
    resumed = home.killed()
    result = await resumed.curate(lambda request: "Nothing.")
    assert [(r["version"], r["decision"]) for r in result["rounds"]] == [(2, "accepted")]
    assert [operation["valid"] for operation in result["operations"]] == [True]
    assert len(ledger.read(home.bench.project, home.agent.id)) == 1
    assert len([e for e in audit.read(home.bench.project) if e.action == "curate"]) == 1
    assert len(resumed.bench.ran) == len(set(resumed.bench.ran))


async def test_a_busy_model_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.models.retry.DELAYS_S", (0.0, 0.0))
    home = await make_home(tmp_path)
    answers: list[Reply] = [overloaded(), ("Kept.", (insert(),)), "All.", "Nothing."]
    script = Script(lambda request: answers.pop(0))
    result = await home.curate(script, dry_run=True)
    assert [operation["valid"] for operation in result["operations"]] == [True]


# Policies -------------------------------------------------------------------------------------------------

SERVING = """
from core.curation.curator_serving import serve_pipes
from core.curation.curators import Curation
from core.skillrepo.calls import parse, render
from core.skillrepo.skill import write

class Policy:
    name = "policy-x"
    def refuses(self, world):
        return "" if world == "%s" else f"It was trained for the household, not for {world}."
    def curate(self, inputs):
        for given in inputs:
            content = write("sum-columns", "Add up a column.", "# Workflow\\n1. Sum by a script.").content
            text = render("new_skill_insert", {"skill_name": "sum-columns", "content": content})
            yield Curation(text, parse(text), 10, 5)

serve_pipes(Policy())
"""


def policy(monkeypatch: pytest.MonkeyPatch, world: str) -> None:
    """Put a policy of ours in the place of `trainer curate PATH`."""
    serving = CuratorProcess(command(SERVING % world))
    monkeypatch.setattr(skill_curators, "trained", lambda path: serving)


async def test_a_policy_curates_and_its_answer_is_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = await make_home(tmp_path)
    policy(monkeypatch, "benchmark:clerk/chores")
    result = await home.curate(lambda request: "never asked", curator="/some/where", dry_run=True)
    assert [(op["title"], op["valid"]) for op in result["operations"]] == [
        ("sum-columns", True),
        ("sum-columns", False),
    ]
    assert home.events("curator")[0]["name"] == "policy-x"
    operator = ensure_operator(home.bench.project)
    first, second = home.events("session")
    assert {first["session_id"], second["session_id"]} == {head.session_id for head in list_sessions(operator)}
    with SessionTrace(operator, first["session_id"]) as trace:
        told = [record.text("text") for record in trace.iter_records() if record.kind == "text"]
    assert "# Agent Trajectory" in told[0]
    assert "<tool_call>" in told[1]
    assert told[2] == '{"valid": true}'


@pytest.mark.meets("K6")
async def test_a_policy_that_was_not_trained_for_it_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = await make_home(tmp_path)
    policy(monkeypatch, "household")
    with pytest.raises(BlockedError, match="trained for the household, not for benchmark:clerk/chores"):
        await home.curate(lambda request: "never asked", curator="/some/where")


async def test_the_curator_in_use_gives_way_to_the_model_and_it_is_said_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = await make_home(tmp_path)
    policy(monkeypatch, "household")
    promote(home)
    result = await home.curate(first_only(insert()), dry_run=True)
    assert [operation["valid"] for operation in result["operations"]] == [True]
    (told,) = home.events("curator")
    assert told["name"] == "test/model-1"
    assert told["instead_of"].endswith("step-00001")
    assert "trained for the household" in told["why"]


async def test_the_curator_in_use_curates_where_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = await make_home(tmp_path)
    policy(monkeypatch, "benchmark:clerk/chores")
    promote(home)
    await home.curate(lambda request: "never asked", dry_run=True)
    assert home.events("curator")[0]["name"] == "policy-x"


async def test_weights_that_changed_since_they_were_promoted_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = await make_home(tmp_path)
    policy(monkeypatch, "benchmark:clerk/chores")
    promote(home).write_bytes(b"others")
    await home.curate(first_only(insert()), dry_run=True)
    (told,) = home.events("curator")
    assert (told["name"], told["instead_of"]) == ("test/model-1", "the curator in use")
    assert "not those that the run wrote down" in told["why"]


async def test_the_model_curates_where_it_is_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = await make_home(tmp_path)
    policy(monkeypatch, "benchmark:clerk/chores")
    promote(home)
    await home.curate(first_only(insert()), in_use=False, dry_run=True)
    assert home.events("curator")[0]["name"] == "test/model-1"


def promote(home: Home) -> Path:
    """Make a checkpoint the curator in use, as an approval does; return its weights."""
    project = home.bench.project
    weights = project.training / "train-1" / "checkpoints" / "step-00001" / "model.safetensors"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"weights")
    document = {
        "run_id": "train-1",
        "step": 1,
        "path": "checkpoints/step-00001",
        "sha256": weights_hash(weights.parent),
        "heldout": 0.7,
        "world": "household",
        "preset": "cpu-demo",
        "approval_id": "promotion-train-1-1",
        "actor": "console",
        "signature": "ada@mill",
        "time": "2026-01-01T00:00:00Z",
    }
    project.curator.write_text(json.dumps(document), encoding="utf-8")
    return weights
