"""Append-only records: damaged lines, audit signatures, the ledger of Candidates."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest
from pydantic import ValidationError

from core.state import audit, jsonlines, ledger
from core.state.ledger import CandidateRecord, CellOutcome, Edit
from core.state.paths import ProjectPaths


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    (tmp_path / "p").mkdir()
    return ProjectPaths(tmp_path / "p")


def test_damaged_lines_are_gaps_with_byte_ranges_and_the_rest_is_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    pieces = [
        b'{"n": 1}\n',
        b'{"n": 2, "cut\n',
        b"\0" * 300 + b"\n",
        b"\n",
        b"[1]\n",
        b'{"n": NaN}\n',
        b'{"n": 1e400}\n',
        b'{"n": 1' + b"0" * 350 + b"}\n",
        b'{"n": "\xff"}\n',
        b"[" * 100_000 + b"\n",
        b'{"n": 9}\n',
        b'{"n": 10',
    ]
    log.write_bytes(b"".join(pieces))
    found = jsonlines.read_lines(log)
    assert [record["n"] for record in found.records] == [1, 9]
    starts = [sum(map(len, pieces[:i])) for i in range(len(pieces) + 1)]
    assert [(gap.start, gap.end) for gap in found.gaps] == [
        (starts[i], starts[i + 1]) for i in (1, 2, 4, 5, 6, 7, 8, 9)
    ]
    assert (found.end, found.torn) == (starts[11], 8)
    with log.open("ab") as file:
        file.write(b"}\n")
    more = jsonlines.read_lines(log, start=found.end)
    assert more.records == ({"n": 10},)
    assert more.lines[0].start == starts[11]
    assert jsonlines.read_lines(tmp_path / "none").records == ()


def test_a_text_with_half_a_character_is_written_and_read_back(tmp_path: Path) -> None:
    jsonlines.append_record(tmp_path / "log", {"name": "caf\udce9.txt", "half": "\ud800", "other": "\u00e9"})
    jsonlines.append_record(tmp_path / "log", {"other": "\u00e9"})
    assert jsonlines.read_lines(tmp_path / "log").records == (
        {"name": "caf\udce9.txt", "half": "\ud800", "other": "\u00e9"},
        {"other": "\u00e9"},
    )
    assert "\u00e9".encode() in (tmp_path / "log").read_bytes()


def test_a_number_that_is_not_finite_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        jsonlines.append_record(tmp_path / "log", {"score": float("nan")})
    assert not (tmp_path / "log").exists()


def test_audit_lines_carry_account_and_terminal(project: ProjectPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    assert audit.read(project) == ()
    assert not project.own.exists()  # reading makes nothing
    user = pwd.getpwuid(os.getuid()).pw_name
    monkeypatch.setenv("USER", "someone-else")  # the environment is not asked
    monkeypatch.setenv("LOGNAME", "someone-else")
    entry = audit.record(project, "roll_back", "csv_helper", {"from": 3, "to": 2}, actor="console")
    assert entry.signature.startswith(f"{user}@")
    audit.record(project, "undo", "csv_helper", {})
    assert audit.read(project)[0] == entry
    assert [found.actor for found in audit.read(project)] == ["console", "operator"]


def test_the_signature_names_a_terminal_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    parent, child = os.openpty()
    real = os.ttyname
    monkeypatch.setattr(os, "ttyname", lambda _: real(child))
    try:
        assert audit.signature().endswith(" " + real(child).removeprefix("/dev/"))
    finally:
        os.close(parent)
        os.close(child)


def candidate(**changes: object) -> CandidateRecord:
    fields: dict[str, object] = {
        "agent_id": "csv_helper",
        "benchmark_id": "csv",
        "run_id": "optimize-20261130-201734-ab12",
        "round": 1,
        "version": 2,
        "reference_version": 1,
        "proposer": "optimizer",
        "hypothesis": "Naming the key column lets it dedupe — één.",
        "prediction": {"overall": "higher", "cases": [{"case_id": "CASE-001-a", "expected_score": 80}]},
        "edits": [Edit(kind="agents_md", path="AGENTS.md", added=2, removed=1)],
        "diff": "--- a\n+++ b\n",
        "cells": [CellOutcome(case="CASE-001-a", run=1, score=80, status="ok", session_id="s-1")],
        "decision": "accepted",
        "score": 80,
        "reference_score": 60.5,
        "supported": True,
        "note": "",
    }
    return CandidateRecord.model_validate({**fields, **changes})


def test_the_ledger_keeps_rejected_candidates_and_gives_them_back(project: ProjectPaths) -> None:
    first = candidate()
    second = candidate(version=3, decision="rejected", score=60.5, supported=None)
    third = candidate(version=4, decision="unevaluable", score=None, agent_id="other")
    for record in (first, second, third):
        ledger.append(project, record)
    assert ledger.read(project) == (first, second, third)
    assert ledger.read(project, "csv_helper") == (first, second)
    assert ledger.versions(project, "csv_helper") == {2, 3}
    assert ledger.gaps(project) == ()


def test_a_damaged_candidate_is_shown_and_its_number_stays_used(project: ProjectPaths) -> None:
    ledger.append(project, candidate())
    jsonlines.append_record(project.ledger, {"agent_id": "csv_helper", "version": 7, "decision": "perhaps"})
    jsonlines.append_record(project.ledger, {"agent_id": "csv_helper", "version": True})
    assert [record.version for record in ledger.read(project)] == [2]
    assert len(ledger.gaps(project)) == 2
    assert "not a Candidate" in ledger.gaps(project)[0].reason
    assert ledger.versions(project, "csv_helper") == {2, 7}


@pytest.mark.parametrize("score", [True, "80", float("nan"), float("inf"), 101, -1])
def test_no_score_that_is_not_a_finite_number_of_0_to_100(score: object) -> None:
    with pytest.raises(ValidationError):
        candidate(score=score)
    with pytest.raises(ValidationError):
        CellOutcome.model_validate({"case": "c", "run": 1, "status": "ok", "score": score})
