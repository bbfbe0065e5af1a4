"""A chat in the terminal, line by line: no screen is taken, so it works on any terminal, over any link, and in a pipe.

The chat lives in a thread with a loop of its own; this thread reads lines and prints events, so Ctrl-C always arrives
here. While a line is being typed, a word from elsewhere or a decision made elsewhere wakes this thread by a signal;
what was typed so far is kept. The agent's texts go to stdout, everything about them to stderr.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import click

from core.agents import chat_events as talk
from core.agents.chat import Chat, ChatSpec
from core.agents.chat_events import Asked, Decided, TurnEnded, WordWaits
from core.agents.tools.ask import NAME as ASK
from core.foundation import strict_json
from core.foundation.errors import ConflictError, ExitCode, ExuviaError
from core.foundation.visible import visible, visible_line
from core.state import approvals
from core.state.approvals import Waiting
from tui.cli.chat_thread import Background, Event, Failed
from tui.cli.common import here, note

_CALL_WIDTH = 100
_MESSAGE = ("> ", ". ")  # the prompts of a message: its first line, and one that goes on
HELP = (
    "What you type goes to the agent; a line that ends with \\ goes on in the next one.",
    "/help     this    /session  id and paths of this session    /quit  leave (Ctrl-D too)",
    "Ctrl-C    interrupts the agent; at the prompt it drops the line",
)


class _WokenError(Exception):
    """Something came while a line was being typed."""


class ChatTerminal:
    """One chat shown line by line. Invariant: it waits for a line only while no turn of the agent runs or asks."""

    def __init__(self, spec: ChatSpec, *, interactive: bool, quiet: bool = False) -> None:
        self._spec = spec
        self._quiet = quiet  # stdout belongs to a document
        self._interactive = interactive
        self._typing = False
        self._kept: dict[str, str] = {}  # what was typed of a message when an event came, by its prompt
        self._streamed = ""
        self._at_line_start = True
        self._waiting_words = False
        self._open: list[Waiting] = []
        self._main = threading.main_thread().ident
        self._chat: Chat
        self._background = Background(spec, self._wake)
        self.last = TurnEnded("idle", "", "")

    # Life ------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Start the chat, and end it with the block. Raises ExuviaError where it cannot begin."""
        before = signal.signal(signal.SIGUSR1, self._woken)
        try:
            self._chat = self._background.start()
            yield
        finally:
            with _no_interrupt():
                self._background.stop()
                signal.signal(signal.SIGUSR1, before)

    def once(self, text: str) -> TurnEnded:
        """Let the agent answer one message; return how its turn ended."""
        self._turn(lambda: self._chat.prompt(text))
        return self.last

    def converse(self) -> int:
        """Read lines and answer them until the input ends; return the exit code."""
        if self._interactive:
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401  # input() edits and remembers lines with it

            note(f"{self._spec.agent_id}, by {self._spec.model.provider}/{self._spec.model.model_id}, confined in "
                 f"{self._spec.workspace}. /help tells what you can do.")  # fmt: skip
        if self._chat.unfinished:
            note("The last turn was cut; it goes on.")
            self._turn(self._chat.finish)
        while True:
            self._take_up_words()
            try:
                text = self._message()
            except EOFError:
                break
            except KeyboardInterrupt:
                sys.stderr.write("\n")
                continue
            except _WokenError:
                continue
            if text.strip() and not self._command(text.strip()):
                self._turn(lambda said=text: self._chat.prompt(said))  # type: ignore[misc]  # a default in a lambda
            if text.strip() in {"/quit", "/exit"}:
                break
        if self._interactive:
            note("")
            note(self._way_on())
        return int(ExitCode.DONE if self.last.status in {"completed", "idle", "aborted"} else ExitCode.FAILED)

    def _way_on(self) -> str:
        """Say how to talk on; of a chat in which nothing was said nothing is kept."""
        trace = self._spec.trace_path
        kept = trace.exists() and trace.stat().st_size
        again = f" --resume {self._spec.session_id}" if kept else ""
        return here(f"Go on later: exuvia chat {self._spec.agent_id}{again}")

    def _command(self, text: str) -> bool:
        """Do what a line that begins with a slash asks; tell whether it was one."""
        if not text.startswith("/") or " " in text or "/" in text[1:]:
            return False
        match text:
            case "/help":
                for line in HELP:
                    note(line)
            case "/session":
                note(f"session {self._spec.session_id}")
                note(f"workspace {self._spec.workspace}")
                note(f"trace {self._spec.trace_path}")
                note(here(f"from another terminal: exuvia send {self._spec.session_id} TEXT"))
            case "/quit" | "/exit":
                pass
            case _:
                note(f"There is no command {text}. /help lists them.")
        return True

    # Reading ---------------------------------------------------------------------------------------------------

    def _wake(self) -> None:
        """Wake the thread that reads a line (called from the chat's thread)."""
        if self._main is not None:
            signal.pthread_kill(self._main, signal.SIGUSR1)

    def _woken(self, number: int, frame: FrameType | None) -> None:
        if self._typing:
            self._typing = False
            raise _WokenError

    def _read(self, prompt: str) -> str:
        """Read a line. Raises EOFError, KeyboardInterrupt, or _WokenError where an event came first."""
        try:
            self._typing = True
            if not self._background.events.empty():
                raise _WokenError
            line = self._input(prompt)
            self._typing = False
        except _WokenError:
            self._keep(prompt)
            raise
        finally:
            self._typing = False
        return line

    def _input(self, prompt: str) -> str:
        if not self._interactive:
            line = sys.stdin.readline()
            if not line:
                raise EOFError
            return line.removesuffix("\n")
        kept = self._kept.pop(prompt, "")
        readline = sys.modules.get("readline")
        if readline is not None and kept:
            readline.set_startup_hook(lambda: readline.insert_text(kept))
        try:
            return input(prompt)
        finally:
            if readline is not None:
                readline.set_startup_hook()

    def _keep(self, prompt: str) -> None:
        """Remember what was typed, and leave the line to what is told next."""
        readline = sys.modules.get("readline")
        if self._interactive and readline is not None:
            if prompt in _MESSAGE:  # what was meant for one question must not answer the next
                self._kept[prompt] = readline.get_line_buffer()
            sys.stderr.write("\n")

    def _message(self) -> str:
        begin, goes_on = _MESSAGE
        text = self._read(begin)
        while text.endswith("\\"):
            text = text[:-1] + "\n" + self._read(goes_on)
        return text

    # A turn ----------------------------------------------------------------------------------------------------

    def _turn(self, begin: Callable[[], None]) -> None:
        """Begin a turn and tell what happens until it has ended. Ctrl-C interrupts it, a second one leaves."""
        interrupted = False
        try:
            self._background.do(begin)
        except ConflictError as error:
            note(str(error))
            return
        while True:
            try:
                if self._open and self._interactive and self._background.events.empty():
                    self._decide(self._open[0])
                event = self._background.events.get()
                if self._take(event):
                    return
            except KeyboardInterrupt:
                if interrupted:
                    raise
                interrupted = True
                self._end_line()
                note("Interrupting; Ctrl-C again leaves at once.")
                self._open.clear()
                self._background.do(self._chat.interrupt)
            except _WokenError:
                continue

    def _take_up_words(self) -> None:
        """Tell what came while nobody worked; let the agent read the words that were sent."""
        while not self._background.events.empty():
            self._take(self._background.events.get())
        if self._waiting_words:
            self._waiting_words = False
            self._turn(self._chat.hear)

    def _take(self, event: Event) -> bool:
        """Tell an event; return whether it ended the turn. Raises what ended the chat."""
        match event:
            case None:
                raise ExuviaError("The chat has ended.", hint=f"Look at its trace: {self._spec.trace_path}")
            case Failed(error):
                raise error
            case talk.Piece(text):
                self._streamed += text
                self._out(text)
            case talk.Said(text):
                if self._streamed.strip() != text.strip():
                    self._end_line()
                    self._out(text)
                self._streamed = ""
                self._end_line()
            case talk.Called(name, arguments) if name != ASK:  # a question is told whole in a moment
                self._about(f"  * {name}: {_in_short(arguments)}")
            case talk.Returned(output, stop_reason):
                if stop_reason != "completed":
                    self._about(f"    {stop_reason}: {_cut(output)}")
            case talk.Unanswered(reason, again):
                self._streamed = ""
                self._about(f"  ! no reply{' yet' if again else ''}: {_cut(reason)}")
            case Asked(waiting):
                self._ask(waiting)
            case Decided(decision):
                self._open = [one for one in self._open if one.id != decision.id]
                if decision.actor != "chat":
                    self._about(f"  decided by {decision.signature}: {decision.verdict}")
            case talk.Told(word):
                self._about(f"  [{word.signature or word.actor} says: {_cut(word.text)}]")
            case WordWaits():
                self._waiting_words = True
            case talk.Notice(text):
                self._about(f"  {text}")
            case talk.Ended(reason):
                self._end_line()
                raise ExuviaError(f"The agent's process has ended: {reason}", hint=self._way_on())
            case TurnEnded():
                self._ended(event)
                return True
        return False

    def _ended(self, event: TurnEnded) -> None:
        self._streamed = ""
        self._end_line()
        if event.status != "idle":
            self.last = event
        if event.status not in {"completed", "idle"}:
            note(f"[the turn ended: {event.status}{': ' + event.reason if event.reason else ''}]")
        if event.status == "budget":
            note(f"A session that is taken up again has its budget anew: /quit, then --resume {self._spec.session_id}")

    # Asking ----------------------------------------------------------------------------------------------------

    def _ask(self, waiting: Waiting) -> None:
        self._end_line()
        self._open.append(waiting)
        if waiting.kind == "question":
            for line in waiting.text.splitlines():
                note(f"? {line}")
            for number, option in enumerate(waiting.options, 1):
                note(f"  {number}. {option}")
        else:
            may = "it may change things" if waiting.permission == "rw" else "it only reads"
            note(f"? May it run {waiting.tool_name} ({may})?")
            for line in waiting.arguments.splitlines():
                note(f"  {line}")
        if not self._interactive:
            act = "answer" if waiting.kind == "question" else "approve"
            note(here(f"It waits for you: exuvia approvals {act} {waiting.id}"))

    def _decide(self, waiting: Waiting) -> None:
        """Ask at the terminal and write down the decision. Raises _WokenError where another one came first."""
        project = self._spec.project
        # Only what is typed after the question was seen answers it.
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
        try:
            if waiting.kind == "question":
                said = self._read("Your answer: ").strip()
                if not said:
                    return
                if said.isdigit() and 1 <= int(said) <= len(waiting.options):
                    said = waiting.options[int(said) - 1]
                approvals.answer(project, waiting.id, said, actor="chat")
            else:
                said = self._read("Allow? y, n, or a reason to deny: ").strip()
                if not said:
                    return
                if said.lower() in {"y", "yes"}:
                    approvals.decide(project, waiting.id, "approve", actor="chat")
                else:
                    reason = "" if said.lower() in {"n", "no"} else said
                    approvals.decide(project, waiting.id, "reject", reason, actor="chat")
        except EOFError:
            self._refuse(waiting)
        except ExuviaError as error:
            note(f"{error} {error.hint}".strip())
            if not isinstance(error, ConflictError):
                return  # too long, say: it is asked again
        self._open = [one for one in self._open if one.id != waiting.id]

    def _refuse(self, waiting: Waiting) -> None:
        note("")
        with contextlib.suppress(ConflictError):
            approvals.decide(self._spec.project, waiting.id, "reject", "no answer", actor="chat")

    # Printing --------------------------------------------------------------------------------------------------

    def _out(self, text: str) -> None:
        if self._quiet:
            return
        shown = visible(text)
        click.echo(shown, nl=False)
        sys.stdout.flush()
        self._at_line_start = shown.endswith("\n")

    def _end_line(self) -> None:
        if not self._at_line_start:
            click.echo("")
            self._at_line_start = True

    def _about(self, text: str) -> None:
        """Tell something about the agent; a text that streams goes on in a line of its own."""
        self._end_line()
        note(text)


@contextlib.contextmanager
def _no_interrupt() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _in_short(arguments: str) -> str:
    """Return a call's arguments in one line: what it says it is for, else the first of them."""
    try:
        parsed: Any = strict_json.parse(arguments)
    except ValueError:
        return _cut(arguments)
    if not isinstance(parsed, dict) or not parsed:
        return _cut(arguments)
    told = parsed.get("description") or next(iter(parsed.values()))
    return _cut(told if isinstance(told, str) else strict_json.dumps(told))


def _cut(text: str) -> str:
    flat = visible_line(" ".join(text.split()))
    return flat if len(flat) <= _CALL_WIDTH else flat[: _CALL_WIDTH - 3] + "..."
