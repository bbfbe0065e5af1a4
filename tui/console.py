"""The Textual application: it wires stores, feed, frame and terminal together, and does nothing else."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.driver import Driver
from textual.filter import LineFilter
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from core.state.paths import ProjectPaths
from tui import terminal
from tui.ascii import Ascii
from tui.messages import IsolationKnown, TraceChanged, ViewsChanged
from tui.palette import use_theme
from tui.screens.frame import Frame
from tui.settings import Loaded, wants_ascii
from tui.stores.console import ConsoleStore, ConsoleView
from tui.stores.feed import Feed

if TYPE_CHECKING:
    from rich.console import RenderableType


class Console(App[int], inherit_bindings=False):
    """The console on one Project.

    Invariant: every view on screen came through `ViewsChanged`, or is the one that was loaded before the first paint.
    """

    CSS_PATH = "console.tcss"
    TITLE = "Exuvia"
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    AUTO_FOCUS = None

    def __init__(
        self,
        project: ProjectPaths,
        store: ConsoleStore,
        *,
        read_only: bool = False,
        lean: bool = False,
        loaded: Loaded | None = None,
    ) -> None:
        driver: type[Driver] | None = terminal.LeanDriver if lean else None
        super().__init__(driver_class=driver)
        self.animation_level = "none"
        self.theme = "ansi-dark"
        loaded = loaded or Loaded()
        self._ascii: Ascii | None = None
        self.settle(loaded)
        self.feed = Feed(store, self._tell, self._tell_trace)
        self._net = terminal.Net()
        self._no_colours = terminal.NoColours()
        self.frame = Frame(
            project,
            store.view,
            read_only=read_only,
            look_at=self.feed.look_at,
            refresh_all=self.feed.refresh,
            tell_terminal=self.tell_terminal,
            loaded=loaded,
            settle=self.settle,
        )

    def get_default_screen(self) -> Screen[Any]:
        return self.frame

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return Textual's filters with ours behind them, so that nothing gets around the net."""
        colours: Sequence[LineFilter] = [self._no_colours] if self.no_color else super().get_line_filters()
        return [*colours, self._net, *([self._ascii] if self._ascii else [])]

    def settle(self, loaded: Loaded) -> None:
        """Take up settings: theme, characters, keys."""
        use_theme(loaded.settings.theme)
        self._ascii = Ascii() if wants_ascii(loaded.settings) else None
        if loaded.keys:
            from tui.keys import keymap

            self.set_keymap(keymap(loaded.keys))
        else:
            self.set_keymap({})

    def on_mount(self) -> None:
        if not self.is_headless:
            terminal.leave_on_signals(self)
            terminal.watch_terminal(self)

    def on_resize(self) -> None:
        terminal.forget_screen(self)

    async def on_ready(self) -> None:
        """After the first paint: the rest of the screen, the disk, and what isolates commands here."""
        if not gc.isenabled():  # put off by tui.app until now
            gc.freeze()
            gc.enable()
        if self.frame.view.reading:
            await self.frame.complete()
            self.feed.refresh()
        self.run_worker(self.feed.run(), exit_on_error=False, group="feed", description="following the project")
        self.run_worker(self._probe(), exit_on_error=False, group="probe", description="looking at the isolation")
        self.set_interval(1.0, self.frame.tick)

    def on_unmount(self) -> None:
        self.feed.stop()

    def tell_terminal(self, sequence: str) -> None:
        """Write an escape sequence of our own making to the terminal, where there is one."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    async def _probe(self) -> None:
        from core.agents.isolation.support import probe

        support = await asyncio.to_thread(probe)
        self.post_message(IsolationKnown(support.layer, support.reasons))

    def _tell(self, view: ConsoleView) -> None:
        self.post_message(ViewsChanged(view))

    def _tell_trace(self, session_ids: frozenset[str]) -> None:
        self.post_message(TraceChanged(session_ids))

    def on_views_changed(self, event: ViewsChanged) -> None:
        self.frame.show(event.view)

    def on_trace_changed(self, event: TraceChanged) -> None:
        self.frame.follow_traces(event.session_ids)

    def on_isolation_known(self, event: IsolationKnown) -> None:
        self.frame.isolation = event.layer
        self.frame.lines()

    def panic(self, *renderables: RenderableType) -> None:
        """Leave because of a fault of Textual's own threads."""
        from rich.traceback import Traceback

        for shown in renderables:
            fault = shown.trace.stacks[0] if isinstance(shown, Traceback) and shown.trace.stacks else None
            words = f"{fault.exc_type}: {fault.exc_value}" if fault else "unknown"
            self._leave(RuntimeError(f"in a thread of the terminal: {words}"))

    def _fatal_error(self) -> None:
        """Leave because of a fault: what is printed of it holds no variable, as Textual's own words do."""
        self._leave(sys.exc_info()[1] or RuntimeError("unknown"))

    def _leave(self, error: BaseException) -> None:
        from rich.text import Text

        from tui.crash import told

        self._return_code = 1
        self._exit_renderables.append(Text(told(error)))
        self._close_messages_no_wait()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A fault of a worker is shown; it does not take the console down."""
        if event.state is WorkerState.ERROR:
            error = event.worker.error
            self.frame.flash(f"A fault while {event.worker.description}: {error}", "bad", "r reads everything again")
            self.log.error(repr(error))
