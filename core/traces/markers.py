"""Markers that the existing system puts into user texts (EVOLUTION 2.5 no. 60), and titles made without them."""

from __future__ import annotations

import re

TITLE_LENGTH = 30
_TITLE_FROM = 32_768  # characters looked at; a prompt may be megabytes

# What the harness wrote for the model, not the user: it goes with its content. A steering block holds the user's
# own words, so only its tags go.
_HARNESS_TAGS = (
    "turn_aborted",
    "turn_retried",
    "context_summary",
    "summary",
    "use_skills",
    "background_task_done",
    "scheduled_task",
    "handoff_from",
    "model_switch_from",
)
_OPENING = re.compile(rf"([\[<])({'|'.join((*_HARNESS_TAGS, 'goal'))})[\]>]")
_STEERING = re.compile(r"\s*(?:\[user_steering\].*?\[/user_steering\]|<user_steering>.*?</user_steering>)", re.DOTALL)
_STEERING_TAGS = re.compile(r"\[/?user_steering\]|</?user_steering>")
_ATTACHMENT = re.compile(r"^\[attached (?:image|file): [^\n]*\]$", re.MULTILINE)


def is_steering(text: str) -> bool:
    """Say whether a user text is a steering block; an unclosed one is plain text."""
    return _STEERING.match(text) is not None


def without_markers(text: str) -> str:
    """Return what the user wrote: harness blocks, steering tags and attachment lines removed."""
    text = _without_blocks(text)
    if is_steering(text):
        text = _STEERING_TAGS.sub(" ", text)
    return _ATTACHMENT.sub(" ", text).strip()


def title_of(text: str) -> str:
    """Return the title a first user text gives: one line, at most 30 characters, no broken last word."""
    line = " ".join(without_markers(text[:_TITLE_FROM]).split())
    if len(line) <= TITLE_LENGTH:
        return line
    cut = line[:TITLE_LENGTH]
    if line[TITLE_LENGTH] == " ":
        return cut
    return cut[: cut.rfind(" ")] if " " in cut else cut


def _without_blocks(text: str) -> str:
    """Return `text` without harness blocks; an unclosed one stays. One pass, whatever a prompt repeats."""
    kept: list[str] = []
    at = 0
    unclosed: set[str] = set()
    for opening in _OPENING.finditer(text):
        if opening.start() < at or opening[0] in unclosed:
            continue
        closing = f"[/{opening[2]}]" if opening[1] == "[" else f"</{opening[2]}>"
        if opening[2] == "goal":
            closing = "\n" + closing  # an objective may speak of the tag; only at a line's start it ends the block
        end = text.find(closing, opening.end())
        if end < 0:
            unclosed.add(opening[0])
            continue
        kept += (text[at : opening.start()], " ")
        at = end + len(closing)
    return "".join((*kept, text[at:]))
