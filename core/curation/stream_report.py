"""A stream run's report: `summary.json` for programs, `report.md` for people (K6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from core.curation.policy_settings import retrieval_of
from core.curation.stream_files import StreamPaths, read_journal
from core.curation.stream_spec import StreamSpec, spec_json
from core.curation.stream_summary import Against, ArmSummary, Summary, summarise
from core.foundation import strict_json
from core.foundation.visible import visible_line
from core.state import atomic
from core.statistics.intervals import Interval

COLUMNS = ("arm", "success", "macro", "score", "steps", "tokens", "skills", "masked")
"""Each arm on its own: success micro with its spread over streams, in percent; the score where the world grades."""
AGAINST = ("arm", "difference", "gained", "lost", "over streams", "bootstrap", "p", "detectable", "gap")
"""Each arm against none, in percentage points."""

_LEGEND = (
    "Success is micro, in percent, ± the standard deviation over streams; steps count failures at the cap.",
    "Masked attempts were lost to infrastructure and count nowhere. Differences are in percentage points.",
    "*Over streams* is Student's interval of the streams' own differences, *bootstrap* resamples whole streams",
    "(both 95 %; with fewer than ten streams the second is too narrow). p is McNemar's, exact, after Holm; it",
    "takes tasks as independent, which tasks of one stream aren't. *Detectable* is the difference that this many",
    "streams would find in 80 % of cases, *gap* the share of the way from none to the oracle, in percent.",
)


def write_report(paths: StreamPaths, spec: StreamSpec) -> Summary:
    """Write both files of a run from its journal and return the summary."""
    summary = summary_of(paths, spec)
    atomic.write_text(paths.summary, strict_json.dumps(summary_json(summary, spec), indent=1) + "\n")
    atomic.write_text(paths.report, report_text(paths.id, summary, spec))
    return summary


def summary_of(paths: StreamPaths, spec: StreamSpec) -> Summary:
    """Return what a run amounts to so far."""
    journal = read_journal(paths)
    state, reason = journal.ended or ("under way", "")
    return summarise(journal, state, reason, order=spec.arms)


def summary_json(summary: Summary, spec: StreamSpec) -> dict[str, Any]:
    """Return the summary as JSON. Shares are 0 to 1; what is unknown is null."""
    document: dict[str, Any] = {
        "state": summary.state,
        "reason": summary.reason,
        "facts": None if summary.facts is None else asdict(summary.facts),
        "spec": spec_json(spec),
        "sound": summary.sound,
        "spent": asdict(summary.spent),
        "damaged": summary.damaged,
        "arms": {arm.name: _arm_json(arm) for arm in summary.arms},
    }
    plain: dict[str, Any] = strict_json.parse(strict_json.dumps(document))  # tuples and odd keys as a reader has them
    return plain


def _arm_json(arm: ArmSummary) -> dict[str, Any]:
    document = asdict(arm)
    document["by_seed"] = None if arm.by_seed is None else {str(seed): share for seed, share in arm.by_seed.items()}
    for name, against in (("against", arm.against), ("against_base", arm.against_base)):
        if against is not None:
            document[name] |= {
                "difference": against.difference,
                "p_value": against.paired.p_value,
                "separates": against.separates,
            }
    return document


def table(summary: Summary) -> list[tuple[str, ...]]:
    """Return the rows of COLUMNS, an arm that was measured each."""
    return [
        (
            arm.name,
            percent(arm.success_micro)
            + (f" ± {100 * arm.spread.std:.1f}" if arm.spread is not None and arm.spread.std is not None else ""),
            percent(arm.success_macro),
            percent(arm.score),
            _number(arm.steps),
            _whole(arm.tokens),
            _number(arm.skills),
            str(arm.masked),
        )
        for arm in summary.arms
        if arm.attempts or arm.masked
    ]


def table_against(summary: Summary) -> list[tuple[str, ...]]:
    """Return the rows of AGAINST, an arm that was measured beside none each."""
    return [(*_against_cells(arm, arm.against), percent(arm.gap_closed)) for arm in summary.arms if arm.against]


def table_against_base(summary: Summary) -> list[tuple[str, ...]]:
    """Return the rows of AGAINST but for the gap: the trained arm beside the base, where both were measured."""
    return [_against_cells(arm, arm.against_base) for arm in summary.arms if arm.against_base]


def _against_cells(arm: ArmSummary, against: Against) -> tuple[str, ...]:
    return (
        arm.name,
        points(against.difference),
        str(against.paired.gained),
        str(against.paired.lost),
        interval_text(against.over_streams),
        interval_text(against.bootstrap),
        p_text(against.p_holm),
        points(against.detectable, sign=False),
    )


def not_run(summary: Summary) -> list[tuple[str, str]]:
    """Return the arms that were not measured, with their reasons."""
    return [
        (arm.name, f"{arm.state}: {arm.reason}" if arm.reason else arm.state)
        for arm in summary.arms
        if not arm.attempts and not arm.masked
    ]


def verdicts(summary: Summary) -> list[str]:
    """Return in sentences what the numbers bear, and what they don't."""
    said = [_verdict(arm, arm.against, "none") for arm in summary.arms if arm.against is not None and arm.attempts]
    said += [_verdict(arm, arm.against_base, "base") for arm in summary.arms if arm.against_base and arm.attempts]
    if summary.sound is True:
        said.append("What must lose to the oracle does: it is the skills that help.")
    if summary.sound is False:
        said.append(
            "An arm that must lose to the oracle (verbatim, shuffled) does not: these numbers show no use of skills."
        )
    return said


