"""The Cases: what each is to tell apart, and what the pilots were expected to show."""
import json
from dataclasses import dataclass, field
from typing import Callable

from . import letters, logs, registers, reports, scans, settings


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


HURRIED = {
    "register": "takes the first row of each key as it is spelled and reads slashed days month first",
    "log": "counts the lines that say ERROR, by the code as it stands, and copies times as they stand",
    "settings": "translates each line of the one old file whose key stands literally in the mapping",
    "report": "adds up every record under the name as it stands",
    "scans": "copies folder by folder under a name made from the old one, and lists what it copied",
    "letters": "takes the first value behind each caption",
}
CAREFUL = {
    "register": "brings spellings of a key together, takes what was typed last, applies corrections, lists open entries",
    "log": "understands spellings, levels, zones and summed lines, and orders by time",
    "settings": "understands loose spellings and units, lets the station's values win, lists entries without a place",
    "report": "counts each delivery once in its newest state, under one name for a site, and lists what cannot be booked",
    "scans": "archives one content once, keeps papers of one name apart, looks inside for the day, lists undated papers",
    "letters": "leaves citations out, recognises captions, lets corrections win, lists open entries",
}


def expect(kind, on, observed, desired, points):
    return Prediction(HURRIED[kind], CAREFUL[kind], on, observed, desired, points)


