"""The questions before a deed: what is asked, and what is done on a yes. A screen mixes this in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from core.foundation.visible import visible_line
from core.state.paths import ProjectPaths
from tui import commands
from tui.messages import Outcome
from tui.stores.console import ConsoleView
from tui.stores.freeze_page import FreezeView
from tui.stores.inbox import Call, Item, Promotion, Question
from tui.stores.session_lines import RunLine
from tui.widgets.prompt import Prompt
from tui.widgets.spans import short

Do = Callable[[Callable[[], Outcome], str], None]
_STAYS = "Not decided; the question stays."


@dataclass(frozen=True, slots=True)
class Listener:
    """Who a word goes to: `name` as people say it, and `why` it does not listen where it does not."""

    session_id: str
    name: str
    listens: bool
    why: str = ""


ANOTHER = "Another program seems at work on"


class Deeds:
    """Decides what to ask, and hands what is agreed to on to `run`, which does it in a thread.

    Invariant: nothing is done here that the operator was not either asked about or can undo.
    """

    def __init__(self, project: ProjectPaths, prompt: Prompt, run: Do) -> None:
        self.project, self.prompt, self._run = project, prompt, run

    def approve(self, view: ConsoleView, item_id: str) -> None:
        """Ask whether to freeze, or to allow a call; where an idle agent scores too high, for a reason first."""
        item = self._item(view, item_id)
        if item is None:
            return
        if isinstance(item.page, FreezeView):
            self._freeze(item, item.page)
        elif isinstance(item.page, Call):
            question = f"Allow this {item.page.tool} call, once?"
            self._sure(question, partial(commands.approve, self.project, item.id), "allowing", _STAYS)
        elif isinstance(item.page, Promotion):
            question = f"Use step {item.page.step} of {item.page.training_id} as the curator from now on?"
            self._sure(question, partial(commands.approve, self.project, item.id), "hashing it", _STAYS)
        elif item.kind == "strategy":
            self._sure(
                "Approve it, so that it is done at once?",
                partial(commands.approve, self.project, item.id),
                "releasing",
                _STAYS,
            )
        elif isinstance(item.page, Question):
            self.prompt.flash(" This is a question.", "plain", "Enter or i answers it, x leaves it unanswered")
        else:
            self.prompt.flash(f" Nothing here can approve a {item.kind}.", "warn", f"exuvia approvals show {item.id}")

    def _freeze(self, item: Item, freeze: FreezeView) -> None:
        def sure(reason: str = "") -> None:
            question = f"Freeze {item.benchmark_id} as it stands ({len(freeze.cases)} Cases)?"
            no = "Not approved; the question stays."
            self._sure(question, partial(commands.approve, self.project, item.id, reason), "approving", no)

        def told(reason: str | None) -> None:
            if reason is None or not reason.strip():
                self.prompt.flash(" Not approved: an exception for the high idle score needs its reason.", "warn")
            else:
                sure(reason.strip())

        if freeze.reason_required:
            self.prompt.ask("An idle agent scores too high here. Why freeze all the same?", told)
        else:
            sure()

    def reject(self, view: ConsoleView, item_id: str) -> None:
        """Ask for the reason, which who asked goes on from."""
        item = self._item(view, item_id)
        if item is None:
            return
        needs, question = {
            "freeze": ("Not rejected: the Builder needs a reason to go on from.", "Reject because"),
            "tool_call": ("Not denied: the model needs a reason to go on from.", "Deny because"),
            "promotion": ("Not rejected: say why, for the record.", "Reject because"),
            "strategy": ("Not rejected: say why, for the record.", "Reject because"),
            "question": ("Not left: who asks needs a reason to go on from.", "No answer, because"),
        }.get(item.kind, ("Not rejected: it needs a reason.", "Reject because"))

        def told(reason: str | None) -> None:
            if reason is None or not reason.strip():
                self.prompt.flash(f" {needs}", "warn")
            else:
                self._run(partial(commands.reject, self.project, item.id, reason.strip()), "rejecting")

        self.prompt.ask(f"{question} (Enter sends, Esc leaves):", told)

    def answer(self, view: ConsoleView, item_id: str, chosen: str = "") -> None:
        """Send a chosen answer after a y, or ask for one in words; a number chooses an option."""
        item = self._item(view, item_id)
        if item is None or not isinstance(item.page, Question):
            return
        options = item.page.options
        if chosen:
            do = partial(commands.answer, self.project, item.id, chosen)
            self._sure(f"Answer: {short(visible_line(chosen), 60)}?", do, "answering", _STAYS)
            return

        def told(text: str | None) -> None:
            said = (text or "").strip()
            if not said:
                self.prompt.flash(f" {_STAYS}")
                return
            if said.isdigit() and 1 <= int(said) <= len(options):
                said = options[int(said) - 1]
            self._run(partial(commands.answer, self.project, item.id, said), "answering")

        numbers = f", 1 to {len(options)}" if len(options) > 1 else ", 1" if options else ""
        self.prompt.ask(f"Your answer (words{numbers}):", told)

    def _item(self, view: ConsoleView, item_id: str) -> Item | None:
        """Return what waits under an id; say so where nothing does."""
        item = next((item for item in view.inbox.pending if item.id == item_id), None)
        if item is None:
            self.prompt.flash(" Nothing that waits is selected." if view.inbox.pending else " Nothing waits for you.")
        return item

    def tell(self, target: Listener | None) -> None:
        """Ask for a word to a live Session."""
        if target is None:
            self.prompt.flash(" No live Session listens.", "plain", "Builders, Optimizers and chats do. S starts one")
            return
        if not target.listens:
            self.prompt.flash(f" {target.name} does not listen.", "warn", target.why)
            return

        def told(text: str | None) -> None:
            if text is None or not text.strip():
                self.prompt.flash(" Nothing was said.")
            else:
                self._run(partial(commands.tell, self.project, target.session_id, text.strip()), "sending")

        self.prompt.ask(f"Tell the {target.name}:", told)

    def resume(self, view: ConsoleView, run: RunLine | None) -> None:
        """Ask whether to go on with a run that ended before its work was done."""
        if run is None:
            self.prompt.flash(" There is no run to go on with.", "plain", "S starts one")
        elif run.observed:
            self.prompt.flash(" Another program runs this; it goes on there.", "warn")
        elif run.is_live:
            self.prompt.flash(f" {run.run_id} is {run.state}.", "plain", "K stops it")
        elif run.state == "finished":
            self.prompt.flash(f" {run.run_id} is finished.", "plain", "S starts another")
        else:
            where = f" at {run.step}" if run.step else ""
            question = f"Go on with the {run.role}, {run.state}{where}? Finished cells stay; budgets count anew."
            beside = is_anothers(view, run.agent_id)
            if beside:
                question = f"{ANOTHER} {run.agent_id}. Go on with the {run.role}{where} beside it?"
            self._sure(question, partial(commands.resume, self.project, run.run_id, beside=beside), "resuming")

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
        elif is_anothers(view, agent_id):
            self._sure(f"{ANOTHER} {agent_id}. Roll back to v{goal} under it?", do, "rolling back")
        elif ask:
            self._sure(f"Roll {agent_id} back to v{goal}?", do, "rolling back")
        else:
            self._run(do, f"rolling back to v{goal}")

    def undo(self, view: ConsoleView) -> None:
        """Undo the latest rollback."""
        agent_id, live = self._agent(view)
        # The view may not know yet of a rollback that was made a moment ago; what stands in the files decides.
        if not agent_id or (live and not view.versions.undo):
            self.prompt.flash(" There is no rollback to undo, or the state was changed since.")
            return
        do = partial(commands.undo, self.project, agent_id, live)
        if live:
            self._sure(f"Run {live} works on {agent_id}. Stop it and undo?", do, "stopping the run")
        elif is_anothers(view, agent_id):
            self._sure(f"{ANOTHER} {agent_id}. Undo under it?", do, "undoing")
        else:
            self._run(do, "undoing")

    def stop(self, view: ConsoleView, run_id: str | None) -> None:
        """Ask whether to stop a live run."""
        if run_id is None:
            self.prompt.flash(" No run is live.")
            return
        if any(run.run_id == run_id and run.observed for run in view.sessions.runs):
            self.prompt.flash(" Another program runs this; stop it there.", "warn")
            return
        question = f"Stop run {run_id}? What is finished stays."
        self._sure(question, partial(commands.stop, self.project, run_id), "stopping")

    def _agent(self, view: ConsoleView) -> tuple[str, str]:
        """Return the agent in sight and the run of ours that is at work on it ("" where none is)."""
        agent_id = view.subject.agent_id if view.subject else ""
        live = next((run.run_id for run in view.sessions.live if run.agent_id == agent_id and not run.observed), "")
        return agent_id, live

    def _sure(self, question: str, do: Callable[[], Outcome], doing: str, no: str = "Nothing was changed.") -> None:
        def answered(yes: bool) -> None:
            if yes:
                self._run(do, doing)
            else:
                self.prompt.flash(f" {no}")

        self.prompt.confirm(question, answered)


def is_anothers(view: ConsoleView, agent_id: str) -> bool:
    """Tell whether another program seems to be at work on an agent: we can't stop it, only ask before we act."""
    return any(run.observed and run.agent_id == agent_id for run in view.sessions.live)
