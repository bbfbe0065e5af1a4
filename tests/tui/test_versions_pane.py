"""Pane 5: versions are kept, exported and imported on real files, after what each asks; everything can be undone."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from core.evolution.specs import RunPaths
from core.state import audit, ledger, readonly, rollback, snapshots, transfer
from core.state.agents import edit_config, read_agent
from core.state.fingerprint import state_hash, whole_hash
from core.state.paths import AgentPaths, ProjectPaths
from tests.tui.driving import console, screen_text, until
from tests.tui.home import AGENT, ask_for_freeze
from tui.settings import Loaded
from tui.widgets import prompt

GiveEngine = Callable[[RunPaths], "subprocess.Popen[bytes]"]
SIZES = [(80, 24), (120, 40), (200, 60)]
ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\u200b[/nope][red]"
EDGE = Path(__file__).parents[1] / "fixtures" / "penguin-edge" / "snapshots"


@pytest.fixture(autouse=True)
def no_guard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(prompt, "GUARD_S", 0.0)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def agent(project: ProjectPaths) -> AgentPaths:
    return project.agent(AGENT)


def archive_of(version: int, text: str, target: Path, **files: str) -> Path:
    """Write a small archive as another home would export it."""
    config = f'system_prompt: "x"\nversion: {version}\n'
    with tarfile.open(target, "w:gz") as tar:
        for name, content in {"system_config.yaml": config, "AGENTS.md": text, **files}.items():
            entry = tarfile.TarInfo(f"agent_state/{name}")
            entry.size = len(content.encode())
            tar.addfile(entry, io.BytesIO(content.encode()))
    return target


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_versions_and_timeline_at_every_size(project: ProjectPaths, size: tuple[int, int]) -> None:
    async with console(project, size) as (app, pilot):
        await pilot.press("5")
        text = await until(app, pilot, lambda text: "now v2" in text and "previous" in text)
        assert "R goes back to the selected version" in text
        await pilot.press("t")
        text = await until(app, pilot, lambda text: "accepted" in text and "v1 to v2" in text and "When" in text)
        assert "optimizer" in text
        assert all(len(line) <= size[0] for line in text.split("\n"))
        await pilot.press("escape")
        await until(app, pilot, lambda text: "> + v2" in text)


async def test_keep_with_a_note(project: ProjectPaths, agent: AgentPaths) -> None:
    agent.agents_md.write_text("# Mine\n")
    async with console(project) as (app, pilot):
        await pilot.press("5")
        await until(app, pilot, lambda text: "edited since it was kept (1 file)" in text)
        await pilot.press("n", *"before the feast", "enter")
        text = await until(app, pilot, lambda text: "Kept beside v2" in text and "before the feast" in text)
        assert "edited since it was kept (1 file), kept beside" in text
        await pilot.press("t")
        await until(app, pilot, lambda text: "o kept" in text and "console" in text)
    beside = [entry for entry in snapshots.list_snapshots(agent) if entry.beside]
    assert [entry.content_hash for entry in beside] == [state_hash(agent.state)]
    (entry,) = audit.read(project)
    assert (entry.action, entry.actor, entry.detail["note"]) == ("snapshot", "console", "before the feast")


@pytest.mark.parametrize("answer", ["escape", "ctrl+c"])
async def test_a_note_that_was_left_keeps_nothing(project: ProjectPaths, agent: AgentPaths, answer: str) -> None:
    agent.agents_md.write_text("# Mine\n")
    before = snapshots.list_snapshots(agent)
    async with console(project) as (app, pilot):
        await pilot.press("5", "n", "x", "escape")
        await until(app, pilot, lambda text: "Nothing was kept" in text)
    assert snapshots.list_snapshots(agent) == before


async def test_export_and_never_over_a_file(project: ProjectPaths, agent: AgentPaths, tmp_path: Path) -> None:
    async with console(project) as (app, pilot):
        await pilot.press("5", "down")
        await until(app, pilot, lambda text: "> o v1" in text)
        await pilot.press("E")
        await until(app, pilot, lambda text: "Export v1 to:" in text and "helper-v1.tar.gz" in text)
        await pilot.press("enter")
        await until(app, pilot, lambda text: "Wrote" in text and "vault" in text)
        written = tmp_path / "helper-v1.tar.gz"
        assert transfer.look(written).archive.read("AGENTS.md") == b"# Rules of version 1\n"
        written.write_bytes(b"mine")
        await pilot.press("E", "enter")
        await until(app, pilot, lambda text: "already exists" in text)
        assert written.read_bytes() == b"mine"
        await pilot.press("E", "ctrl+u", *str(tmp_path / "no" / "where.tar.gz"), "enter")
        await until(app, pilot, lambda text: "cannot write" in text)


async def test_the_present_state_is_exported_as_it_is_edits_included(
    project: ProjectPaths, agent: AgentPaths, tmp_path: Path
) -> None:
    agent.agents_md.write_text("# Mine\n")
    async with console(project) as (app, pilot):
        await pilot.press("5")
        await until(app, pilot, lambda text: "> + v2" in text)
        await pilot.press("E")
        await until(app, pilot, lambda text: "Export v2 as it is now to:" in text)
        await pilot.press("ctrl+u", *"out.tar.gz", "enter")
        await until(app, pilot, lambda text: "Wrote" in text)
    assert transfer.look(tmp_path / "out.tar.gz").archive.read("AGENTS.md") == b"# Mine\n"


async def test_a_newer_archive_is_shown_then_asked_about_then_imported_and_undone(
    project: ProjectPaths, agent: AgentPaths, tmp_path: Path
) -> None:
    archive_of(9, "# Theirs\n", tmp_path / "in.tar.gz")
    before = whole_hash(agent.state)
    vault = agent.vault.read_bytes() if agent.vault.exists() else None
    async with console(project) as (app, pilot):
        await pilot.press("5", "I", *"in.tar.gz", "enter")
        text = await until(app, pilot, lambda text: "now (v2) -> v9 of in.tar.gz" in text and "+ # Theirs" in text)
        assert "Not imported yet" in text
        assert whole_hash(agent.state) == before
        await pilot.press("I")
        await until(app, pilot, lambda text: "Import v9 over v2 of helper?" in text)
        await pilot.press("n")
        await until(app, pilot, lambda text: "Not imported; nothing was changed" in text)
        assert whole_hash(agent.state) == before
        await pilot.press("I", "y")
        await until(app, pilot, lambda text: "Imported into helper: v2 to v9" in text)
        assert agent.agents_md.read_text() == "# Theirs\n"
        await pilot.press("5")
        await until(app, pilot, lambda text: "now v9" in text and "undo: import v2 to v9" in text)
        await pilot.press("u")
        await until(app, pilot, lambda text: "helper is v2 again" in text and "now v2" in text)
        await pilot.press("t")
        await until(app, pilot, lambda text: "undone" in text and "imported" in text and "v2 to v9" in text)
    assert whole_hash(agent.state) == before
    assert (agent.vault.read_bytes() if agent.vault.exists() else None) == vault
    assert [entry.action for entry in audit.read(project)] == ["import", "undo"]


async def test_what_u_takes_back_is_told_where_the_version_stayed_the_same(
    project: ProjectPaths, agent: AgentPaths
) -> None:
    kept = agent.agents_md.read_text()
    agent.agents_md.write_text("# By hand\n")
    rollback.roll_back(agent, version=2, actor="cli")
    async with console(project) as (app, pilot):
        await pilot.press("5")
        text = await until(app, pilot, lambda text: "undo: back to v2 as it was kept" in text)
        assert "v2 to v2" not in text
        await pilot.press("u")
        await until(app, pilot, lambda text: "helper is v2 again, as it was before." in text)
    assert agent.agents_md.read_text() == "# By hand\n" != kept


async def test_an_undo_that_would_be_refused_is_not_offered(project: ProjectPaths, agent: AgentPaths) -> None:
    rollback.roll_back(agent, version=1, actor="cli")
    agent.agents_md.write_text("# Gone on from there\n")
    async with console(project) as (app, pilot):
        await pilot.press("5")
        text = await until(app, pilot, lambda text: "edited since it was kept" in text)
        assert "undo:" not in text
        await pilot.press("u")
        await until(app, pilot, lambda text: "was changed since" in text and "roll back to version 2 instead" in text)
    assert agent.agents_md.read_text() == "# Gone on from there\n"


@pytest.mark.parametrize("typed", ["y", "v3", "", "V1", "helper"])
async def test_one_that_is_not_newer_wants_its_version_typed(
    project: ProjectPaths, agent: AgentPaths, tmp_path: Path, typed: str
) -> None:
    archive_of(1, "# Theirs\n", tmp_path / "in.tar.gz")
    before = whole_hash(agent.state)
    async with console(project) as (app, pilot):
        await pilot.press("5", "I", *"in.tar.gz", "enter")
        await until(app, pilot, lambda text: "+ # Theirs" in text)
        await pilot.press("I")
        await until(app, pilot, lambda text: "v1 is not newer than v2 of helper" in text and "Type v1:" in text)
        await pilot.press(*typed, "enter")
        await until(app, pilot, lambda text: "Not imported; nothing was changed" in text)
        assert whole_hash(agent.state) == before
        await pilot.press("I", *"v1", "enter")
        await until(app, pilot, lambda text: "Imported into helper: v2 to v1" in text)
    assert agent.agents_md.read_text() == "# Theirs\n"


async def test_esc_leaves_an_archive_that_is_shown(project: ProjectPaths, agent: AgentPaths, tmp_path: Path) -> None:
    archive_of(9, "# Theirs\n", tmp_path / "in.tar.gz")
    before = whole_hash(agent.state)
    async with console(project) as (app, pilot):
        await pilot.press("5", "I", *"in.tar.gz", "enter")
        await until(app, pilot, lambda text: "+ # Theirs" in text)
        await pilot.press("escape")
        await until(app, pilot, lambda text: "v1 -> now (v2)" in text and "Not imported" in text)
        await pilot.press("I")
        await until(app, pilot, lambda text: "No archive is shown" in text)
    assert whole_hash(agent.state) == before


@pytest.mark.parametrize(
    ("name", "reason"),
    [("traverse.tar.gz", "refused as a whole"), ("symlink.tar.gz", "refused as a whole"),
     ("plain.txt", "plain.txt can't be imported"), ("none.tar.gz", "there is no file"),
     ("noconfig.tar.gz", "no agent_state/system_config.yaml")],
)  # fmt: skip
async def test_an_evil_or_damaged_archive_is_refused_with_its_reason(
    project: ProjectPaths, agent: AgentPaths, tmp_path: Path, name: str, reason: str
) -> None:
    if (EDGE / name).exists():
        (tmp_path / name).write_bytes((EDGE / name).read_bytes())
    elif name == "plain.txt":
        (tmp_path / name).write_text(f"no archive {ATTACK}" * 100)
    elif name == "noconfig.tar.gz":
        with tarfile.open(tmp_path / name, "w:gz") as tar:
            tar.addfile(tarfile.TarInfo("agent_state/AGENTS.md"), io.BytesIO(b""))
    before = whole_hash(agent.state)
    async with console(project) as (app, pilot):
        await pilot.press("5", "I", *name, "enter")
        await until(app, pilot, lambda text: reason in text)
        assert "5 Versions" in screen_text(app)
    assert whole_hash(agent.state) == before
    assert audit.read(project) == ()


async def test_an_archive_that_changes_after_it_was_shown_is_not_imported(
    project: ProjectPaths, agent: AgentPaths, tmp_path: Path
) -> None:
    path = archive_of(9, "# Theirs\n", tmp_path / "in.tar.gz")
    before = whole_hash(agent.state)
    async with console(project) as (app, pilot):
        await pilot.press("5", "I", *"in.tar.gz", "enter")
        await until(app, pilot, lambda text: "+ # Theirs" in text)
        archive_of(9, "# Other\n", path)
        await pilot.press("I", "y")
        await until(app, pilot, lambda text: "the archive changed since it was looked at" in text)
    assert whole_hash(agent.state) == before


async def test_no_import_into_an_agent_at_work(
    project: ProjectPaths, agent: AgentPaths, tmp_path: Path, engine: GiveEngine
) -> None:
    archive_of(9, "# Theirs\n", tmp_path / "in.tar.gz")
    before = whole_hash(agent.state)
    async with console(project) as (app, pilot):
        await pilot.press("5", "I", *"in.tar.gz", "enter")
        await until(app, pilot, lambda text: "+ # Theirs" in text)
        run, _ = ask_for_freeze(project)
        engine(run)
        await until(app, pilot, lambda text: "1 live" in text)
        await pilot.press("I")
        await until(app, pilot, lambda text: "works on helper" in text)
        await pilot.press("5", "I")
        await until(app, pilot, lambda text: "K stops it; then import" in text)
    assert whole_hash(agent.state) == before


async def test_d_compares_with_now_and_any_two_by_a_mark(project: ProjectPaths, agent: AgentPaths) -> None:
    edit_config(agent, {"version": 4})
    agent.agents_md.write_text("# Rules of version 4\n")
    snapshots.create(agent)
    async with console(project) as (app, pilot):
        await pilot.press("5")
        await until(app, pilot, lambda text: "now v4" in text)
        await pilot.press("end", "d")
        await until(app, pilot, lambda text: "v1 -> now (v4)" in text and "+ # Rules of version 4" in text)
        await pilot.press("5", "m", "up")
        await until(app, pilot, lambda text: "marked" in text and "> + v2" in text)
        await pilot.press("d")
        await until(app, pilot, lambda text: "v1 -> v2" in text and "+ # Rules of version 2" in text)
        await pilot.press("5", "end", "m")
        await until(app, pilot, lambda text: "no longer marked" in text)


async def test_roll_back_from_the_diff_goes_to_the_version_that_is_shown(
    project: ProjectPaths, agent: AgentPaths
) -> None:
    async with console(project) as (app, pilot):
        await pilot.press("5", "end", "d")
        await until(app, pilot, lambda text: "v1 -> now (v2)" in text)
        await pilot.pause(0.4)
        await pilot.press("R")
        await until(app, pilot, lambda text: "Roll helper back to v1?" in text)
        await pilot.press("y")
        await until(app, pilot, lambda text: "Rolled helper back: v2 to v1" in text)
        assert agent.agents_md.read_text() == "# Rules of version 1\n"
        await until(app, pilot, lambda text: "byte for byte" in text)
        await pilot.press("u")
        await until(app, pilot, lambda text: "helper is v2 again" in text and "+ # Rules of version 2" in text)
    assert agent.agents_md.read_text() == "# Rules of version 2\n"


async def test_read_only_compares_and_exports_and_changes_nothing(
    project: ProjectPaths, agent: AgentPaths, tmp_path: Path
) -> None:
    archive_of(9, "# Theirs\n", tmp_path / "in.tar.gz")
    agent.agents_md.write_text("# Mine\n")
    before = {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file()}
    async with console(project, read_only=True) as (app, pilot):
        await pilot.press("5", "n")
        await pilot.press("I", "d")
        text = await until(app, pilot, lambda text: "+ # Mine" in text)
        await pilot.press("I", "y", "5")
        text = await until(app, pilot, lambda text: "READ-ONLY" in text and "now v2" in text)
        assert not app.frame.query_one(prompt.Prompt).is_busy
        footer = text.split("\n")[-1]
        assert "keep" not in footer
        assert "import" not in footer
    assert {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file()} == before


async def test_a_sealed_home_still_exports_what_is_kept_and_refuses_to_keep(
    project: ProjectPaths, agent: AgentPaths, tmp_path: Path
) -> None:
    agent.agents_md.write_text("# Mine\n")
    with readonly.sealed(project.root):
        async with console(project, (200, 60), read_only=True) as (app, pilot):
            await pilot.press("5", "E", "enter")
            await until(app, pilot, lambda text: "is opened read-only" in text)
            await pilot.press("end", "E", "enter")
            await until(app, pilot, lambda text: "Wrote" in text)
    assert (tmp_path / "helper-v1.tar.gz").exists()
    assert not (tmp_path / "helper-v2.tar.gz").exists()


async def test_a_config_that_cannot_be_read_leaves_the_way_back_in_sight(
    project: ProjectPaths, agent: AgentPaths
) -> None:
    agent.config.write_text("a: [")
    async with console(project) as (app, pilot):
        await pilot.press("5")
        text = await until(app, pilot, lambda text: "can't be read" in text)
        assert "v2" in text
        await pilot.pause(0.4)
        await pilot.press("R")
        await until(app, pilot, lambda text: "Rolled helper back" in text)
    assert read_agent(agent).version == 2


async def test_nothing_of_a_name_note_or_record_reaches_the_terminal_raw(
    project: ProjectPaths, agent: AgentPaths, tmp_path: Path
) -> None:
    snapshots.create(agent, note=f"note {ATTACK}", actor=f"x{ATTACK}")
    record = ledger.read(project, AGENT)[0]
    ledger.append(project, record.model_copy(update={"hypothesis": f"hyp {ATTACK}", "version": 7}))
    name = f"in{ATTACK}.tar.gz".replace("/", "")
    archive_of(9, f"# Theirs {ATTACK}\n", tmp_path / name, **{f"tools/{ATTACK.replace('/', '')}.md": "x"})
    for size in SIZES:
        async with console(project, size) as (app, pilot):
            await pilot.press("5")
            await until(app, pilot, lambda text: "note ␛]0;owned" in text)
            await pilot.press("t", "down", "down", "t", "home")
            text = screen_text(app)
            assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u200b"} & set(text)
    (entry,) = audit.read(project)
    assert json.loads(project.audit.read_text().splitlines()[0])["detail"]["note"] == entry.detail["note"]


async def test_the_way_back_is_told_by_the_key_in_force(project: ProjectPaths) -> None:
    async with console(project, (80, 24), loaded=Loaded(keys={"rollback": ("f5",), "undo": ("f6",)})) as (app, pilot):
        await pilot.press("5", "end")
        text = await until(app, pilot, lambda text: "f5 rolls the agent back to this version" in text)
        assert "f5 goes back to the selected version" in text
        assert "f6 undoes it" in " ".join(text.split())
        assert "R goes" not in text
    async with console(project, (80, 24), read_only=True) as (app, pilot):
        await pilot.press("5", "end")
        text = await until(app, pilot, lambda text: "now v2" in text)
        assert "goes back to the selected" not in text
        assert "rolls the agent back" not in text


async def test_at_80_what_to_do_next_is_never_cut_off(project: ProjectPaths) -> None:
    hint = "I in Versions imports it."
    async with console(project, (80, 24)) as (app, pilot):
        app.frame.flash(f"Wrote {'a-long-name-' * 6}v2.tar.gz.", "good", hint)
        text = await until(app, pilot, lambda text: hint in text)
        line = next(line for line in text.split("\n") if hint in line)
        assert line.startswith(" Wrote a-long-name-")
        assert "\u2026" in line
        assert len(line) <= 80
        app.frame.flash("Wrote a.tar.gz.", "good", hint)
        await until(app, pilot, lambda text: f" Wrote a.tar.gz.  {hint}" in text)
