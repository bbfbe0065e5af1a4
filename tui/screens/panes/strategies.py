"""Pane 9: the bank of strategies, how each stands, and views of one or of all: what each key does."""

from __future__ import annotations

from tui.actions import bindings
from tui.messages import Said
from tui.screens.base import own_screen
from tui.screens.panes import strategies_deeds as deeds
from tui.screens.panes.base import TraceWanted
from tui.screens.panes.strategies_pages import BANK, TITLES, of_one
from tui.screens.panes.strategies_parts import StrategiesParts
from tui.stores.strategies_lines import StrategyLine
from tui.stores.strategies_ways import can_put_away, not_publishable
from tui.widgets.line_list import LineList
from tui.widgets.spans import Line
from tui.widgets.wrapped_text import WrappedText

_SERVED = ("gray", "active")


class StrategiesPane(StrategiesParts):
    """The pane as an operator uses it."""

    BINDINGS = bindings("strategies")

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        if self.here == BANK:
            self.go("text")
            return
        if self.here == "turns" and (session := event.key.partition("/")[0]) in self._sessions():
            self.post_message(TraceWanted(session, "the turn's Session"))
            return
        target = self.row_leads_to()
        if target and self.bank.line(target) is not None:
            self.go(self.page if of_one(self.page) else "text", target)
        else:
            self.query_one("#strategies-text", WrappedText).focus()

    def _sessions(self) -> frozenset[str]:
        return frozenset(session.session_id for session in self.view.sessions.sessions)

    def go(self, page: str, subject: str = "") -> None:
        """Go to a view; of `subject`, else of the strategy that is selected."""
        one = self.bank.line(subject) or self.selected
        if of_one(page) and one is None:
            self.post_message(Said("There is no strategy yet.", "plain", "docs/strategies.md shows how one is written"))
            return
        if one is not None:
            self.subject = one.id
        if page != self.page:
            self._rows("rows").filter = ""
        self.page, self.choice, self.wide = page, 0, False
        self._wanted_row = self._cursor.get(page, "")
        self.draw()
        if page == BANK:
            self._rows("list").go_to(self.subject)
        own_screen(self).restore_focus()
        own_screen(self).lines()
        self.call_after_refresh(self.redraw)  # once the parts have their sizes

    def go_back(self) -> bool:
        """Let go of what is held, leave the text below, the view: one at a time."""
        if self.screen.focused is self.query_one("#strategies-text"):
            own_screen(self).restore_focus()
        elif self.held is not None:
            self.do_pause()
        elif self.page != BANK:
            self.go(BANK)
        else:
            return False
        return True

    def _toggle(self, page: str) -> None:
        self.go(BANK if self.page == page else page)

    def do_strategy_text(self) -> None:
        self._toggle("text")

    def do_strategy_rollout(self) -> None:
        self._toggle("rollout")

    def do_strategy_graph(self) -> None:
        self._toggle("graph")

    def do_strategy_cases(self) -> None:
        self._toggle("cases")

    def do_strategy_audit(self) -> None:
        self._toggle("audit")

    def do_strategy_models(self) -> None:
        self._toggle("models")

    def do_strategy_troubles(self) -> None:
        self._toggle("troubles")

    def do_strategy_turns(self) -> None:
        self._toggle("turns")

    def do_strategy_only(self) -> None:
        """Show the turns of the selected strategy alone, or all."""
        if self.page != "turns":
            self.go("turns")
        if self.bank.lines:
            self.wide = not self.wide
            self.draw()

    def do_strategy_before(self) -> None:
        self._turn(-1)

    def do_strategy_next(self) -> None:
        self._turn(1)

    def _turn(self, by: int) -> None:
        names = list(TITLES)
        self.go(names[(names.index(self.page) + by) % len(names)])

    def do_strategy_older(self) -> None:
        self._version(1)

    def do_strategy_newer(self) -> None:
        self._version(-1)

    def _version(self, by: int) -> None:
        one = self.selected
        if self.page != "text" or one is None:
            return
        count = len(one.entry.versions) + one.unpublished
        wanted = self.choice + by
        if not 0 <= wanted < max(1, count):
            self.post_message(
                Said("This is the newest text." if by < 0 else "This is the oldest version that is kept.")
            )
            return
        self.choice = wanted
        self.draw()

    def do_strategy_diff(self) -> None:
        """Show what differs from the version before, or the text again."""
        if self.page != "text":
            self.go("text")
        self.wide = not self.wide
        self.draw()

    def do_strategy_fault(self) -> None:
        """Go to the next fault in the text, or to the next strategy that has one."""
        rows = self._rows("list" if self.here == BANK else "rows")
        faulty = {one.id for one in self.bank.lines if one.faults}
        keys = [rows.row_key(index) for index in range(rows.row_count())]
        wanted = [key for key in keys if key in faulty or key.startswith("fault:")]
        if not wanted:
            self.post_message(Said("No fault here.", "good"))
            return
        at = keys.index(rows.key) if rows.key in keys else 0
        rows.go_to(next((key for key in wanted if keys.index(key) > at), wanted[0]))

    def do_pause(self) -> None:
        """Hold what is shown, or go on with what came meanwhile."""
        self.held = None if self.held is not None else self.view.strategies
        self.draw()
        self.post_message(Said("Held. Space goes on." if self.held is not None else "It follows again."))

    # Deeds: of what is there now, also where an older view is held

    def do_strategy_publish(self) -> None:
        deeds.publish(self, self._present())

    def do_strategy_advance(self) -> None:
        deeds.advance(self, self._present())

    def do_strategy_away(self) -> None:
        deeds.put_away(self, self._present())

    def do_strategy_case(self) -> None:
        if self.here != "cases":
            self.go("cases")
            return
        deeds.draft_case(self, self.case_in_sight(), self.view.subjects)

    def do_strategy_reviewed(self) -> None:
        deeds.review_domain(self, self._present())

    def do_rollback(self) -> None:
        deeds.roll_back(self, self._present())

    def do_undo(self) -> None:
        """Say how a strategy comes back: what `u` undoes elsewhere is an agent's rollback."""
        self.post_message(
            Said("A version that was taken back comes again through review.", "plain", "a sends it there")
        )

    def _present(self) -> StrategyLine | None:
        """Return the strategy that a deed is about, as it is now: the one whose view it is, or that the row names."""
        if self.here == BANK or of_one(self.here):
            name = self.selected.id if self.selected is not None else ""
        elif self.here == "turns":
            name = self.subject if self.wide else ""
        else:
            name = self.row_leads_to()
        return self.view.strategies.line(name)

    # What others ask of a pane

    def useless(self) -> frozenset[str]:
        one = self._present()
        found = {"undo", "strategy.publish", "strategy.advance", "strategy.away", "rollback", "strategy.older"}
        if self.page == "text":
            found.discard("strategy.older")
        elif self.page != BANK:
            found.add("strategy.diff")
        if self.page != "turns":
            found.add("strategy.only")
        if self.page != "cases":
            found.add("strategy.case")
        if not any(line.faults for line in self.bank.lines):
            found.add("strategy.fault")
        if one is None:
            return frozenset({*found, "strategy.text", "strategy.next", "strategy.diff", "open", "filter"})
        if one.unpublished and not_publishable(one) is None:
            found.discard("strategy.publish")
        if any(version.state not in ("active",) for version in one.at_work):
            found.discard("strategy.advance")
        if any(can_put_away(version) for version in one.entry.versions):
            found.discard("strategy.away")
        if any(version.state in _SERVED for version in one.entry.versions):
            found.discard("rollback")
        return frozenset(found)

    def heading(self) -> Line:
        bank = self.bank
        if not bank.lines:
            return ()
        gray = sum(any(version.state == "gray" for version in one.entry.versions) for one in bank.lines)
        review = sum(any(version.state == "review" for version in one.entry.versions) for one in bank.lines)
        faulty = sum(bool(one.faults) for one in bank.lines)
        line: list[tuple[str, str]] = [("  strategies ", "dim"), (f"{len(bank.lines)}", "strong")]
        line += [(f"  {gray} in gray", "warn")] if gray else []
        line += [(f"  {review} in review", "mark")] if review else []
        line += [(f"  {faulty} with faults", "bad")] if faulty else []
        alarmed = sum(one.alarmed for one in bank.lines)
        line += [(f"  {alarmed} alarm{'s' * (alarmed != 1)}", "bad")] if alarmed else []
        return tuple(line)

    def resting(self) -> Line:
        if self.here == BANK:
            return ((" / shows only some: state:gray owner:team fault; ! is faulty, + not published", "dim"),)
        return ((self.kind().rest, "dim"),)

    def copied(self, *, whole: bool) -> tuple[str, str] | None:
        one = self.selected
        if one is None:
            return None
        return (self.reading(), "what is shown") if whole else (one.id, "the strategy's id")

    def reading(self) -> str:
        one = self.selected
        if one is None:
            return ""
        if self.page in (BANK, "text") and self.choice == 0 and not self.wide:
            return one.text
        held = self._facts
        if held is None or held[2]:
            return ""
        rows = self.kind().rows(held[1], 120)
        return "\n".join("".join(text for text, _ in line).rstrip() for row in rows for line in row.lines) + "\n"
