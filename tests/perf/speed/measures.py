"""What is measured of a program in a terminal, as numbers by name; None where it does not apply."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.perf.speed.terminal import Answer, Terminal

QUIET_S, SETTLED_S = 0.1, 0.8
AFTER_S = 2.5
"""What a program writes this long after its first picture still counts as its start."""
KEYS = 200
"""Keys a median and a 95th percentile are taken of (DECISIONS 29)."""
HELD_HZ, HELD_S = 30, 3.0
IDLE_S = 5.0

Numbers = dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a program whose keys are measured: the keys that lead there, and the two that move to and fro.

    In a `long` list three keys of four go forth, so that it scrolls too; in a short one every second, lest it end.
    """

    name: str
    way: tuple[str, ...] = ()
    forth: str = "down"
    back: str = "up"
    long: bool = True


@dataclass(frozen=True, slots=True)
class Program:
    """A program to measure: how it is started, words that its first real picture shows, and places to go."""

    name: str
    argv: tuple[str, ...]
    words: tuple[str, ...]
    places: tuple[Place, ...] = ()
    environ: dict[str, str] = field(default_factory=dict)

    def open(self) -> Terminal:
        return Terminal(self.argv, environ=self.environ)


def start(program: Program) -> Numbers:
    """Start it once: ms to the first byte and to the first picture with facts, bytes until quiet, RssAnon then."""
    with program.open() as terminal:
        terminal.until_said(program.words, SETTLED_S)
        painted = terminal.shown(program.words)
        terminal.read_for(AFTER_S)
        return {
            "first byte ms": terminal.pieces[0][0] * 1000,
            "first paint ms": None if painted is None else painted * 1000,
            "start bytes": float(terminal.total),
            "start cpu ms": terminal.cpu_s() * 1000,
            "RssAnon MB": terminal.anonymous_mb(),
        }


def rest(program: Program) -> Numbers:
    """Leave it alone: bytes and CPU % over IDLE_S, and what a change of size costs."""
    with program.open() as terminal:
        terminal.until_said(program.words, SETTLED_S)
        _until_at_rest(terminal)
        cpu, begun = terminal.cpu_s(), time.perf_counter()
        idle = terminal.read_for(IDLE_S)
        spent = 100 * (terminal.cpu_s() - cpu) / (time.perf_counter() - begun)
        terminal.resize(80, 24)
        resized = terminal.until_quiet(0.3, patience_s=1.5)
        return {
            "idle B/s": idle / IDLE_S,
            "idle CPU %": spent,
            "resize ms": resized.quiet_ms,
            "resize bytes": float(resized.size),
        }


def keys(program: Program, place: Place) -> Numbers:
    """Press KEYS keys one by one, then hold one, then send ten PageDown at once."""
    with program.open() as terminal:
        terminal.until_said(program.words, SETTLED_S)
        _until_at_rest(terminal)
        go(terminal, place.way)
        _until_at_rest(terminal)
        turn = 4 if place.long else 2
        answers = [_press(terminal, place.back if number % turn == turn - 1 else place.forth) for number in range(KEYS)]
        moved = [answer for answer in answers if answer.size]
        held = _hold(terminal, place)
        terminal.send("home")
        terminal.until_quiet(SETTLED_S)
        terminal.send(*["pagedown"] * 10)
        burst = terminal.until_quiet(0.3, patience_s=1.5)
        quiet = sorted(answer.quiet_ms for answer in moved) or [0.0]
        return {
            "key p50 ms": statistics.median(quiet),
            "key p95 ms": quiet[round(0.95 * (len(quiet) - 1))],
            "key bytes p50": statistics.median(answer.size for answer in moved) if moved else 0.0,
            "held B/key": held,
            "10 PgDn bytes": float(burst.size),
            "10 PgDn ms": burst.quiet_ms,
            "silent keys": float(len(answers) - len(moved)),
        }


def go(terminal: Terminal, way: Sequence[str]) -> Answer:
    """Press keys, each once the one before was answered; return the answer to the last."""
    answer = Answer(0.0, 0.0, 0)
    for key in way:
        terminal.send(key)
        answer = terminal.until_quiet(SETTLED_S, patience_s=3.0)
    return answer


def _until_at_rest(terminal: Terminal) -> None:
    """Wait until it neither writes nor works: a console goes on counting for a while after its first picture."""
    for _ in range(60):
        cpu = terminal.cpu_s()
        if terminal.read_for(1.0) == 0 and terminal.cpu_s() - cpu < 0.03:
            return


def _press(terminal: Terminal, key: str) -> Answer:
    terminal.send(key)
    return terminal.until_quiet(QUIET_S, patience_s=0.4)


def _hold(terminal: Terminal, place: Place) -> float:
    """Hold a key at HELD_HZ for HELD_S and return bytes a key."""
    count, before, begun = int(HELD_HZ * HELD_S), terminal.total, time.perf_counter()
    for number in range(1, count + 1):
        terminal.send(place.forth)
        terminal.read_for(max(0.0, begun + number / HELD_HZ - time.perf_counter()))
    terminal.until_quiet(0.3)
    return (terminal.total - before) / count
