"""A clumsy model: the same roles, but in a quarter of their turns they break protocol.

What it gets for that is the refusal's text and the engine's state, nothing else, and from those it goes on. It never
stumbles three times in a row, as a model that does so would be no use to anybody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from core.models.interface import Request, Text, ToolCall
from core.models.rehearsal.transcript import Reply, Transcript, call, draw, fields

RATE = 0.25
_STUMBLES = ("narration", "wrong order", "invented tool", "bad JSON", "early stop")
# Calls that are sometimes right and mostly out of order. Never stop_run: that one would be obeyed.
_TEMPTING = ("request_freeze", "record_baseline", "dispatch", "decide", "evaluate_candidate", "record_items")
_INVENTED = ("finish_everything", "run_target_now", "auto_score")


def stumble(request: Request, seed: int, play: Callable[[Request, int], Reply]) -> Reply:
    """Return what `play` replies, or a breach of protocol instead of it."""
    talk = Transcript.of(request)
    if not _stumbles(seed, talk, talk.turn):
        return play(request, seed)
    kind = _STUMBLES[int(draw(*_key(seed, talk, talk.turn), "kind") * len(_STUMBLES))]
    if kind == "narration":
        return (Text("assistant", "Let me think about what to do next. I will go on with the following step.\n"),)
    if kind == "early stop":
        return (Text("assistant", "All of the work is done, so I end here.\n"),)
    if kind == "invented tool":
        name = _INVENTED[int(draw(*_key(seed, talk, talk.turn), "name") * len(_INVENTED))]
        return (call(request, 0, name, {"confirm": True}),)
    if kind == "wrong order":
        return _out_of_order(request, seed, talk)
    return _torn(play(request, seed))


def _key(seed: int, talk: Transcript, turn: int) -> tuple[object, ...]:
    asked = fields(talk.first_user)
    cell = [asked.get(name, [""])[0] for name in ("case_id", "expected_version", "run", "agent_id", "benchmark_id")]
    # An Evaluator that takes over a finished Target is another one, and stumbles elsewhere.
    launch = talk.done("launch_target")
    takes_over = launch is not None and bool((launch.answer or {}).get("reused"))
    return ("clumsy", seed, *cell, takes_over, turn)


def _stumbles(seed: int, talk: Transcript, turn: int) -> bool:
    due = [draw(*_key(seed, talk, at)) < RATE for at in (turn - 2, turn - 1, turn)]
    return due[2] and not (due[0] and due[1])


def _out_of_order(request: Request, seed: int, talk: Transcript) -> Reply:
    allowed = talk.state.get("next")
    possible = set(allowed) if isinstance(allowed, list) else set()
    offered = {tool.name for tool in request.tools}
    names = [name for name in _TEMPTING if name in offered and name not in possible]
    if not names:
        return (call(request, 0, _INVENTED[0], {}),)
    name = names[int(draw(*_key(seed, talk, talk.turn), "name") * len(names))]
    arguments: dict[str, list[str]] = {"items": []} if name == "record_items" else {}
    return (call(request, 0, name, arguments),)


def _torn(reply: Reply) -> Reply:
    """Return the reply with its first call's arguments cut in the middle; a text gets a word before it."""
    for place, message in enumerate(reply):
        if isinstance(message, ToolCall):
            cut = message.arguments[: max(1, len(message.arguments) // 2)]
            return (*reply[:place], replace(message, arguments=cut))
    return (Text("assistant", "Here is what you asked for:\n\n" + "".join(_texts(reply))),)


def _texts(reply: Reply) -> list[str]:
    return [message.text for message in reply if isinstance(message, Text)]
