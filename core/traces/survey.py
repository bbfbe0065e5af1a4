"""What each entry of a trace is, told from the first bytes of its line: a list of any size can fold and find failures
without parsing it.

Lines that do not look as our writer and the existing system's write them are parsed, so a strange trace costs time and
not truth. One thing is taken on trust: a line that begins and ends as a record, holds no NUL and no second beginning,
is one; the few that are not are seen as gaps as soon as they are in a window.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from enum import IntEnum

from core.traces.parsing import Entry, Gap
from core.traces.reader import PREVIEW_OVER, TraceFile

BLOCK = 1 << 20
FAILED = 0x80
"""The bit of a code that says that the entry tells of a failure."""


class Code(IntEnum):
    """What an entry is. Those up to `LAST_FOLDED` are bookkeeping that a list may fold away."""

    REQUEST_BEGIN = 1
    REQUEST_END = 2
    USAGE = 3
    TOOLS = 4
    ALLOWED = 5
    META = 16
    USER = 17
    SAID = 18
    THOUGHT = 19
    CALL = 20
    ANSWER = 21
    DECISION = 22
    CHILD = 23
    ABORT = 24
    OTHER = 25
    GAP = 26


LAST_FOLDED = Code.ALLOWED
_HEAD = re.compile(
    rb'\{"timestamp":"[^"\\]{0,40}","type":"(?:session_meta","payload":\{"session_id"'
    rb'|(?:model|event)_msg","payload":\{"type":"([a-z_]{1,40})"(?:,"role":"(user|assistant)")?)'
)
_AGAIN = b'{"timestamp":"'
_ENDED_WELL = b'"stop_reason":"completed"'
_OUTPUT, _OK = b'"output":"', b'\\"ok\\"'
_DOUBTFUL_STARTS = (b"Error", b"[interrupted", b"[error")
_DOUBTFUL_FIRST = frozenset(b" \\\t\r\n\f\v")  # white space, plain or escaped, may stand before them
_DOUBTFUL_HEAD, _DOUBTFUL_TAIL = 1_300, 240  # bytes of an answer in which a failure would show

_CODES: dict[str, Code] = {
    "request_begin": Code.REQUEST_BEGIN,
    "request_end": Code.REQUEST_END,
    "token_usage": Code.USAGE,
    "tool_list_ready": Code.TOOLS,
    "session_meta": Code.META,
    "thinking": Code.THOUGHT,
    "inline_thinking": Code.THOUGHT,
    "tool_call": Code.CALL,
    "tool_call_output": Code.ANSWER,
    "approval_decision": Code.DECISION,
    "subagent": Code.CHILD,
    "abort": Code.ABORT,
}
_PLAIN = {name.encode(): int(_CODES[name]) for name in ("request_begin", "token_usage", "tool_list_ready", "subagent")}
_SPOKEN = {name.encode(): int(_CODES[name]) for name in ("thinking", "tool_call")}
_FAILURES = ("Error", "[interrupted", "[error")


def code_of(entry: Entry) -> int:
    """Return an entry's code, with `FAILED` where it tells of a failure."""
    if isinstance(entry, Gap):
        return Code.GAP | FAILED
    kind = entry.kind
    code = _CODES.get(kind, Code.OTHER)
    if kind == "text":
        code = Code.USER if entry.payload.get("role") == "user" else Code.SAID
    elif kind == "approval_decision" and entry.text("decision") in ("allow", "approve", "approved"):
        code = Code.ALLOWED
    return code | (FAILED if is_failure(entry) else 0)


def is_failure(entry: Entry) -> bool:
    """Tell whether someone who looks for what went wrong should stop at an entry."""
    if isinstance(entry, Gap):
        return True
    kind = entry.kind
    if kind == "request_end":
        return entry.text("status") not in ("", "completed")
    if kind == "tool_call_output":
        if entry.payload.get("stop_reason") not in (None, "completed"):
            return True
        start = entry.text("output").lstrip()[:200]
        return start.startswith(_FAILURES) or '"ok": false' in start or '"ok":false' in start
    if kind in ("compaction_end", "mcp_connect_end"):
        return entry.text("status") not in ("", "completed")
    return kind == "abort"


