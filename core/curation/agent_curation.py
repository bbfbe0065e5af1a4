"""`curate`: what an agent went through becomes skills, and the skills a Candidate that is measured like any other.

The story of a run: the Reference is established; a batch of finished Sessions is chosen and put before the curator,
one after the other; its operations, gathered on a copy of the agent's skills, are one Candidate with the proposer
"curator"; the Candidate goes through the same gate as an Optimizer's (surface, strict improvement, ledger, rollback);
then the next batch, whose Sessions are those of whatever is the Reference now. So curation and optimization are one
loop. Each step is skipped where the journal has it already.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from typing import Any

from core.curation import promotion
from core.curation.agent_episodes import episode_of
from core.curation.agent_sessions import FinishedSession, choose, curated_sessions, own_work, scored_sessions
from core.curation.curators import CurationInput
from core.curation.skill_candidate import changed_titles, hypothesis_of, prediction_of, title_of
from core.curation.skill_curators import ModelCurator, Shown, SkillCurator, Wish, opened
from core.curation.skill_doors import Batch
from core.curation.skill_edits import edited
from core.evolution import heldout
from core.evolution.desk import Desk
from core.evolution.edits import unified
from core.evolution.events import Event, EventName
from core.evolution.optimizer_state import Goal
from core.evolution.proposing import prepare
from core.evolution.protocol_tool import RefuseError
from core.evolution.results import phase, trial_result, unscored
from core.evolution.specs import CurateSpec
from core.evolution.trials import Trials, measured_cases
from core.foundation.errors import BlockedError, ExuviaError, NotFoundError
from core.foundation.visible import decode
from core.models.interface import ModelEntry, Provider
from core.models.registry import resolve
from core.models.rehearsal.options import RehearsalOptions
from core.skillrepo.retrieval import retrieve
from core.state import atomic, audit

REPAIRS = 2  # evaluations of one Candidate after the first, each by fresh Evaluators, where cells failed
_NOT_THE_SKILLS = frozenset(
    {"void", "changed_state", "harness_broken", "version_not_growing", "no_reference", "budget", "stopped"}
)
"""Refusals that speak of the ground, not of what was proposed: another batch would meet them again."""


async def curate_flow(desk: Desk, spec: CurateSpec, provider: Provider, entry: ModelEntry) -> dict[str, Any]:
    """Let a curator turn Sessions into Candidates, between two measurements of the held-out Cases."""
    trials = Trials(desk, Goal(spec.target_score, spec.runs, spec.rounds), proposer="curator")
    phase(desk, "reference")
    _establish(trials, spec)
    if not spec.dry_run and trials.state().candidate is None and not trials.state().history:
        phase(desk, "heldout", "measuring the held-out Cases at the baseline")
        await heldout.measure(desk, "baseline", runs=spec.runs)
    model, own = _model(desk, spec, provider, entry)
    try:
        async with opened(desk, model, await asyncio.to_thread(_wish, desk, spec)) as curator:
            why_over = await _batches(trials, _Asked(spec, curator, model))
    finally:
        if own is not None:
            await own.aclose()
    if spec.dry_run:
        return _proposed(trials, why_over)
    state = trials.state()
    if state.history and state.history[-1].decision == "unevaluable":
        raise BlockedError(f"The last Candidate could not be measured and was taken back. {unscored(desk)}".strip())
    phase(desk, "heldout", "measuring the held-out Cases at the final version")
    final = await heldout.measure(desk, "final", runs=spec.runs)
    phase(desk, "report")
    return {**trial_result(trials, final, stop_reason=why_over), "operations": operations_told(desk)}


def _establish(trials: Trials, spec: CurateSpec) -> None:
    try:
        trials.establish_reference()
    except BlockedError:
        if not spec.dry_run:  # what is only proposed needs nothing to beat
            raise


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was asked for, who curates, and the model that judges what nobody else does."""

    spec: CurateSpec
    curator: SkillCurator
    model: ModelCurator


