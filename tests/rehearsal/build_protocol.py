"""A Builder's engine in small: the same tools, answers and refusals, over real files, with scores from a table."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

TOOLS = (
    "protocol_status",
    "create_agent",
    "declare_contract",
    "submit_revision",
    "record_review",
    "dispatch",
    "request_freeze",
    "restore_lowest",
    "record_baseline",
    "stop_run",
)
CASE = """\
required_behaviour: compare before dropping
plausible_shortcut: drop the second
difficulty: two sources disagree
separating_result: another row is kept
rationale: it is the capability
points:
  - {item: rows, points: 60}
  - {item: reasons, points: 40}
prediction: {observed_strategy: first row wins, desired_behaviour: newest row wins, separates_on: the row kept,
  score_if_observed: 80, score_if_desired: 100, affected_points: 60}
shared_material:
  - {text: "id,name,day", reason: both must name the columns}
"""


def write_library(root: Path, cases: Mapping[str, tuple[str, ...]], held_out: tuple[str, ...] = ()) -> Path:
    """Write a library; `cases` maps a Case to the kinds of its sharpenings, in order."""
    material = root / "material"
    for case, kinds in cases.items():
        for level, kind in enumerate(("draft", *kinds)):
            place = material / case / ("draft" if level == 0 else f"sharpenings/{level}")
            (place / "statement").mkdir(parents=True)
            (place / "rubric").mkdir()
            (place / "statement" / "README.md").write_text(f"# {case}\n\nLevel {level} of the work.\n")
            (place / "statement" / f"only-at-{level}.txt").write_text("x\n")
            (place / "rubric" / "README.md").write_text(f"- 60 pts: rows of {level}\n- 40: reasons\n")
            if level:
                observed = 50 if kind == "size" else 20
                (place / "sharpening.yaml").write_text(
                    f"kind: {kind}\nnote: harder\nadjustment: more\nprediction: {{observed_strategy: a, "
                    f"desired_behaviour: b, separates_on: c, score_if_observed: {observed}, score_if_desired: 95, "
                    "affected_points: 50}\n"
                )
        (material / case / "case.yaml").write_text(CASE)
    held = "[" + ", ".join(held_out) + "]"
    (material / "contract.yaml").write_text(f"title: Chores\ncapability: care\nevidence: [e]\nheld_out: {held}\n")
    return root


class BuildProtocol:
    """Invariant: what is recorded belongs to the bytes it was recorded for."""

    def __init__(
        self,
        root: Path,
        library: Path,
        *,
        pilots: int = 4,
        wanted: float = 45,
        score: Callable[[str, int], float],
        reject: list[str] | None = None,
        agent_exists: bool = False,
    ) -> None:
        self.benchmark, self.library = root / "benchmark", library
        self.benchmark.mkdir(parents=True)
        self.pilot_limit, self.wanted, self.score = pilots, wanted, score
        self.reject = list(reject or [])
        self.agent, self.contract, self.frozen = agent_exists, {}, False  # type: bool, dict[str, Any], bool
        self.hashes: dict[str, str] = {}
        self.predicted: dict[str, str] = {}
        self.reviewed: dict[str, str] = {}
        self.freeze_reviewed: dict[str, str] = {}
        self.results: dict[str, tuple[str, float]] = {}
        self.pilots: list[dict[str, Any]] = []
        self.copies: dict[int, dict[str, int]] = {}
        self.pilot = 0
        self.rejection: str | None = None
        self.baseline: Mapping[str, Any] | None = None
        self.stopped: str | None = None
        self.refusals: list[str] = []
        self.fail_once: set[str] = set()

    # What lies on disk -----------------------------------------------------------------------------------

    @property
    def cases(self) -> list[str]:
        return [case["case_id"] for case in self.contract.get("cases", [])]

    @property
    def measured(self) -> list[str]:
        return [case for case in self.cases if case not in self.contract["held_out"]]

    def level(self, case: str) -> int:
        (name,) = (self.benchmark / case / "statement").glob("only-at-*.txt")
        return int(name.stem.rsplit("-", 1)[1])

    def disk(self) -> dict[str, str]:
        found = {}
        for case in self.cases:
            readme = self.benchmark / case / "statement" / "README.md"
            if readme.exists():
                found[case] = hashlib.sha256(readme.read_bytes()).hexdigest()
        return found

    def pending(self) -> list[str]:
        return [c for c in self.measured if self.results.get(c, ("", 0))[0] != self.hashes.get(c)]

    def unreviewed(self) -> list[str]:
        return [c for c in self.cases if self.reviewed.get(c) != self.hashes.get(c)]

    def lowest(self) -> dict[str, Any] | None:
        return min(self.pilots, key=lambda p: (p["score"], p["i"]), default=None)

    def phase(self) -> str:
        if self.stopped or self.baseline:
            return "report"
        if self.frozen:
            return "baseline"
        if not self.agent:
            return "agent"
        if not self.contract:
            return "contract"
        if not self.hashes or self.rejection:
            return "drafting"
        if self.pending():
            return "review" if self.unreviewed() else "pilot"
        present = self.pilots[-1]["score"] if self.pilots else 100
        return "freeze" if present <= self.wanted or self.pilot >= self.pilot_limit else "drafting"

    def state(self) -> dict[str, Any]:
        def of(case: str) -> str:
            if case not in self.hashes:
                return "planned"
            if self.results.get(case, ("", 0))[0] == self.hashes[case]:
                return "scored"
            return "drafted" if case in self.unreviewed() else "reviewed"

        lowest = self.lowest()
        return {
            "phase": self.phase(),
            "pilot": self.pilot,
            "pilot_limit": self.pilot_limit,
            "baseline_wanted": self.wanted,
            "cases": [
                {"case_id": c, "state": of(c), "score": self.results[c][1] if c in self.results else None}
                for c in self.cases
            ],
            "pilots": self.pilots,
            "lowest_pilot": lowest["i"] if lowest else None,
            "paths": {"benchmark": str(self.benchmark), "agent_state": "/agent", "library": str(self.library)},
            "next": [] if self.phase() == "report" else ["protocol_status"],
        }

    # Tools -----------------------------------------------------------------------------------------------

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

        return {**{name: door(name) for name in TOOLS}, "read_file": self.read_file, "exec_command": self.exec_command}

    def read_file(self, arguments: Mapping[str, Any]) -> str:
        path = Path(arguments["file_path"])
        return path.read_text() if path.is_file() else "Error: no such file"

    def exec_command(self, arguments: Mapping[str, Any]) -> str:
        run = subprocess.run(["sh", "-c", arguments["cmd"]], capture_output=True, text=True, check=False)
        return f"{run.stdout}{run.stderr}\n[exit {run.returncode}]"

    def protocol_status(self, _: Mapping[str, Any]) -> Any:
        return {}

    def create_agent(self, arguments: Mapping[str, Any]) -> Any:
        if self.agent:
            return "agent_exists", "it exists"
        assert arguments["agents_md"].strip()
        self.agent = True
        return {}

    def declare_contract(self, arguments: Mapping[str, Any]) -> Any:
        if not self.agent or self.contract:
            return "contract_declared", "not now"
        for case in arguments["cases"]:
            assert sum(point["points"] for point in case["points"]) == 100
        self.contract = dict(arguments)
        return {}

    def submit_revision(self, arguments: Mapping[str, Any]) -> Any:
        disk = self.disk()
        if not self.contract or set(disk) != set(self.cases):
            return "missing_case", "write all Cases"
        changed = [c for c in self.cases if self.hashes.get(c) != disk[c]]
        if not changed:
            return "nothing_changed", "edit first"
        repair = self.rejection is not None
        if self.pilot and not repair:
            if self.pilot >= self.pilot_limit:
                return "pilot_limit", "no pilot left"
            if not arguments.get("diagnosis") or not arguments.get("adjustment"):
                return "no_diagnosis", "say why"
        given = {p["case_id"]: p for p in arguments["predictions"]}
        if missing := [c for c in changed if c in self.measured and c not in given]:
            return "prediction_missing", str(missing)
        assert all(p["score_if_observed"] != p["score_if_desired"] for p in given.values())
        self.hashes, self.rejection = disk, None
        self.pilot += 0 if repair else 1
        if repair:
            self.pilots = [p for p in self.pilots if p["i"] != self.pilot]
        self.predicted = {c: disk[c] for c in given}
        return {
            "changed": changed,
            "totals": dict.fromkeys(changed, 100),
            "findings": [
                {"finding": f"leak-{c}", "case_id": c, "kind": "leak", "text": "id,name,day"} for c in changed
            ],
        }

    def record_review(self, arguments: Mapping[str, Any]) -> Any:
        if not self.hashes or self.disk() != self.hashes:
            return "changed_since_submission", "submit first"
        freeze = arguments["scope"] == "freeze"
        given = {entry["case_id"]: entry for entry in arguments["cases"]}
        if missing := set(self.cases if freeze else self.unreviewed()) - set(given):
            return "review_incomplete", f"missing {missing}"
        for case, entry in given.items():
            assert entry["leak"] == "none", entry
            assert entry["statement_coherent"] == entry["rubric_consistent"] == entry["items_apply"] == "ok", entry
            (self.freeze_reviewed if freeze else self.reviewed)[case] = self.hashes[case]
        return {}

    def dispatch(self, arguments: Mapping[str, Any]) -> Any:
        if not self.hashes or self.disk() != self.hashes:
            return "changed_since_submission", "submit first"
        if self.unreviewed():
            return "not_reviewed", "review first"
        if not self.pending():
            return "already_run", "it ran"
        failed = [c for c in self.pending() if c in self.fail_once]
        self.fail_once -= set(failed)
        for case in self.pending():
            if case not in failed:
                self.results[case] = (self.hashes[case], self.score(case, self.level(case)))
        if failed:
            return {"failed": [{"case_id": c, "failure_code": "evaluation_failed"} for c in failed]}
        score = sum(self.results[c][1] for c in self.measured) / len(self.measured)
        self.pilots.append({"i": self.pilot, "score": score, "predicted": 50, "observed": score, "valid": True})
        self.copies[self.pilot] = {c: self.level(c) for c in self.cases}
        return {"pilot": self.pilot, "score": score}

    def restore_lowest(self, _: Mapping[str, Any]) -> Any:
        lowest = self.lowest()
        if lowest is None or lowest is self.pilots[-1]:
            return "already_lowest", "it stands"
        for case, level in self.copies[lowest["i"]].items():
            source = self.library / "material" / case / ("draft" if level == 0 else f"sharpenings/{level}")
            for part in ("statement", "rubric"):
                target = self.benchmark / case / part
                for path in target.iterdir():
                    path.unlink()
                for path in (source / part).iterdir():
                    (target / path.name).write_bytes(path.read_bytes())
        self.hashes = self.disk()
        self.results = {c: (self.hashes[c], self.score(c, self.level(c))) for c in self.measured}
        self.restored = lowest["i"]
        return {}

    def request_freeze(self, _: Mapping[str, Any]) -> Any:
        if self.rejection:
            return "rejected", self.rejection
        if not self.pilots or self.pending():
            return "no_pilot", "pilot first"
        lowest = self.lowest()
        here = sum(self.results[c][1] for c in self.measured) / len(self.measured)
        if lowest is None or here > lowest["score"]:
            return "not_lowest", "restore"
        if any(self.freeze_reviewed.get(c) != self.hashes[c] for c in self.cases):
            return "freeze_not_reviewed", "review all"
        if self.reject:
            self.rejection = self.reject.pop(0)
            return "rejected", self.rejection
        self.frozen = True
        return {"approval_id": "a"}

    def record_baseline(self, arguments: Mapping[str, Any]) -> Any:
        if not self.frozen:
            return "not_frozen", "freeze first"
        self.baseline = {"title": arguments["summary_title"], "summary": arguments["summary"]}
        return {}

    def stop_run(self, arguments: Mapping[str, Any]) -> Any:
        self.stopped = arguments["reason"]
        return {}
