"""`exuvia train annotate` with a model behind a real HTTP server: described, refused, left and taken up again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from core.state.fresh import ensure_home
from tests.cli.program import Ended, call
from tests.models.chat_server import DONE, Answer, chat_server, chunk

pytestmark = pytest.mark.meets("K7")
GOOD = {
    "topics": ["shopping"],
    "skills": ["compare with a limit"],
    "concepts": ["price limit"],
    "strategies": ["check before buying"],
    "pitfalls": ["hidden surcharge"],
    "difficulty": 2,
}


def answer(body: dict[str, Any], *, bad: str) -> Answer:
    """Describe the task by a tool call; tasks that hold `bad` with a phrase of six words."""
    task = body["messages"][-1]["content"]
    document = {**GOOD, "topics": ["a phrase that is too long"]} if bad in task else GOOD
    call_ = {"index": 0, "id": "c1", "function": {"name": "annotate", "arguments": json.dumps(document)}}
    return Answer(pieces=[chunk({"tool_calls": [call_]}), chunk({}, "tool_calls"), DONE])


async def annotated(home: Path, file: Path, *more: str, bad: str = "nothing") -> tuple[Ended, int]:
    """Run the command beside a server; return how it ended and how often the model was asked."""
    project = ensure_home(home)
    async with chat_server(of=lambda body: answer(body, bad=bad)) as server:
        project.config.write_text(
            f'[[models]]\nprovider = "custom"\nmodel_id = "m"\napi_key = "k"\nbase_url = "{server.base_url}"\n'
            "context_window = 32000\n"
        )
        argv: list[str | Path] = ["train", "annotate", file, "--home", home, "--model", "custom/m", *more]
        argv += ["--world", "shop"]
        ended = await asyncio.to_thread(call, *argv)
        return ended, len(server.seen)


async def test_tasks_are_described_once_and_the_file_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    first, asked = await annotated(tmp_path / "home", file, "--count", "4")
    assert first.code == 0, first.err
    assert "4 of 4 tasks are described" in first.out
    assert asked == 4
    more, asked = await annotated(tmp_path / "home", file, "--count", "6", "--json")
    assert more.document == {"tasks": 6, "kept": 6, "refused": 0, "unreached": 0}
    assert asked == 2
    assert len(file.read_text("utf-8").splitlines()) == 6


async def test_phrases_that_may_not_be_used_are_asked_for_again_and_then_counted(tmp_path: Path) -> None:
    ended, asked = await annotated(tmp_path / "home", tmp_path / "n.jsonl", "--count", "5", "--json", bad="color")
    counts = ended.document
    assert ended.code == 0
    assert counts["kept"] + counts["refused"] == 5
    assert counts["refused"] >= 1
    assert asked == counts["kept"] + 3 * counts["refused"]


async def test_a_model_that_nobody_configured_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ensure_home(tmp_path / "home")
    argv = ("train", "annotate", tmp_path / "n", "--world", "shop", "--model", "no/body", "--count", "1")
    ended = await asyncio.to_thread(call, *argv, "--home", tmp_path / "home")
    assert ended.code != 0
    assert "no model 'body' of provider 'no'" in capfd.readouterr().err
    assert not (tmp_path / "n").exists()
