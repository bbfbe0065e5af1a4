"""Deeds in threads: one place starts them, shows how far they are, ends them, and says what came of them."""

from __future__ import annotations

from collections.abc import Callable

from textual.widget import Widget

from core.foundation.errors import ExuviaError
from tui.messages import Done, Outcome
from tui.work import Ended, Work


class Works:
    """The deeds under way. Invariant: each ends with exactly one `Done`, posted to `screen`."""

    def __init__(self, screen: Widget) -> None:
        self._screen = screen
        self._under_way: list[Work] = []

    def start(self, do: Callable[[Work], Outcome], doing: str) -> None:
        """Do something in a thread; whatever it raises becomes its outcome."""
        work = Work(doing)
        self._under_way.append(work)

        def do_it() -> None:
            try:
                outcome = do(work)
            except Ended:
                outcome = Outcome(f"Ended: {doing}.", "Nothing half-done stays.", ok=False)
            except Exception as error:  # a fault of ours is told, and the console goes on
                outcome = failure(error)
            finally:
                self._under_way.remove(work)
            self._screen.post_message(Done(outcome))

        self._screen.run_worker(do_it, thread=True, exit_on_error=False, group="deeds", description=doing)

    def words(self) -> tuple[str, bool]:
        """Return how far the newest deed is, and whether Esc ends it; "" where none takes long."""
        told = ((work.words(), work.can_end) for work in reversed(self._under_way))
        return next((one for one in told if one[0]), ("", False))

    def end(self) -> bool:
        """Ask the newest deed that can be to end; tell whether there was one that had taken a while."""
        late = [work for work in self._under_way if work.words() and work.can_end and not work.is_ending]
        if late:
            late[-1].end()
        return bool(late)

    def end_all(self) -> None:
        """Ask everything under way to end, as the console leaves: a thread would keep the process alive."""
        for work in self._under_way:
            work.end()

    def __bool__(self) -> bool:
        return bool(self._under_way)


def failure(error: Exception) -> Outcome:
    """Return an error as an outcome; one that nobody foresaw is named as such."""
    foreseen = isinstance(error, ExuviaError | OSError)
    text = str(error) if foreseen else f"A fault of the console: {type(error).__name__}: {error}"
    return Outcome(text, getattr(error, "hint", ""), ok=False)
