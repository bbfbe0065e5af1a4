"""Playing a state directory again: every record of its traces and every row of its scoreboards, at its own time."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from core.foundation.clock import parse_ms

FIXTURE = Path(__file__).parents[1] / "fixtures" / "penguin-state"
_ROW = "  - time:"
Rewrite = Callable[[str, dict[str, object]], dict[str, object] | None]


@dataclass(frozen=True)
class Event:
    """Bytes that are appended to a file at a moment (ms since the epoch)."""

    moment: int
    path: Path
    data: bytes

    @property
    def session_id(self) -> str:
        """The Session of a trace's file, "" for another."""
        return self.path.name[:-10] if self.path.suffix == ".jsonl" else ""


class Replay:
    """What stands still in a state directory is there from the start; everything else comes as it came.

    Records of a Session keep their order even where their clocks went back. `rewrite` may change a record of a
    Session, or leave it out (None).
    """

    def __init__(self, target: Path, source: Path = FIXTURE, *, rewrite: Rewrite | None = None) -> None:
        self.target = target
        events: list[Event] = []
        latest: dict[str, int] = {}
        for path in sorted(source.rglob("*")):
            place = target / path.relative_to(source)
            if path.is_dir():
                place.mkdir(parents=True, exist_ok=True)
            elif path.parent.parent.name == "traces" and path.suffix == ".jsonl":
                session_id = path.name[:-10]
                for line in path.read_text().splitlines():
                    record = json.loads(line)
                    changed = rewrite(session_id, record) if rewrite else record
                    if changed is not None:
                        latest[session_id] = max(latest.get(session_id, 0), _ms(str(record["timestamp"])))
                        events.append(Event(latest[session_id], place, json.dumps(changed).encode() + b"\n"))
            elif path.name == "scoreboard.yaml":
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text("evaluations: []\n")
                head, *rows = path.read_text().split(_ROW)
                events += [Event(_ms(row.split("\n", 1)[0].strip()), place, (_ROW + row).encode()) for row in rows]
                assert head == "evaluations:\n"
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)
        for directory in target.rglob("traces/*"):
            directory.rmdir()
        self.events = sorted(events, key=lambda event: event.moment)  # stable: files keep their own order

    def play(self, *, torn: bool = False) -> Iterator[Event]:
        """Write one event after another, and yield each once it is there; with `torn`, also when half of it is."""
        for event in self.events:
            event.path.parent.mkdir(parents=True, exist_ok=True)
            if event.path.name == "scoreboard.yaml":
                self._add_row(event)
            elif torn:
                half = len(event.data) // 2
                self._append(event.path, event.data[:half])
                yield event
                self._append(event.path, event.data[half:])
            else:
                self._append(event.path, event.data)
            yield event

    @staticmethod
    def _append(path: Path, data: bytes) -> None:
        with path.open("ab") as file:
            file.write(data)

    @staticmethod
    def _add_row(event: Event) -> None:
        before = event.path.read_bytes().replace(b"evaluations: []\n", b"evaluations:\n")
        fresh = event.path.with_name(".scoreboard.tmp")
        fresh.write_bytes(before + event.data)
        fresh.replace(event.path)


def _ms(timestamp: str) -> int:
    moment = parse_ms(timestamp)
    assert moment is not None, timestamp
    return moment
