"""A fault of a condition has line and column of its file, however the condition is written there (S81)."""

from __future__ import annotations

import pytest

from core.strategy.conditions.condition import ConditionError, compile_condition
from core.strategy.conditions.place import fault_in
from core.strategy.conditions.registry import SESSION, Registry
from core.strategy.documents.reading import read
from core.strategy.documents.strategy import Strategy

HEAD = "schema: strategy/v1\nid: shop.one\nversion: 1\npurpose: One.\ndomain: shop\nowner: someone\ntrigger:\n"


@pytest.mark.meets("S81")
@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("  when: turn.cont > 3\n", (8, 9)),
        ("  when: turn.count > 3 && turn.cont > 3\n", (8, 27)),
        ("  when: turn.count > 3\n    && turn.cont > 3\n", (9, 8)),
        ("  when: >-\n    turn.count > 3\n    && turn.cont > 3\n", (10, 8)),
        ("  when: |\n    turn.count > 3\n    && turn.cont > 3\n", (10, 8)),
        ("  when: 'turn.count > 3\n    && turn.cont > 3'\n", (9, 8)),
        ('  when: "turn.count > 3 && turn.cont > 3"\n', (8, 28)),
        ("  {when: turn.cont > 3}\n", (8, 10)),
        ('  when: "intent.name == \\"x\\" && turn.cont > 3"\n', (8, 9)),
        ("  when: >-\n    turn.count >\n  event: turn\n", (9, 17)),
        (
            "  event: turn\n  when: >-\n\n    IF (turn.count > 3)\n    AND (turn.cont > 3)\n    THEN activate x\n",
            (12, 10),
        ),
    ],
)
def test_the_place_is_the_files(written: str, place: tuple[int, int]) -> None:
    strategy, source = read(HEAD + written, Strategy, "shop.one.yaml")
    assert strategy.trigger is not None
    with pytest.raises(ConditionError) as caught:
        compile_condition(strategy.trigger.when, Registry(SESSION))
    fault = fault_in(source, ("trigger", "when"), caught.value)
    assert (fault.line, fault.column) == place
    assert str(fault).startswith(f"shop.one.yaml:{place[0]}:{place[1]}: trigger.when: ")
