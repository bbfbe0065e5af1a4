"""The questions before a deed: what is asked, and what is done on a yes. A screen mixes this in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from core.state.paths import ProjectPaths
from tui import commands
from tui.messages import Outcome
from tui.stores.console import ConsoleView
from tui.widgets.prompt import Prompt

Do = Callable[[Callable[[], Outcome], str], None]


class Deeds:
    """Decides what to ask, and hands what is agreed to on to `run`, which does it in a thread.

    Invariant: nothing is done here that the operator was not either asked about or can undo.
    """

    def __init__(self, project: ProjectPaths, prompt: Prompt, run: Do) -> None:
        self.project, self.prompt, self._run = project, prompt, run

    def approve(self, view: ConsoleView, approval_id: str) -> None:
        """Ask whether to freeze; where an idle agent scores too high, for a reason first."""
        freeze = next((freeze for freeze in view.inbox.pending if freeze.id == approval_id), None)
        if freeze is None:
            self.prompt.flash(" Nothing waits for your approval.")
            return

        def sure(reason: str = "") -> None:
            def answered(yes: bool) -> None:
                if yes:
                    self._run(partial(commands.approve, self.project, approval_id, reason), "approving")
                else:
                    self.prompt.flash(" Not approved; the question stays.")

            self.prompt.confirm(f"Freeze {freeze.benchmark_id} as it stands ({len(freeze.cases)} Cases)?", answered)

        def told(reason: str | None) -> None:
            if reason is None or not reason.strip():
                self.prompt.flash(" Not approved: an exception for the high idle score needs its reason.", "warn")
            else:
                sure(reason.strip())

        if freeze.reason_required:
            self.prompt.ask("An idle agent scores too high here. Why freeze all the same?", told)
        else:
            sure()

    def reject(self, view: ConsoleView, approval_id: str) -> None:
        """Ask for the reason, which is the Builder's next task."""
        if not any(freeze.id == approval_id for freeze in view.inbox.pending):
            self.prompt.flash(" Nothing waits for your decision.")
            return

        def told(reason: str | None) -> None:
            if reason is None or not reason.strip():
                self.prompt.flash(" Not rejected: the Builder needs a reason to go on from.", "warn")
            else:
                self._run(partial(commands.reject, self.project, approval_id, reason.strip()), "rejecting")

        self.prompt.ask("Reject because (Enter sends, Esc leaves):", told)

    def roll_back(self, view: ConsoleView, version: int | None, *, ask: bool) -> None:
        """Roll back at once; ask where a run must be stopped for it, or `ask` says that the key may be a slip."""
        agent_id, live = self._agent(view)
        if not agent_id:
            self.prompt.flash(" There is no agent in sight.")
            return
        present = view.versions.present
        goal = version if version not in (None, present) else view.versions.target
        if goal is None:
            self.prompt.flash(
                f"{agent_id} has no version to go back to.", "warn", "A version is kept when it is measured."
            )
            return
        kept = next((row.kept for row in view.versions.rows if row.version == goal), False)
        if not kept:
            self.prompt.flash(
                f" The state of v{goal} is not kept.", "warn", "Select another version: 5 shows which are."
            )
            return
        do = partial(commands.roll_back, self.project, agent_id, goal, live)
        if live:
            self._sure(f"Run {live} works on {agent_id}. Stop it and roll back to v{goal}?", do, "stopping the run")
        elif ask:
            self._sure(f"Roll {agent_id} back to v{goal}?", do, "rolling back")
        else:
            self._run(do, f"rolling back to v{goal}")

    def undo(self, view: ConsoleView) -> None:
        """Undo the latest rollback."""
        agent_id, live = self._agent(view)
        if not agent_id or not view.versions.undo:
            self.prompt.flash(" There is no rollback to undo.")
            return
        do = partial(commands.undo, self.project, agent_id, live)
        if live:
            self._sure(f"Run {live} works on {agent_id}. Stop it and undo?", do, "stopping the run")
        else:
            self._run(do, "undoing")

    def stop(self, view: ConsoleView, run_id: str | None) -> None:
        """Ask whether to stop a live run."""
        if run_id is None:
            self.prompt.flash(" No run is live.")
            return
        question = f"Stop run {run_id}? What is finished stays."
        self._sure(question, partial(commands.stop, self.project, run_id), "stopping")

    def _agent(self, view: ConsoleView) -> tuple[str, str]:
        """Return the agent in sight and the run that is at work on it ("" where none is)."""
        agent_id = view.subject.agent_id if view.subject else ""
        live = next((run.run_id for run in view.sessions.live if run.agent_id == agent_id), "")
        return agent_id, live

    def _sure(self, question: str, do: Callable[[], Outcome], doing: str) -> None:
        def answered(yes: bool) -> None:
            if yes:
                self._run(do, doing)
            else:
                self.prompt.flash(" Nothing was changed.")

        self.prompt.confirm(question, answered)
