"""What we write keeps the format of the existing system, byte by byte where it matters (EVOLUTION Appendix A, B, C).

One small real run on a home that the existing system wrote: an evaluation of its agent, an edit measured by `exuvia
try`, a snapshot, and a second agent of ours beside it. Then every kind of file that came is compared with what the
fixtures of the existing system hold.
"""

from __future__ import annotations

import itertools
import json
import re
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from core.state.benchmark import read_benchmark
from core.state.paths import AgentPaths, HomePaths, ProjectPaths
from core.state.scoreboard import read_scoreboard
from core.state.yaml12 import load
from core.traces.tree import build_tree
from tests.cli.program import FIXTURES, spawn

pytestmark = pytest.mark.e2e

THEIRS = FIXTURES / "penguin-state"
AGENT, BENCHMARK = "csv_helper", "csv-cleanup"
TITLE = "Reading twice: it helps, they say"
MODEL = ("--model", "rehearsal/rehearsal-1")

# EVOLUTION 2.2 no. 40 to 46.
EVALUATION = (
    "time", "version", "provider", "model_id", "thinking_level", "summary_title", "summary", "score", "cost",
    "duration_ms", "cases",
)  # fmt: skip
CASE = ("case", "score", "cost", "duration_ms", "runs")
RUN = ("score", "cost", "duration_ms", "session_id")
FORBIDDEN = {"max_score", "aggregate", "case_id", "mean_score", "mean_cost", "mean_duration_ms"}


