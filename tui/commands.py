"""What a key does to the world: one call of core each, the same that the command line makes. They run in threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.foundation.errors import ConflictError, NotFoundError
from core.state.paths import ProjectPaths
from tui.messages import Outcome

if TYPE_CHECKING:
    from core.evolution.specs import RunSpec
    from core.state import approvals

ACTOR = "console"


def approve(project: ProjectPaths, item_id: str, reason: str = "") -> Outcome:
    """Approve a freeze or allow a tool call, and let its run go on where it had ended to wait."""
    return _decide(project, item_id, "approve", reason)


def reject(project: ProjectPaths, item_id: str, reason: str) -> Outcome:
    """Reject a freeze, deny a tool call or leave a question unanswered; the reason goes back to who asked."""
    return _decide(project, item_id, "reject", reason)


def answer(project: ProjectPaths, item_id: str, text: str) -> Outcome:
    """Answer a question; the text goes back to who asked."""
    from core.state import approvals

    decision = approvals.answer(project, item_id, text, actor=ACTOR)
    return _goes_on(project, item_id, f"Answered, signed {decision.signature}.")


def _decide(project: ProjectPaths, item_id: str, verdict: approvals.Verdict, reason: str) -> Outcome:
    from core.state import approvals

    if approvals.get(project, item_id)[0].kind == "promotion":
        from tui.commands_training import decide

        return decide(project, item_id, verdict, reason)
    if approvals.get(project, item_id)[0].kind == "strategy":
        from core.strategy.bank import releasing

        decision = releasing.decide(project, item_id, verdict, reason, actor=ACTOR)
        told = _in_force(project, item_id, reason) if verdict == "approve" else ()
        done = "Approved: it is done" if verdict == "approve" else "Rejected: for the record"
        return Outcome(" ".join((f"{done}, signed {decision.signature}.", *told)), "The bank's history has it.")
    decision = approvals.decide(project, item_id, verdict, reason, actor=ACTOR)
    approval, _ = approvals.get(project, item_id)
    what = {
        ("freeze", "approve"): f"Approved: freeze of {approval.benchmark_id}",
        ("freeze", "reject"): f"Rejected: freeze of {approval.benchmark_id}",
        ("tool_call", "approve"): "Allowed: the call runs",
        ("tool_call", "reject"): "Denied: the model is told why",
        ("question", "reject"): "Left unanswered: who asked is told why",
    }.get((approval.kind, verdict), f"{approval.kind}: {verdict}")
    return _goes_on(project, item_id, f"{what}, signed {decision.signature}.")


def _in_force(project: ProjectPaths, item_id: str, reason: str) -> tuple[str, ...]:
    """Bring a strategy's version that got all traffic into force where the strategy is; say how that went."""
    from core.evolution.strategy_release import follow_bank
    from core.state import approvals
    from core.strategy.bank.bank import bank_of

    body = approvals.get(project, item_id)[0].body
    if body.get("to") != "active":
        return ()
    return follow_bank(bank_of(project), body["strategy"], ACTOR, reason)


def _goes_on(project: ProjectPaths, item_id: str, text: str) -> Outcome:
    """Let the run that asked go on where it had ended to wait, and say so."""
    from core.evolution import runs
    from core.state import approvals

    approval, _ = approvals.get(project, item_id)
    if not approval.run_id:
        return Outcome(text, "The session goes on.")
    try:
        state = runs.read_run(project, approval.run_id).state
    except NotFoundError:
        return Outcome(text, "The run that asked is not here.")
    if state in ("blocked", "dead", "stopped"):
        try:
            runs.resume(project, approval.run_id)
        except ConflictError as error:
            return Outcome(text, f"The run that asked waits: {error} Then C goes on.")
        return Outcome(text, "The run that asked goes on.")
    return Outcome(text, "The run goes on.")


def tell(project: ProjectPaths, session_or_run: str, text: str) -> Outcome:
    """Send a live Session a word, which it reads before its next request."""
    from core.state import mailbox

    word = mailbox.send(project, session_or_run, text, actor=ACTOR)
    return Outcome(f"Told {word.session_id}.", "Read before its next request.")


def start(project: ProjectPaths, spec: RunSpec, *, beside: bool = False) -> tuple[str, Outcome]:
    """Start a run, also `beside` another program's; return its id and what to say."""
    from core.evolution import runs

    run_id = runs.start(project, spec, beside=beside)
    return run_id, Outcome(f"Started {run_id}.", "It goes on without the console; K stops it.")


def resume(project: ProjectPaths, run_id: str, *, beside: bool = False) -> Outcome:
    """Go on with a run that stopped, blocked, failed or died, also `beside` another program's; finished cells stay."""
    from core.evolution import runs

    runs.resume(project, run_id, beside=beside)
    return Outcome(f"Run {run_id} goes on.", "What was finished was kept.")


def roll_back(project: ProjectPaths, agent_id: str, version: int | None, stop_run: str = "") -> Outcome:
    """Take an agent back to `version`, or to the accepted one before; with `stop_run`, stop that run first."""
    from core.evolution import runs
    from core.state import rollback

    if stop_run:
        runs.stop(project, stop_run, actor=ACTOR)
    done = rollback.roll_back(project.agent(agent_id), version=version, actor=ACTOR, live_run=runs.live_run)
    text = f"Rolled {agent_id} back: v{done.from_version} to v{done.to_version}."
    if done.from_version == done.to_version:
        text = f"Rolled {agent_id} back to v{done.to_version} as it was kept."
    return Outcome(text, " ".join(("u undoes it; what was there is kept.", *done.warnings)))


def undo(project: ProjectPaths, agent_id: str, stop_run: str = "") -> Outcome:
    """Take the latest rollback back."""
    from core.evolution import runs
    from core.state import rollback

    agent = project.agent(agent_id)
    if rollback.undoable(agent) is None:
        return Outcome("There is no rollback to undo.", changed=False)
    if stop_run:
        runs.stop(project, stop_run, actor=ACTOR)
    done = rollback.undo(agent, ACTOR, live_run=runs.live_run)
    was = f" (was v{done.from_version})" if done.from_version != done.to_version else ", as it was before"
    return Outcome(f"Undone: {agent_id} is v{done.to_version} again{was}.")


def stop(project: ProjectPaths, run_id: str) -> Outcome:
    """Stop a run and everything that it started."""
    from core.evolution import runs

    view = runs.stop(project, run_id, actor=ACTOR)
    return Outcome(f"Run {run_id} is {view.state}.", "What is finished stays; C goes on with it.")
