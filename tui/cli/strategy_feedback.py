"""`exuvia strategy cases|clusters|nightly|ab`: what went wrong, what it has in common, what is done about it."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from core.foundation.errors import NotFoundError
from core.state.paths import ProjectPaths
from core.strategy.bank.bank import bank_of
from tui.cli.common import Place, here, json_option, note, place_options, print_json, print_table, say
from tui.cli.strategy_lines import milliseconds, percent, standing_facts

if TYPE_CHECKING:
    from core.strategy.feedback.ab_counts import Metrics
    from core.strategy.feedback.ab_report import AbReport
    from core.strategy.feedback.bad_cases import BadCase, Queued
    from core.strategy.feedback.clusters import Cluster
    from core.strategy.feedback.night import Night
    from core.strategy.feedback.suggestions import Suggestion

_SHOWN = 70


@click.command(
    epilog="Examples:  exuvia strategy cases --code TIMEOUT   |   exuvia strategy cases case-12ab34cd56ef7890"
)
@click.argument("case_id", metavar="[CASE]", required=False)
@click.option("--strategy", "strategy_id", metavar="ID", help="Of one strategy.")
@click.option("--skill", metavar="NAME", help="In which this skill failed.")
@click.option("--code", metavar="CODE", help="With this failure code.")
@click.option("--most", default=50, show_default=True, type=click.IntRange(min=1), help="At most so many, the newest.")
@json_option
@place_options
def cases(
    case_id: str | None,
    strategy_id: str | None,
    skill: str | None,
    code: str | None,
    most: int,
    as_json: bool,
    place: Place,
) -> None:
    """List bad cases: failed checks, fallbacks and time-outs of real traffic, anonymised; or show one."""
    queued = _queue(place.project)
    if case_id is not None:
        _show(_one(queued, case_id), as_json)
        return
    found = [
        case
        for case in queued.cases
        if (strategy_id is None or case.strategy_id == strategy_id)
        and (skill is None or case.skill == skill)
        and (code is None or case.code == code)
    ][-most:]
    if as_json:
        print_json({"cases": [case.to_json() for case in found], "damaged": len(queued.gaps)})
        return
    if not found:
        say(f"No bad case{' like that' if strategy_id or skill or code else ''} is kept.")
        say(here("They come from runs and chats for a user: exuvia chat AGENT --user ID"))
        return
    print_table(
        ("case", "time", "strategy", "skill", "code", "why", "said"),
        [
            (
                case.id,
                case.time[:19],
                case.strategy_id,
                case.skill or None,
                case.code or None,
                ", ".join(case.reasons),
                _short(case.utterance),
            )
            for case in found
        ],
    )
    _damaged(queued)


def _queue(project: ProjectPaths) -> Queued:
    from core.strategy.bank.changes import FEEDBACK
    from core.strategy.feedback.bad_cases import Queue

    return Queue(bank_of(project).records / FEEDBACK).read()


def _one(queued: Queued, case_id: str) -> BadCase:
    found = next((case for case in queued.cases if case.id == case_id), None)
    if found is None:
        raise NotFoundError(f"There is no bad case {case_id!r}.", hint="List them: exuvia strategy cases")
    return found


def _show(case: BadCase, as_json: bool) -> None:
    if as_json:
        print_json(case.to_json())
        return
    by = f"{case.strategy_id} version {case.version}" if case.strategy_id else "no strategy"
    say(f"{case.id}, {case.time}, {by}: {', '.join(case.reasons)}")
    say(f"Failed: {case.skill or 'a step'} with {case.code or 'no code'}{f' ({case.check})' if case.check else ''}")
    say(f"Said: {case.utterance}")
    for key, value in case.suggestion.items():
        say(f"The model suggested {key}: {value}")
    for step in case.calls:
        say(f"  {step}")
    for level, result in case.validation.items():
        if result is not None:
            failed = ", ".join(result["failed"]) or "nothing failed"
            say(f"{level}: {result['passed']} passed, {failed}, {result['unknown']} unknown, {result['ms']:.0f} ms")
    for key, value in case.segment.items():
        say(f"{key}: {value}")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _damaged(queued: Queued) -> None:
    if queued.gaps:
        say(f"Not read: {len(queued.gaps)} places of the queue, the first: {queued.gaps[0].reason}")


@click.command(epilog="Examples:  exuvia strategy clusters   |   exuvia strategy clusters cluster-12ab34cd56ef7890")
@click.argument("cluster_id", metavar="[CLUSTER]", required=False)
@click.option("--least", default=1, show_default=True, type=click.IntRange(min=1), help="Of so many cases and more.")
@json_option
@place_options
def clusters(cluster_id: str | None, least: int, as_json: bool, place: Place) -> None:
    """Show bad cases that are one trouble, the largest first, and which change would settle it; or one of them."""
    from core.strategy.feedback.clusters import cluster
    from core.strategy.feedback.encoders import Characters
    from core.strategy.feedback.suggestions import suggest
    from core.strategy.schema.directory import skills_of

    queued = _queue(place.project)
    found = cluster(queued.cases, Characters())
    told = suggest(found, {case.id: case for case in queued.cases}, skills_of(place.project).schemas)
    if cluster_id is not None:
        one = next((one for one in found if one.id == cluster_id), None)
        if one is None:
            raise NotFoundError(f"There is no cluster {cluster_id!r}.", hint="List them: exuvia strategy clusters")
        found, told = (one,), tuple(s for s in told if one.id in s.clusters)
    found = tuple(one for one in found if one.count >= least)
    if as_json:
        print_json({"clusters": [asdict(one) for one in found], "suggestions": [asdict(one) for one in told]})
        return
    if not found:
        say(f"No cluster{f' of {least} cases' if least > 1 else ''}: {len(queued.cases)} bad cases are kept.")
        return
    _clusters(found)
    for said in told:
        say(f"Suggested: {said.text} ({said.id})")
    if cluster_id is not None:
        by_id = {case.id: case for case in queued.cases}
        for name in found[0].cases:
            say(f"{name}: {_short(by_id[name].utterance)}")
        for pair in found[0].near:
            say(f"Near the cut: {pair.first} and {pair.second}, cosine {pair.cosine:.2f}")
    _damaged(queued)


def _clusters(found: tuple[Cluster, ...]) -> None:
    print_table(
        ("cluster", "cases", "sessions", "strategy", "skill", "code", "check", "for example"),
        [
            (
                one.id,
                one.count,
                one.sessions,
                one.structure.strategy_id or None,
                one.structure.skill or None,
                one.structure.code or None,
                one.structure.check or None,
                _short(one.example),
            )
            for one in found
        ],
    )


@click.command(epilog="Examples:  exuvia strategy nightly   |   exuvia strategy nightly --model rehearsal/rehearsal-1")
@click.option("--model", metavar="PROVIDER/ID", help="Let this model draft a strategy for each large cluster.")
@click.option("--agent", "agent_id", metavar="AGENT", help="With the skills of this agent (else of all).")
@click.option("--least", type=click.IntRange(min=1), help="Suggest and draft from so many cases on (else 3).")
@json_option
@place_options
def nightly(model: str | None, agent_id: str | None, least: int | None, as_json: bool, place: Place) -> None:
    """Do what time brings: releases go on or are taken back, A/B tests decide, bad cases are clustered and suggested.

    Safe to run twice and at any time, by cron or a timer. Drafts only come into the review pool; nothing that a model
    wrote reaches a user before a person has approved it.
    """
    from core.models.interface import ModelRef
    from core.models.registry import resolve
    from core.strategy.feedback.encoders import Characters
    from core.strategy.feedback.night import night
    from core.strategy.feedback.suggestions import LEAST
    from core.strategy.schema.directory import skills_of
    from tui.cli.work import chosen_model

    if agent_id is not None:
        place.agent(agent_id)
    schemas = skills_of(place.project, agent_id).schemas
    pair = chosen_model(place, model)[0] if model is not None else None

    async def run() -> Night:
        now, numbers = datetime.now(UTC), least or LEAST
        if pair is None:
            return await night(place.project, schemas, Characters(), now, least=numbers)
        provider, entry = resolve(place.project, pair["provider"], pair["model_id"])
        try:
            named = ModelRef(entry.ref.provider, entry.ref.model_id)
            return await night(place.project, schemas, Characters(), now, model=(provider, named), least=numbers)
        finally:
            await provider.aclose()

    _tell(asyncio.run(run()), as_json)


def _tell(found: Night, as_json: bool) -> None:
    feedback = found.feedback
    if as_json:
        print_json(
            {
                "left": list(found.left),
                "releases": [asdict(one) for one in found.progress],
                "tests": [asdict(one) for one in found.tests],
                "clusters": [asdict(one) for one in feedback.clusters],
                "suggestions": [asdict(one) for one in feedback.suggestions],
                "drafted": list(feedback.drafted),
                "refused": dict(feedback.refused),
                "damaged": feedback.damaged,
                "changed": feedback.changed,
            }
        )
        return
    for left in found.left:
        note(f"Not carried out: {left}")
    for line in (*(one.text for one in found.progress), *(one.text for one in found.tests)):
        say(line)
    for said in feedback.suggestions:
        _suggested(said)
    for name in feedback.drafted:
        say(f"Drafted {name}; it waits for review.")
    for name, reason in feedback.refused.items():
        say(f"No draft for {name}: {reason}")
    if feedback.drafted:
        say(here("Look at the drafts: exuvia strategy review"))
    new = "" if feedback.changed else " Nothing of it is new."
    say(f"{len(feedback.clusters)} clusters, {len(feedback.suggestions)} suggestions.{new}")
    if feedback.damaged:
        say(f"{feedback.damaged} places of the queue could not be read.")


def _suggested(said: Suggestion) -> None:
    say(f"Suggested: {said.text} (in {said.sessions} sessions; {', '.join(said.clusters)})")


@click.command(epilog="Example:  exuvia strategy ab aftersale.paid_no_parcel")
@click.argument("name", metavar="ID")
@json_option
@place_options
def ab(name: str, as_json: bool, place: Place) -> None:
    """Show the A/B test of strategy ID: both arms, the reported rule, and ours, which asks for a sample and a test."""
    from core.strategy.feedback.ab_report import ab_report

    report = ab_report(bank_of(place.project), name, datetime.now(UTC))
    if as_json:
        print_json(_ab_facts(report))
        return
    standing, test = report.standing, report.test
    say(f"{name} version {standing.version} against {test.against}, {test.split:g} % each way, since {standing.since}")
    print_table(
        ("arm", "tasks", "unknown", "completed", "fallback", "latency", "satisfaction", "answers"),
        [_arm(f"version {test.against}", report.old), _arm(f"version {standing.version}", report.new)],
    )
    if report.left_out:
        say(f"{report.left_out} executions are in neither arm: users outside the gray group, or without an id.")
    verdict = report.verdict
    if verdict is None:
        say("Nothing was counted yet.")
        return
    said = "promotes" if verdict.literal else "does not promote"
    say(f"The reported rule {said} (it asks for no sample and no test: identical versions pass it often).")
    found = f"{verdict.detectable:.1%}" if verdict.detectable is not None else "unknown"
    say(f"Ours on day {verdict.day} of {report.rule.days}: {verdict.decision.replace('_', ' ').upper()}")
    say(f"  p completed {_p(verdict.p_completed)}, p fallbacks {_p(verdict.p_fallbacks)}, level {verdict.level:.2g}")
    say(f"  the smallest rise of completion that this many tasks would find: {found}")
    for reason in verdict.reasons:
        say(f"  {reason}")


def _arm(name: str, arm: Metrics) -> tuple[object, ...]:
    score = None if arm.satisfaction is None else f"{arm.satisfaction:+.0f}"
    return (
        name,
        arm.tasks,
        arm.unknown,
        percent(arm.completion),
        percent(arm.fallback_rate),
        milliseconds(arm.latency_ms),
        score,
        arm.answers,
    )


def _p(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"


def _ab_facts(report: AbReport) -> dict[str, Any]:
    return {
        "id": report.standing.id,
        **standing_facts(report.standing),
        "against": report.test.against,
        "rule": asdict(report.rule),
        "old": asdict(report.old),
        "new": asdict(report.new),
        "days": [[asdict(day) for day in arm] for arm in report.days],
        "verdict": None if report.verdict is None else asdict(report.verdict),
        "left_out": report.left_out,
        "evidence": report.evidence,
    }
