"""Arms whose curator is a process: it refuses, it dies, it comes back (K6)."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from core.curation import curator_process, stream_engine, streams
from core.curation.curator_process import CuratorProcess
from core.curation.stream_files import StreamPaths, read_journal
from core.curation.stream_spec import StreamSpec
from core.curation.worlds import World
from core.state.paths import ProjectPaths

from .kitchen import Kitchen

pytestmark = pytest.mark.meets("K6")

TEACHER = """
import os, sys
from pathlib import Path
from core.curation.curator_serving import serve_pipes
from core.curation.curators import Curation
from core.skillrepo.calls import parse, render
from tests.curation.kitchen import skill

world, note, die_at = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])

class Teacher:
    name = "teacher"
    def refuses(self, of):
        return "" if of == world else f"It was trained for {world}, not for {of}."
    def curate(self, inputs):
        said = int(note.read_text()) if note.exists() else 0
        if said == die_at:
            note.write_text(str(said + 1))
            print("the device fell off the bus", file=sys.stderr)
            os._exit(3)
        note.write_text(str(said + 1))
        for given in inputs:
            way = given.episode.task.family
            known = any(one.title == way for one in given.retrieved)
            text = "" if known else render("new_skill_insert", {"skill_name": way, "content": skill(way).content})
            yield Curation(text, parse(text), given.seed, 1)

serve_pipes(Teacher())
"""


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    root = tmp_path / "default"
    root.mkdir()
    return ProjectPaths(root)


def run(
    project: ProjectPaths, monkeypatch: pytest.MonkeyPatch, run_id: str, *, world: str = "kitchen", die_at: int = -1
) -> tuple[StreamPaths, int]:
    """Run the arms `base` and `trained` with teachers of that world; begin, or go on with, `run_id`."""
    run_root = project.streams / run_id
    policy = project.root / "policy"
    (policy / "checkpoints" / "step-00000").mkdir(parents=True, exist_ok=True)
    note = project.root / f"{run_id}.note"

    def opened(path: Path, *, temperature: float | None = None) -> CuratorProcess:
        assert path in (policy, policy / "checkpoints" / "step-00000")
        assert temperature == 0.7
        script = textwrap.dedent(TEACHER)
        return CuratorProcess([sys.executable, "-c", script, world, str(note), str(die_at)])

    monkeypatch.setattr(curator_process, "trained", opened)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    if not run_root.exists():
        spec = StreamSpec("kitchen", arms=("base", "trained"), seeds=(1, 2), curator=str(policy), temperature=0.7)
        streams.prepare(project, spec, run_id=run_id)

    def kitchen(spec: StreamSpec, project: ProjectPaths) -> World:
        return Kitchen()

    return StreamPaths(run_root), stream_engine.run(run_root, project, kitchen)


def test_a_policy_that_refuses_the_world_is_not_run(project: ProjectPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    _, code = run(project, monkeypatch, "a", world="shop")
    assert code == 0
    summary = streams.read_run(project, "a").summary
    for name in ("base", "trained"):
        refused = summary.arm(name)
        assert refused is not None
        assert (refused.state, refused.reason) == ("not run", "It was trained for shop, not for kitchen.")
        assert refused.success_micro is None


def test_a_policy_that_dies_ends_the_run_which_goes_on_as_if_it_had_not(
    project: ProjectPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, code = run(project, monkeypatch, "whole")
    assert code == 0
    # It dies at the sixth answer of the second arm.
    broken, code = run(project, monkeypatch, "broken", die_at=17)
    assert code == 1
    failed = streams.read_run(project, "broken")
    assert failed.state == "failed"
    assert "the device fell off the bus" in failed.reason
    trained = failed.summary.arm("trained")
    assert trained is not None
    assert trained.attempts == 10
    _, code = run(project, monkeypatch, "broken")
    assert code == 0
    first, second = read_journal(whole), read_journal(broken)
    for name in ("none", "base", "trained"):
        assert first.arms[name].positions == second.arms[name].positions
    documents: list[dict[str, Any]] = [json.loads(paths.summary.read_text()) for paths in (whole, broken)]
    shares = [document["arms"]["trained"]["success_micro"] for document in documents]
    assert shares[0] == shares[1] > 0.9