def _wish(desk: Desk, spec: CurateSpec) -> Wish:
    """Return which policy shall curate: the one that is named, or the one in use where nothing else is."""
    if spec.curator is not None or spec.curator_model is not None or not spec.in_use:
        return Wish(spec.curator)
    try:
        chosen = promotion.verified(desk.project)
    except ExuviaError as error:
        return Wish(None, optional=True, trouble=f"{error} {error.hint}".strip())
    return Wish(str(chosen.path) if chosen is not None else None, optional=True)


def _model(desk: Desk, spec: CurateSpec, provider: Provider, entry: ModelEntry) -> tuple[ModelCurator, Provider | None]:
    """Return the model that curates, and its provider where it is one of its own that must be closed."""
    own: Provider | None = None
    if spec.curator_model is not None and spec.curator_model != spec.model:
        ref = spec.curator_model.ref
        options = RehearsalOptions.from_json({"seed": spec.seed, **spec.rehearsal})
        own, entry = resolve(desk.project, ref.provider, ref.model_id, seed=spec.seed, rehearsal=options)
    return ModelCurator(desk, own or provider, entry.ref, entry, spec.tool_approval), own


# Batches --------------------------------------------------------------------------------------------------


async def _batches(trials: Trials, asked: _Asked) -> str:
    """Curate and measure batch after batch; return why there is no further one."""
    desk, spec = trials.desk, asked.spec
    fruitless = 0
    for number in range(1, 2 * spec.rounds + 1):
        if not _begun(desk, number):
            if over := trials.state().over:
                return over
            sessions = _choose(trials, spec)
            if not sessions:
                return _nothing_left(trials, number)
            desk.journal.append(EventName.CHOSEN, batch=number, sessions=[session.session_id for session in sessions])
        passed = await _batch(trials, asked, number)
        fruitless = fruitless + 1 if passed else 0
        if spec.dry_run:
            return passed or "A dry run measures nothing."
        if fruitless >= spec.rounds:
            return f"{fruitless} batches of Sessions in a row came to nothing to measure; the last one: {passed}"
    return trials.state().over or "The last batch is decided."


async def _batch(trials: Trials, asked: _Asked, number: int) -> str:
    """Carry a batch to its end; return why nothing of it was measured, "" where something was."""
    desk, place = trials.desk, f"curate-{number}-place"
    for event in desk.journal.events:
        if event["event"] == EventName.PASSED and event["batch"] == number:
            return str(event["reason"])
    if not desk.journal.of_call(place, EventName.INTENT):
        batch = Batch.of(desk, number)
        await _curate(trials, asked, batch)
        if asked.spec.dry_run:
            return ""
        if reason := _place(trials, asked.spec, batch, place):
            desk.journal.append(EventName.PASSED, batch=number, reason=reason)
            return reason
    else:
        trials.place(place, _never)
    await _measure_and_decide(trials, number)
    return ""


async def _curate(trials: Trials, asked: _Asked, batch: Batch) -> None:
    """Put each Session of the batch before the curator that it has not answered yet."""
    desk = trials.desk
    sessions = _chosen(trials, batch.number)
    for place, session in enumerate(sessions, 1):
        done = {
            e["about"] for e in desk.journal.events if e["event"] == EventName.CURATED and e["batch"] == batch.number
        }
        if session.session_id in done:
            continue
        if (refusal := desk.budget_refusal()) is not None:
            raise BlockedError(refusal.reason)
        phase(desk, "candidate", f"curating Session {place} of {len(sessions)}")
        shown = await _shown(desk, asked, session, batch, place)
        said = "Its trace is gone, so it was passed over."
        if shown is not None:
            said = await asked.curator.curate(shown, batch)
        curated = next(
            (
                e["session_id"]
                for e in desk.journal.events
                if e["event"] == EventName.SESSION and e.get("about") == f"{batch.number}/{session.session_id}"
            ),
            session.session_id,
        )
        desk.journal.append(
            EventName.CURATED,
            batch=batch.number,
            about=session.session_id,
            session_id=curated,
            said=" ".join(said.split())[:600],
        )