@dataclass(frozen=True)
class Written:
    """The home after the run; `evaluation` and `tried` are what the commands told."""

    project: ProjectPaths
    evaluation: Mapping[str, Any]
    tried: Mapping[str, Any]

    @property
    def agent(self) -> AgentPaths:
        return self.project.agent(AGENT)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Evaluate, edit, try, keep, create: all by the program."""
    home = Path(shutil.copytree(THEIRS, tmp_path_factory.mktemp("shared") / "home"))
    project = HomePaths(home).project("default_project")
    agent = project.agent(AGENT)

    def exuvia(*words: str) -> Mapping[str, Any]:
        ended = spawn(*words, "--home", home, "--json")
        assert ended.returncode == 0, ended.stderr
        document = json.loads(ended.stdout)
        assert isinstance(document, dict)
        return document

    evaluation = exuvia("evaluate", AGENT, BENCHMARK, *MODEL)
    agent.agents_md.write_text(agent.agents_md.read_text() + "\nRead the task twice.\n")
    tried = exuvia("try", AGENT, BENCHMARK, "--runs", "2", "--hypothesis", TITLE, *MODEL)
    exuvia("agent", "create", "ours", "--requirement", "Does: everything, 'quoted' # and more.")
    exuvia("snapshot", "create", "ours")
    return Written(project, evaluation, tried)


def _before(path: Path, written: Written) -> Path:
    return THEIRS / path.relative_to(written.project.root.parent)


# Scoreboard


def _appended(written: Written) -> str:
    path = written.agent.benchmark(BENCHMARK).scoreboard
    text, before = path.read_bytes(), _before(path, written).read_bytes()
    assert text.startswith(before), "what was there before must stay, byte for byte"
    return text[len(before) :].decode()


def test_an_evaluation_is_appended_behind_what_was_there(written: Written) -> None:
    assert _appended(written).lstrip("\n").startswith("  - time: ")


def test_keys_and_their_order(written: Written) -> None:
    parsed = load(written.agent.benchmark(BENCHMARK).scoreboard.read_text())
    theirs = load((_before(written.agent.benchmark(BENCHMARK).scoreboard, written)).read_text())
    ours = parsed["evaluations"][len(theirs["evaluations"]) :]
    assert ours
    for evaluation in ours:
        assert tuple(evaluation) == EVALUATION
        for case in evaluation["cases"]:
            assert tuple(case) == CASE
            for run in case["runs"]:
                assert tuple(run) == RUN
        assert not FORBIDDEN & _keys(evaluation)
    # And so does the existing system's own text.
    assert tuple(theirs["evaluations"][0]) == EVALUATION
    assert tuple(theirs["evaluations"][0]["cases"][0]["runs"][0]) == RUN


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*(_keys(item) for item in value.values()))
    if isinstance(value, list):
        return set().union(*(_keys(item) for item in value))
    return set()


def test_the_layout_of_the_text_is_theirs(written: Written) -> None:
    """Blank out what differs between evaluations, and the lines are the same lines."""

    def shape(text: str) -> list[str]:
        lines = []
        for line in text.strip("\n").splitlines():
            key = re.match(r"\s*(?:- )?[a-z_]+:", line)
            folded = line.rstrip().endswith(">-")
            lines.append(key.group() + (" >-" if folded else "") if key else " " * (len(line) - len(line.lstrip())))
        return lines

    theirs = (_before(written.agent.benchmark(BENCHMARK).scoreboard, written)).read_text()
    first = theirs.split("  - time: ")[1]
    ours = _appended(written).strip("\n").removeprefix("  - time: ").split("  - time: ")[0]
    assert shape("  - time: " + first) == shape("  - time: " + ours)


def test_texts_are_folded_and_times_are_whole_seconds(written: Written) -> None:
    text = _appended(written)
    assert re.search(r"^    summary_title: >-\n      \S", text, re.MULTILINE)
    assert re.search(r"^    summary: >-\n      \S", text, re.MULTILINE)
    times = re.findall(r"time: (.*)", text)
    assert times
    for time in times:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", time)


def test_a_strict_reader_takes_every_evaluation(written: Written) -> None:
    for agent_id in written.project.agent_ids():
        agent = written.project.agent(agent_id)
        for benchmark_id in agent.benchmark_ids():
            reading = read_scoreboard(agent.benchmark(benchmark_id).scoreboard)
            assert reading.evaluations
            assert not reading.dropped
            assert not reading.diagnostics
    benchmark = read_benchmark(written.agent.benchmark(BENCHMARK))
    known = {case.id for case in benchmark.cases}
    for evaluation in benchmark.reading.evaluations:
        assert {case.case for case in evaluation.cases} <= known


def test_every_new_score_leads_to_a_trace(written: Written) -> None:
    before = len(read_scoreboard(_before(written.agent.benchmark(BENCHMARK).scoreboard, written)).evaluations)
    evaluations = read_scoreboard(written.agent.benchmark(BENCHMARK).scoreboard).evaluations[before:]
    names = {path.name for path in written.agent.traces.rglob("*.jsonl")}
    sessions = [run.session_id for evaluation in evaluations for case in evaluation.cases for run in case.runs]
    assert sessions
    assert len(set(sessions)) == len(sessions)
    for session in sessions:
        assert f"{session}_001.jsonl" in names


# Traces


def _records(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    assert raw.endswith(b"\n")
    return [json.loads(line) for line in raw.splitlines()]


def _kind(record: Mapping[str, Any]) -> tuple[str, str]:
    return record["type"], record["payload"].get("type", record["type"])


def _theirs() -> Iterator[dict[str, Any]]:
    for path in THEIRS.rglob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            yield json.loads(line)


def _ours(written: Written) -> list[Path]:
    found = [
        path
        for agent_id in written.project.agent_ids()
        for path in written.project.agent(agent_id).traces.rglob("*.jsonl")
        if not _before(path, written).exists()
    ]
    assert len(found) >= 4  # a Target and an Evaluator of the evaluation, and of each run of the trial
    return sorted(found)


def test_every_record_has_the_fields_of_its_kind_in_their_order(written: Written) -> None:
    shapes: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for record in _theirs():
        shapes.setdefault(_kind(record), set()).add(tuple(record["payload"]))
    seen = set()
    for path in _ours(written):
        for record in _records(path):
            assert tuple(record) == ("timestamp", "type", "payload")
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record["timestamp"])
            kind, fields = _kind(record), tuple(record["payload"])
            assert kind in shapes, f"the existing system knows no {kind}"
            assert fields in shapes[kind] | _documented(kind), (kind, fields)
            seen.add(kind)
    assert {
        ("session_meta", "session_meta"),
        ("model_msg", "text"),
        ("model_msg", "tool_call"),
        ("model_msg", "tool_call_output"),
        ("event_msg", "tool_list_ready"),
        ("event_msg", "approval_decision"),
        ("event_msg", "request_begin"),
        ("event_msg", "request_end"),
        ("event_msg", "token_usage"),
    } <= seen


def _documented(kind: tuple[str, str]) -> set[tuple[str, ...]]:
    """Fields that the fixtures happen to lack but the format has (EVOLUTION 2.5 no. 55 and 57)."""
    if kind == ("session_meta", "session_meta"):
        head = ("session_id", "provider", "model_id", "model_context_window", "system_prompt", "agent_state")
        return {(*head, "workspace", "source")}
    return set()


def test_values_are_of_their_kinds(written: Written) -> None:
    stops = {"completed", "failed", "aborted", "timeout", "malformed", "auth"}
    for path in _ours(written):
        for record in _records(path):
            payload = record["payload"]
            assert payload.get("stop_reason", "completed") in stops
            match payload.get("type"):
                case "token_usage":
                    for usage in (payload["session"], payload["request"]):
                        assert tuple(usage) == ("cache_read", "cache_write", "output", "total")
                        assert usage["total"] == usage["cache_read"] + usage["cache_write"] + usage["output"]
                case "tool_call":
                    assert isinstance(payload["arguments"], str)
                    json.loads(payload["arguments"])
                case "tool_list_ready":
                    for tool in payload["tools"]:
                        assert {"name", "description", "parameters"} <= set(tool)
                case "request_end":
                    assert payload["status"] in stops


def test_events_come_in_their_order(written: Written) -> None:
    for path in _ours(written):
        records = _records(path)
        kinds = [_kind(record)[1] for record in records]
        assert kinds[:3] == ["session_meta", "text", "tool_list_ready"]
        assert kinds[3] == "request_begin"
        times = [record["timestamp"] for record in records]
        assert times == sorted(times)
        _check_requests(records)


def _check_requests(records: list[dict[str, Any]]) -> None:
    """Walk one trace: requests don't nest, a call is followed by its decision, an output comes after its call."""
    within, called, answered = False, [], set()
    for record, following in itertools.zip_longest(records, records[1:]):
        payload = record["payload"]
        match _kind(record)[1]:
            case "request_begin":
                assert not within
                within = True
            case "request_end":
                assert within
                within = False
            case "token_usage":
                assert within
                assert _kind(following)[1] in {"request_end", "tool_call_output"}
            case "tool_call":
                assert within
                called.append(payload["tool_call_id"])
                assert following["payload"]["type"] == "approval_decision"
                assert following["payload"]["tool_call_id"] == payload["tool_call_id"]
            case "tool_call_output":
                assert payload["tool_call_id"] in called
                assert payload["tool_call_id"] not in answered
                answered.add(payload["tool_call_id"])
    assert not within
    assert answered == set(called)


