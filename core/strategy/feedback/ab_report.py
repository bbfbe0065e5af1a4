"""The A/B test of a version in gray, from the executions' log to the verdict and what follows (S101 to S103)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.foundation.errors import ExuviaError, RefusedError
from core.state.paths import ProjectPaths
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.outcomes import latest
from core.strategy.bank.outcomes import read as read_outcomes
from core.strategy.bank.releasing import ask_full
from core.strategy.bank.serving import arms
from core.strategy.bank.states import Actor, Standing, moment, newest
from core.strategy.bank.tracked import tracked
from core.strategy.documents.release import AbTest
from core.strategy.feedback.ab import Day, Rule, Verdict, first_decision, judge, rule_of
from core.strategy.feedback.ab_counts import Metrics, daily, metrics

ENGINE = Actor("A/B test", person=False)
SURVEY = "nps"
"""Key of the outcome that is a survey's answer, 0 to 10."""


@dataclass(frozen=True, slots=True)
class AbReport:
    """One test. `old` and `new` are the arms' live numbers, `days` their daily counts, from the first day on.

    `verdict` is the first day's that decided anything, else the last day's; None while nothing was counted. `left_out`
    are executions of users whom the draw put in neither arm. `test` are the release's numbers.
    """

    standing: Standing
    test: AbTest
    rule: Rule
    old: Metrics
    new: Metrics
    days: tuple[tuple[Day, ...], tuple[Day, ...]]
    verdict: Verdict | None
    left_out: int

    @property
    def decided(self) -> bool:
        """Whether the test is over."""
        return self.verdict is not None and self.verdict.decision != "wait"

    @property
    def evidence(self) -> str:
        """The id under which a decision names it."""
        return f"ab:{self.standing.id}@{self.standing.version}:{self.standing.since}"


def ab_report(bank: Bank, strategy_id: str, now: datetime) -> AbReport:
    """Return the test of the version in gray. Raises NotFoundError, RefusedError where none is being tested."""
    standing = newest(bank.entry(strategy_id).versions, "gray")
    if standing is None:
        raise RefusedError(
            f"No version of {strategy_id} is in gray, so none is tested.",
            hint=f"Where its versions stand: exuvia strategy show {strategy_id}",
        )
    test = standing.release.rollout.ab if standing.release is not None else None
    if test is None:
        raise RefusedError(
            f"{strategy_id} version {standing.version} is in gray without an A/B test.",
            hint=f"Name one in {strategy_id}.release.yaml before a version enters gray: "
            "rollout: {ab: {against: VERSION, split: 50}}",
        )
    since = moment(standing.since)
    both = arms(standing, tracked(bank, since=since, until=now).executions)
    answers = {
        session: float(keys[SURVEY].value)
        for session, keys in latest(read_outcomes(bank.records, since=since)).items()
        if SURVEY in keys and isinstance(keys[SURVEY].value, int | float) and not isinstance(keys[SURVEY].value, bool)
    }
    rule = rule_of(test)
    first, second = daily(both.old, both.new)
    verdict = first_decision(first, second, rule) or (judge(first, second, rule) if first else None)
    old, new = metrics(both.old, answers), metrics(both.new, answers)
    return AbReport(standing, test, rule, old, new, (first, second), verdict, both.left_out)


@dataclass(frozen=True, slots=True)
class Settled:
    """What a test led to: "asked" for full traffic, "taken back", or "waits"; `why` in words."""

    strategy_id: str
    version: int
    what: str
    why: str

    @property
    def text(self) -> str:
        """Say it in a line."""
        return f"{self.strategy_id} version {self.version} {self.what}: {self.why}"


def settle(project: ProjectPaths, now: datetime) -> tuple[Settled, ...]:
    """Do what each running test decided: the better version is put before the operator for full traffic, a worse one is
    taken back at once. Safe to run twice: what was asked is found again, what was taken back is not in gray.
    """
    bank, told = bank_of(project), []
    for standing in bank.journal().standings.values():
        release = standing.release
        if standing.state == "gray" and release is not None and release.rollout.ab is not None:
            told.append(_settle(project, bank, ab_report(bank, standing.id, now)))
    return tuple(told)


def _settle(project: ProjectPaths, bank: Bank, report: AbReport) -> Settled:
    standing, verdict = report.standing, report.verdict

    def said(what: str, why: str) -> Settled:
        return Settled(standing.id, standing.version, what, why)

    if verdict is None:
        return said("waits", "its A/B test has counted nothing yet")
    why = f"the A/B test against version {report.test.against} says {verdict.decision} on day {verdict.day}"
    try:
        if verdict.decision == "promote":
            ask_full(project, standing.id, standing.version, evidence=(report.evidence,), why=why)
            return said("asked for all traffic", why)
        if verdict.decision == "worse":
            bank.take_back(standing.id, ENGINE, why, (report.evidence,), version=standing.version)
            return said("taken back", why)
    except ExuviaError as error:
        return said("waits", f"{why}, but {error}")
    return said("waits", "; ".join([why, *verdict.reasons]))
