"""The rehearsal Builder: follows the skills agent-creation and benchmark-design, one step from each known state.

It looks at the newest state that the engine told and at its own earlier calls, and derives the next call; it keeps
no plan. So a refusal, a lost turn or a resumed Session needs no special way back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.models.interface import Request, Text
from core.models.rehearsal import builder_texts as texts
from core.models.rehearsal.builder_material import (
    Material,
    design,
    document,
    examine_command,
    examined,
    folder,
    list_command,
    listed,
    place_command,
    prediction,
    shared_material,
)
from core.models.rehearsal.builder_progress import Brief, Progress, progress_of, stuck
from core.models.rehearsal.refining import Rung, choose, named_cases
from core.models.rehearsal.review import findings_of, review
from core.models.rehearsal.transcript import Reply, Transcript, call

_PATIENCE = 4  # refusals of one call for one reason
_REPAIRS = 2  # dispatches of a revision whose cells failed
_REJECTIONS = 3
_HOPELESS = frozenset({"agent_changed", "void", "floor", "wrong_agent", "budget", "copy_damaged"})


def reply(request: Request, seed: int) -> Reply:
    """Return the Builder's next calls, or its report. There is nothing that it decides by `seed`."""
    return _Turn(request).reply()


class _Turn:
    """One reply in the making. Invariant: a function of the request; nothing outlives the turn."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._talk = Transcript.of(request)
        self._state: Mapping[str, Any] = self._talk.state
        self._brief = Brief.of(self._talk.first_user)
        self._done: Progress = progress_of(self._talk)

    def reply(self) -> Reply:
        state = self._state
        if not state:
            return self._say("I look where the protocol stands.", "protocol_status", {})
        phase = state.get("phase")
        if phase == "report" or self._given_up():
            return (Text("assistant", texts.report(self._talk, self._brief)),)
        if (refused := stuck(self._talk, _PATIENCE)) is not None:
            reason = str((refused.answer or {}).get("reason", ""))
            return self._stop(f"{refused.name} was refused {_PATIENCE} times ({refused.refused}): {reason}")
        last = self._talk.steps[-1] if self._talk.steps else None
        if last is not None and last.refused in _HOPELESS:
            return self._stop(str((last.answer or {}).get("reason", last.refused)))
        if phase == "agent":
            return self._create_agent()
        if phase == "contract":
            return self._contract()
        if phase == "baseline":
            title, summary = texts.baseline(state, self._brief)
            return self._say(
                "The benchmark is frozen. I record its measured result as the Formal Baseline.",
                "record_baseline",
                {"summary_title": title, "summary": summary},
            )
        return self._cases(str(phase))

    # Replies ---------------------------------------------------------------------------------------------

    def _say(self, text: str, *calls: Any) -> Reply:
        """Return a word and the calls that follow it, given as name, arguments, name, arguments, ..."""
        pairs = list(zip(calls[::2], calls[1::2], strict=True))
        return (
            Text("assistant", text + "\n"),
            *(call(self._request, n, name, arguments) for n, (name, arguments) in enumerate(pairs)),
        )

    def _read(self, text: str, paths: list[str]) -> Reply:
        return self._say(text, *(part for path in paths for part in ("read_file", {"file_path": path})))

    def _run(self, text: str, description: str, cmd: str) -> Reply:
        return self._say(text, "exec_command", {"description": description, "cmd": cmd})

    def _stop(self, reason: str) -> Reply:
        return self._say("I can't go on and stop the run.", "stop_run", {"reason": reason})

    def _given_up(self) -> bool:
        return sum(step.name == "stop_run" and step.output is not None for step in self._talk.steps) >= _PATIENCE

    # Agent and contract ----------------------------------------------------------------------------------

    def _create_agent(self) -> Reply:
        brief = self._brief
        if not brief.requirement:
            return self._stop("The agent does not exist, and no requirement was given to make it from.")
        return self._say(
            "There is no such agent yet. I write it from the requirement; it needs no skill to begin with.",
            "create_agent",
            {
                "agent_id": brief.agent_id,
                "name": texts.title_of(brief.agent_id),
                "description": texts.first_sentence(brief.requirement),
                "agents_md": texts.agents_md(brief.agent_id, brief.requirement),
                "skills": [],
            },
        )

    def _library(self) -> Material | Reply:
        root = folder(self._state)
        if not root:
            return self._stop("There is no case library, and this model writes Cases from one only.")
        material = listed(self._talk, root)
        if material is not None:
            return material
        tried = [step for step in self._talk.of_tool("exec_command") if step.argument("cmd") == list_command(root)]
        if len([step for step in tried if step.output is not None]) >= _PATIENCE:
            return self._stop("The case library could not be listed: " + (tried[-1].output or "")[:300])
        return self._run("I look for material in the case library.", "List the case library", list_command(root))

    def _chosen(self, material: Material) -> tuple[list[str], list[str]]:
        """Return the Cases to plan and those of them to hold out."""
        contract = document(self._talk, material.contract)
        held = [str(case) for case in contract.get("held_out") or [] if case in material.sharpenings]
        cases = sorted(material.sharpenings)
        if self._brief.cases is not None and self._brief.cases < len(cases):
            measured = [case for case in cases if case not in held]
            cases = measured[: self._brief.cases]
            held = [case for case in held if case in cases]
        return cases, held

    def _contract(self) -> Reply:
        material = self._library()
        if not isinstance(material, Material):
            return material
        if not self._talk.asked(material.contract):
            return self._read("I read what the library measures.", [material.contract])
        cases, held = self._chosen(material)
        unread = [material.case(case) for case in cases if not self._talk.asked(material.case(case))]
        if unread:
            return self._read(f"I read the design of {len(unread)} Cases.", unread)
        contract = document(self._talk, material.contract)
        plain = {key: contract.get(key) or [] for key in ("evidence", "observables", "shortcuts", "state_levers")}
        return self._say(
            f"I declare what is measured, by {len(cases)} Cases, {len(held)} of them held out.",
            "declare_contract",
            {
                "capability": self._brief.capability or str(contract.get("capability", "")),
                **plain,
                "title": str(contract.get("title") or texts.title_of(self._brief.benchmark_id)),
                "description": str(contract.get("description", "")),
                "held_out": held,
                "cases": [design(case, document(self._talk, material.case(case))) for case in cases],
            },
        )

    # Cases -----------------------------------------------------------------------------------------------

    def _planned(self) -> list[str]:
        entries = self._state.get("cases")
        return [str(entry["case_id"]) for entry in entries or [] if isinstance(entry, dict) and "case_id" in entry]

    def _in_state(self, *names: str) -> list[str]:
        return [str(entry["case_id"]) for entry in self._state.get("cases") or [] if entry.get("state") in names]

    def _cases(self, phase: str) -> Reply:
        if self._done.rejected is not None:
            return self._answer_rejection()
        if not self._done.pending and phase in ("review", "pilot"):
            return self._review("revision") if phase == "review" else self._dispatch()
        if not self._done.pending and phase == "freeze":
            return self._freeze()
        material = self._library()
        if not isinstance(material, Material):
            return material
        unread = [material.case(c) for c in self._planned() if not self._talk.asked(material.case(c))]
        if unread:
            return self._read("I read the designs again.", unread)
        missing = {case: 0 for case in self._planned() if case not in self._done.levels}
        if missing and self._done.refinements < 0:
            return self._place("I copy the drafts into the benchmark.", material, missing)
        if self._done.pending:
            return self._submit(material)
        return self._refine(material)

    def _benchmark(self) -> str:
        return str((self._state.get("paths") or {}).get("benchmark", ""))

    def _place(self, text: str, material: Material, levels: Mapping[str, int]) -> Reply:
        command = place_command(material, self._benchmark(), levels)
        if sum(step.argument("cmd") == command and step.output is not None for step in self._talk.steps) >= _PATIENCE:
            return self._stop(f"The Cases {', '.join(levels)} could not be copied from the library.")
        return self._run(text, f"Copy {len(levels)} Cases", command)

    def _source(self, material: Material, case_id: str, level: int) -> Mapping[str, Any]:
        path = material.case(case_id) if level == 0 else material.sharpening(case_id, level)
        return document(self._talk, path)

    def _submit(self, material: Material) -> Reply:
        pending = self._done.pending
        sources = {case: self._source(material, case, level) for case, level in pending.items()}
        shared = [entry for case, source in sources.items() for entry in shared_material(case, source)]
        arguments: dict[str, Any] = {
            "note": texts.note(pending, sources),
            "predictions": [prediction(case, source) for case, source in sources.items()],
        }
        if self._done.refinements >= 0:
            arguments["diagnosis"] = texts.diagnosis(self._state, sources)
            arguments["adjustment"] = texts.adjustment(sources)
        if shared:
            arguments["shared_material"] = shared
        last = self._talk.last("submit_revision")
        if last is not None and last.refused == "standard_changed":
            named = named_cases(str((last.answer or {}).get("reason", "")), list(pending))
            reason = "the sharper form rests on another standard, fixed before it is measured"
            arguments["restated_standards"] = [{"case_id": case, "reason": reason} for case in named]
        return self._say("I write down what I expect before anything is measured.", "submit_revision", arguments)

    def _review(self, scope: str) -> Reply:
        changed = self._in_state("drafted", "changed") if scope == "revision" else self._planned()
        cases = changed or self._planned()
        examination = self._done.examination
        counted = examined(examination.output or "") if examination is not None else {}
        if not set(cases) <= set(counted):
            words = "I read the Cases again as they lie on disk, all of them." if scope == "freeze" else "I review."
            command = examine_command(self._benchmark(), cases)
            tried = [step for step in self._talk.of_tool("exec_command") if step.argument("cmd") == command]
            if len(tried) < _PATIENCE + self._done.refinements:
                return self._run(words, f"Examine {len(cases)} Cases", command)
        findings = findings_of(self._talk)
        verdicts = [review(case, counted.get(case), findings.get(case, [])) for case in cases]
        return self._say(texts.verdict(verdicts), "record_review", {"scope": scope, "cases": verdicts})

    def _dispatch(self) -> Reply:
        if self._done.repairs == 0:
            return self._say("The predictions stand. I have the Cases measured.", "dispatch", {})
        if self._done.repairs > _REPAIRS:
            return self._stop("Cells failed again after every repair that I know: " + texts.failures(self._talk))
        repair = f"fresh Evaluators, attempt {self._done.repairs + 1}; failed before: {texts.failures(self._talk)}"
        return self._say(
            "Cells failed for a technical reason. I have only those tried again.", "dispatch", {"repair": repair}
        )

    # Sharpening and freeze -------------------------------------------------------------------------------

    def _rungs(self, material: Material) -> dict[str, Rung] | Reply:
        """Return the next sharpening of each measured Case that has one, or the call that reads them."""
        _, held = self._chosen(material)
        scores = {str(c["case_id"]): c.get("score") for c in self._state.get("cases") or []}
        levels = self._done.levels
        following = {
            case: levels.get(case, 0) + 1
            for case in self._planned()
            if levels.get(case, 0) < material.sharpenings.get(case, 0)
        }
        paths = [material.sharpening(case, level) for case, level in following.items()]
        if unread := [path for path in paths if not self._talk.asked(path)]:
            return self._read("I read which sharpenings there are.", unread)
        rungs: dict[str, Rung] = {}
        for case, level in following.items():
            source = self._source(material, case, level)
            score = scores.get(case)
            rungs[case] = Rung(
                case,
                level,
                separates=source.get("kind") == "separating",
                held_out=case in held,
                score=float(score) if isinstance(score, int | float) else None,
                expected=float(prediction(case, source).get("score_if_observed", 0)),
            )
        return rungs

    def _refine(self, material: Material) -> Reply:
        rungs = self._rungs(material)
        if not isinstance(rungs, dict):
            return rungs
        measured = texts.case_scores(self._state)
        levels = choose(
            rungs,
            measured,
            wanted=float(self._state.get("baseline_wanted") or 0),
            first=not self._done.refinements,
            last=int(self._state.get("pilot") or 0) + 1 >= int(self._state.get("pilot_limit") or 0),
        )
        if not levels:
            return self._freeze(no_refinement_left="Every Case stands on the hardest form that the library has.")
        kind = "separate the quick way from the right one" if any(rungs[c].separates for c in levels) else "are larger"
        return self._place(
            f"{texts.where(self._state)} I take forms of {len(levels)} Cases that {kind}.", material, levels
        )

    def _freeze(self, no_refinement_left: str = "") -> Reply:
        state, done = self._state, self._done
        pilots = [pilot for pilot in state.get("pilots") or [] if pilot.get("valid", True)]
        present = max(pilots, key=lambda pilot: pilot["i"], default=None)
        lowest = state.get("lowest_pilot")
        if present is not None and lowest not in (None, present["i"]) and not done.restored:
            return self._say(f"Pilot {lowest} was the lowest. I put it back.", "restore_lowest", {})
        if not done.freeze_reviewed:
            return self._review("freeze")
        arguments: dict[str, Any] = {"reason": texts.freeze_reason(state), "known_defects": []}
        if no_refinement_left:
            arguments["no_refinement_left"] = no_refinement_left
        return self._say("Everything is reviewed. I ask the operator for the freeze.", "request_freeze", arguments)

    def _answer_rejection(self) -> Reply:
        reason = self._done.rejected or ""
        if self._done.rejections >= _REJECTIONS:
            return self._stop(f"The operator rejected the freeze {self._done.rejections} times, last: {reason}")
        material = self._library()
        if not isinstance(material, Material):
            return material
        if self._done.pending:
            return self._submit(material)
        rungs = self._rungs(material)
        if not isinstance(rungs, dict):
            return rungs
        meant = named_cases(reason, list(rungs)) or named_cases(reason, self._planned())
        candidates = [rung for rung in rungs.values() if not rung.held_out and (not meant or rung.case_id in meant)]
        if not candidates:
            return self._stop(
                f"The operator rejected the freeze ({reason}), and the library has nothing that answers it."
            )
        chosen = max(candidates, key=lambda rung: (rung.score or 0.0, rung.case_id))
        levels = {rung.case_id: rung.level for rung in (candidates if meant else [chosen])}
        return self._place(
            f"The operator says: {reason} I take the next form of {', '.join(levels)}.", material, levels
        )
