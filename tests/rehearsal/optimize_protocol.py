"""An Optimizer's engine in small: the same tools, answers and refusals; a state's score comes from a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

TOOLS = (
    "protocol_status",
    "read_scoreboard",
    "read_trace",
    "propose_candidate",
    "evaluate_candidate",
    "decide",
    "stop_run",
)
State = dict[str, str]


class OptimizeProtocol:
    """Invariant: files are the Reference's, or the Candidate's while one is open."""

    def __init__(
        self,
        root: Path,
        statements: Mapping[str, str],
        score: Callable[[str, State], float],
        *,
        rounds: int = 5,
        target: float = 90,
        runs: int = 2,
    ) -> None:
        self.root, self.score, self.rounds, self.target, self.runs = root, score, rounds, target, runs
        self.agent_state, self.statements = root / "agent_state", root / "statements"
        self.agent_state.mkdir(parents=True)
        for case, text in statements.items():
            (self.statements / case).mkdir(parents=True)
            (self.statements / case / "README.md").write_text(text)
        self.cases = sorted(statements)
        self.files: State = {"AGENTS.md": "# Clerk\n\nDo clerical work.\n"}
        self.write()
        self.version, self.reference, self.scores = 1, self.files, self.measure(self.files)
        self.reference_version = 1
        self.candidate: dict[str, Any] | None = None
        self.history: list[dict[str, Any]] = []
        self.stopped: str | None = None
        self.refusals: list[str] = []
        self.fail_once = False
        self.aborts: set[str] = set()

    def write(self) -> None:
        (self.agent_state / "AGENTS.md").write_text(self.files["AGENTS.md"])

    def measure(self, files: State) -> dict[str, float]:
        return {case: self.score(case, files) for case in self.cases}

    def mean(self, scores: Mapping[str, float]) -> float:
        return sum(scores.values()) / len(scores)

    def phase(self) -> str:
        if self.stopped:
            return "report"
        if self.candidate:
            return "decide" if self.candidate["measured"] else "evaluate"
        over = self.mean(self.scores) >= self.target or len(self.history) >= self.rounds
        return "report" if over else "candidate"

    def rows(self, scores: Mapping[str, float], version: int) -> list[dict[str, Any]]:
        return [
            {
                "case_id": case,
                "score": score,
                "runs": [{"score": score, "session_id": f"s-{version}-{case}-{n}"} for n in range(self.runs)],
            }
            for case, score in scores.items()
        ]

    def state(self) -> dict[str, Any]:
        return {
            "phase": self.phase(),
            "reference": {
                "version": self.reference_version,
                "score": self.mean(self.scores),
                "cases": self.rows(self.scores, self.reference_version),
            },
            "candidate": {"version": self.candidate["version"]} if self.candidate else None,
            "round": len(self.history) + 1,
            "round_limit": self.rounds,
            "target_score": self.target,
            "runs": self.runs,
            "history": self.history,
            "paths": {"agent_state": str(self.agent_state), "statements": str(self.statements)},
            "next": [],
        }

    def tools(self) -> dict[str, Callable[[Mapping[str, Any]], Any]]:
        def door(name: str) -> Callable[[Mapping[str, Any]], Any]:
            def answer(arguments: Mapping[str, Any]) -> Any:
                try:
                    given = getattr(self, name)(arguments)
                except (KeyError, TypeError) as error:
                    given = ("bad_arguments", f"missing {error}")
                if isinstance(given, tuple):
                    self.refusals.append(given[0])
                    return {"ok": False, "refused": given[0], "reason": given[1], "state": self.state()}
                return {"ok": True, **given, "state": self.state()}

            return answer

        return {**{name: door(name) for name in TOOLS}, "read_file": self.read_file}

    def read_file(self, arguments: Mapping[str, Any]) -> str:
        path = Path(arguments["file_path"])
        return path.read_text() if path.is_file() else "Error: no such file"

    def protocol_status(self, _: Mapping[str, Any]) -> Any:
        return {}

    def read_scoreboard(self, _: Mapping[str, Any]) -> Any:
        return {"evaluations": []}

    def read_trace(self, arguments: Mapping[str, Any]) -> Any:
        session = arguments["session_id"]
        records = [{"type": "event_msg", "payload": {"type": "abort", "reason": "budget: 4 requests in this turn"}}]
        return {"records": records if session in self.aborts else []}

    def propose_candidate(self, arguments: Mapping[str, Any]) -> Any:
        if self.candidate:
            return "candidate_pending", "decide first"
        if self.phase() == "report":
            return "over", "over"
        expected = {case["case_id"]: case["expected_score"] for case in arguments["prediction"]["cases"]}
        if not any(score > self.scores[case] for case, score in expected.items()):
            return "no_gain_predicted", "nothing to test"
        assert arguments["hypothesis"]
        assert 1 <= len(arguments["edits"]) <= 3
        files, edits = dict(self.reference), []
        for edit in arguments["edits"]:
            assert edit["why"]
            if "set" in edit:
                assert edit["path"] == "system_config.yaml"
                files[edit["path"]] = str(edit["set"])
            elif edit.get("delete"):
                del files[edit["path"]]
            else:
                files[edit["path"]] = edit["content"]
            kind = {"AGENTS.md": "agents_md", "system_config.yaml": "config"}.get(edit["path"], "skill")
            gone = bool(edit.get("delete"))
            edits.append({"kind": kind, "path": edit["path"], "added": 0 if gone else 1, "removed": int(gone)})
        if files == self.reference:
            return "no_change", "change something"
        self.version += 1
        self.candidate = {
            "version": self.version,
            "files": files,
            "edits": edits,
            "hypothesis": arguments["hypothesis"],
            "expected": expected,
            "measured": False,
        }
        self.files = files
        self.write()
        return {"version": self.version}

    def evaluate_candidate(self, arguments: Mapping[str, Any]) -> Any:
        if not self.candidate:
            return "no_candidate", "propose first"
        if self.fail_once:
            self.fail_once, self.candidate["measured"] = False, True
            return {"failed": [{"case_id": self.cases[0], "run": 1, "failure_code": "evaluation_failed"}]}
        if self.candidate.get("scores"):
            return "already_evaluated", "decide"
        if self.candidate["measured"] and not arguments.get("repair"):
            return "no_new_repair", "name a repair"
        self.candidate["measured"] = True
        self.candidate["scores"] = self.measure(self.candidate["files"])
        return {"version": self.version, "cases": self.rows(self.candidate["scores"], self.version), "failed": []}

    def decide(self, arguments: Mapping[str, Any]) -> Any:
        if not self.candidate:
            return "no_candidate", "propose first"
        if not self.candidate["measured"]:
            return "not_evaluated", "evaluate first"
        assert arguments["summary_title"]
        assert arguments["summary"]
        assert isinstance(arguments["supported"], bool)
        scores = self.candidate["scores"]
        accepted = self.mean(scores) > self.mean(self.scores)
        self.history.append(
            {
                "round": len(self.history) + 1,
                "version": self.version,
                "decision": "accepted" if accepted else "rejected",
                "score": self.mean(scores),
                "hypothesis": self.candidate["hypothesis"],
                "edits": self.candidate["edits"],
                "supported": arguments["supported"],
            }
        )
        if accepted:
            self.reference, self.scores = self.candidate["files"], scores
            self.reference_version = self.version
        self.files, self.candidate = self.reference, None
        self.write()
        return {"decision": self.history[-1]["decision"]}

    def stop_run(self, arguments: Mapping[str, Any]) -> Any:
        self.stopped = arguments["reason"]
        return {}