def _verdict(arm: ArmSummary, against: Against, other: str) -> str:
    separates = against.separates
    head = f"{arm.name}: {points(against.difference)} points against {other}"
    if against.score_difference is not None:
        within = f" ({interval_text(against.score_over_streams)})" if against.score_over_streams is not None else ""
        head += f", {points(against.score_difference)} points of score{within}"
    if separates is None:
        return f"{head}; nothing was measured on the same tasks."
    if separates:
        alone = "; one stream alone tells no spread" if against.over_streams is None else ""
        return f"{head}, which separates from it{alone}."
    if against.detectable is None:
        return f"{head}, which doesn't separate; so few streams would miss most differences."
    least = points(against.detectable, sign=False)
    return f"{head}, which doesn't separate; a difference below {least} would not be seen."


def report_text(run_id: str, summary: Summary, spec: StreamSpec) -> str:
    """Return the report as Markdown."""
    facts = summary.facts
    lines = [f"# Stream run {run_id}", ""]
    lines += [f"State: {summary.state}{f': {summary.reason}' if summary.reason else '.'}", ""]
    if facts is not None:
        seeds = ", ".join(map(str, facts.seeds))
        one = len(facts.seeds) == 1
        streams = f"one stream (seed {seeds})" if one else f"{len(facts.seeds)} streams (seeds {seeds})"
        lengths = ", ".join(map(str, sorted(set(facts.lengths))))
        lines += [
            f"World {facts.world} (fingerprint {facts.fingerprint[:12]}), executor {facts.executor}, {spec.order};",
            f"{streams} of {lengths} tasks, split {spec.split}, at most {facts.max_steps} steps.",
            f"The curator sees the opinion of: {facts.judge}. Contents are judged by: {facts.content_judge}.",
            f"Top {spec.top_k} skills, min_overlap {spec.min_overlap:g}.",
            *_training_lines(spec),
            "",
        ]
    measured = [arm for arm in summary.arms if arm.attempts]
    if measured:
        lines += markdown(COLUMNS, table(summary))
        against = table_against(summary)
        if against:
            lines += ["", "## Against none, on the same tasks", "", *markdown(AGAINST, against)]
        if trained := table_against_base(summary):
            lines += ["", "## Trained against base, on the same tasks", "", *markdown(AGAINST[:-1], trained)]
        lines += ["", *_LEGEND, ""]
    lines += [f"- {sentence}" for sentence in verdicts(summary)]
    missing = not_run(summary)
    if missing:
        lines += [*([""] if measured else []), "## Not measured", ""]
        lines += [f"- {name}: {reason}" for name, reason in missing]
    if measured:
        lines += ["", "## By family", "", *_families(measured)]
        lines += ["", "## Curation", "", *_curation(measured)]
    spent = summary.spent
    if spent.tokens or spent.unknown:
        unknown = f", and {spent.unknown:,} requests of unknown cost" if spent.unknown else ""
        lines += ["", f"The run's models have spent {spent.tokens:,} tokens, {spent.usd:.4f} USD{unknown}."]
    if summary.damaged:
        lines += ["", f"{summary.damaged} lines of the journal could not be read."]
    return "\n".join(visible_line(line) for line in lines) + "\n"


def _training_lines(spec: StreamSpec) -> list[str]:
    """Return how the curator was trained, and why its run's own figures are others."""
    trained = retrieval_of(Path(spec.curator)) if spec.curator else None
    if trained is None:
        return []
    if trained == spec.retrieval:
        said = "The curator was trained with the same."
    else:
        said = (
            f"The curator was trained with top {trained.top_k} and min_overlap {trained.min_overlap:g}: expect other "
            "figures than its run's."
        )
    return [said, "Its run was measured on other streams; from stream to stream every arm moves by several points."]


def _families(arms: Sequence[ArmSummary]) -> list[str]:
    families = sorted({family for arm in arms for family in arm.by_family or {}})
    rows = [(arm.name, *(percent((arm.by_family or {}).get(family)) for family in families)) for arm in arms]
    return markdown(("arm", *families), rows)


def _curation(arms: Sequence[ArmSummary]) -> list[str]:
    headings = (
        "arm",
        "ops i/u/d/other",
        "valid",
        "content ok",
        "unmeasured",
        "coverage",
        "skills a task",
        "with skill",
        "meta",
    )
    rows = [
        (
            arm.name,
            "/".join(str(count) for count in (arm.operations or {}).values()),
            percent(arm.valid_operations),
            percent(arm.contents_valid),
            str(arm.contents_unmeasured + arm.unlearned),
            percent(arm.coverage),
            _number(arm.skills_per_example),
            percent(arm.examples_with_skill),
            percent(arm.meta_share),
        )
        for arm in arms
    ]
    return markdown(headings, rows)


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a Markdown table; what would break a cell is shown."""
    clean = [[cell.replace("|", "\\|") for cell in row] for row in (headings, *rows)]
    widths = [max(len(row[column]) for row in clean) for column in range(len(headings))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in clean
    ]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def points(share: float | None, *, sign: bool = True) -> str:
    return "-" if share is None else f"{100 * share:+.1f}" if sign else f"{100 * share:.1f}"


def p_text(p: float | None) -> str:
    return "-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def interval_text(interval: Interval | None) -> str:
    return "-" if interval is None else f"{100 * interval.low:+.1f} to {100 * interval.high:+.1f}"


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