class Survey:
    """The codes of a trace file's entries, as far as they were taken.

    Invariant: `codes[i]` is the code of entry i of `file`, for all entries before `len(codes)`.
    """

    def __init__(self, file: TraceFile) -> None:
        self.file = file
        self.codes = bytearray()
        self.parsed = 0  # lines that had to be parsed

    def grow(self) -> Iterator[int]:
        """Take the codes of what is indexed and not surveyed yet, a block a step; yield how many there are now."""
        while len(self.codes) < len(self.file):
            first = len(self.codes)
            begin, end = self.file.span(first)
            if end - begin > PREVIEW_OVER:
                self._parse(first)
            else:
                self._block(first, begin, self.file.piece(begin, min(BLOCK, self.file.size - begin)))
            yield len(self.codes)

    def _block(self, first: int, base: int, block: bytes) -> None:
        """Take the codes of the lines that lie whole in `block`, whose first byte is at `base`."""
        has_nul = b"\0" in block
        at, number, count, add = 0, first, len(self.file), self.codes.append
        while number < count and at < len(block):
            end = block.find(b"\n", at)
            if end < 0:
                if self.file.span(number)[1] - base > len(block):
                    break  # its end is in the next block
                end = len(block)
            code = 0 if has_nul and block.find(b"\0", at, end) >= 0 else _told(block, at, end)
            if code:
                add(code)
            else:
                self._parse(number)
            at, number = end + 1, number + 1
        if number == first:  # truncated under us: the entry says so itself
            self._parse(first)

    def _parse(self, number: int) -> None:
        self.parsed += 1
        self.codes.append(code_of(self.file.entry(number)))


def _told(block: bytes, at: int, end: int) -> int:
    """Return the code of the line [at, end), 0 where its bytes alone do not tell."""
    head = _HEAD.match(block, at, end)
    if head is None or block[end - 2 : end] != b"}}" or block.find(_AGAIN, head.end(), end) >= 0:
        return 0
    kind, role = head[1], head[2]
    if kind is None:
        return Code.META
    code = _PLAIN.get(kind)
    if code is not None:
        return code
    if role == b"assistant":
        return Code.SAID if kind == b"text" else _SPOKEN.get(kind, 0)
    if kind == b"tool_call_output":
        return 0 if _is_doubtful(block, head.end(), end) else Code.ANSWER
    if kind == b"text":
        return Code.USER if role == b"user" else 0
    if kind == b"approval_decision":
        return Code.ALLOWED if block.find(b'"decision":"allow"', head.end(), end) >= 0 else 0
    if kind == b"request_end":
        return Code.REQUEST_END if block.find(b'"status":"completed"', head.end(), end) >= 0 else 0
    return 0


def _is_doubtful(block: bytes, at: int, end: int) -> bool:
    """Tell whether an answer may be a failed one, by a wide guess; its record says."""
    if block.find(_ENDED_WELL, max(at, end - _DOUBTFUL_TAIL), end) < 0:
        return True
    text = block.find(_OUTPUT, at, at + 40) + len(_OUTPUT)
    if text < at or block[text] in _DOUBTFUL_FIRST or block[text] >= 0x80 or block.startswith(_DOUBTFUL_STARTS, text):
        return True
    return block.find(_OK, text, min(end, text + _DOUBTFUL_HEAD)) >= 0


def numbers_where(codes: bytearray, start: int, found: array[int]) -> None:
    """Add to `found` the numbers, from `start` on, of entries that no list folds away."""
    last = LAST_FOLDED
    found.extend(number for number in range(start, len(codes)) if codes[number] > last)
