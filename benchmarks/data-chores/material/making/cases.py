"""The Cases: what each is to tell apart, and what the pilots were expected to show."""
import json
from dataclasses import dataclass, field
from typing import Callable

from . import registers


def quoted(text):
    """A YAML double-quoted scalar is what JSON writes."""
    return json.dumps(text, ensure_ascii=False)


@dataclass
class Prediction:
    observed_strategy: str
    desired_behaviour: str
    separates_on: str
    score_if_observed: int
    score_if_desired: int
    affected_points: int


@dataclass
class Sharpening:
    kind: str
    pilot: int
    note: str
    diagnosis: str
    adjustment: str
    prediction: Prediction


@dataclass
class Case:
    id: str
    title: str
    required_behaviour: str
    plausible_shortcut: str
    difficulty: str
    separating_result: str
    rationale: str
    prediction: Prediction
    revisions: Callable
    sharpenings: list = field(default_factory=list)


def prediction_lines(prediction, indent):
    pad = " " * indent
    return [
        f"{pad}observed_strategy: {quoted(prediction.observed_strategy)}",
        f"{pad}desired_behaviour: {quoted(prediction.desired_behaviour)}",
        f"{pad}separates_on: {quoted(prediction.separates_on)}",
        f"{pad}score_if_observed: {prediction.score_if_observed}",
        f"{pad}score_if_desired: {prediction.score_if_desired}",
        f"{pad}affected_points: {prediction.affected_points}",
    ]


def case_yaml(case, last):
    lines = [f"title: {quoted(case.title)}"]
    for name in ("required_behaviour", "plausible_shortcut", "difficulty", "separating_result", "rationale"):
        lines.append(f"{name}: {quoted(getattr(case, name))}")
    lines.append("points:")
    for item in last.items:
        lines += [f"  - item: {quoted(item.text)}", f"    points: {item.points}"]
    lines += ["prediction:", *prediction_lines(case.prediction, 2), "shared_material: []"]
    return "\n".join(lines) + "\n"


def sharpening_yaml(case, number):
    sharpening = case.sharpenings[number - 1]
    lines = [
        f"kind: {sharpening.kind}",
        f"pilot: {sharpening.pilot}",
        f"note: {quoted(sharpening.note)}",
        f"diagnosis: {quoted(sharpening.diagnosis)}",
        f"adjustment: {quoted(sharpening.adjustment)}",
        "prediction:",
        *prediction_lines(sharpening.prediction, 2),
        "shared_material: []",
    ]
    return "\n".join(lines) + "\n"


REGISTER_FIRST = Prediction("takes the first row of each key as it is spelled", "brings spellings of a key together and takes what was typed last",
                            "subjects entered again and habits of writing", 70, 98, 30)
CASES = [
    Case("CASE-001-member-register", "Membership register",
         "Bring every entry of one member together whatever its spelling, take the newest, apply what came in separately, set aside what stays open.",
         "Take the first row of each number exactly as spelled and read slashed days month first.",
         "Keys that differ by case, spaces and width; later entries; corrections in another file; open entries.",
         "The shortcut keeps several rows for one member and guesses at open entries; the right way keeps one and lists the open ones.",
         "A clerk's care with identity, order of time and open questions shows in single rows.",
         REGISTER_FIRST, registers.members,
         [Sharpening("size", 2, "More rows, more columns, a paper that has nothing to do with it.",
                     "The hurried reading already earns most points.", "Half as many rows again and three columns that are not asked for.",
                     Prediction("takes the first row of each key as it is spelled", "brings spellings together and takes what was typed last",
                                "the larger number of rows", 50, 96, 40)),
          Sharpening("separating", 3, "Keys spelled apart, corrections in a file of their own, entries that stay open.",
                     "More rows did not matter: one script reads five hundred rows as it reads three hundred.",
                     "Most points now stand on members spelled in several ways, on corrections and on open entries under a fixed standard.",
                     Prediction("takes the first row of each key as it is spelled", "brings spellings together, applies corrections, sets open entries aside",
                                "members entered again, corrected or open", 38, 94, 62))]),
    Case("CASE-007-tool-inventory", "Tool inventory",
         "One row for each tool, from the newest entry, corrections applied, open entries set aside.",
         "Take the first row of each tag exactly as spelled.",
         "As the register, in another trade with other columns.",
         "The shortcut keeps several rows for one tool; the right way keeps one.",
         "Shows whether what was learned on a register carries over to another.",
         Prediction("takes the first row of each tag as it is spelled", "brings spellings together, applies corrections, sets open entries aside",
                    "tools entered again, corrected or open", 38, 94, 62),
         registers.tools),
]
CONTRACT = ""
CONFIG = """\
title = "Data chores"
description = "Clerical work on real files: registers, logs, settings, reports, archives and letters"
runs = 1
held_out = ["CASE-007-tool-inventory", "CASE-008-field-notes"]
"""
