"""The rehearsal provider: roles, streaming, options, and what it costs to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

from core.foundation.errors import UsageError
from core.models.interface import Finished, Item, ModelRef, Request, Text, TextDelta, ToolSpec
from core.models.rehearsal import RehearsalOptions, RehearsalProvider
from core.models.rehearsal.provider import role_of
from core.models.rehearsal.transcript import Transcript, fields, front_matter


def request(*tools: str, text: str = "hello") -> Request:
    specs = tuple(ToolSpec(name, "", {}) for name in tools)
    return Request(ModelRef("rehearsal", "rehearsal-1"), "", (Text("user", text),), specs)


@pytest.mark.parametrize(
    ("tools", "role"),
    [
        (("read_file", "request_freeze"), "builder"),
        (("propose_candidate", "read_file"), "optimizer"),
        (("launch_target",), "evaluator"),
        (("read_file", "exec_command"), "target"),
        ((), "target"),
    ],
)
def test_the_tools_choose_the_role(tools: tuple[str, ...], role: str) -> None:
    assert role_of(request(*tools)) == role


async def test_a_text_streams_in_pieces_that_make_the_whole() -> None:
    events = [event async for event in RehearsalProvider().stream(request("request_freeze", "protocol_status"))]
    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    items = [event.message for event in events if isinstance(event, Item)]
    assert isinstance(items[0], Text)
    assert "".join(pieces) == items[0].text
    assert len(pieces) > 1
    assert isinstance(events[-1], Finished)
    assert [type(event).__name__ for event in events].count("Finished") == 1


def test_options_refuse_what_they_do_not_know_and_survive_json() -> None:
    with pytest.raises(UsageError):
        RehearsalOptions(faults={"earthquake": 0.5})
    with pytest.raises(UsageError):
        RehearsalOptions(faults={"fenced": 1.5})
    options = RehearsalOptions(seed=3, clumsy=True, faults={"fenced": 0.2}, slow_s=0.1)
    assert RehearsalOptions.from_json(options.as_json()) == options
    assert RehearsalOptions.from_json({}) == RehearsalOptions()


def test_a_target_process_pays_for_no_heavy_import() -> None:
    program = (
        "import sys, core.models.rehearsal\n"
        "from core.models.rehearsal import target\n"
        "heavy = {'pydantic', 'yaml', 'httpx', 'numpy', 'textual'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_transcript_finds_the_newest_state_and_drops_what_is_damaged() -> None:
    text = 'The protocol has not finished: {"state": {"phase": "pilot"}} Go on. {"x": '
    assert Transcript.of(request(text=text)).state == {"phase": "pilot"}
    assert Transcript.of(request(text="no {state} here")).state == {}


def test_fields_and_front_matter_are_read_by_line() -> None:
    assert fields("a word\nkey: one: two\nkey:\nNot_a_key: x") == {"key": ["one: two", ""]}
    assert front_matter("---\na: b: c\n---\n\nbody\n") == ({"a": "b: c"}, "body\n")
    assert front_matter("no front matter\n") == ({}, "no front matter\n")