def test_traces_lie_under_their_local_date_and_say_where_they_worked(written: Written) -> None:
    for path in _ours(written):
        meta = _records(path)[0]["payload"]
        assert path.name == f"{meta['session_id']}_001.jsonl"
        stamp = re.fullmatch(r"session-(\d{4}-\d\d-\d\d)-\d\d-\d\d-\d\d-[0-9a-f]{8}", meta["session_id"])
        assert stamp
        datetime.fromisoformat(path.parent.name)
        assert path.parent.parent.name == "traces"
        assert Path(meta["agent_state"]) == path.parent.parent.parent / "agent_state"
        assert Path(meta["workspace"]).is_absolute()
        target = path.parent.parent.parent.name == AGENT
        assert ("source" in meta) == (not target)  # the existing system hides what has a source among chats


def test_an_evaluator_s_tree_holds_its_target(written: Written) -> None:
    (cell,) = written.evaluation["cells"]
    node = build_tree(written.project, cell["evaluator_session_id"])
    assert [child.session_id for child in node.children] == [cell["session_id"]]


# Snapshots


def test_snapshots_are_theirs_in_shape(written: Written) -> None:
    archives = [
        *written.project.agent("ours").snapshots.glob("*"),
        *(written.project.own / "snapshots").rglob("*.tar.gz"),
    ]
    assert archives
    for path in archives:
        with tarfile.open(path, "r:gz") as archive:
            members = archive.getmembers()
        assert members[0].name == "agent_state"
        assert members[0].isdir()
        for member in members:
            assert member.name.split("/")[0] == "agent_state"
            assert member.isfile() or member.isdir()
            assert (member.uid, member.gid) == (0, 0)
            assert Path(member.name).name != ".vault.toml"
        assert "agent_state/system_config.yaml" in {member.name for member in members}
    names = sorted(path.name for path in written.agent.snapshots.iterdir())
    assert names == ["v1.tar.gz", "v2.tar.gz"]  # v2 was there with this content; it is used again, not written anew
    for name in names:
        path = written.agent.snapshots / name
        assert path.read_bytes() == _before(path, written).read_bytes()


