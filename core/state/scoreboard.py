"""Reading and appending the score history of a benchmark (EVOLUTION 2.2, 6.4).

Reading accepts what the existing system accepts and keeps what it would drop without a word. Appending leaves the
text before the new evaluation as it is, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from core.foundation.errors import DamagedError
from core.foundation.visible import decode
from core.state import atomic, locks, yaml12
from core.state.diagnostics import Diagnostic
from core.state.evaluation import CaseScore, Evaluation, RunScore, Runtime, evaluation_of, why_refused
from core.state.paths import BenchmarkPaths
from core.state.scoreboard_plain import read_plain
from core.state.yaml_text import flow, folded, number, scalar

__all__ = [
    "CaseScore",
    "Dropped",
    "Evaluation",
    "RunScore",
    "Runtime",
    "ScoreboardReading",
    "append_evaluation",
    "evaluation_of",
    "parse_scoreboard",
    "read_scoreboard",
    "rendered",
]

_MOST_KNOWN = 16
_known: dict[Path, tuple[bytes, ScoreboardReading]] = {}
_BREAK = re.compile(r"\r\n|\n|\r")
_REPAIR = "Repair the file by hand (the line is named), then try again; nothing was written."


@dataclass(frozen=True)
class Dropped:
    """An evaluation that the format does not accept: its first line (from 1), why, and its text.

    Where the file as a whole is no scoreboard, `whole_file` is set and `raw` is all of it.
    """

    line: int
    reason: str
    raw: str
    whole_file: bool = False


@dataclass(frozen=True)
class ScoreboardReading:
    """The evaluations in file order, never sorted (no. 39), and what could not be read."""

    evaluations: tuple[Evaluation, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    exists: bool = True


def read_scoreboard(path: Path) -> ScoreboardReading:
    """Return what stands in the scoreboard at `path`; an absent one is empty. Never raises for what it holds.

    One whose bytes are as they were is not parsed again: twenty thousand Runs take a second.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return ScoreboardReading(exists=False)
    except OSError as error:
        return ScoreboardReading(diagnostics=(Diagnostic(path, 0, f"cannot be read: {error.strerror or error}"),))
    known = _known.get(path)
    if known is not None and known[0] == raw:
        return known[1]
    reading = parse_scoreboard(decode(raw), path)
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[path] = (raw, reading)  # one step, so threads need no lock; a reading is never changed
    return reading


def parse_scoreboard(text: str, path: Path) -> ScoreboardReading:
    """Return what `text` holds; `path` only names it in diagnostics."""
    plain = read_plain(text)
    if plain is not None:
        return ScoreboardReading(plain)
    try:
        root = yaml12.compose(text)
        document = yaml12.construct(root)
    except yaml12.YamlError as error:
        return _unreadable(text, path, error.line, error.reason)
    listed = document.get("evaluations") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        if document is None or (isinstance(document, dict) and listed is None):
            return ScoreboardReading()
        return _unreadable(text, path, 1, "no mapping with a list `evaluations` at the top")
    node = _evaluations_node(root)
    return _accepted(listed, node, text, path)


def _unreadable(text: str, path: Path, line: int, reason: str) -> ScoreboardReading:
    told = Diagnostic(path, line, f"the whole scoreboard is not readable: {reason}")
    return ScoreboardReading(dropped=(Dropped(line, reason, text, whole_file=True),), diagnostics=(told,))


def _accepted(listed: list[Any], node: yaml.Node, text: str, path: Path) -> ScoreboardReading:
    evaluations: list[Evaluation] = []
    dropped: list[Dropped] = []
    for index, record in enumerate(listed):
        try:
            evaluations.append(Evaluation.model_validate(record))
        except ValidationError as error:
            reason = why_refused(error) if isinstance(record, dict) else "an evaluation must be a mapping"
            dropped.append(Dropped(node.value[index].start_mark.line + 1, reason, _raw(node, index, text)))
    told = tuple(Diagnostic(path, lost.line, f"evaluation not counted: {lost.reason}") for lost in dropped)
    return ScoreboardReading(tuple(evaluations), tuple(dropped), told)


