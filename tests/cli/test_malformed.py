"""Files that a crash, a disk or another program spoilt: told with their reason, and what is whole is still shown
(FAULTS: stop-at-first-error, non-atomic state, encoding assumptions).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.state import approvals
from core.state.approvals import Approval
from core.state.paths import ProjectPaths
from tests.cli.program import call

SPEC = json.dumps({"kind": "evaluate", "agent_id": "default_agent", "benchmark_id": "b"}).encode()
RUN = "evaluate-20260101-000000-abcd"
GOOD = b'{"time": "2026-01-01T00:00:00.000Z", "event": "blocked", "reason": "told"}'
QUESTION: dict[str, Any] = {
    "id": "freeze-1", "kind": "freeze", "run_id": "r", "agent_id": "a", "benchmark_id": "b", "title": "t",
    "created": "2026-01-01T00:00:00Z",
}  # fmt: skip


def _run(project: ProjectPaths, journal: bytes, *, spec: bytes = SPEC, run_id: str = RUN) -> None:
    root = project.runs / run_id
    root.mkdir(parents=True)
    (root / "spec.json").write_bytes(spec)
    (root / "journal.jsonl").write_bytes(journal)


@pytest.mark.parametrize(
    "line",
    [
        b'{"event": "cell"}',
        b'{"event": "phase", "phase": "x"}',
        b'{"time": "t", "event": "cell", "cell": ["x"], "case_id": [1], "run": "a", "state": []}',
        b'{"time": "t", "event": "spent", "usd": "a", "unknown_requests": null, "tokens": "x"}',
        b'{"time": "t", "event": "finished", "result": [1]}',
        b'{"time": "t", "event": "candidate", "round": 1, "version": 1, "edits": 5}',
        b'{"time": "t", "event": "pilot", "i": "x"}',
        b"\0" * 300,
        b"[" * 100_000,
    ],
    ids=lambda line: repr(line)[:50],
)
def test_a_line_that_is_no_event_hides_no_run(project: ProjectPaths, line: bytes) -> None:
    _run(project, line + b"\n" + GOOD + b"\n")
    listed = call("runs", "list", "--json", "--home", project.root.parent)
    assert [run["reason"] for run in listed.document["runs"]] == ["told"]
    shown = call("runs", "show", RUN, "--home", project.root.parent)
    assert shown.code == 0
    assert "1 lines of its journal cannot be read" in shown.out
    assert call("runs", "show", RUN, "--json", "--home", project.root.parent).document["damaged_lines"] == 1


@pytest.mark.parametrize("spec", [b"[" * 100_000, b"\xff", b"", b"null"], ids=lambda raw: repr(raw)[:12])
def test_a_run_without_a_readable_spec_hides_no_other(project: ProjectPaths, spec: bytes) -> None:
    _run(project, GOOD, spec=spec)
    _run(project, GOOD, run_id="evaluate-20260101-000001-abcd")
    listed = call("runs", "list", "--json", "--home", project.root.parent)
    assert len(listed.document["runs"]) == 1
    shown = call("runs", "show", RUN, "--home", project.root.parent)
    assert shown.code == 1
    assert "cannot be read" in shown.err


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 100_000,
        b"\xff",
        b"",
        json.dumps({**QUESTION, "body": {"pilots": [{"i": 1, "predicted": 10**400}]}}).encode(),
        json.dumps({**QUESTION, "body": {"pilots": [{"i": 1, "predicted": float("nan")}]}}).encode(),
    ],
    ids=lambda raw: repr(raw)[:12],
)
def test_a_question_that_cannot_be_read_is_told_and_hides_no_other(project: ProjectPaths, raw: bytes) -> None:
    approvals.request(project, Approval(**{**QUESTION, "id": "freeze-2"}))
    (project.approvals / "freeze-1.json").write_bytes(raw)
    (project.approvals / "freeze-3.json").mkdir()
    listed = call("approvals", "list", "--json", "--home", project.root.parent).document
    assert [item["id"] for item in listed["pending"]] == ["freeze-2"]
    assert len(listed["damaged"]) == 2
    for words in (["show", "freeze-1"], ["approve", "freeze-1"]):
        ended = call("approvals", *words, "--home", project.root.parent)
        assert ended.code == 1
        assert "not a readable Approval" in ended.err


@pytest.mark.parametrize(
    "body",
    [
        {"cases": 5, "pilots": [1], "findings": {"a": 1}, "floor": []},
        {"cases": [{}], "pilots": [{}], "findings": ["x"]},
        {"cases": None, "pilots": None, "findings": None, "floor": None},
    ],
    ids=str,
)
def test_a_question_of_another_shape_is_shown_as_far_as_it_goes(project: ProjectPaths, body: dict[str, Any]) -> None:
    approvals.request(project, Approval(**QUESTION, body=body))
    ended = call("approvals", "show", "freeze-1", "--home", project.root.parent)
    assert ended.code == 0
    assert "Findings: none" in ended.out


def test_a_reason_that_is_no_text_is_kept_and_decides(project: ProjectPaths) -> None:
    approvals.request(project, Approval(**QUESTION))
    call("approvals", "reject", "freeze-1", "--reason", "caf\udce9", "--home", project.root.parent)
    _, decision = approvals.get(project, "freeze-1")
    assert decision is not None
    assert decision.reason == "caf\udce9"
    assert "caf\N{REPLACEMENT CHARACTER}" in call("approvals", "show", "freeze-1", "--home", project.root.parent).out


def test_a_candidate_that_cannot_be_read_is_told(project: ProjectPaths) -> None:
    project.own.mkdir(parents=True, exist_ok=True)
    record = {"agent_id": "default_agent", "benchmark_id": "example-benchmark", "run_id": "r", "round": 1, "version": 2,
              "reference_version": 1, "proposer": "operator", "hypothesis": "h", "decision": "accepted"}  # fmt: skip
    lines = [{**record, "score": True}, {**record, "score": 50.0}]
    project.ledger.write_bytes(b"\0\0\n" + b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    words = ("scoreboard", "default_agent", "example-benchmark", "--candidates", "--home", project.root.parent)
    told = call(*words).out
    assert told.count("Note: a Candidate in the ledger cannot be read") == 2
    document = call(*words, "--json").document
    assert [found["score"] for found in document["candidates"]] == [50.0]
    assert len(document["damaged_candidates"]) == 2


def test_words_that_are_no_text_make_an_agent_all_the_same(project: ProjectPaths) -> None:
    odd = "caf\udce9 \x1b]0;x\x07"
    words = ("agent", "create", "helper", "--requirement", odd, "--name", odd, "--home", project.root.parent)
    made = call(*words)
    assert made.code == 0, made.err
    assert "caf\N{REPLACEMENT CHARACTER}" in call("agent", "show", "helper", "--home", project.root.parent).out


@pytest.mark.parametrize("raw", [b"a = " + b"[" * 5_000, b"a = [", b"\0"], ids=lambda raw: repr(raw)[:12])
def test_a_project_file_that_cannot_be_read_is_an_error_with_a_place(project: ProjectPaths, raw: bytes) -> None:
    project.config.write_bytes(raw)
    ended = call("doctor", "--home", project.root.parent)
    assert ended.code == 1
    assert "no valid TOML" in ended.out