async def _shown(desk: Desk, asked: _Asked, session: FinishedSession, batch: Batch, place: int) -> Shown | None:
    """Return what the curator sees of the `place`th Session: its Episode, and the skills that its task finds now."""
    spec = asked.spec
    try:
        episode = await asyncio.to_thread(episode_of, desk.agent, desk.benchmark, session, success_at=spec.success_at)
    except NotFoundError:
        return None
    episode = await asked.model.judged(episode, session.session_id)
    skills = batch.repository().skills
    hits = retrieve(skills, episode.task.text, top_k=spec.top_k, min_overlap=spec.min_overlap)
    outcome = {True: "succeeded", False: "failed", None: "was not judged"}[episode.judged]
    where = session.case_id or "its own work"
    points = f", {session.points:g} points" if session.points is not None else ""
    why = f"Drawn from {session.session_id} ({where}{points}), which {outcome}."
    given = CurationInput(episode, tuple(hit.skill for hit in hits), _seed(spec.seed, batch.number, place))
    return Shown(given, session.session_id, why)


def _seed(*parts: int) -> int:
    """Return the seed of one curation: by the run's and its place, so that a second look may see something else."""
    told = "/".join(str(part) for part in ("curation", *parts))
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:4])


# Sessions -------------------------------------------------------------------------------------------------


def _begun(desk: Desk, number: int) -> bool:
    return any(e["event"] == EventName.CHOSEN and e["batch"] == number for e in desk.journal.events)


def _nothing_left(trials: Trials, number: int) -> str:
    if trials.state().reference is None:
        return "The present version has no evaluation here, and the agent has no finished Sessions of its own."
    return "The agent has no finished Session that may be learned from and was not curated before" + (
        " (--again takes those too)." if number == 1 else "."
    )


def _choose(trials: Trials, spec: CurateSpec) -> tuple[FinishedSession, ...]:
    desk = trials.desk
    here = {e["about"] for e in desk.journal.events if e["event"] == EventName.CURATED}
    done = here if spec.again else here | curated_sessions(desk.project, desk.agent.id)
    scored = scored_sessions(desk.agent, trials.state().reference)
    return choose(scored, own_work(desk.agent), done, spec.sessions)


def _chosen(trials: Trials, number: int) -> tuple[FinishedSession, ...]:
    """Return the Sessions of a batch as the journal names them, with what is known of each."""
    desk = trials.desk
    event = next(e for e in desk.journal.events if e["event"] == EventName.CHOSEN and e["batch"] == number)
    scored = {session.session_id: session for session in scored_sessions(desk.agent, trials.state().reference)}
    wanted = [session_id for session_id in event["sessions"] if session_id not in scored]
    own = (
        {session.session_id: session for session in own_work(desk.agent) if session.session_id in wanted}
        if wanted
        else {}
    )
    known = {**own, **scored}
    return tuple(known.get(session_id, FinishedSession(session_id)) for session_id in event["sessions"])


# The Candidate --------------------------------------------------------------------------------------------


def _place(trials: Trials, spec: CurateSpec, batch: Batch, call_id: str) -> str:
    """Put the batch's Candidate in place; return why there is none, "" where there is."""
    edits = batch.edits()
    if not edits:
        return "the curator changed nothing"
    hypothesis, prediction = _claims(trials, spec, batch)
    try:
        trials.place(call_id, lambda: prepare(trials, edits, hypothesis, prediction))
    except RefuseError as refused:
        if refused.refusal.code in _NOT_THE_SKILLS:
            raise BlockedError(refused.refusal.reason) from refused
        return refused.refusal.reason
    return ""


