"""The case library as the rehearsal Builder reads it, and the commands by which it copies from it.

`material/contract.yaml` says what the library's Cases measure together, `material/<CASE>/case.yaml` what one Case is
for, `draft/` is its first form and `sharpenings/<n>/` the harder ones, in order. All of it is read by the Builder's own
tools; nothing of it is known here.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.models.rehearsal.transcript import Transcript
from core.state.yaml12 import YamlError, load

_LISTED = re.compile(r"^material (\S+) sharpenings (\d+)$", re.MULTILINE)
_PLACED = re.compile(r"^placed (\S+) (\d+)$", re.MULTILINE)
_EXAMINED = re.compile(r"^examined (\S+) title=(\d+) items=(\d+) total=([0-9.]*) empty=(\d+)$", re.MULTILINE)
_PREDICTED = (
    "observed_strategy",
    "desired_behaviour",
    "separates_on",
    "score_if_observed",
    "score_if_desired",
    "affected_points",
)
_DESIGNED = ("required_behaviour", "plausible_shortcut", "difficulty", "separating_result", "rationale", "points")


@dataclass(frozen=True, slots=True)
class Material:
    """The library of one benchmark: its folder and how many sharpenings each Case has."""

    root: str
    sharpenings: Mapping[str, int]

    @property
    def contract(self) -> str:
        return f"{self.root}/contract.yaml"

    def case(self, case_id: str) -> str:
        """Return the path of what a Case is for."""
        return f"{self.root}/{case_id}/case.yaml"

    def sharpening(self, case_id: str, level: int) -> str:
        """Return the path of what a sharpening changes and why."""
        return f"{self.root}/{case_id}/sharpenings/{level}/sharpening.yaml"


@dataclass(frozen=True, slots=True)
class Examined:
    """What the Builder counted in a Case as it lies on disk."""

    titles: int
    items: int
    total: float
    empty: int


def folder(state: Mapping[str, Any]) -> str:
    """Return the library's material folder as the engine's state names it, or an empty text."""
    paths = state.get("paths")
    library = paths.get("library") if isinstance(paths, dict) else None
    return f"{library}/material" if isinstance(library, str) and library else ""


def list_command(root: str) -> str:
    """Return the command that lists the library: one line a Case, with its number of sharpenings."""
    return (
        f"cd {shlex.quote(root)} && for d in CASE-*/; do c=${{d%/}}; "
        'n=$(find "$c/sharpenings" -mindepth 1 -maxdepth 1 -type d 2>/dev/null | wc -l); '
        'echo "material $c sharpenings $((n))"; done'
    )


def listed(talk: Transcript, root: str) -> Material | None:
    """Return the library as an earlier `list_command` showed it."""
    command = list_command(root)
    for step in talk.of_tool("exec_command"):
        if step.argument("cmd") == command and (found := _LISTED.findall(step.output or "")):
            return Material(root, {case: int(count) for case, count in found})
    return None


def place_command(material: Material, benchmark: str, levels: Mapping[str, int]) -> str:
    """Return the command that puts each Case on its level into the benchmark: 0 is the draft.

    A level's `statement/` and `rubric/` each replace what was there, whole.
    """
    lines = ["place() {", '  for part in statement rubric; do if [ -d "$2/$part" ]; then']
    lines += [
        '    mkdir -p "$3/$part" && find "$3/$part" -mindepth 1 -delete && cp -R "$2/$part/." "$3/$part/" || return 1',
        # An installed library holds byte code beside its checks; a benchmark is made of what was written.
        '    find "$3/$part" -name __pycache__ -prune -exec rm -r {} +',
        "  fi; done",
        '  echo "placed $1 $4"',
        "}",
    ]
    for case_id, level in levels.items():
        source = f"{material.root}/{case_id}/" + ("draft" if level == 0 else f"sharpenings/{level}")
        words = (case_id, source, f"{benchmark}/{case_id}", str(level))
        lines.append("place " + " ".join(shlex.quote(word) for word in words))
    return "\n".join(lines)


def placed(output: str) -> dict[str, int]:
    """Return which Cases a `place_command` put on which level."""
    return {case: int(level) for case, level in _PLACED.findall(output)}


def examine_command(benchmark: str, cases: Sequence[str]) -> str:
    """Return the command that counts, for each Case, what a review can count without an opinion."""
    return (
        f"cd {shlex.quote(benchmark)} && for c in {' '.join(shlex.quote(case) for case in cases)}; do "
        "t=$(grep -c '^# .' \"$c/statement/README.md\"); "
        'r="$c/rubric/README.md"; '
        "i=$(grep -cE '^- +[0-9.]+ *(pts?|points?)? *:' \"$r\"); "
        "s=$(sed -nE 's/^- +([0-9.]+) *(pts?|points?)? *:.*/\\1/p' \"$r\" | awk '{s += $1} END {print s + 0}'); "
        'e=$(find "$c" -type f -empty | wc -l); '
        'echo "examined $c title=$t items=$i total=$s empty=$((e))"; done'
    )


def examined(output: str) -> dict[str, Examined]:
    """Return what an `examine_command` counted."""
    return {
        case: Examined(int(titles), int(items), float(total or 0), int(empty))
        for case, titles, items, total, empty in _EXAMINED.findall(output)
    }


def document(talk: Transcript, path: str) -> Mapping[str, Any]:
    """Return a YAML file that was read, empty where it is not there or no mapping."""
    try:
        value = load(talk.file(path) or "")
    except YamlError:
        return {}
    return value if isinstance(value, dict) else {}


def design(case_id: str, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Case of the contract from its case.yaml."""
    chosen = {key: plan[key] for key in _DESIGNED if key in plan}
    return {"case_id": case_id, **chosen}


def prediction(case_id: str, source: Mapping[str, Any]) -> dict[str, Any]:
    """Return the prediction that a case.yaml or a sharpening.yaml makes."""
    made = source.get("prediction")
    made = made if isinstance(made, dict) else {}
    return {"case_id": case_id, **{key: made[key] for key in _PREDICTED if key in made}}


def shared_material(case_id: str, source: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a case.yaml or a sharpening.yaml declares to stand on both sides."""
    entries = source.get("shared_material")
    return [
        {"case_id": case_id, "text": entry["text"], "reason": entry.get("reason", "both sides must name it")}
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict) and isinstance(entry.get("text"), str)
    ]
