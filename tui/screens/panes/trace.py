"""Pane 3: every Session of the Project as a tree, the records of one, its time in lanes, and searches through all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from core.state.paths import ProjectPaths
from core.traces.cost import Prices
from core.traces.transfer import export_trace
from tui.actions import bindings
from tui.messages import DeedWanted, Outcome, Said
from tui.screens.base import own_screen
from tui.screens.panes.trace_going import TraceGoing
from tui.screens.panes.trace_lists import FoundRows, RequestRows
from tui.screens.panes.trace_parts import LanesRead
from tui.screens.panes.trace_tree import GROUPS
from tui.stores.trace_lanes import LanesView, session_lanes, tree_lanes
from tui.work import Work


class TracePane(TraceGoing):
    """The actions of the pane; see the layers below for what it shows and where they lead."""

    BINDINGS = bindings("trace")

    def do_trace_tree(self) -> None:
        if self.sight != "tree":
            self.look("tree")
            if self.trace is not None:
                self.sessions.go_to(self.trace.head.session_id)
        elif self.trace is not None:
            self.look("records")
        else:
            self.post_message(Said("No trace is open yet.", hint="Enter opens the selected Session"))

    def do_trace_group(self) -> None:
        if self.sight != "tree":
            self.look("tree")
        group = GROUPS[(GROUPS.index(self.sessions.group) + 1) % len(GROUPS)]
        self.sessions.group_by(group)
        self._titles()
        self.post_message(Said("Sessions as a tree." if group == "tree" else f"Sessions by {group}."))

    def do_trace_parent(self) -> None:
        row = self._row()
        if row is None or not row.parent:
            self.post_message(Said("No other Session is known to have started this one."))
        elif self.sight == "tree":
            self.sessions.go_to(row.parent)
        else:
            above = self.listing.of(row.parent)
            self._want(row.parent, above.about if above is not None else "")

    def do_trace_left(self) -> None:
        self._sideways(-1)

    def do_trace_right(self) -> None:
        self._sideways(1)

    def _sideways(self, step: int) -> None:
        if self.sight == "tree":
            self.sessions.collapse(step < 0)
        elif self.sight == "lanes":
            self.lanes.step(step)

    def do_trace_closer(self) -> None:
        self._zoom(0.5)

    def do_trace_wider(self) -> None:
        self._zoom(2.0)

    def _zoom(self, factor: float) -> None:
        if self.sight == "lanes":
            self.lanes.zoom(factor)
        else:
            self.post_message(Said("There is no scale here.", hint="w shows the Session over time"))

    def do_trace_all(self) -> None:
        if self.sight == "records":
            self.lines.fold(not self.lines.folded)
            self.redraw()
            self.post_message(Said("Bookkeeping is folded away." if self.lines.folded else "All records are shown."))

    def do_trace_raw(self) -> None:
        self.raw = not self.raw
        self._detail()
        self.post_message(Said("The bytes as they are in the file." if self.raw else "Records laid out."))

    def do_problem_next(self) -> None:
        self._problem(1)

    def do_problem_previous(self) -> None:
        self._problem(-1)

    def _problem(self, step: int) -> None:
        trace, lines = self.trace, self.lines
        where = "after" if step > 0 else "before"
        if self.sight == "tree":
            if not self.sessions.next_failed(step):
                self.post_message(Said(f"No Session {where} this one failed or was cut."))
            return
        if self.sight == "lanes":
            if not self.lanes.step_to_failure(step):
                self.post_message(Said(f"Nothing {where} this failed on this lane."))
            return
        if trace is None or self.sight != "records":
            self.post_message(Said("Failures are found among records and Sessions.", hint="t goes there"))
            return
        found = trace.next_problem(lines.number, step)
        if found is not None:
            self._go(found)
        else:
            more = "" if trace.is_whole else " as far as it is read"
            what = f"No record {where} this one failed" if trace.head.failures else "No record of this trace failed"
            row = self._row()
            judged = row is not None and row.role == "target" and row.parent
            self.post_message(Said(f"{what}{more}.", hint="e opens its Evaluator: why its score" if judged else ""))

    def do_pause(self) -> None:
        if self.sight != "records" or self.trace is None:
            self.post_message(Said("There is nothing here that streams."))
            return
        if not self.trace.is_whole and not self.trace.is_growing:
            self._read_on(self.trace)  # Esc had ended it
            return
        self.lines.hold(not self.lines.held)
        self.redraw()
        self.post_message(Said("The trace is held; Space goes on." if self.lines.held else "The trace follows again."))

    def do_trace_export(self) -> None:
        row, trace = self._row(), self.trace
        if self.sight == "tree" and row is not None:
            session_id, agent_id = row.session_id, row.agent_id
        elif trace is not None:
            session_id, agent_id = trace.head.session_id, trace.head.agent_id
        else:
            self.post_message(Said("There is no Session here to export."))
            return

        def told(typed: str | None) -> None:
            if typed is None or not typed.strip():
                self.post_message(Said("Nothing was written."))
                return
            directory = Path(typed.strip()).expanduser()
            deed = partial(self._export, agent_id, session_id, directory)
            self.post_message(DeedWanted(deed, f"exporting {session_id}"))

        self._prompt().ask("Write its files into directory:", told, f"./{session_id}")

    def _export(self, agent_id: str, session_id: str, directory: Path, work: Work) -> Outcome:
        assert self._store is not None
        agent = self._store.project.agent(agent_id)
        files = export_trace(agent, session_id, directory, report=work.report)
        return Outcome(f"Wrote {len(files)} file{'s' if len(files) != 1 else ''} to {directory}.", changed=False)

    # Lanes

    def do_trace_lanes(self) -> None:
        """The Session over time; once more: it with all that it started; once more: back."""
        row, trace, view = self._row(), self.trace, self.lanes.view
        if self.sight == "lanes" and view is not None:
            below = self.listing.below(view.session_id)
            if view.of_tree or len(below) < 2:
                self.go_back()
            else:
                self._read_lanes(lambda work: tree_lanes(self._project(), below, self._prices(), work.report))
            return
        session_id = row.session_id if row is not None else trace.head.session_id if trace is not None else ""
        agent_id = row.agent_id if row is not None else trace.head.agent_id if trace is not None else ""
        if not session_id:
            self.post_message(Said("There is no Session here.", hint="t lists them"))
            return
        around = self.lines.number if self.sight == "records" else 0
        if self.sight == "tree":
            self._before.append(("tree", "", "", 0))
            if self._store is not None:
                self._store.count(session_id)
        self._read_lanes(
            lambda work: session_lanes(self._project(), agent_id, session_id, around, self._prices(), work.report)
        )

    def _project(self) -> ProjectPaths:
        assert self._store is not None
        return self._store.project

    def _prices(self) -> Prices:
        return self._store.prices if self._store is not None else {}

    def _read_lanes(self, read: Callable[[Work], LanesView]) -> None:
        def do(work: Work) -> Outcome:
            self.post_message(LanesRead(read(work)))
            return Outcome("", changed=False)

        self.post_message(DeedWanted(do, "measuring times"))

    def on_lanes_read(self, event: LanesRead) -> None:
        event.stop()
        if not own_screen(self).stands:
            return
        self.lanes.styles.height = None if event.view.of_tree else len(event.view.rows) + 2
        self.lanes.show(event.view)
        self.query_one(RequestRows).show(event.view.requests)
        self.set_class(event.view.of_tree, "-of-tree")
        self.look("lanes")
        hint = "w shows all that it started" if not event.view.of_tree else "w goes back"
        self.post_message(Said("Left and right go along a lane, + and - change the scale.", hint=hint))

    # Copying and reading

    def copied(self, *, whole: bool) -> tuple[str, str] | None:
        trace, row = self.trace, self._row()
        if self.sight == "records" and trace is not None and len(trace):
            if whole:
                return trace.reading(self.lines.number, raw=True), f"record {self.lines.number}"
            return trace.head.session_id, "the Session's id"
        if self.sight == "found" and (hit := self.query_one(FoundRows).hit) is not None:
            match = hit.match
            around = " ".join((match.before + match.hit + match.after).split())
            place = f"{hit.session_id}\trecord {hit.number}\tbytes {match.start} to {match.end}\t{around}"
            return (place, "the place and its words") if whole else (hit.session_id, "the Session's id")
        if row is None:
            return None
        facts = (row.session_id, row.agent_id, row.role, row.what, row.state, str(row.tokens or ""))
        return ("\t".join(facts), "the Session") if whole else (row.session_id, "the Session's id")

    def reading(self) -> str:
        trace = self.trace
        if self.sight == "records" and trace is not None and len(trace):
            return trace.reading(self.lines.number, raw=self.raw)
        row = self._row()
        return "" if row is None else f"{row.about}\n{row.session_id}\n{row.reason}\n\n{row.prompt}"
