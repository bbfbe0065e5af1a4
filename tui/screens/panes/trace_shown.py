"""What the Trace pane says of what is in sight: titles, names of columns, and the text of what is selected."""

from __future__ import annotations

from tui.messages import Said
from tui.screens.base import own_screen
from tui.screens.panes import trace_list, trace_lists, trace_tree
from tui.screens.panes.trace_lists import FoundRows, RequestRows
from tui.screens.panes.trace_parts import TraceParts
from tui.screens.panes.trace_told import EMPTY, hit_told, lanes_told, record_head, record_told
from tui.stores import trace_filter
from tui.stores.trace import OpenTrace
from tui.widgets.bars import Bar, Rule
from tui.widgets.spans import Line, plain
from tui.widgets.wrapped_text import WrappedText


class TraceShown(TraceParts):
    """Fills what stands around the list in sight."""

    def _titles(self) -> None:
        trace = self.trace
        if self.sight == "tree":
            self._tree_title()
        elif self.sight == "found" and self.everywhere is not None:
            what = "found" if self.everywhere.hits else "looked for"
            self.title(f"{what} {self.everywhere.query.text!r}", ((f"{self.everywhere.words()} ", "accent"),))
        elif self.sight == "lanes" and self.lanes.view is not None:
            view = self.lanes.view
            row = self.listing.of(view.session_id)
            about = row.about if row is not None else view.session_id
            what = "with all it started" if view.of_tree else "over time"
            self.title(f"{what}: {about}", ((f"{view.told} ", "dim"),))
        elif trace is not None:
            self.title(self._about(), self._state_of(trace))

    def _tree_title(self) -> None:
        shown, total = self.sessions.sessions, len(self.listing.rows)
        right: Line = ((f"{total} Sessions ", "dim"),)
        if self._query:
            right = ((f"{shown} of {total} with {self._query!r}", "found"), (" ", "plain"))
        if self._share < 1.0:
            right = ((f"counting {self._share:.0%} ".replace("%", " %"), "accent"), *right)
        context = "" if not total else "Sessions" if self.sessions.group == "tree" else f"by {self.sessions.group}"
        self.title(context or ("reading..." if self._reading else "no Session yet"), right)

    def _about(self) -> str:
        """Return what the open trace is of, with the Case where anybody knows it."""
        trace = self.trace
        if trace is None:
            return ""
        row = self.listing.of(trace.head.session_id)
        about = trace.head.about
        return row.about if row is not None and (row.case_id or not about) else about or trace.head.session_id

    def _state_of(self, trace: OpenTrace) -> Line:
        head, lines = trace.head, self.lines
        right: list[tuple[str, str]] = []
        if lines.finding is not None:
            right += [(f" {lines.finding.words(lines.number)} ", "found"), (" ", "plain")]
        if lines.held:
            right.append((f"held +{lines.new} new ", "mark"))
        if head.is_gone:
            right.append(("its file is gone ", "bad"))
        if head.share < 1.0:
            right.append((f"read {head.share:.0%} ".replace("%", " %"), "accent"))
        if head.failures:
            right.append((f"{head.failures} failed ", "bad"))
        folded = "" if lines.folded else "all "
        return (*right, (f"{folded}{head.count} records ", "dim"))

    def _heads(self) -> None:
        """Fill the row with the names of the columns."""
        if not own_screen(self).stands:
            return
        head, width = self.query_one("#trace-head", Bar), self.lines.inner_width
        if self.sight == "tree":
            head.show(trace_tree.heading(self.sessions.inner_width) if self.listing.rows else ())
        elif self.sight == "records" and self.trace is not None:
            head.show(trace_list.heading(len(str(len(self.trace))), width))
        elif self.sight == "lanes" and self.lanes.view is not None:
            head.show((("  " + self.lanes.view.summary, "plain"),))
        else:
            head.show((("  Session, time, record, and where the text stands", "dim"),))
        requests = self.query_one(RequestRows)
        self.query_one("#trace-requests-head", Bar).show(trace_lists.request_heading(requests.inner_width))

    def _detail(self) -> None:
        rule, text = self.query_one("#trace-rule", Rule), self.query_one("#trace-detail", WrappedText)
        if self.sight == "tree":
            row = self.sessions.row
            rule.show(((row.about, "strong"), ("  Enter opens it", "accent")) if row is not None else ())
            lines = trace_tree.told(row, self.listing.below(row.session_id)) if row is not None else self._nothing()
            text.show(lines, row.session_id if row is not None else "empty")
        elif self.sight == "lanes":
            mark = self.lanes.selected
            rule.show(((mark.what if mark is not None else "", "strong"), ("  Enter opens its record", "accent")))
            text.show(lanes_told(self.lanes.view, mark), ("lanes", mark))
        elif self.sight == "found":
            rows = self.query_one(FoundRows)
            hit = rows.hit
            head = ((f"record {hit.number}", "strong"), ("  Enter goes there", "accent")) if hit is not None else ()
            rule.show(head)
            row = self.listing.of(hit.session_id) if hit is not None else None
            text.show(hit_told(hit, row, self.everywhere), ("found", rows.cursor, hit))
        else:
            self._record_detail(rule, text)

    def _nothing(self) -> list[Line]:
        if self._query and self.listing.rows:
            return plain(["No Session is like that.", f"/ takes {trace_filter.HINT}", "Esc shows all again."], "dim")
        return plain(EMPTY if not self._reading else ["Reading the Sessions..."], "dim")

    def _record_detail(self, rule: Rule, text: WrappedText) -> None:
        trace, lines = self.trace, self.lines
        if trace is None or not len(trace):
            rule.show(())
            empty = "" if trace is None else trace.tail_gap or "The file holds no record (yet)."
            text.show(plain([empty] if empty else EMPTY, "dim"), "empty")
            return
        number = min(lines.number, len(trace) - 1)
        rule.show(record_head(trace, number, raw=self.raw))
        found = lines.finding if lines.finding is not None and lines.finding.holds(number) else None
        pattern = found.query.pattern if found is not None else None
        text.show(
            record_told(trace, number, pattern, raw=self.raw, is_read=text.has_focus),
            (trace.head.session_id, number, self.raw),
        )
        if pattern is not None:
            text.bring(lambda line: pattern.search(line) is not None)

    def _go(self, number: int) -> None:
        """Put the cursor on a record, and unfold the bookkeeping where it is part of that."""
        trace, lines = self.trace, self.lines
        if trace is None or number < 0:
            return
        if number >= len(trace):
            self.post_message(Said(f"Record {number} is not read yet.", hint="Space reads on"))
            return
        if lines.folded and trace.is_folded(number):
            lines.fold(False)
            self.post_message(Said("This record is bookkeeping, so all records are shown.", hint="a folds it away"))
        lines.go_to(number)
        self._detail()
