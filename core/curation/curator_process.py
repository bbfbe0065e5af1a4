"""A curator in a process of its own, from this side: `python -P -m trainer curate PATH` (see `curator_serving`)."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from core.curation.curator_serving import PROTOCOL
from core.curation.curators import Curation, CurationInput
from core.curation.fields import Fields
from core.curation.wire import input_json, read_curation
from core.foundation import strict_json
from core.foundation.errors import ExuviaError, NotFoundError
from core.foundation.visible import decode, visible_line

STARTING_S = 180.0
"""How long a policy may take to load: torch, weights of some gigabytes."""
ANSWERING_S = 1_800.0
"""How long one batch may take."""
_LONGEST = 256 << 20  # bytes of one answer: a batch of long ones is some megabytes
_LAST_WORDS = 2_000  # bytes of standard error that a failure may quote from


class CuratorProcessError(ExuviaError):
    """The curator's process ended, was silent for too long, or did not keep to the protocol."""


class CuratorProcess:
    """A Curator. Invariant: while it is open its process lives, and every request has had its answer.

    Use it as a context manager. Raises CuratorProcessError with the process's last words where it fails: that is no
    lost position but a curator that is gone, and a stream stops there and can be resumed.
    """

    def __init__(
        self, command: Sequence[str], *, starting_s: float = STARTING_S, answering_s: float = ANSWERING_S
    ) -> None:
        self._command = tuple(command)
        self._starting_s = starting_s
        self._answering_s = answering_s
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._rest = b""
        self._number = 0
        self._name = ""

    @property
    def name(self) -> str:
        return self._name

    def __enter__(self) -> Self:
        self._errors = tempfile.TemporaryFile()  # lives as long as the process; closed in `close`
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, close_fds=True
        )
        try:
            hello = self._read(self._starting_s)
            if hello.get("hello") != PROTOCOL or not isinstance(hello.get("curator"), str):
                raise self._failure("does not speak our protocol")
        except BaseException:
            self.close(grace_s=0.5)
            raise
        self._name = hello["curator"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(grace_s=5.0 if error is None else 0.5)  # one that failed has nothing to finish

    def close(self, *, grace_s: float = 5.0) -> None:
        """Let it go: its input ends, and after `grace_s` seconds it is killed."""
        process, self._process = self._process, None
        if process is not None:
            if process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()
            try:
                process.wait(timeout=grace_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def refuses(self, world: str) -> str:
        """Return why it may not curate that world; empty where it may."""
        return Fields(self._ask({"refuses": world})).text("refusal")

    def curate(self, inputs: Sequence[CurationInput]) -> Sequence[Curation]:
        """Answer each input, in order."""
        if not inputs:
            return ()
        reply = self._ask({"curate": [input_json(given) for given in inputs]})
        try:
            answers = tuple(read_curation(curation) for curation in Fields(reply).parts("curations"))
        except ValueError as error:
            raise self._failure(f"answered something else ({error})") from error
        if len(answers) != len(inputs):
            raise self._failure(f"gave {len(answers)} answers to {len(inputs)} questions")
        return answers

    def _ask(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        process = self._process
        if process is None or process.stdin is None:
            raise CuratorProcessError("The curator's process is not open.")
        self._number += 1
        line = strict_json.dumps({"id": self._number, **question}).encode("utf-8") + b"\n"
        deadline = time.monotonic() + self._answering_s
        try:
            self._write(process.stdin.fileno(), line, deadline)
        except OSError as error:
            raise self._failure("ended") from error
        reply = self._read(self._answering_s)
        if reply.get("id") != self._number:
            raise self._failure("answered out of turn")
        if isinstance(reply.get("error"), str):
            raise CuratorProcessError(
                f"The curator says: {visible_line(reply['error'])}", hint=str(reply.get("hint", ""))
            )
        return reply

    def _write(self, descriptor: int, line: bytes, deadline: float) -> None:
        """Write a line to a process that may have stopped reading: a pipe that stays full is silence too."""
        os.set_blocking(descriptor, False)
        view = memoryview(line)
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_WRITE)
            while view:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise self._failure(f"took no question for {self._answering_s:g} s")
                with contextlib.suppress(BlockingIOError):
                    view = view[os.write(descriptor, view) :]

    def _read(self, patience_s: float) -> dict[str, Any]:
        """Return the next line of its output as an object."""
        line = self._line(patience_s)
        try:
            value = strict_json.parse(line)
        except ValueError as error:
            raise self._failure(f"wrote something that is no JSON ({error})") from error
        if not isinstance(value, dict):
            raise self._failure("wrote something that is no object")
        return value

    def _line(self, patience_s: float) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        deadline = time.monotonic() + patience_s
        pieces, size = [self._rest], len(self._rest)
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while b"\n" not in pieces[-1]:
                left = deadline - time.monotonic()
                # A process that writes without an end is always ready; the clock is asked all the same.
                if left < 0 or not selector.select(left):
                    raise self._failure(f"gave no answer for {patience_s:g} s")
                piece = os.read(descriptor, 1 << 20)
                if not piece:
                    raise self._failure("ended")
                pieces.append(piece)
                size += len(piece)
                if size > _LONGEST:
                    raise self._failure(f"wrote more than {_LONGEST >> 20} MiB without a line end")
        line, _, self._rest = b"".join(pieces).partition(b"\n")
        return line

    def _failure(self, what: str) -> CuratorProcessError:
        said = ""
        if self._errors is not None:
            size = self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, size - _LAST_WORDS))
            lines = decode(self._errors.read()).strip().splitlines()
            said = f" Its last words: {visible_line(lines[-1][:300])}" if lines else ""
        return CuratorProcessError(
            f"The curator's process {what}.{said}", hint=f"Try it by hand: {' '.join(self._command)} < /dev/null"
        )


def trained(path: Path, *, temperature: float | None = None) -> CuratorProcess:
    """Return the curator of a trained policy, not yet started: a checkpoint, a training run or an exported folder.

    Raises NotFoundError where there is nothing. It starts with the context manager.
    """
    if not path.exists():
        raise NotFoundError(f"There is no policy at {path}.", hint="Name a training run, a checkpoint or an export.")
    options = [] if temperature is None else ["--temperature", str(temperature)]
    return CuratorProcess([sys.executable, "-P", "-m", "trainer", "curate", str(path.resolve()), *options])