# Nothing of ours among theirs


def test_nothing_of_ours_lies_among_shared_names(written: Written) -> None:
    for path in written.project.agents.rglob(".*"):
        assert _before(path, written).exists() or path.name == ".vault.toml", path
    for agent_id in written.project.agent_ids():
        agent = written.project.agent(agent_id)
        shared = {"agent_state", "traces", "workspaces", "benchmarks", "snapshots", "scratchpad"}
        assert {path.name for path in agent.root.iterdir()} <= shared
        for benchmark_id in agent.benchmark_ids():
            root = agent.benchmark(benchmark_id).root
            assert all(
                path.name in {"benchmark_config.toml", "scoreboard.yaml"} or path.name.startswith("CASE-")
                for path in root.iterdir()
            ), list(root.iterdir())
    assert {path.name for path in written.project.root.iterdir()} <= {"agents", ".project_config.toml", ".exuvia"}


def test_our_own_files_are_in_our_own_directory(written: Written) -> None:
    (record,) = [
        json.loads(line) for line in written.project.ledger.read_text().splitlines() if json.loads(line)["proposer"]
    ]
    assert record["hypothesis"] == TITLE
    assert record["proposer"] == "operator"
    assert written.project.runs.is_dir()
    assert len(list(written.project.runs.iterdir())) == 2


def test_what_was_not_worked_on_is_unchanged(written: Written) -> None:
    """The rejected edit is gone again; of their files only the scoreboard grew."""
    changed = [
        path.relative_to(THEIRS).as_posix()
        for path in THEIRS.rglob("*")
        if path.is_file() and (written.project.root.parent / path.relative_to(THEIRS)).read_bytes() != path.read_bytes()
    ]
    assert [entry["decision"] for entry in written.tried["rounds"]] == ["rejected"]  # the edit has no effect
    board = f"default_project/agents/{AGENT}/benchmarks/{BENCHMARK}/scoreboard.yaml"
    assert changed == [board]


def test_a_config_of_ours_reads_as_yaml_1_2_and_1_1_alike(written: Written) -> None:
    import yaml

    text = written.project.agent("ours").config.read_text()
    ours = load(text)
    older = {
        key: value.isoformat() if isinstance(value, date) else value for key, value in yaml.safe_load(text).items()
    }
    assert ours == older  # only timestamps may stay plain (EVOLUTION 2.3 no. 48)
    assert ours["description"] == "Does: everything, 'quoted' # and more."
    theirs = load((THEIRS / f"default_project/agents/{AGENT}/agent_state/system_config.yaml").read_text())
    assert {"name", "description", "version", "system_prompt", "model", "tools"} <= set(ours) & set(theirs)
