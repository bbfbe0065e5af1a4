"""Filtering Sessions and finding texts, in the open trace and in all of them."""

from __future__ import annotations

from functools import partial

from core.traces.search import Query
from tui.messages import DeedWanted, Outcome, Said
from tui.screens.panes.trace_lists import FoundRows
from tui.screens.panes.trace_parts import Grown
from tui.screens.panes.trace_shown import TraceShown
from tui.stores import trace_filter
from tui.stores.trace_search import Finding, FoundEverywhere, find, find_everywhere
from tui.work import Work


class TraceFinds(TraceShown):
    """Invariant: at most one search is under way; `_search` is its work."""

    def do_filter(self) -> None:
        if self.sight == "tree":
            self._prompt().ask("Show Sessions with (role: status: case: ...):", self._filtered, self._query)
        elif self.sight == "records" and self.trace is not None:
            before = self.lines.finding.query.text if self.lines.finding is not None else ""
            self._prompt().ask("Find in this trace (capitals count if typed):", self._find_typed, before)
        else:
            self.do_trace_everywhere()

    def _filtered(self, typed: str | None) -> None:
        if typed is not None:
            self._filter(typed.strip())

    def _filter(self, query: str) -> None:
        self._query = query
        self.sessions.filter_by(trace_filter.parse(query))
        self.redraw()

    def _find_typed(self, typed: str | None) -> None:
        if typed is None:
            return
        if typed.strip():
            self._find(Query.of(typed))
        else:
            self._end_search()
            self.redraw()

    def _find(self, query: Query, *, stay: bool = False) -> None:
        """Look for a text in the open trace, and go to the first match from the cursor on."""
        trace = self.trace
        if trace is None:
            return
        self._end_search()
        finding = self.lines.finding = Finding(query, trace.head.session_id)
        at = self.lines.number

        def do(work: Work) -> Outcome:
            self._search = work
            find(trace, finding, work.report, self._tick)
            self.post_message(Grown())
            if not finding.numbers:
                return Outcome(f"{query.text!r} is nowhere in this trace.", "* looks through all traces", changed=False)
            first = finding.first(at)
            if first is not None and not stay:
                self._land = (finding.session_id, first)
                self._tick()
            total = len(finding.numbers)
            return Outcome(
                f"{total} match{'es' if total != 1 else ''}.", "n next, N before, Esc ends it", changed=False
            )

        self.post_message(DeedWanted(do, f"looking for {query.text!r}"))

    def _tick(self) -> None:
        """Say, from a thread, that there is more to show."""
        self.post_message(Grown())

    def _end_search(self) -> None:
        if self._search is not None:
            self._search.end()
        self._search = None
        self.lines.finding = None
        self.lines.refresh()

    def do_match_next(self) -> None:
        self._match(1)

    def do_match_previous(self) -> None:
        self._match(-1)

    def _match(self, step: int) -> None:
        finding = self.lines.finding
        if self.sight != "records" or finding is None:
            self.post_message(Said("Nothing is looked for.", hint="/ finds in this trace, * in all"))
            return
        number = self.lines.number
        found = finding.step(number, step)
        if found is None:
            self.post_message(
                Said("No match (so far)." if not finding.is_whole else f"No match of {finding.query.text!r}.")
            )
            return
        if (found - number) * step <= 0:
            self.post_message(Said("From the other end again."))
        self._go(found)
        self._titles()

    def do_trace_everywhere(self) -> None:
        before = self.everywhere.query.text if self.everywhere is not None else ""
        self._prompt().ask("Find in all traces (capitals count if typed):", self._everywhere_typed, before)

    def _everywhere_typed(self, typed: str | None) -> None:
        if typed is None or not typed.strip():
            return
        found = self.everywhere = FoundEverywhere(Query.of(typed))
        if self._search is not None:
            self._search.end()
        self.post_message(DeedWanted(partial(self._find_everywhere, found), f"looking for {typed!r} everywhere"))
        if self.sight != "found" and (place := self._place()) is not None:
            self._before.append(place)
        self.query_one(FoundRows).show(found, self.listing)
        self.look("found")
        self._read_sessions()

    def _find_everywhere(self, found: FoundEverywhere, work: Work) -> Outcome:
        self._search = work
        project = self._store.project if self._store is not None else None
        if project is None:
            found.is_ended = True
            return Outcome("The Sessions are not read yet.", "Once more, please", ok=False)
        try:
            find_everywhere(project, found, work.report, self._tick)
        finally:
            found.is_ended = not found.is_whole
            self.post_message(Grown())
        more = "Only the first are shown; look for something longer." if found.is_cut else ""
        words = found.words()
        return Outcome(
            f"{words[:1].upper()}{words[1:]}.",
            more or ("Enter goes there, Esc comes back" if found.hits else "* looks for something else"),
            changed=False,
        )
