"""The serving side of a curator in a process of its own: a line of JSON in, a line of JSON out.

    -> {"id": 1, "refuses": "household"}            <- {"id": 1, "refusal": ""}
    -> {"id": 2, "curate": [CurationInput, ...]}    <- {"id": 2, "curations": [Curation, ...]}
                                                    <- {"id": 2, "error": "...", "hint": "..."}

Its first line is `{"hello": 1, "curator": NAME}`; it ends when its input does. `trainer curate PATH` is such a process:
torch lives there, and whoever asks needs none of it (DECISIONS 25).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from core.curation.curators import Curator
from core.curation.fields import Fields
from core.curation.wire import curation_json, read_input
from core.foundation import strict_json
from core.foundation.errors import ExuviaError

PROTOCOL = 1


def serve(curator: Curator, requests: Iterable[bytes], answer: Callable[[bytes], object]) -> None:
    """Answer every request until there are no more. A request that can't be met is answered with an error."""
    _say(answer, {"hello": PROTOCOL, "curator": curator.name})
    for line in requests:
        if line.strip():
            _say(answer, _answered(curator, line))


@contextmanager
def own_pipes() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Give standard input and output to the protocol alone: what libraries print goes to standard error meanwhile."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(os.dup(0), "rb") as source, os.fdopen(os.dup(kept), "wb", buffering=0) as sink:
            yield source, sink
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def serve_pipes(curator: Curator) -> None:
    """Serve on standard input and output until the other side closes them."""
    with own_pipes() as (source, sink):
        serve(curator, source, lambda line: _write(sink, line))


def _answered(curator: Curator, line: bytes) -> dict[str, Any]:
    number: Any = None
    try:
        request = strict_json.parse(line)
        if not isinstance(request, dict):
            raise ValueError("a request is a JSON object")
        number = request.get("id")
        fields = Fields(request)
        if fields.has("refuses"):
            return {"id": number, "refusal": curator.refuses(fields.text("refuses"))}
        if not fields.has("curate"):
            raise ValueError("a request asks `refuses` or `curate`")
        inputs = [read_input(given) for given in fields.parts("curate")]
        return {"id": number, "curations": [curation_json(answer) for answer in curator.curate(inputs)]}
    except ExuviaError as error:
        return {"id": number, "error": str(error), "hint": error.hint}
    except (ValueError, UnicodeError) as error:
        return {"id": number, "error": f"the request cannot be read: {error}", "hint": ""}


def _say(answer: Callable[[bytes], object], document: dict[str, Any]) -> None:
    answer(strict_json.dumps(document).encode("utf-8") + b"\n")


def _write(sink: BinaryIO, line: bytes) -> None:
    view = memoryview(line)
    while view:
        view = view[sink.write(view) :]
