"""The rehearsal Optimizer: follows the skill agent-optimization, one step from each known state.

It reads the scoreboard, public statements and the traces of the weakest runs, and tries general lessons from a library
that doesn't say which of them are good. It learns that as anybody does: by the scores. It reads no rubric.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.models.interface import Request, Text
from core.models.rehearsal import optimizer_texts as texts
from core.models.rehearsal.choosing import Proposal, Seen, choose, expectations, kind_of, supported
from core.models.rehearsal.lesson_library import Lesson, lessons
from core.models.rehearsal.optimizer_record import case_scores, record_of
from core.models.rehearsal.transcript import Reply, Step, Transcript, call

_PATIENCE = 4  # refusals of one call for one reason
_REPAIRS = 2  # evaluations of one Candidate whose cells failed
_TRACE_RECORDS = 12  # read at each end of a trace: how a run began, and how it ended
# Refusals that speak of the order of steps or of the ground, not of the lesson that was proposed.
_NOT_THE_LESSON = frozenset({"candidate_pending", "no_reference", "over", "stopped", "bad_arguments", "budget"})
_HOPELESS = frozenset({"void", "changed_state", "harness_broken", "version_not_growing", "no_reference", "budget"})
_TOOLS = ("propose_candidate", "evaluate_candidate", "decide", "stop_run", "read_scoreboard", "read_trace")


def reply(request: Request, seed: int) -> Reply:
    """Return the Optimizer's next calls, or its report. `seed` varies the order in which lessons are tried."""
    return _Turn(request, seed).reply()


