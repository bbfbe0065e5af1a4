"""Which names a condition may use: the session's, what skills return, need and provide, the bank's own."""

from __future__ import annotations

import pytest

from core.strategy.conditions.condition import ConditionError, compile_condition
from core.strategy.conditions.registry import Registry, output_types, registry_of, type_of_schema
from core.strategy.documents.release import BankSettings
from core.strategy.documents.skill import Needs, Signature, SkillSchema


def skill(
    name: str, outputs: dict[str, object], needs: tuple[str, ...] = (), provides: tuple[str, ...] = ()
) -> SkillSchema:
    return SkillSchema(
        skill=name,
        side_effects="read",
        idempotent=True,
        signature=Signature(inputs={}, outputs=outputs),
        context=Needs(needs=needs, provides=provides),
        failure_modes=(),
    )


ORDER = skill(
    "query-order",
    {
        "type": "object",
        "properties": {
            "status": {"enum": ["paid", "shipped", None]},
            "due": {"type": "string", "format": "date"},
            "parcel": {"type": "object", "properties": {"weight": {"type": ["number", "null"]}}},
            "lines": {"type": "array"},
            "more": {"type": "object"},
        },
    },
    needs=("order.id",),
    provides=("order.status", "order.colour"),
)
OTHER = skill("other", {"type": "object"}, needs=("order.status",), provides=("order.id",))
SETTINGS = BankSettings(schema="bank/v1", registry={"order.weight": "number"}, patterns={"a": "b"})
REGISTRY = registry_of(SETTINGS, [ORDER, OTHER])


@pytest.mark.meets("S82")
def test_names_have_the_types_of_where_they_come_from() -> None:
    types = REGISTRY.types
    assert types["results.query-order.status"] == "string"
    assert types["results.query-order.due"] == "date"
    assert types["results.query-order.parcel.weight"] == "number"
    assert types["results.query-order.lines"] == "list"
    assert types["results.query-order.more"] == "map"
    assert types["results.other"] == "map"
    assert (types["order.status"], types["order.colour"], types["order.id"]) == ("string", "any", "any")
    assert (types["order.weight"], types["intent.confidence"]) == ("number", "number")
    assert REGISTRY.patterns == {"a": "b"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('results["query-order"].status == "paid" && is_empty(results["query-order"])', ""),
        ("results.other.anything > 3 && results['query-order'].more.x == 1", ""),
        ("user.age_band == 'old' && user.id == 'u'", ""),
        ("results['query-order'].lines[0] == 3", ""),
        ("results['query-order'].stats == 'paid'", "did you mean results.query-order.status?"),
        ("results['query-order'].parcel.wait > 1", "did you mean results.query-order.parcel.weight?"),
        ("results['query-order'].lines.first == 3", "is not known"),
        ("results['query-order'].status == 3", "can't be compared with a number"),
        ("order.wieght > 1", "did you mean order.weight?"),
        ("results.unknown.x == 1", "is not known"),
    ],
)
def test_open_maps_take_any_field_and_closed_ones_do_not(text: str, said: str) -> None:
    if not said:
        assert compile_condition(text, REGISTRY).text == text
        return
    with pytest.raises(ConditionError) as caught:
        compile_condition(text, REGISTRY)
    assert said in caught.value.reason


def test_the_names_of_an_alias() -> None:
    extra = output_types(ORDER, "pre")
    assert compile_condition("pre.parcel.weight > 1 && pre.status == 'x'", Registry({}), extra=extra).paths
    with pytest.raises(ConditionError, match=r"pre\.status"):
        compile_condition("pre.stauts == 'x'", Registry({}), extra=extra)


def test_types_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="a: 'text' is no type of the registry"):
        Registry({"a": "text"})
    assert type_of_schema({"type": ["string", "number"]}) == "any"
    assert type_of_schema({"enum": [1, "x"]}) == "any"
    assert type_of_schema({"enum": [True]}) == "boolean"
