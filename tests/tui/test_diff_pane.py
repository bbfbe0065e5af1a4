"""Pane 7 shows what really differs on disk between any two sides, at each size, and why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.evolution.candidate import stage
from core.evolution.specs import run_paths
from core.state import snapshots
from core.state.agents import edit_config
from core.state.paths import ProjectPaths
from tests.tui.driving import console, screen_text, until
from tests.tui.home import AGENT, BENCHMARK, CASES, OPTIMIZE
from tui.messages import DiffWanted
from tui.screens.panes.diff import DiffPane
from tui.screens.panes.diff_lines import why_lines
from tui.stores.diff import Side, Why
from tui.widgets.difftext import DiffText

SIZES = [(80, 24), (120, 40), (200, 60)]
ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\u200b[/nope][red]"
NOW = Side("current", AGENT)
V1, V2 = Side("snapshot", AGENT, 1), Side("snapshot", AGENT, 2)


@pytest.fixture
def tried(project: ProjectPaths) -> ProjectPaths:
    """Keep what the rejected Candidate v3 was."""

    def change(state: Path) -> None:
        (state / "AGENTS.md").write_text("# Rules of version 2\n\nRead the notes first.\n")
        (state / "skills" / "notes").mkdir(parents=True)
        (state / "skills" / "notes" / "SKILL.md").write_text("read them\n")

    root = run_paths(project, OPTIMIZE).root / "candidates" / "v3"
    stage(project.agent(AGENT), root, 3, change, {"AGENTS.md": "Notes lie beside the task."})
    return project


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_unasked_it_shows_the_version_before_against_now_and_why(
    project: ProjectPaths, size: tuple[int, int]
) -> None:
    async with console(project, size) as (app, pilot):
        await pilot.press("7")
        text = await until(app, pilot, lambda text: "v1 -> now (v2)" in text and "+ # Rules of version 2" in text)
        assert "- # Rules of version 1" in text
        assert "2 files +2 -2" in text
        assert "only the version number, 1 -> 2" in text
        assert "v2 accepted" in text
        assert "Reading notes first helps, try 2." in text
        assert "hunk 1 of 1, unified" in text
        assert all(len(line) <= size[0] for line in text.split("\n"))


async def test_a_wide_pane_stands_side_by_side_and_s_turns_it(project: ProjectPaths) -> None:
    async with console(project, (200, 60)) as (app, pilot):
        await pilot.press("7")
        await until(app, pilot, lambda text: "+ # Rules of version 2" in text)
        await pilot.press("z")
        text = await until(app, pilot, lambda text: "side by side" in text)
        row = next(line for line in text.split("\n") if "# Rules of version 1" in line)
        assert "# Rules of version 2" in row
        await pilot.press("s")
        text = await until(app, pilot, lambda text: "unified" in text)
        assert not any("version 1" in line and "version 2" in line for line in text.split("\n"))


async def test_an_edit_on_disk_is_seen_at_once_and_compared_with_what_was_kept(project: ProjectPaths) -> None:
    agent = project.agent(AGENT)
    async with console(project) as (app, pilot):
        await pilot.press("7")
        await until(app, pilot, lambda text: "v1 -> now (v2)" in text)
        agent.agents_md.write_text("# Rules of version 2\nMine.\n")
        text = await until(app, pilot, lambda text: "+ Mine." in text)
        assert "v2 as it was kept -> now (v2)" in text
        assert "edited since it was kept" in text
        agent.agents_md.write_text("# Rules of version 2\nMine.\nMore of mine.\n")
        await until(app, pilot, lambda text: "+ More of mine." in text)


async def test_why_tells_hypothesis_prediction_and_what_came_of_it(tried: ProjectPaths) -> None:
    async with console(tried) as (app, pilot):
        app.frame.post_message(DiffWanted(V2, Side("candidate", AGENT, 3, OPTIMIZE)))
        text = await until(
            app, pilot, lambda text: "v2 as it was kept -> Candidate v3" in text and "+ Read the notes" in text
        )
        assert "x v3 rejected" in text
        assert "Notes lie beside the task." in text
        assert "added    skills/notes/SKILL.md" in text
        await pilot.press("home")
        text = await until(app, pilot, lambda text: "what was believed" in text)
        for words in ("Reading notes first helps, try 3.", "proposed by the optimizer", "prediction missed",
                      "hypothesis not supported", "came 45.00", "against 45.00 of v2"):  # fmt: skip
            assert words in text
        row = next(line for line in text.split("\n") if CASES[0] in line and "55.00" in line)
        assert row.split("CASE-001-register")[1].split()[:4] == ["55.00", "45.00", "60.00", "-15.00"]


async def test_hunks_and_files_by_key(project: ProjectPaths) -> None:
    agent = project.agent(AGENT)
    lines = [f"line {number}" for number in range(2000)]
    agent.agents_md.write_text("\n".join(lines) + "\n")
    edit_config(agent, {"version": 4})
    snapshots.create(agent)
    for number in (10, 1000, 1990):
        lines[number] += " changed"
    agent.agents_md.write_text("\n".join(lines) + "\n")
    (agent.state / "tools" / "x.sh").write_text("echo\n")
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("7")
        await until(app, pilot, lambda text: "hunk 1 of 3" in text and "line 10 changed" in text)
        await pilot.press("n", "n")
        await until(app, pilot, lambda text: "hunk 3 of 3" in text and "line 1990 changed" in text)
        await pilot.press("n")
        await until(app, pilot, lambda text: "tools/x.sh" in text and "+ echo" in text and "hunk 1 of 1" in text)
        await pilot.press("n")
        await until(app, pilot, lambda text: "There is no hunk after this one" in text)
        await pilot.press("N")
        await until(app, pilot, lambda text: "hunk 3 of 3" in text)
        await pilot.press("right_square_bracket")
        await until(app, pilot, lambda text: "+ echo" in text)
        await pilot.press("left_square_bracket", "enter", "end")
        await until(app, pilot, lambda text: "1994 1994   line 1993" in text)
        await pilot.press("n", "n")
        await until(app, pilot, lambda text: "+ echo" in text)
        await pilot.press("left_square_bracket", "enter")
        await pilot.press("home")
        await until(app, pilot, lambda text: "hunk 1 of 3" in text)


async def test_only_the_focused_hunk_has_its_words_marked(project: ProjectPaths) -> None:
    async with console(project) as (app, pilot):
        await pilot.press("7")
        await until(app, pilot, lambda text: "+ # Rules of version 2" in text)
        text = app.frame.query_one("#diff-text", DiffText)
        found = {
            segment.text: segment.style.underline
            for y in range(text.size.height)
            for segment in text.render_line(y)
            if segment.style and segment.text.strip()
        }
        assert found["1"] is True
        assert found["2"] is True
        assert not found["# Rules of version "]


async def test_long_lines_are_cut_moved_and_wrapped(project: ProjectPaths) -> None:
    project.agent(AGENT).agents_md.write_text("start " + "word " * 60 + "\u6f22\u5b57 theend\n")
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("7")
        text = await until(app, pilot, lambda text: "+ start word" in text)
        assert "…" in next(line for line in text.split("\n") if "+ start word" in line)
        assert "theend" not in text
        await pilot.press("w")
        await until(app, pilot, lambda text: "\u6f22\u5b57 theend" in text and "wrapped" in text)
        await pilot.press("w", *["right"] * 14)
        text = await until(app, pilot, lambda text: "theend" in text)
        assert "start" not in text
        await pilot.press(*["left"] * 14)
        await until(app, pilot, lambda text: "+ start word" in text)


async def test_binary_files_by_hash_and_a_missing_newline(project: ProjectPaths) -> None:
    agent = project.agent(AGENT)
    (agent.state / "tools" / "blob.bin").write_bytes(bytes(range(256)))
    agent.agents_md.write_text("# Rules of version 2")
    async with console(project) as (app, pilot):
        await pilot.press("7")
        await until(app, pilot, lambda text: "(no newline at the end)" in text)
        await pilot.press("end")
        text = await until(app, pilot, lambda text: "256 bytes" in text)
        assert "40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880" in text
        assert "no such file" in text


async def test_the_sides_are_chosen_from_everything_there_is(tried: ProjectPaths) -> None:
    async with console(tried) as (app, pilot):
        await pilot.press("7")
        await until(app, pilot, lambda text: "v1 -> now (v2)" in text)
        await pilot.press("l")
        text = await until(app, pilot, lambda text: "what it became" in text)
        for words in ("the present state", "v2", "v1", "Candidate v3", "rejected", f"{BENCHMARK} now"):
            assert words in text
        await pilot.press(*"candidate", "enter")
        await until(app, pilot, lambda text: "v1 -> Candidate v3" in text and "Read the notes first" in text)
        await pilot.press("e")
        await until(app, pilot, lambda text: "Candidate v3 -> v1" in text and "- Read the notes first" in text)
        await pilot.press("h", *"chores", "enter")
        await until(app, pilot, lambda text: f"{BENCHMARK} now -> {BENCHMARK} now" in text)


async def test_a_benchmark_against_what_was_frozen(project: ProjectPaths) -> None:
    from core.evolution.freeze import frozen_files, write_frozen

    benchmark = project.agent(AGENT).benchmark(BENCHMARK)
    run = run_paths(project, OPTIMIZE)
    write_frozen(run, benchmark, frozen_files(benchmark), approval_id="a", pilot=1)
    frozen, now = (Side(kind, AGENT, run_id=run.id, benchmark_id=BENCHMARK) for kind in ("frozen", "benchmark"))
    rubric = benchmark.case(CASES[0]).rubric_readme
    before = rubric.read_text()
    rubric.write_text(before.replace("100 pts", "90 pts"))
    async with console(project) as (app, pilot):
        app.frame.post_message(DiffWanted(frozen, now))
        text = await until(app, pilot, lambda text: "the benchmark is void" in text)
        assert f"{CASES[0]}/rubric/README.md" in text
        assert "A freeze keeps hashes" in text
        rubric.write_text(before)
        await until(app, pilot, lambda text: "every byte is as it was frozen" in text)
        rubric.write_text(before.replace("100 pts", "90 pts"))
        (run.lowest / CASES[0] / "rubric").mkdir(parents=True)
        (run.lowest / CASES[0] / "rubric" / "README.md").write_text(before)
        await until(app, pilot, lambda text: "+ - 90 pts: tidy" in text and "- - 100 pts: tidy" in text)


async def test_what_cannot_be_compared_says_why_and_takes_nothing_down(project: ProjectPaths) -> None:
    async with console(project) as (app, pilot):
        for left, right, words in (
            (Side("candidate", AGENT, 77), NOW, "no run keeps a Candidate v77"),
            (NOW, Side("benchmark", AGENT, benchmark_id=BENCHMARK), "can't be compared"),
            (Side("snapshot", AGENT, 99), NOW, "no snapshot of version 99"),
            (NOW, Side("archive", AGENT, 1, path="/no/such.tar.gz"), "there is no file"),
        ):
            app.frame.post_message(DiffWanted(left, right))
            await until(app, pilot, lambda text, words=words: words in text)  # type: ignore[misc]


async def test_a_newer_comparison_wins_over_one_that_was_slower(project: ProjectPaths) -> None:
    async with console(project) as (app, pilot):
        for _ in range(5):
            app.frame.post_message(DiffWanted(V1, NOW))
            app.frame.post_message(DiffWanted(NOW, V1))
        await until(app, pilot, lambda text: "now (v2) -> v1" in text and "+ # Rules of version 1" in text)
        pane = app.frame.query_one(DiffPane)
        assert pane.comparison is not None
        assert (pane.comparison.left, pane.comparison.right) == (NOW, V1)


async def test_nothing_of_a_file_reaches_the_terminal_raw(project: ProjectPaths) -> None:
    agent = project.agent(AGENT)
    agent.agents_md.write_text(f"# Rules {ATTACK}\nand {ATTACK}\n")
    (agent.state / "tools" / f"n{ATTACK.replace('/', '')}\nx.md").write_text(f"x {ATTACK}")
    for size in SIZES:
        async with console(project, size) as (app, pilot):
            await pilot.press("7")
            text = await until(app, pilot, lambda text: "Rules ␛]0;owned" in text)
            assert "[/nope][red]" in text
            for keys in (["end"], ["w"], ["s"], ["right"], ["home"]):
                await pilot.press(*keys)
                await pilot.pause()
                text = screen_text(app)
                assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u200b"} & set(text)
            pane = app.frame.query_one(DiffPane)
            assert "\\033" in pane.reading()


async def test_copy_and_pager_give_path_hunk_and_patch(
    project: ProjectPaths, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    copied = tmp_path / "state" / "exuvia" / "last-copy"
    async with console(project) as (app, pilot):
        await pilot.press("7")
        await until(app, pilot, lambda text: "+ # Rules of version 2" in text)
        await pilot.press("y")
        await until(app, pilot, lambda text: "Copied the path" in text)
        assert copied.read_text() == "AGENTS.md"
        await pilot.press("Y")
        await until(app, pilot, lambda text: "Copied the hunk" in text)
        assert copied.read_text() == "@@ -1 +1 @@\n-# Rules of version 1\n+# Rules of version 2\n"
        patch = app.frame.query_one(DiffPane).reading()
        assert patch.startswith("--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -1 +1 @@\n")
        assert "+++ b/system_config.yaml" in patch


async def test_a_difference_is_exported_to_a_new_file_only(
    project: ProjectPaths, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    async with console(project) as (app, pilot):
        await pilot.press("7")
        await until(app, pilot, lambda text: "+ # Rules of version 2" in text)
        await pilot.press("E")
        await until(app, pilot, lambda text: "helper-v1-now.patch" in text)
        await pilot.press("enter")
        await until(app, pilot, lambda text: "Wrote" in text)
        written = tmp_path / "helper-v1-now.patch"
        assert "+# Rules of version 2\n" in written.read_text()
        written.write_text("mine")
        await pilot.press("E", "enter")
        await until(app, pilot, lambda text: "already exists" in text)
        assert written.read_text() == "mine"


async def test_an_exported_difference_holds_no_control_character(
    project: ProjectPaths, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    project.agent(AGENT).agents_md.write_bytes(f"# Rules {ATTACK}\nends so\r\n".encode())
    async with console(project) as (app, pilot):
        await pilot.press("7")
        await until(app, pilot, lambda text: "Rules ␛]0;owned" in text)
        await pilot.press("E", "enter")
        await until(app, pilot, lambda text: "Control characters are shown in it" in text)
    written = (tmp_path / "helper-v2-now.patch").read_bytes()
    assert "+# Rules ␛]0;owned".encode() in written
    assert b"+ends so\r\n" in written
    for raw in (b"\x1b", b"\x07", "\x9b".encode(), "\u202e".encode()):
        assert raw not in written


@pytest.mark.parametrize("keys", [(), ("s",), ("w",), ("s", "w")], ids=["unified", "beside", "wrapped", "both"])
async def test_every_line_of_every_hunk_is_drawn(project: ProjectPaths, keys: tuple[str, ...]) -> None:
    agent = project.agent(AGENT)
    old = [f"line {number} of it" for number in range(300)]
    agent.agents_md.write_text("\n".join(old) + "\n")
    edit_config(agent, {"version": 4})
    snapshots.create(agent)
    new = [f"{line} and more" if number % 50 == 7 else line for number, line in enumerate(old) if number % 60 != 5]
    agent.agents_md.write_text("\n".join([*new, "an end " * 40 + "theend"]))
    async with console(project, (120, 40)) as (app, pilot):
        await pilot.press("7", *keys)
        await until(app, pilot, lambda text: "hunk 1 of" in text)
        text = app.frame.query_one("#diff-text", DiffText)
        drawn: list[str] = []
        for top in range(0, len(text._index) + text.size.height, text.size.height):
            text.scroll_to(y=top, animate=False, immediate=True)
            await pilot.pause()
            drawn += [text.render_line(y).text for y in range(text.size.height)]
        pane = app.frame.query_one(DiffPane)
        assert pane.file is not None
        whole = "\n".join(drawn)
        for hunk in pane.file.hunks:
            assert hunk.head in whole
            for line in hunk.lines:
                if line.sign != " " and len(line.text) < 40:
                    assert f"{line.sign} {line.text}" in whole
        assert ("theend" in whole) == ("w" in keys)
        assert "(no newline at the end)" in whole or "w" not in keys


async def test_secrets_are_hidden_in_the_pane_and_in_what_leaves_it(project: ProjectPaths) -> None:
    agent = project.agent(AGENT)
    secret = "s3cr3t-Value-9876"
    server = f"    - name: a\n      transport: stdio\n      command: x\n      env:\n        DEPLOY: {secret}\n"
    text = agent.config.read_text()
    assert text.count("  mcpServers: []\n") == 1
    agent.config.write_text(text.replace("  mcpServers: []\n", "  mcpServers:\n" + server))
    agent.vault.write_text(f"K = '{secret}'")
    async with console(project) as (app, pilot):
        await pilot.press("7")
        shown = await until(app, pilot, lambda text: "DEPLOY: (hidden)" in text)
        assert "hidden values" in shown
        pane = app.frame.query_one(DiffPane)
        whole = pane.copied(whole=True)
        assert whole is not None
        for leaving in (shown, pane.reading(), whole[0], repr(pane.comparison)):
            assert secret not in leaving


async def test_without_anything_to_compare_it_says_what_to_do(tmp_path: Path) -> None:
    project = ProjectPaths(tmp_path / "default_project")
    project.agents.mkdir(parents=True)
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("7")
        await until(app, pilot, lambda text: "nothing to compare yet" in text and "n in Versions (5)" in text)
        said = " ".join(" ".join(line.strip() for line in screen_text(app).split("\n")[3:-2]).split())
        assert "two states of an agent: the present one, a version that is kept, a Candidate" in said
        assert "A version is kept when it is measured, or with n in Versions (5)." in said
        await pilot.press("h", "n", "N", "s", "w", "e", "E", "I", "right_square_bracket", "Y", "left", "right")
        await until(app, pilot, lambda text: "7 Diff" in text)


def test_why_does_not_say_the_hypothesis_twice() -> None:
    hypothesis = "Sessions end at their limit of turns before the last step; a higher limit lets them finish."
    note = f"Sessions end at their limit of turns before the\nHypothesis: {hypothesis} The prediction did not hold."
    why = Why(4, "rejected", "optimizer", hypothesis, note=f"{note}\nA person should look.")
    said = ["".join(text for text, _ in line) for line in why_lines((why,))]
    assert sum("Sessions end at their limit" in line for line in said) == 1
    assert "Decision    A person should look." in said
    only = ["".join(text for text, _ in line) for line in why_lines((replace(why, note=note),))]
    assert not any(line.startswith("Decision") for line in only)
