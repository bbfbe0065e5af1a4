"""A Target that saw a rubric is noticed, and the run stops."""

from __future__ import annotations

from pathlib import Path

from core.evolution import canary
from core.evolution.rubric import read_rubric
from core.traces.writer import new_trace_path
from tests.evolution.bench import CASES, MEASURED, LeftError, make_bench


async def test_each_rubric_gets_one_token_of_its_own_and_still_reads(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    await bench.contract()
    bench.write_all()
    await bench.submit()
    known = canary.tokens(bench.desk.benchmark)
    assert sorted(known.values()) == list(CASES)
    assert len(known) == len(CASES)
    before = bench.builder.hashes()
    for case_id in CASES:
        canary.ensure(bench.desk.benchmark.case(case_id))
        assert len(read_rubric(bench.desk.benchmark.case(case_id)).items) == 2
    assert bench.builder.hashes() == before


async def test_a_token_in_a_targets_trace_stops_the_run(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    await bench.contract()
    bench.write_all()
    await bench.submit()
    await bench.review("revision")
    token = next(token for token, case in canary.tokens(bench.desk.benchmark).items() if case == MEASURED[1])
    session = f"session-pilot-1-rev-1-{MEASURED[0]}-1"
    trace = new_trace_path(bench.agent, session)
    trace.parent.mkdir(parents=True, exist_ok=True)
    trace.write_bytes(b'{"output": "' + token + b'"}\n')
    try:
        await bench.call("dispatch")
    except LeftError:
        pass
    else:
        raise AssertionError("the run went on")
    assert MEASURED[1] in bench.blocked[0]
    assert session in bench.blocked[0]


async def test_without_a_token_in_sight_nothing_stops(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    await bench.contract()
    await bench.pilot(50.0, words="one")
    assert bench.blocked == []


async def test_what_a_link_leads_to_is_not_copied_into_a_rubric(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    await bench.contract()
    bench.write_all()
    secret = tmp_path / "secret"
    secret.write_text("api_key = 'k'\n", encoding="utf-8")
    readme = bench.desk.benchmark.case(CASES[0]).rubric_readme
    readme.unlink()
    readme.symlink_to(secret)
    assert not (await bench.submit())["ok"]
    assert readme.is_symlink()
