"""File tools: what they answer, and that they stay within the policy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.agents.isolation.policy import IsolationPolicy
from core.agents.tool import Tool, ToolContext
from core.agents.tools.files import EditFile, Reach, ReadFile, WriteFile
from core.foundation.errors import ExuviaError


@pytest.fixture
def reach(tmp_path: Path) -> Reach:
    workspace, state = tmp_path / "ws", tmp_path / "state"
    workspace.mkdir()
    state.mkdir()
    (tmp_path / "secret.txt").write_text("rubric")
    (state / "AGENTS.md").write_text("rules\n")
    return Reach(IsolationPolicy(read=(state.resolve(),), write=(workspace.resolve(),)), workspace.resolve())


async def use(tool: Tool, **arguments: object) -> str:
    context = ToolContext("s", "c", Path("/"))
    try:
        return (await tool.call(arguments, context)).output
    except ExuviaError as error:
        return f"{error} {error.hint}".strip()


async def test_reading_whole_and_in_pieces(reach: Reach) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 11))
    (reach.workspace / "a.txt").write_text(text)
    read = ReadFile(reach)
    assert await use(read, file_path="a.txt") == text
    assert await use(read, file_path=str(reach.workspace / "a.txt"), offset=1, limit=100) == text
    piece = await use(read, file_path="a.txt", offset=3, limit=2)
    assert piece.startswith("line 3\nline 4\n")
    assert "lines 3 to 4 of 10" in piece
    assert "offset 5" in piece
    assert await use(read, file_path="a.txt", offset=9) == "line 9\nline 10\n"
    assert (await use(read, file_path="a.txt", offset=11)).startswith("Error")
    (reach.workspace / "empty").write_text("")
    assert await use(read, file_path="empty") == "[the file is empty]"
    (reach.workspace / "raw").write_bytes(b"caf\xe9\xff")
    assert await use(read, file_path="raw") == "caf\ufffd\ufffd"


async def test_a_missing_file_is_told_with_what_is_there(reach: Reach) -> None:
    (reach.workspace / "here.txt").write_text("x")
    (reach.workspace / "sub").mkdir()
    told = await use(ReadFile(reach), file_path="there.txt")
    assert told.startswith("Error")
    assert "here.txt, sub/" in told
    assert (await use(ReadFile(reach), file_path="sub")).startswith("Error")
    assert (await use(ReadFile(reach), file_path="no/such/dir.txt")).startswith("Error")


@pytest.mark.parametrize(
    "name", ["../secret.txt", "{root}/secret.txt", "link", "dir/secret.txt", "", "\0", "/etc/shadow"]
)
async def test_nothing_outside_the_policy_is_read_or_written(reach: Reach, tmp_path: Path, name: str) -> None:
    (reach.workspace / "link").symlink_to(tmp_path / "secret.txt")
    (reach.workspace / "dir").symlink_to(tmp_path)
    path = name.format(root=tmp_path)
    for tool, extra in (
        (ReadFile(reach), {}),
        (WriteFile(reach), {"content": "mine"}),
        (EditFile(reach), {"old_string": "rubric", "new_string": "mine"}),
    ):
        told = await use(tool, file_path=path, **extra)
        assert "rubric" not in told
        assert told.startswith("Error")
    assert (tmp_path / "secret.txt").read_text() == "rubric"


async def test_the_state_is_for_reading_only(reach: Reach, tmp_path: Path) -> None:
    agents_md = str(tmp_path / "state" / "AGENTS.md")
    assert await use(ReadFile(reach), file_path=agents_md) == "rules\n"
    assert (await use(WriteFile(reach), file_path=agents_md, content="x")).startswith("Error")
    assert (tmp_path / "state" / "AGENTS.md").read_text() == "rules\n"


async def test_pipes_and_devices_do_not_hang_a_tool(reach: Reach) -> None:
    os.mkfifo(reach.workspace / "pipe")
    assert "pipe" in await use(ReadFile(reach), file_path="pipe")
    assert "pipe" in await use(WriteFile(reach), file_path="pipe", content="x")


async def test_writing_makes_directories_and_tells_the_change(reach: Reach) -> None:
    write = WriteFile(reach)
    assert await use(write, file_path="deep/er/a.txt", content="one\n") == "Created deep/er/a.txt (1 line, 4 bytes)."
    told = await use(write, file_path="deep/er/a.txt", content="two\nthree\n")
    assert told.startswith("Overwrote deep/er/a.txt (2 lines, 10 bytes).\n@@")
    assert "-one\n+two\n+three" in told
    assert (reach.workspace / "deep/er/a.txt").read_text() == "two\nthree\n"


async def test_editing_exactly(reach: Reach) -> None:
    path = reach.workspace / "a.txt"
    path.write_bytes(b"a b a\r\nc\r\n")
    edit = EditFile(reach)
    assert "2 times" in await use(edit, file_path="a.txt", old_string="a", new_string="x")
    assert "does not stand" in await use(edit, file_path="a.txt", old_string="zz", new_string="x")
    assert "must differ" in await use(edit, file_path="a.txt", old_string="a", new_string="a")
    assert path.read_bytes() == b"a b a\r\nc\r\n"
    assert (await use(edit, file_path="a.txt", old_string="b a", new_string="é")).startswith("Replaced 1 occurrence")
    assert path.read_bytes() == "a é\r\nc\r\n".encode()  # line ends stay
    told = await use(edit, file_path="a.txt", old_string="\r\n", new_string="\n", replace_all=True)
    assert told.startswith("Replaced 2 occurrences")
    path.write_bytes(b"\xff a")
    assert "not UTF-8" in await use(edit, file_path="a.txt", old_string="a", new_string="b")
    assert path.read_bytes() == b"\xff a"