def _evaluations_node(root: yaml.Node | None) -> yaml.Node:
    assert isinstance(root, yaml.MappingNode)
    node: yaml.Node = next(value for key, value in root.value if key.value == "evaluations")
    return node


def _raw(node: yaml.Node, index: int, text: str) -> str:
    """Return the lines of the list's item `index`."""
    lines = _BREAK.split(text)
    items = node.value
    first = items[index].start_mark.line
    last = items[index + 1].start_mark.line if index + 1 < len(items) else node.end_mark.line
    return "\n".join(lines[first : max(last, first + 1)]).rstrip()


def rendered(evaluation: Evaluation, indent: int = 2) -> str:
    """Return the evaluation as an item of a block list, its dash `indent` spaces in, newline at the end.

    Key order, folded texts and quoting are those of EVOLUTION 2.2 no. 46.
    """
    pad, inner = " " * indent, indent + 2
    notes = {"summary_title": evaluation.summary_title, "summary": evaluation.summary}
    lines = [
        f"time: {scalar(evaluation.time)}",
        f"version: {evaluation.version}",
        f"provider: {scalar(evaluation.provider)}",
        f"model_id: {scalar(evaluation.model_id)}",
        f"thinking_level: {scalar(evaluation.thinking_level)}",
        *(f"{key}: {folded(text, inner + 2)}" for key, text in notes.items() if text is not None),
        *_measures(evaluation),
        "cases:",
    ]
    for case in evaluation.cases:
        lines += _item(2, [f"case: {scalar(case.case)}", *_measures(case), "runs:"])
        for run in case.runs:
            lines += _item(6, [*_measures(run), f"session_id: {scalar(run.session_id)}"])
    return f"{pad}- " + f"\n{pad}  ".join(lines) + "\n"


def _measures(record: Evaluation | CaseScore | RunScore) -> list[str]:
    cost = "null" if record.cost is None else number(record.cost)
    return [f"score: {number(record.score)}", f"cost: {cost}", f"duration_ms: {record.duration_ms}"]


def _item(indent: int, lines: Sequence[str]) -> list[str]:
    return [" " * indent + ("- " if number_of == 0 else "  ") + line for number_of, line in enumerate(lines)]


def append_evaluation(benchmark: BenchmarkPaths, evaluation: Evaluation) -> None:
    """Append `evaluation` to the benchmark's scoreboard, making the file where there is none.

    Under a lock; the text before it stays byte for byte (only an empty list `[]` becomes a block). The new text is
    parsed and compared before it replaces the old in one rename. Raises DamagedError, with nothing written, where
    the file is not a scoreboard that can be appended to, and LockedError where another writer does not let go.
    """
    path = benchmark.scoreboard
    with locks.held(benchmark.lock):
        try:
            before = path.read_bytes()
        except FileNotFoundError:
            before = b""
        after = _appended(before, evaluation, path)
        atomic.write_bytes(path, after)
        if path.read_bytes() != after:
            raise DamagedError(f"{path} does not hold what was just written to it.", hint="Check the disk.")


def _appended(before: bytes, evaluation: Evaluation, path: Path) -> bytes:
    try:
        old = before.decode("utf-8")
        root = yaml12.compose(old)
        held = yaml12.construct(root)
    except UnicodeDecodeError as error:
        raise DamagedError(f"{path} is not UTF-8 (byte {error.start}).", hint=_REPAIR) from error
    except yaml12.YamlError as error:
        raise DamagedError(f"{path}: {error}", hint=_REPAIR) from error
    if held is not None and not isinstance(held, dict):
        raise DamagedError(f"{path} holds no mapping with `evaluations`.", hint=_REPAIR)
    listed = (held or {}).get("evaluations")
    if listed is not None and not isinstance(listed, list):
        raise DamagedError(f"{path}: `evaluations` is not a list.", hint=_REPAIR)

    new = _insert(old, root, evaluation)
    _compare(new, held or {}, listed or [], evaluation, path)
    return new.encode("utf-8")


