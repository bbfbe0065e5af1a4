"""`state.jsonl`: one line each publishing, move and review of a domain, never changed afterwards. Lines to standings.

The fold applies the rule of `states` to every line. A line that breaks it (written by hand, merged twice, damaged)
changes nothing and is told with its number: whoever can write the file still can't give an unreviewed version traffic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from core.foundation.visible import visible_line
from core.strategy.bank.states import STATES, Actor, Refusal, Standing, Step, moment, moved, newest, refusal
from core.strategy.documents.model import MOST_VERSIONS, is_id
from core.strategy.documents.release import Release

Key = tuple[str, int]
"""A version: id of the strategy and number."""


@dataclass(frozen=True, slots=True)
class Event:
    """A line of the journal as it is shown: what happened to what, by whom, when and why. `detail` is the line."""

    number: int
    time: str
    event: str
    id: str
    version: int
    to: str
    actor: str
    signature: str
    why: str
    evidence: tuple[str, ...]
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Journal:
    """What the lines say: standings by version, when each domain was looked at last, events, and lines not taken."""

    standings: Mapping[Key, Standing]
    reviewed: Mapping[str, str]
    events: tuple[Event, ...]
    findings: tuple[str, ...]

    def of(self, strategy_id: str) -> tuple[Standing, ...]:
        """Return the versions of a strategy, lowest first."""
        return tuple(one for key, one in sorted(self.standings.items()) if key[0] == strategy_id)


def fold(records: Iterable[Mapping[str, Any]]) -> Journal:
    """Return what the lines of a journal say, oldest first. Pure."""
    standings: dict[Key, Standing] = {}
    reviewed: dict[str, str] = {}
    events: list[Event] = []
    findings: list[str] = []
    for number, record in enumerate(records, 1):
        try:
            event = _event(number, record)
            if event.event == "domain_reviewed":
                moment(event.time)
                reviewed[event.id] = event.time
            else:
                apply(standings, record)
            events.append(event)
        except (ValueError, TypeError, KeyError) as error:
            told = str(error) if isinstance(error, UntakenError) else f"is no event: {error}"
            findings.append(visible_line(f"state.jsonl: line {number}: {told}")[:400])
    return Journal(standings, reviewed, tuple(events), tuple(findings))


class UntakenError(ValueError):
    """A line, or a move that is about to become one, which the rule refuses."""

    def __init__(self, refused: Refusal) -> None:
        super().__init__(refused.reason)
        self.refused = refused


def apply(standings: dict[Key, Standing], record: Mapping[str, Any]) -> None:
    """Change `standings` by one line. Raises UntakenError where the rule refuses it, ValueError for what is no line."""
    key = (_id(record), _whole(record, "version"))
    if record["event"] == "published":
        _publish(standings, key, record)
        return
    if record["event"] != "moved":
        raise ValueError(f"there is no event {record['event']!r}")
    now = standings.get(key)
    if now is None:
        raise UntakenError(Refusal(f"{key[0]} version {key[1]} was never published.", "Publish it first."))
    step = read_step(record)
    refused = refusal(now, step)
    if refused is not None:
        raise UntakenError(refused)
    siblings = [one for other, one in standings.items() if other[0] == key[0] and other != key]
    after = moved(now, step)
    if step.to == "gray" and (other := newest(siblings, "gray")) is not None:
        raise UntakenError(
            Refusal(
                f"version {other.version} of {key[0]} is in gray; one at a time.",
                "Make it active or take it back before.",
            )
        )
    if step.to == "active" and (old := newest(siblings, "active")) is not None:
        standings[(key[0], old.version)] = replace(old, state="deprecated", since=step.time)
        after = replace(after, replaced=old.version)
    if now.state == "active" and step.to == "offline":
        _bring_back(standings, key[0], now, record, step.time)
    standings[key] = after


def _publish(standings: dict[Key, Standing], key: Key, record: Mapping[str, Any]) -> None:
    sha256 = str(record["sha256"])
    before = standings.get(key)
    if before is not None:
        if before.sha256 != sha256:
            raise UntakenError(
                Refusal(
                    f"{key[0]} version {key[1]} was published with other content.", "Publish it as the next version."
                )
            )
        return
    moment(str(record["time"]))
    standings[key] = Standing(
        key[0], key[1], sha256, origin=str(record.get("origin", "human")), since=str(record["time"])
    )


def _bring_back(
    standings: dict[Key, Standing], strategy_id: str, now: Standing, record: Mapping[str, Any], time: str
) -> None:
    """Let the version that was replaced answer again, where the line says so."""
    if record.get("restore") is None:
        return
    key = (strategy_id, _whole(record, "restore"))
    old = standings.get(key)
    if old is None or old.version != now.replaced or old.state != "deprecated":
        raise UntakenError(
            Refusal(f"version {key[1]} of {strategy_id} isn't the one that was replaced.", "Look at its history.")
        )
    standings[key] = replace(old, state="active", since=time)


def read_step(record: Mapping[str, Any]) -> Step:
    """Return the step in a line. Raises ValueError where it holds none."""
    to = record["to"]
    if to not in STATES:
        raise ValueError(f"there is no state {to!r}")
    moment(str(record["time"]))
    release = record.get("release")
    stage = record.get("stage")
    cuts = record.get("cuts") or {}
    if not isinstance(cuts, Mapping) or not all(isinstance(cut, int | float) for cut in cuts.values()):
        raise ValueError("cuts is no mapping of stratum to number")
    return Step(
        to=to,
        actor=Actor(str(record["actor"]), record.get("person") is True),
        time=str(record["time"]),
        why=str(record.get("why", "")),
        stage=stage if isinstance(stage, int) and not isinstance(stage, bool) else -1,
        evidence=tuple(str(one) for one in record.get("evidence", ())),
        force=record.get("force") is True,
        release=None if release is None else _release(release),
        cuts={str(name): float(cut) for name, cut in cuts.items()},
        approval=str(record.get("approval", "")),
    )


def step_record(strategy_id: str, version: int, step: Step, signature: str, **more: Any) -> dict[str, Any]:
    """Return the line of a step: the inverse of `read_step`."""
    record: dict[str, Any] = {
        "time": step.time,
        "event": "moved",
        "id": strategy_id,
        "version": version,
        "to": step.to,
        "actor": step.actor.name,
        "person": step.actor.person,
        "signature": signature,
        "why": step.why,
        "evidence": list(step.evidence),
    }
    if step.stage >= 0:
        record["stage"] = step.stage
    if step.force:
        record["force"] = True
    if step.release is not None:
        record["release"] = step.release.model_dump(mode="json", by_alias=True, exclude_defaults=True) | {
            "schema": "release/v1"
        }
    if step.approval:
        record["approval"] = step.approval
    if step.cuts:
        record["cuts"] = dict(step.cuts)
    return record | more


def _release(value: object) -> Release:
    try:
        return Release.model_validate(value)
    except ValidationError as error:
        raise ValueError(f"its release is not readable: {error.errors()[0]['msg']}") from error


def _id(record: Mapping[str, Any]) -> str:
    """Return the strategy's id, which is part of file names: anything but an id is refused."""
    value = record["id"]
    if not isinstance(value, str) or not is_id(value):
        raise ValueError(f"{str(value)[:80]!r} is no id of a strategy")
    return value


def _whole(record: Mapping[str, Any], name: str) -> int:
    value = record[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name} is no whole number")
    if not 1 <= value <= MOST_VERSIONS:
        raise ValueError(f"{name} is no number of a version")
    return value


def _event(number: int, record: Mapping[str, Any]) -> Event:
    evidence = record.get("evidence")
    return Event(
        number=number,
        time=str(record["time"]),
        event=str(record["event"]),
        id=str(record["id"]),
        version=_whole(record, "version") if record["event"] != "domain_reviewed" else 0,
        to=str(record.get("to", "")),
        actor=str(record.get("actor", "")),
        signature=str(record.get("signature", "")),
        why=str(record.get("why", "")),
        evidence=tuple(map(str, evidence)) if isinstance(evidence, list) else (),
        detail=record,
    )
