"""What people do while a run works: edit the agent, delete a workspace, touch a frozen file, start another run."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.evolution import runs
from core.evolution.run_view import RunView
from core.foundation.errors import ConflictError
from core.state import ledger
from core.state.agents import read_agent
from core.state.scoreboard import read_scoreboard
from tests.e2e.conftest import Undisturbed
from tests.e2e.loop import AGENT, Loop, gone, outcome, reruns, until
from tests.e2e.timeline import kill_at

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


async def _when(loop: Loop, run_id: str, event: str, do: Callable[[], object], **fields: str) -> RunView:
    """Do something as soon as an event stands in the journal, and return the view at the run's end."""
    await until(lambda: loop.of(run_id, event, **fields))
    do()
    return await loop.end_of(run_id)


BY_HAND = "\nA word by hand.\n"


def _edit(path: Path) -> Callable[[], object]:
    return lambda: path.write_text(path.read_text(encoding="utf-8") + BY_HAND, encoding="utf-8")


async def test_agent_edited_by_hand_while_a_pilot_runs(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """Results of two states don't compare: the run stops blocked and the edit stays; put back, the run goes on."""
    loop = Loop.at(tmp_path / "home")
    run_id = loop.start(loop.build_spec())
    view = await _when(loop, run_id, "target_started", _edit(loop.agent.agents_md))
    assert view.state == "blocked", loop.told(run_id)
    assert "changed" in view.reason
    assert view.frozen_pilot is None
    assert not [cell for cell in view.cells if cell.state == "scored"], "what another state earned is no score"
    text = loop.agent.agents_md.read_text(encoding="utf-8")
    assert text.endswith(BY_HAND)
    assert await gone(loop.home) == {}

    loop.agent.agents_md.write_text(text.removesuffix(BY_HAND), encoding="utf-8")
    done = await loop.end_of(runs.resume(loop.project, run_id))
    assert done.state == "finished", loop.told(run_id)
    assert outcome(loop, run_id) == undisturbed.build


async def test_agent_edited_by_hand_while_a_candidate_is_measured(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """No decision rests on a state that nobody proposed, not even when the edit is taken back before the resume."""
    loop = undisturbed.home_after_build(tmp_path / "home")
    run_id = loop.start(loop.optimize_spec())
    view = await _when(loop, run_id, "target_started", _edit(loop.agent.agents_md))
    assert view.state == "blocked", loop.told(run_id)
    assert f"the state of agent {AGENT}" in view.reason
    assert ledger.read(loop.project, AGENT) == ()
    assert [entry.version for entry in read_scoreboard(loop.benchmark.scoreboard).evaluations] == [1]
    text = loop.agent.agents_md.read_text(encoding="utf-8")
    assert text.endswith(BY_HAND), "an operator's words are not thrown away"

    loop.agent.agents_md.write_text(text.removesuffix(BY_HAND), encoding="utf-8")
    done = await loop.end_of(runs.resume(loop.project, run_id))
    assert done.state in {"finished", "blocked"}, loop.told(run_id)
    assert done.rounds[0].decision in {None, "unevaluable"}, "its cells were measured under another state"
    assert reruns(loop.events(run_id)) == []


async def test_version_edited_by_hand_while_a_pilot_runs(tmp_path: Path) -> None:
    loop = Loop.at(tmp_path / "home")
    run_id = loop.start(loop.build_spec())

    def bump() -> None:
        text = loop.agent.config.read_text(encoding="utf-8")
        assert "version: 1" in text
        loop.agent.config.write_text(text.replace("version: 1", "version: 5", 1), encoding="utf-8")

    view = await _when(loop, run_id, "target_started", bump)
    assert view.state == "blocked", loop.told(run_id)
    assert "changed" in view.reason
    assert view.frozen_pilot is None
    assert read_agent(loop.agent).version == 5


async def test_frozen_file_edited_by_hand_while_a_candidate_is_measured(
    tmp_path: Path, undisturbed: Undisturbed
) -> None:
    """After the freeze a changed byte voids the benchmark, visibly."""
    loop = undisturbed.home_after_build(tmp_path / "home")
    case = loop.benchmark.case(loop.benchmark.case_ids()[0])
    run_id = loop.start(loop.optimize_spec())
    view = await _when(loop, run_id, "target_started", _edit(case.rubric_readme))
    assert view.state == "blocked", loop.told(run_id)
    assert case.id in view.reason
    assert [entry.version for entry in read_scoreboard(loop.benchmark.scoreboard).evaluations] == [1]


async def test_workspace_deleted_under_the_target(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """Work that is gone is no score of zero by accident: the cell fails or is run again, and the run tells."""
    loop = Loop.at(tmp_path / "home")
    run_id = loop.start(loop.build_spec())

    def delete() -> None:
        for event in loop.of(run_id, "target_started"):
            shutil.rmtree(event["workspace"], ignore_errors=True)

    view = await _when(loop, run_id, "target_started", delete)
    assert view.state in {"finished", "blocked"}, loop.told(run_id)
    assert reruns(loop.events(run_id)) == []
    if view.state == "finished":
        assert outcome(loop, run_id) == undisturbed.build
    else:
        assert view.pilots == ()


@pytest.mark.parametrize("what", ["workspace", "trace"])
async def test_evidence_deleted_between_target_and_score(what: str, tmp_path: Path, undisturbed: Undisturbed) -> None:
    """Stopped after its Target and robbed of what that left, a cell can't be scored: it runs once more."""
    loop, robbed = Loop.at(tmp_path / "home"), list[str]()
    run_id = loop.start(loop.build_spec())
    assert await kill_at(loop.run(run_id), undisturbed.builder.after("target_finished"))
    scored = {event["cell"] for event in loop.of(run_id, "cell", state="scored")}
    for event in loop.of(run_id, "target_finished"):
        if event["cell"] not in scored:
            robbed.append(event["cell"])
            if what == "workspace":
                shutil.rmtree(event["workspace"])
            else:
                Path(event["trace"]).unlink()
    assert robbed, "every cell was scored already, so nothing was tried"
    done = await loop.end_of(runs.resume(loop.project, run_id))
    assert done.state == "finished", loop.told(run_id)
    assert outcome(loop, run_id) == undisturbed.build, "what is gone is not zero"
    told = {event["cell"]: event["reason"] for event in loop.of(run_id, "cell", state="interrupted")}
    assert all("gone" in told[cell] for cell in robbed)
    assert reruns(loop.events(run_id)) == []


async def test_second_run_on_the_same_agent_is_refused(tmp_path: Path, undisturbed: Undisturbed) -> None:
    loop = undisturbed.home_after_build(tmp_path / "home")
    run_id = loop.start(loop.optimize_spec())
    with pytest.raises(ConflictError, match=run_id):
        loop.start(loop.optimize_spec())
    with pytest.raises(ConflictError, match=run_id):
        loop.start(loop.build_spec(benchmark_id="another"))
    with pytest.raises(ConflictError, match="running"):
        runs.resume(loop.project, run_id)
    view = await loop.end_of(run_id)
    assert view.state == "finished", loop.told(run_id)
    assert outcome(loop, loop.runs()[0], run_id) == undisturbed.whole
    assert len(loop.runs()) == 2


async def test_one_of_many_starts_at_once_gets_the_agent(tmp_path: Path, undisturbed: Undisturbed) -> None:
    loop = undisturbed.home_after_build(tmp_path / "home")
    spec, together = loop.optimize_spec(), threading.Barrier(6)

    def start(number: int) -> str | ConflictError:
        together.wait()
        try:
            return runs.start(loop.project, spec, run_id=f"optimize-20260101-00000{number}-abcd")
        except ConflictError as error:
            return error

    with ThreadPoolExecutor(6) as pool:
        ended = list(pool.map(start, range(6)))
    [run_id] = [result for result in ended if isinstance(result, str)]
    assert all(run_id in str(result) for result in ended if isinstance(result, ConflictError))
    assert len(loop.runs()) == 2, "the build and one more"
    view = await loop.end_of(run_id)
    assert view.state == "finished", loop.told(run_id)


async def test_resume_is_refused_while_another_run_has_the_agent(tmp_path: Path, undisturbed: Undisturbed) -> None:
    loop = undisturbed.home_after_build(tmp_path / "home")
    first = loop.start(loop.optimize_spec())
    await _when(loop, first, "phase", lambda: runs.stop(loop.project, first))
    second = loop.start(loop.optimize_spec())
    with pytest.raises(ConflictError, match=second):
        runs.resume(loop.project, first)
    runs.stop(loop.project, second)
    runs.resume(loop.project, first)
    view = await loop.end_of(first)
    assert view.state == "finished", loop.told(first)
    assert await gone(loop.home) == {}


async def test_stopped_run_resumes_to_the_same_result(tmp_path: Path, undisturbed: Undisturbed) -> None:
    loop = undisturbed.home_after_build(tmp_path / "home")
    run_id = loop.start(loop.optimize_spec())
    stopped = await _when(loop, run_id, "target_started", lambda: runs.stop(loop.project, run_id))
    assert stopped.state == "stopped", loop.told(run_id)
    assert runs.exit_of(stopped) == 130
    assert await gone(loop.home) == {}
    done = await loop.end_of(runs.resume(loop.project, run_id))
    assert done.state == "finished", loop.told(run_id)
    assert outcome(loop, loop.runs()[0], run_id) == undisturbed.whole
    assert reruns(loop.events(run_id)) == []
