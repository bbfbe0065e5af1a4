"""The operation log: any state by position, a torn end, a damaged middle, two writers (CURATION K1, K2)."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest

from core.foundation.errors import ConflictError, DamagedError, UsageError
from core.skillrepo import kept
from core.skillrepo.calls import from_native, parse
from core.skillrepo.operations import DELETE, INSERT, LINK, UPDATE
from core.skillrepo.oplog import FILE, OperationLog, read_log
from core.skillrepo.repository import Repository
from core.skillrepo.skill import write

HOT = write("put hot", "Use when a task wants it hot.", "# Workflow\n1. Heat it.")
COLD = write("put cold", "Use when a task wants it cold.", "# Workflow\n1. Cool it.")
CALLS = (
    from_native(INSERT, {"skill_name": COLD.title, "content": COLD.content}),
    from_native(LINK, {"skill_name": COLD.title, "linked_name": HOT.title, "relation": "contrasts_with"}),
    from_native(UPDATE, {"skill_name": HOT.title, "new_name": "put warm"}),
    *parse("<tool_call>{broken</tool_call>"),
    from_native(DELETE, {"skill_name": COLD.title}),
)


def logged(path: Path) -> tuple[OperationLog, list[Repository]]:
    """Write a log of five calls; return it with the states after each."""
    log, repository = OperationLog(path), Repository([HOT])
    log.begin(repository)
    states = [repository.copy()]
    for number, call in enumerate(CALLS, 1):
        assert log.append(repository.apply([call], extra=True), {"task": number}) == number
        states.append(repository.copy())
    return log, states


@pytest.mark.meets("K1", "K2")
def test_any_state_by_position(tmp_path: Path) -> None:
    log, states = logged(tmp_path / FILE)
    for position, state in enumerate(states):
        found = log.at(position)
        assert (found.skills, found.links) == (state.skills, state.links)
    assert log.at().skills == states[-1].skills
    assert log.at(-1).skills == states[-2].skills
    for missing in (6, -6):
        with pytest.raises(UsageError, match="no position"):
            log.at(missing)


def test_every_call_is_there_with_its_verdict_and_source(tmp_path: Path) -> None:
    log, _ = logged(tmp_path / FILE)
    entries = log.read().entries
    assert [(entry.position, entry.valid, dict(entry.source)) for entry in entries] == [
        (1, True, {"task": 1}), (2, True, {"task": 2}), (3, True, {"task": 3}), (4, False, {"task": 4}),
        (5, True, {"task": 5}),
    ]  # fmt: skip
    assert "no JSON" in entries[3].call.problem
    assert entries[3].call.raw == "<tool_call>{broken</tool_call>"
    assert entries[4].changes == ((COLD.title, None),)
    assert dict(entries[0].call.arguments or {}) == dict(CALLS[0].arguments or {})


def test_a_last_line_that_lacks_only_its_end_counts(tmp_path: Path) -> None:
    log, states = logged(tmp_path / FILE)
    log.path.write_bytes(log.path.read_bytes()[:-1])
    assert read_log(log.path).at().skills == states[5].skills
    assert OperationLog(log.path).append(Repository().apply([CALLS[4]])) == 6
    assert [entry.position for entry in read_log(log.path).entries] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("cut", [2, 30, 200])
def test_a_torn_last_line_costs_one_call_and_is_said(tmp_path: Path, cut: int) -> None:
    log, states = logged(tmp_path / FILE)
    log.path.write_bytes(log.path.read_bytes()[:-cut])
    reading = read_log(log.path)
    assert len(reading.entries) == 4
    assert "torn" in reading.notes[0]
    assert reading.at().skills == states[4].skills
    # A writer that comes back takes the lost position; what was torn stays visible as a gap.
    again, repository = OperationLog(log.path), reading.at()
    assert again.append(repository.apply([CALLS[4]])) == 5
    healed = again.read()
    assert [entry.position for entry in healed.entries] == [1, 2, 3, 4, 5]
    assert healed.at().skills == states[5].skills
    assert any("no record" in told for told in healed.notes)


def test_behind_a_missing_record_no_state_is_made_up(tmp_path: Path) -> None:
    log, states = logged(tmp_path / FILE)
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join([*lines[:3], b"{damaged\n", *lines[4:]]))
    reading = log.read()
    assert len(reading.entries) == 2
    assert any("position 3 is missing" in told for told in reading.notes)
    assert reading.at(2).skills == states[2].skills
    with pytest.raises(UsageError):
        reading.at(3)


@pytest.mark.parametrize(
    "line",
    ['{"position": 1}', '{"position": "x"}', '{"base": [3], "links": []}', '{"base": ["no head"], "links": []}'],
)
def test_a_record_of_another_shape_is_damage(tmp_path: Path, line: str) -> None:
    (tmp_path / FILE).write_text(line + "\n")
    with pytest.raises(DamagedError, match="byte 0"):
        read_log(tmp_path / FILE)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tool", 3), ("arguments", []), ("raw", None), ("reason", 1), ("valid", 1), ("source", []), ("links", [{}]),
        ("links", [{"source": 1, "target": "a", "relation": "b"}]), ("changes", [{"before": 1, "after": None}]),
        ("changes", 3), ("position", "1"),
    ],
)  # fmt: skip
def test_no_field_of_a_record_is_taken_on_trust(tmp_path: Path, key: str, value: object) -> None:
    log, _ = logged(tmp_path / FILE)
    lines = log.path.read_text().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), key: value})
    log.path.write_text("\n".join(lines) + "\n")
    with pytest.raises(DamagedError, match="can't be read"):
        log.read()


def test_a_change_that_does_not_fit_is_damage(tmp_path: Path) -> None:
    log, _ = logged(tmp_path / FILE)
    lines = [json.loads(line) for line in log.path.read_text().splitlines()]
    lines[5]["changes"][0]["before"] = "never there"
    lines[0]["base"] *= 2
    log.path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(DamagedError, match="begins on what no repository holds"):
        log.at(0)
    lines[0]["base"] = lines[0]["base"][:1]
    log.path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(DamagedError, match="position 5 does not fit"):
        log.at()


def test_a_log_begins_once_and_a_missing_one_is_empty(tmp_path: Path) -> None:
    log = OperationLog(tmp_path / "new" / FILE)
    assert log.at().skills == ()
    log.begin(Repository([HOT]))
    assert log.at().skills == (HOT,)
    with pytest.raises(ConflictError):
        OperationLog(log.path).begin(Repository())


def _append(path: str, times: int) -> None:
    log = OperationLog(Path(path))
    verdicts = Repository().apply([from_native(DELETE, {"skill_name": "none"})])
    for _ in range(times):
        log.append(verdicts, fsync=False)


def test_two_writers_never_share_a_position(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_append, args=(str(tmp_path / FILE), 40)) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    reading = read_log(tmp_path / FILE)
    assert [entry.position for entry in reading.entries] == list(range(1, 81))
    assert reading.notes == ()


@pytest.mark.meets("K1")
def test_a_repository_on_disk_keeps_its_history_through_hand_edits(tmp_path: Path) -> None:
    place = tmp_path / "skills"
    kept.apply(place, [from_native(INSERT, {"skill_name": s.title, "content": s.content}) for s in (HOT, COLD)])
    edited = HOT.content.replace("Heat it.", "Warm it.")
    (place / "put-hot" / "SKILL.md").write_text(edited)
    (place / "by-hand").mkdir()
    (place / "by-hand" / "SKILL.md").write_text("---\nname: By hand\ndescription: Use it.\n---\n\nDo it.\n")
    (verdict,) = kept.apply(place, [from_native(DELETE, {"skill_name": COLD.title})])
    assert verdict.valid
    now = kept.at(place)
    assert [skill.title for skill in now.repository] == ["put hot", "By hand"]
    reading = read_log(place / FILE)
    assert [entry.call.name for entry in reading.entries] == [INSERT, INSERT, kept.HAND_EDIT, DELETE]
    assert reading.at().skills == now.repository.skills
    assert [skill.title for skill in kept.at(place, 2).repository] == ["put hot", "put cold"]
    assert kept.at(place, 2).repository.get("put hot") == HOT


def test_a_directory_without_a_log_has_no_earlier_positions(tmp_path: Path) -> None:
    (tmp_path / "put-hot").mkdir()
    (tmp_path / "put-hot" / "SKILL.md").write_text(HOT.content)
    with pytest.raises(UsageError, match="no earlier positions"):
        kept.at(tmp_path, 1)
    kept.apply(tmp_path, [from_native(DELETE, {"skill_name": "none"})])
    assert kept.at(tmp_path, 0).repository.skills == (HOT,)  # what stood there first is the log's beginning
