"""How clumsy the clumsy variant is."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

from core.evolution.gate import Scored, read_answer
from core.models.interface import ModelRef, Request, Text, ToolCall, ToolSpec
from core.models.rehearsal import RehearsalOptions, RehearsalProvider
from core.models.rehearsal.clumsy import stumble
from core.models.rehearsal.transcript import Reply
from tests.rehearsal.conversation import Conversation
from tests.rehearsal.test_builder import MESSAGE, run
from tests.rehearsal.test_evaluator import ASKED, tools


def right(request: Request, seed: int) -> Reply:
    return (ToolCall("right", "protocol_status", '{"right": true}'),)


def kind(reply: Reply) -> str:
    if isinstance(reply[0], Text):
        return "early stop" if "All of the work is done" in reply[0].text else "narration"
    assert isinstance(reply[0], ToolCall)
    if reply[0].arguments == '{"right": true}':
        return "right"
    if reply[0].call_id == "right":
        return "bad JSON"
    return "wrong order" if reply[0].name in ("dispatch", "request_freeze") else "invented tool"


def asked(turn: int) -> Request:
    said = [message for n in range(turn) for message in (Text("assistant", str(n)), Text("user", "go on"))]
    names = ("request_freeze", "dispatch", "protocol_status")
    specs = tuple(ToolSpec(name, "", {}) for name in names)
    return Request(ModelRef("rehearsal", "rehearsal-1"), "", (Text("user", MESSAGE), *said), specs)


def test_a_quarter_of_the_turns_breaks_protocol_in_five_ways() -> None:
    kinds = [kind(stumble(asked(turn), seed, right)) for seed in range(40) for turn in range(40)]
    counted = Counter(kinds)
    assert 0.20 <= 1 - counted["right"] / len(kinds) <= 0.26
    assert set(counted) == {"right", "early stop", "narration", "bad JSON", "wrong order", "invented tool"}


def test_it_never_stumbles_three_times_in_a_row() -> None:
    for seed in range(40):
        stumbled = [kind(stumble(asked(turn), seed, right)) != "right" for turn in range(60)]
        assert not any(a and b and c for (a, b), c in zip(pairwise(stumbled), stumbled[2:], strict=False))


def test_a_clumsy_builder_does_stumble_and_the_model_id_alone_makes_it_so(tmp_path: Path) -> None:
    engine, talk, _ = run(tmp_path, clumsy=True, seed=0, nudges=40)
    wrong = [name for name, arguments in talk.called if name not in engine.tools() or arguments is None]
    assert len(wrong) + len(engine.refusals) >= 3
    provider = RehearsalProvider()
    replies = {
        model: [
            provider.reply(Request(ModelRef("rehearsal", model), "", asked(n).messages, asked(n).tools))
            for n in range(9)
        ]
        for model in ("rehearsal-1", "rehearsal-clumsy")
    }
    assert replies["rehearsal-1"] != replies["rehearsal-clumsy"]


def test_a_clumsy_evaluator_comes_to_its_answer_when_asked_again() -> None:
    needed = Counter[int]()
    for seed in range(30):
        talk = Conversation(RehearsalProvider(RehearsalOptions(clumsy=True)).reply, tools(), seed=seed)
        answers = [talk.turn(ASKED.message())]
        while not isinstance(read_answer(answers[-1], ASKED), Scored):
            assert len(answers) < 8, answers
            answers.append(talk.turn("Your answer was not accepted: it is malformed. Send your existing result again."))
        needed[len(answers)] += 1
        assert json.dumps(talk.called).count('"launch_target"') <= 2
    assert needed[1] >= 3
    assert len(needed) >= 2
