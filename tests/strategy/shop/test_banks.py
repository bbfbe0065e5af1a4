"""The shop's strategies: every file is read, and each layer can be left away."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.strategy.bank.check import check_bank
from core.strategy.documents.reading import read
from core.strategy.documents.strategy import Strategy
from core.strategy.governance.laws import lint
from core.strategy.shop.banks import (
    DOMAINS,
    VERSIONS,
    bank_files,
    layered_files,
    replayed_files,
    settings,
    versions,
    write_bank,
)
from core.strategy.shop.serving import compiled
from core.strategy.shop.toolbox import schemas
from tests.strategy.shop.words import spoken


def strategies(files: dict[str, str]) -> dict[str, Strategy]:
    read_all = [read(text, Strategy, name)[0] for name, text in files.items()]
    return {strategy.id: strategy for strategy in read_all}


def test_the_bank_has_its_domains_each_with_an_owner() -> None:
    found = strategies(dict(bank_files()))
    assert 10 <= len(found) <= 20
    assert {strategy.domain for strategy in found.values()} == set(DOMAINS) == set(settings().domains)
    assert all(strategy.owner == settings().domains[strategy.domain].owner for strategy in found.values())


@pytest.mark.meets("S4")
def test_with_fewer_layers_the_same_problems_are_left() -> None:
    one, two, three = (strategies(dict(layered_files(layers))) for layers in (1, 2, 3))
    assert {strategy.layers for strategy in one.values()} == {("trigger",)}
    assert {strategy.layers for strategy in two.values()} == {("trigger", "validate")}
    assert set(one) == set(two) < set(three)
    assert all(one[name].trigger == two[name].trigger for name in one)
    modes = {
        node.kind for strategy in three.values() if strategy.plan for node in (strategy.plan, *strategy.plan.children)
    }
    assert {"parallel", "switch", "sequence", "loop", "run", "call", "skip", "ask"} >= modes >= {"parallel", "switch"}


@pytest.mark.meets("S31")
def test_each_version_of_the_history_adds_to_the_one_before() -> None:
    past = {version: read(text, Strategy, f"{version}.yaml")[0] for version, text in versions().items()}
    assert [past[version].version for version in VERSIONS] == list(VERSIONS)
    assert [past[version].parent_version for version in VERSIONS] == [None, 1, 2, 3]
    events = [past[version].trigger.event for version in VERSIONS]  # type: ignore[union-attr]
    assert events == ["turn", *["skill_result:query_logistics"] * 3]
    limits = [[node.timeout_ms for node in past[version].plan.children] for version in VERSIONS]  # type: ignore[union-attr]
    assert [3000 in found for found in limits] == [False, False, True, True]


@pytest.mark.meets("S63", "S64", "S65", "X5")
def test_the_bank_is_checked_without_an_error(tmp_path: Path) -> None:
    write_bank(tmp_path)
    report = check_bank(tmp_path, schemas())
    assert report.ok, report.lines()
    assert len(report.routed) >= 2 * 13
    # The last resort itself may not answer: that is told, and nothing else is.
    assert all("suggest_human_handoff never answers" in str(finding) for finding in report.findings)
    assert report.strategies == len(bank_files())


@pytest.mark.meets("S107")
def test_each_strategy_solves_one_problem_in_twelve_lines() -> None:
    for strategy in strategies(dict(bank_files())).values():
        assert not lint(strategy, schemas(), settings().governance)


def test_no_example_is_said_in_words_that_are_measured_with() -> None:
    for strategy in strategies(dict(bank_files())).values():
        examples = strategy.trigger.examples if strategy.trigger else None
        for example in (*examples.fire, *examples.no_fire) if examples else ():
            assert not spoken("held_out").fullmatch(example.utterance), (strategy.id, example.utterance)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_bank_compiles_with_each_version_of_the_history(version: int) -> None:
    bank = compiled(replayed_files(version))
    assert bank.strategies["aftersale.paid_no_parcel"].strategy.version == version