def _insert(old: str, root: yaml.Node | None, evaluation: Evaluation) -> str:
    """Return `old` with the evaluation at the end of its list, wherever and however that list is written."""
    newline = "\r\n" if "\r\n" in old else "\n"
    block = rendered(evaluation).replace("\n", newline)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    pair = next((pair for pair in pairs if pair[0].value == "evaluations"), None)
    if not isinstance(root, yaml.MappingNode) or pair is None:
        return _closed(old, newline) + f"evaluations:{newline}" + block
    key, node = pair
    ends = [match.end() for match in _BREAK.finditer(old)]
    starts = [0, *ends]
    at = _next_key(root, key)
    insertion = len(old) if at is None else starts[at]

    if isinstance(node, yaml.SequenceNode) and node.flow_style:
        opening = starts[node.start_mark.line] + node.start_mark.column
        closing = starts[node.end_mark.line] + node.end_mark.column - 1
        if node.value or root.flow_style:
            comma = "" if not node.value or old[:closing].rstrip().endswith(",") else ", "
            return old[:closing] + comma + _flow(evaluation) + old[closing:]
        kept = old[:opening].rstrip(" ") + old[closing + 1 : insertion]
        return _closed(kept, newline) + block + old[insertion:]
    if isinstance(node, yaml.SequenceNode):
        block = rendered(evaluation, node.start_mark.column).replace("\n", newline)
    elif node.start_mark.index != node.end_mark.index:  # a written null: `~` or `null`
        first = starts[node.start_mark.line] + node.start_mark.column
        last = starts[node.end_mark.line] + node.end_mark.column
        return _closed(old[:first].rstrip(" ") + old[last:insertion], newline) + block + old[insertion:]
    return _closed(old[:insertion], newline) + block + old[insertion:]


def _next_key(root: yaml.Node, key: yaml.Node) -> int | None:
    """Return the line (from 0) of the key after `key` at the top, or of a document's end; None at the end of file."""
    later = [pair[0].start_mark.line for pair in root.value if pair[0].start_mark.line > key.start_mark.line]
    return min(later) if later else None


def _closed(text: str, newline: str) -> str:
    return text if not text or text.endswith(("\n", "\r")) or text == "\ufeff" else text + newline


def _flow(evaluation: Evaluation) -> str:
    """Return the evaluation on one line, for a list that is written in brackets."""
    notes = {"summary_title", "summary"}
    record = evaluation.model_dump(mode="python")
    return flow({key: value for key, value in record.items() if value is not None or key not in notes})


def _compare(new: str, held: dict[Any, Any], listed: list[Any], evaluation: Evaluation, path: Path) -> None:
    """Refuse a new text that would not read back as the old document with this evaluation at the end."""
    try:
        document = yaml12.load(new)
        reread = document["evaluations"]
        others = {key: value for key, value in document.items() if key != "evaluations"}
        same = (
            _same(others, {key: value for key, value in held.items() if key != "evaluations"})
            and _same(reread[:-1], listed)
            and len(reread) == len(listed) + 1
            and Evaluation.model_validate(reread[-1]) == evaluation
        )
    except (yaml12.YamlError, ValidationError, KeyError, TypeError) as error:
        raise DamagedError(f"{path} cannot be appended to safely: {error}", hint=_REPAIR) from error
    if not same:
        raise DamagedError(f"{path} is written in a way that cannot be appended to safely.", hint=_REPAIR)


def _same(left: object, right: object) -> bool:
    """Equality in which NaN equals itself and 1 differs from true."""
    return repr(left) == repr(right)