class _Turn:
    """One reply in the making. Invariant: a function of the request and the seed; nothing outlives the turn."""

    def __init__(self, request: Request, seed: int) -> None:
        self._request = request
        self._seed = seed
        self._talk = Transcript.of(request)
        self._state: Mapping[str, Any] = self._talk.state

    def reply(self) -> Reply:
        state = self._state
        if not state:
            return self._say("I look where the protocol stands.", "protocol_status", {})
        phase = state.get("phase")
        if phase == "report" or self._given_up():
            return (Text("assistant", texts.report(self._talk)),)
        last = self._talk.steps[-1] if self._talk.steps else None
        if last is not None and last.refused in _HOPELESS:
            return self._stop(str((last.answer or {}).get("reason", last.refused)))
        if (refused := self._stuck()) is not None:
            reason = str((refused.answer or {}).get("reason", ""))
            return self._stop(f"{refused.name} was refused {_PATIENCE} times ({refused.refused}): {reason}")
        if phase == "evaluate":
            return self._say("I have the Candidate measured on every Case.", "evaluate_candidate", {})
        if phase == "decide":
            return self._decide()
        if phase == "reference" or not isinstance(state.get("reference"), dict):
            return self._stop("There is no complete evaluation of the agent's present version to start from.")
        return self._propose()

    # Replies ---------------------------------------------------------------------------------------------

    def _say(self, text: str, *calls: Any) -> Reply:
        """Return a word and the calls that follow it, given as name, arguments, name, arguments, ..."""
        pairs = zip(calls[::2], calls[1::2], strict=True)
        return (
            Text("assistant", text + "\n"),
            *(call(self._request, n, name, arguments) for n, (name, arguments) in enumerate(pairs)),
        )

    def _read(self, text: str, paths: list[str]) -> Reply:
        return self._say(text, *(part for path in paths for part in ("read_file", {"file_path": path})))

    def _stop(self, reason: str) -> Reply:
        return self._say("I stop here.", "stop_run", {"reason": reason})

    def _given_up(self) -> bool:
        return sum(step.name == "stop_run" and step.output is not None for step in self._talk.steps) >= _PATIENCE

    def _stuck(self) -> Step | None:
        seen: dict[tuple[str, str], int] = {}
        for step in self._talk.steps:
            if step.ok and step.name in ("propose_candidate", "evaluate_candidate", "decide"):
                seen = {}
            elif step.name in _TOOLS and step.refused is not None and not self._tells_of_lesson(step):
                key = (step.name, step.refused)
                seen[key] = seen.get(key, 0) + 1
                if seen[key] >= _PATIENCE:
                    return step
        return None

    @staticmethod
    def _tells_of_lesson(step: Step) -> bool:
        return step.name == "propose_candidate" and step.refused not in _NOT_THE_LESSON

    # Looking ---------------------------------------------------------------------------------------------

    def _reference_cases(self) -> dict[str, list[Mapping[str, Any]]]:
        reference = self._state.get("reference") or {}
        return {str(case["case_id"]): list(case.get("runs") or []) for case in reference.get("cases") or []}

    def _scores(self) -> dict[str, float]:
        return case_scores((self._state.get("reference") or {}).get("cases"))

    def _statement_paths(self, case_id: str) -> list[str]:
        """Return where a Case's statement may be read, the likelier place first."""
        for entry in self._state.get("statements") or []:
            if isinstance(entry, dict) and entry.get("case_id") == case_id and isinstance(entry.get("path"), str):
                return [entry["path"]]
        root = (self._state.get("paths") or {}).get("statements", "")
        if isinstance(root, dict):
            return [f"{root.get(case_id, '')}/README.md"]
        return [f"{root}/{case_id}/README.md", f"{root}/{case_id}/statement/README.md"]

    def _unread_statements(self) -> list[str]:
        unread = []
        for case in self._reference_cases():
            paths = self._statement_paths(case)
            if any(self._talk.file(path) is not None for path in paths):
                continue
            unread += [path for path in paths if not self._talk.asked(path)][:1]
        return unread

    def _statement(self, case_id: str) -> str:
        texts_ = (self._talk.file(path) for path in self._statement_paths(case_id))
        return next((text for text in texts_ if text is not None), "")

    def _unread_trace(self) -> Mapping[str, Any] | None:
        """Return what to read next of the Reference's weakest run: its beginning, then its end, then nothing."""
        runs = [
            (float(run["score"]), case, str(run["session_id"]))
            for case, listed in self._reference_cases().items()
            for run in listed
            if isinstance(run.get("score"), int | float) and run.get("session_id")
        ]
        if not runs:
            return None
        session = min(runs, key=lambda run: run[:2])[2]
        looked = [
            step
            for step in self._talk.of_tool("read_trace")
            if step.argument("session_id") == session and step.output is not None
        ]
        if not looked:
            return {"session_id": session, "from": 0, "count": _TRACE_RECORDS}
        total = next((step.answer["total"] for step in looked if step.ok and step.answer and "total" in step.answer), 0)
        if len(looked) > 1 or not isinstance(total, int) or total <= _TRACE_RECORDS:
            return None
        return {"session_id": session, "from": max(_TRACE_RECORDS, total - _TRACE_RECORDS), "count": _TRACE_RECORDS}

    def _state_path(self, path: str) -> str:
        return f"{(self._state.get('paths') or {}).get('agent_state', '')}/{path}"

    def _read_since_decided(self, path: str) -> bool:
        """Tell whether a file was read, or found missing, since the last decision: that may have changed it."""
        for step in reversed(self._talk.steps):
            if step.name == "decide" and step.ok:
                return False
            if step.name == "read_file" and step.argument("file_path") == path and step.output is not None:
                return True
        return False

    def _seen(self) -> Seen:
        scores = self._scores()
        symptoms = {"low-score"} if any(score < 60 for score in scores.values()) else set()
        for step in self._talk.of_tool("read_trace"):
            if texts.hit_turn_limit(step):
                symptoms.add("turn-limit")
        statements = {case: self._statement(case) for case in scores}
        return Seen(scores, statements, {case: kind_of(text) for case, text in statements.items()}, frozenset(symptoms))

    # Proposing and deciding ------------------------------------------------------------------------------

    def _propose(self) -> Reply:
        if not any(step.ok for step in self._talk.of_tool("read_scoreboard")):
            tried = [step for step in self._talk.of_tool("read_scoreboard") if step.output is not None]
            if len(tried) < _PATIENCE:
                return self._say("I look at what was measured so far.", "read_scoreboard", {})
        if unread := self._unread_statements():
            return self._read("I read the public statements.", unread)
        if (arguments := self._unread_trace()) is not None:
            return self._say("I look at what the agent did in its weakest run.", "read_trace", arguments)
        rules = self._state_path("AGENTS.md")
        if not self._read_since_decided(rules):
            return self._read("I read the agent's rules as they stand.", [rules])
        current = self._talk.file(rules) or ""
        seen, library = self._seen(), lessons()
        record = record_of(self._talk, library, seen, _NOT_THE_LESSON)
        measured = [entry for entry in self._state.get("history") or [] if entry.get("decision") != "unevaluable"]
        left = int(self._state.get("round_limit") or 1) - len(measured)
        proposal = choose(library, seen, record, rounds_left=left, seed=self._seed)
        if proposal is None:
            return self._stop("No admissible hypothesis is left that the evidence supports.")
        unread = [self._state_path(one.path) for one in proposal.lessons if one.edit == "strategy"]
        unread = [path for path in unread if not self._read_since_decided(path)]
        if unread:
            return self._read("I read the strategy as it stands.", unread)
        standing = {one.path: self._talk.file(self._state_path(one.path)) for one in proposal.lessons}
        return self._say(
            texts.thought(proposal, seen),
            "propose_candidate",
            {
                "hypothesis": proposal.hypothesis,
                "prediction": {"overall": "higher", "cases": expectations(proposal, seen, record)},
                "edits": _edits(proposal, {**standing, "AGENTS.md": current}, seen),
            },
        )

    def _decide(self) -> Reply:
        measured, failed, repairs = self._measured()
        last = self._talk.last("evaluate_candidate")
        if failed and repairs < _REPAIRS and (last is None or last.refused != "unevaluable"):
            repair = f"fresh Evaluators, attempt {repairs + 1}, for {len(failed)} failed cells"
            return self._say("Cells failed; I have only those tried again.", "evaluate_candidate", {"repair": repair})
        proposal = self._talk.done("propose_candidate")
        predicted = ((proposal.arguments or {}).get("prediction") or {}) if proposal is not None else {}
        expected = {
            str(case["case_id"]): float(case["expected_score"])
            for case in predicted.get("cases") or []
            if isinstance(case, dict)
        }
        scores = self._scores()
        held = supported(expected, measured, scores)
        hypothesis = proposal.argument("hypothesis") if proposal is not None else ""
        return self._say(
            "I compare what I predicted with what was measured.",
            "decide",
            {
                "supported": held,
                "observed": texts.observed(expected, measured, scores),
                "summary_title": texts.summary_title(hypothesis),
                "summary": texts.summary(hypothesis, held),
            },
        )

    def _measured(self) -> tuple[dict[str, float], list[Any], int]:
        """Return what this Candidate's newest evaluation gave by Case, which cells failed, and how often it ran."""
        newest: Mapping[str, Any] = {}
        runs = 0
        for step in self._talk.steps:
            if step.name == "propose_candidate" and step.ok:
                newest, runs = {}, 0
            elif step.name == "evaluate_candidate" and step.answer is not None:
                if step.ok or step.answer.get("failed"):
                    newest, runs = step.answer, runs + 1
                elif step.refused == "no_new_repair":
                    runs += 1
        source = newest or self._state.get("candidate") or {}
        scores = case_scores(source.get("cases"))
        failed = source.get("failed")
        return scores, failed if isinstance(failed, list) else [], runs


def _edits(proposal: Proposal, standing: Mapping[str, str | None], seen: Seen) -> list[dict[str, Any]]:
    edits = [_edit(lesson, standing.get(lesson.path), texts.why(lesson, seen)) for lesson in proposal.lessons]
    gone = "The tasks that it speaks to got worse with it."
    return edits + [{"path": lesson.path, "delete": True, "why": gone} for lesson in proposal.removed]


def _edit(lesson: Lesson, standing: str | None, why: str) -> dict[str, Any]:
    if lesson.edit == "config":
        return {"path": lesson.path, "set": dict(lesson.settings), "why": why}
    content = lesson.body
    if lesson.edit == "agents_md":
        content = lesson.agents_md(standing or "")
    elif lesson.edit == "strategy":
        content = lesson.next_version(standing)
    return {"path": lesson.path, "content": content, "why": why}