CASES = [
    Case("CASE-001-member-register", "Membership register",
         "Bring every entry of one member together whatever its spelling, take the newest, apply what came in separately, set aside what stays open.",
         "Take the first row of each number exactly as spelled and read slashed days month first.",
         "Keys that differ by case, spaces and width; later entries; corrections in another file; open entries.",
         "The shortcut keeps several rows for one member and guesses at open entries; the right way keeps one and lists the open ones.",
         "A clerk's care with identity, order of time and open questions shows in single rows.",
         expect("register", "members entered again and habits of writing", 68, 98, 30), registers.members,
         [Sharpening("size", 2, "More rows, more columns, a paper that has nothing to do with it.",
                     "The hurried reading already earns most points.",
                     "Half as many rows again, three columns that are not asked for, a rota beside the notes.",
                     expect("register", "the larger number of rows", 40, 80, 40)),
          Sharpening("separating", 3, "Keys spelled apart, corrections in a file of their own, entries that stay open.",
                     "More rows did not matter: one script reads five hundred rows as it reads three hundred.",
                     "Most points now stand on members spelled in several ways, on corrections and on open entries under a fixed standard.",
                     expect("register", "members entered again, corrected or open", 36, 94, 62))]),
    Case("CASE-002-gateway-log", "Failures of a gateway",
         "Count failures by code whatever the spelling of code and level, with summed lines, and give times in UTC.",
         "Search for ERROR, count lines by the code as it stands, copy the first and last time.",
         "Spellings, zones, other names for levels, lines that sum others up, lines out of order.",
         "The shortcut splits codes, misses failures and shifts times; the right way counts each failure once.",
         "Reading a log for what happened, and not for how it was written, is the capability.",
         expect("log", "codes of the old nodes and codes spelled apart", 70, 98, 26), logs.gateway,
         [Sharpening("size", 2, "A longer log with more noise.",
                     "The hurried search already earns most points.",
                     "Twice the lines without a failure, a further kind of them, more codes.",
                     expect("log", "the larger number of lines", 42, 80, 38)),
          Sharpening("separating", 4, "Summed lines, other names for levels, zones of their own, lines out of turn.",
                     "Noise was filtered by the first search; what was never tested is a failure that does not look like one.",
                     "Codes whose failures were summed up by the logger or named otherwise now carry points, and more codes are spelled apart.",
                     expect("log", "codes that were summed up, spelled apart or out of order", 36, 94, 60))]),
    Case("CASE-003-controller-settings", "Settings of a pump controller",
         "Move every setting to its new place with a value of its type, the station's own value first, and list what has no place.",
         "Translate each line whose key stands literally in the mapping; lose the others.",
         "Loose spelling of keys and values, units, files that override others, entries nobody assigned.",
         "The shortcut loses settings without a word and keeps values that are no longer in force.",
         "A migration is judged by the settings in force afterwards and by what it admits not to know.",
         expect("settings", "times and loosely spelled entries", 70, 98, 30), settings.controller,
         [Sharpening("separating", 3, "Files of the station that override, entries without a place, looser spelling.",
                     "Plain entries carry most points, and a literal translation gets them all.",
                     "A region's and a station's file now override the old one, and entries that have no place must be admitted.",
                     expect("settings", "entries overridden, without a place or spelled loosely", 38, 94, 62))]),
    Case("CASE-004-delivery-report", "Deliveries by site",
         "Count each delivery once in its newest state, under one name for each site, with late records; list what cannot be booked.",
         "Add up every record under the site's name as it stands.",
         "Revisions, late records, spellings of a site, printed numbers, records that cannot be booked.",
         "The shortcut counts deliveries twice and splits sites.",
         "Figures are only as good as the identity and state of what they count.",
         expect("report", "sites with old scales and with several spellings", 68, 98, 28), reports.deliveries,
         [Sharpening("separating", 3, "Revisions, late records, records that cannot be booked.",
                     "Only a few sites were spelled apart; adding up every record gave most sites rightly.",
                     "Records are revised in place and after closing, some cannot be booked, more sites are spelled apart.",
                     expect("report", "sites with later states, open entries or several spellings", 34, 94, 62))]),
    Case("CASE-005-scan-archive", "Archive of scanned papers",
         "Archive each content once under its true day, lose nothing of one name, list what has no day.",
         "Copy folder by folder under a name made from the old one; let a later file overwrite an earlier one.",
         "One content scanned twice, two papers of one name, days inside the paper, no day at all.",
         "The shortcut overwrites papers and files others under no day.",
         "An archive is judged by whether each paper can be found again, once.",
         expect("scans", "papers of the night shift and papers of one path", 72, 98, 28), scans.scans,
         [Sharpening("size", 2, "More papers in the same folders.",
                     "A name made from the old name already earns most points.",
                     "Half as many papers again in every folder.",
                     expect("scans", "the larger number of papers", 44, 80, 36)),
          Sharpening("separating", 4, "Papers scanned twice, days only inside, papers without a day, more folders.",
                     "More papers only meant more of the same; names alone still said where each belongs.",
                     "Days now often stand inside the paper or nowhere, contents repeat, and the inbox has more folders.",
                     expect("scans", "papers scanned twice, of one name, or with the day inside", 20, 94, 76))]),
    Case("CASE-006-claim-letters", "Claims in letters",
         "Take each value from the writer's own words, as last corrected, and list letters that leave one open.",
         "Take the first value behind each caption.",
         "Citations, odd captions, corrections within and in later letters, values that are absent or contradict.",
         "The shortcut takes cited and outdated values and leaves gaps.",
         "Reading a letter means knowing whose word counts.",
         expect("letters", "letters in other habits and letters that cite", 68, 98, 28), letters.claims,
         [Sharpening("separating", 3, "Corrections, odd captions, open letters, more citations.",
                     "A caption was followed by the right value nearly everywhere.",
                     "Writers now correct themselves, write captions as they like and leave values open.",
                     expect("letters", "entries cited, corrected, oddly captioned or open", 34, 94, 62))]),
    Case("CASE-007-tool-inventory", "Tool inventory",
         "One row for each tool, from the newest entry, corrections applied, open entries set aside.",
         "Take the first row of each tag exactly as spelled.",
         "As the register, in another trade with other columns.",
         "The shortcut keeps several rows for one tool; the right way keeps one.",
         "Shows whether what was learned on a register carries over to another.",
         expect("register", "tools entered again, corrected or open", 34, 94, 62), registers.tools),
    Case("CASE-008-field-notes", "Samples in a field notebook",
         "One row for each sample, from the notebook's own words as last corrected, open entries set aside.",
         "Take the first value behind each caption.",
         "As the letters, in another trade with other captions.",
         "The shortcut takes cited and outdated values; the right way does not.",
         "Shows whether what was learned on letters carries over to other notes.",
         expect("letters", "entries cited, corrected, oddly captioned or open", 34, 94, 62), letters.samples),
]
CONTRACT = """\
title: "Data chores"
description: "Clerical work on real files: registers, logs, settings, reports, archives and letters"
capability: "Does clerical work on files so that every entry can be trusted: identity, newest state, conventions and open questions are settled or admitted"
evidence:
  - "The tables, JSON files, archives and manifests that the work leaves in its workspace"
  - "The commands of its trace"
observables:
  - "One row for each subject whatever its spelling"
  - "The state that is in force, with what arrived separately"
  - "Values read by the conventions of those who wrote them"
  - "Open entries set aside with a reason"
shortcuts:
  - "Taking the first or the literal reading"
  - "Dropping or guessing what does not fit"
  - "Reading only the file that the task names"
state_levers:
  - "A habit in AGENTS.md of reading the papers that lie beside the input"
  - "Skills with a procedure for one kind of work"
  - "A limit of turns that lets a procedure end"
held_out:
  - CASE-007-tool-inventory
  - CASE-008-field-notes
"""
CONFIG = """\
title = "Data chores"
description = "Clerical work on real files: registers, logs, settings, reports, archives and letters"
runs = 1
held_out = ["CASE-007-tool-inventory", "CASE-008-field-notes"]
"""