def _claims(trials: Trials, spec: CurateSpec, batch: Batch) -> tuple[str, dict[str, Any]]:
    """Return the hypothesis and the prediction of a batch."""
    desk, reference = trials.desk, trials.state().reference
    after = batch.repository().skills
    cases = {session.session_id: session.case_id for session in _chosen(trials, batch.number)}
    learnt = {cases.get(event["about"]) for event in batch.operations() if event["valid"]}
    statements = {
        case_id: decode(readme.read_bytes())
        for case_id in measured_cases(desk.benchmark)
        if (readme := desk.benchmark.case(case_id).statement_readme).is_file()
    }
    prediction = prediction_of(
        changed_titles(batch.before, after),
        batch.before,
        after,
        statements,
        reference.case_scores() if reference is not None else {},
        sorted(case for case in learnt if case is not None),
        min_overlap=spec.min_overlap,
    )
    return hypothesis_of(batch.before, after), prediction


def _never() -> Any:
    raise AssertionError("a Candidate that was begun is staged already")


async def _measure_and_decide(trials: Trials, number: int) -> None:
    desk = trials.desk
    phase(desk, "evaluate", f"Candidate {trials.state().round} of {trials.goal.rounds}")
    decide = f"curate-{number}-decide"
    try:
        for attempt in range(REPAIRS + 1):
            if done := desk.journal.of_call(decide, EventName.DECISION):
                _audit(desk, done[0])
                return
            repair = f"fresh Evaluators, attempt {attempt + 1}" if attempt else ""
            try:
                event = await trials.measure(f"curate-{number}-measure-{attempt}", repair)
            except RefuseError as refused:
                if refused.refusal.code != "unevaluable":
                    raise
                break  # running the failed cells again would prove nothing; it is decided as it is
            if event["complete"] or event["foreign_change"]:
                break
        phase(desk, "decide")
        candidate = trials.state().candidate
        names = [e["op"] for e in Batch(desk, number, {}).operations() if e["valid"]]
        event = trials.conclude(
            decide,
            supported=None,  # nobody judged it: a curator does not see the result
            observed="",
            title=title_of(names),
            summary=candidate.hypothesis if candidate is not None else "Decided before the engine was restarted.",
        )
        _audit(desk, event)
    except RefuseError as refused:
        raise BlockedError(refused.refusal.reason) from refused


def _audit(desk: Desk, decision: Event) -> None:
    """Write a decision into the audit, once."""
    subject = f"{desk.agent.id} v{decision['version']}"
    if any(
        entry.action == "curate" and entry.subject == subject and entry.detail.get("run_id") == desk.run.id
        for entry in audit.read(desk.project)
    ):
        return
    by = next((e["name"] for e in reversed(desk.journal.events) if e["event"] == EventName.CURATOR), "")
    told = {key: decision[key] for key in ("decision", "score", "reference_score")}
    audit.record(
        desk.project,
        "curate",
        subject,
        {"run_id": desk.run.id, "benchmark_id": desk.benchmark.id, "curator": by, **told},
        "curator",
    )


# Results --------------------------------------------------------------------------------------------------


def operations_told(desk: Desk) -> list[dict[str, Any]]:
    """Return every operation of the run, valid or not, as the result and `--json` carry it."""
    told = ("batch", "about", "session_id", "op", "title", "new_title", "arguments", "valid", "reason", "why")
    return [
        {key: event.get(key) for key in told} for event in desk.journal.events if event["event"] == EventName.OPERATION
    ]


def _proposed(trials: Trials, why_over: str) -> dict[str, Any]:
    """Return what a dry run comes to: what would be tried, as a Candidate says it."""
    desk = trials.desk
    phase(desk, "report")
    batch = Batch.of(desk, 1)
    after, edits = batch.repository().skills, batch.edits()
    proposed = desk.run.root / "proposed.diff"
    atomic.write_text(proposed, unified(batch.present, edited(batch.present, edits)))
    return {
        "agent_id": desk.agent.id,
        "benchmark_id": desk.benchmark.id,
        "dry_run": True,
        "operations": operations_told(desk),
        "edits": [{"path": edit.path, "delete": edit.delete, "content": edit.content} for edit in edits],
        "hypothesis": hypothesis_of(batch.before, after),
        "stop_reason": why_over,
        "paths": {"report": str(desk.run.report), "diff": str(proposed)},
    }
