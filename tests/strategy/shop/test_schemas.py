"""The shop's skills are defined twice, by their code and by skill.yaml, and both say the same (S46 to S57)."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.strategy.execution.clock import VirtualClock
from core.strategy.execution.skills import Call
from core.strategy.schema.define import schema_of
from core.strategy.schema.failures import collect
from core.strategy.schema.sync import compare_all
from core.strategy.shop.desk import Desk
from core.strategy.shop.orders import REASONS
from core.strategy.shop.toolbox import WORKS, schemas, skills
from core.strategy.shop.visits import opened, visits
from core.strategy.shop.world import Fate


@pytest.mark.meets("S57", "S46")
def test_what_the_code_says_is_what_the_file_says() -> None:
    cases = collect(Path(__file__))
    assert not cases.faults
    derived = {name: schema_of(work, cases.rows.get(name, ())) for name, work in WORKS.items()}
    written = {name: schemas()[name] for name in WORKS}
    assert not compare_all(written, derived)
    assert set(written) == set(derived)
    assert len(written) == 28


@pytest.mark.failure(
    "NETWORK_TIMEOUT",
    skill="apply_refund",
    severity="high",
    recovery="retry_with_backoff",
    fallback="check_order_status",
)
@pytest.mark.failure("INVALID_SKU", skill="apply_refund", severity="medium", fallback="suggest_similar_products")
@pytest.mark.failure("INVALID_ORDER", skill="apply_refund", severity="medium", fallback="find_recent_order")
@pytest.mark.failure("INVALID_AMOUNT", skill="apply_refund", severity="high", fallback="suggest_human_handoff")
@pytest.mark.failure("INVALID_ORDER", skill="cancel_order", severity="medium", fallback="find_recent_order")
@pytest.mark.failure("ALREADY_SHIPPED", skill="cancel_order", severity="medium", fallback="query_logistics")
@pytest.mark.failure("INVALID_ORDER", skill="check_order_status", severity="medium", fallback="find_recent_order")
@pytest.mark.failure("INVALID_ORDER", skill="collect_evidence", severity="medium", fallback="find_recent_order")
@pytest.mark.failure("INVALID_ORDER", skill="contact_carrier", severity="medium", fallback="find_recent_order")
@pytest.mark.failure(
    "NETWORK_TIMEOUT",
    skill="contact_carrier",
    severity="high",
    recovery="retry_with_backoff",
    fallback="estimate_delivery",
)
@pytest.mark.failure("NOT_SHIPPED", skill="contact_carrier", severity="low")
@pytest.mark.failure("INVALID_ORDER", skill="create_return_request", severity="medium", fallback="find_recent_order")
@pytest.mark.failure("MISSING_REASON", skill="create_return_request", severity="low")
@pytest.mark.failure("NOT_DELIVERED", skill="create_return_request", severity="medium", fallback="query_logistics")
@pytest.mark.failure("TICKET_TAKEN", skill="create_ticket", severity="high", fallback="suggest_human_handoff")
@pytest.mark.failure("INVALID_ORDER", skill="estimate_delivery", severity="medium", fallback="find_recent_order")
@pytest.mark.failure("INVALID_SKU", skill="estimate_price", severity="medium")
@pytest.mark.failure("NO_ORDERS", skill="find_recent_order", severity="medium")
@pytest.mark.failure("INVALID_ORDER", skill="get_payment_info", severity="medium", fallback="find_recent_order")
@pytest.mark.failure("NO_PRICE_NAMED", skill="hear_price_range", severity="low")
@pytest.mark.failure("INVALID_ORDER", skill="intercept_parcel", severity="medium", fallback="find_recent_order")
@pytest.mark.failure("NOT_SHIPPED", skill="intercept_parcel", severity="medium")
@pytest.mark.failure("NO_PRICES", skill="merge_prices", severity="high")
@pytest.mark.failure("INVALID_ORDER", skill="query_logistics", severity="medium", fallback="find_recent_order")
@pytest.mark.failure(
    "NETWORK_TIMEOUT",
    skill="query_logistics",
    severity="high",
    recovery="retry_with_backoff",
    fallback="estimate_delivery",
)
@pytest.mark.failure("INVALID_ORDER", skill="query_order", severity="medium", fallback="find_recent_order")
@pytest.mark.failure("HTTP_503", skill="query_price", severity="high", fallback="estimate_price")
@pytest.mark.failure("INVALID_SKU", skill="query_price", severity="medium")
@pytest.mark.failure("INVALID_ORDER", skill="refund_precheck", severity="medium", fallback="find_recent_order")
@pytest.mark.failure(
    "NETWORK_TIMEOUT",
    skill="refund_precheck",
    severity="high",
    recovery="retry_with_backoff",
    fallback="check_order_status",
)
@pytest.mark.failure("DAILY_LIMIT", skill="send_sms", severity="medium", fallback="send_wechat_notification")
@pytest.mark.failure("INVALID_ORDER", skill="suggest_similar_products", severity="medium", fallback="find_recent_order")
@pytest.mark.failure("INVALID_ORDER", skill="tutorial_generation", severity="medium", fallback="find_recent_order")
@pytest.mark.failure("INVALID_ORDER", skill="update_address", severity="medium", fallback="find_recent_order")
@pytest.mark.failure("ALREADY_SHIPPED", skill="update_address", severity="medium")
async def test_each_failure_of_a_profile_is_one_that_the_skill_reports(request: pytest.FixtureRequest) -> None:
    visit = visits(0)[0]
    given = {
        "user_id": visit.customer.id,
        "order_id": visit.order.id,
        "product_id": visit.order.product.id,
        "source": "jd",
        "query": "jackets",
        "text": "hello",
        "address": "1 Lane",
        "amount": 1.0,
        "reason_code": REASONS[0],
        "ticket_id": "T1",
        "price_range": {"min_price": 0, "max_price": 9},
        "promise_minutes": 5,
    }
    for case in request.node.iter_markers("failure"):
        clock = VirtualClock()
        shop = opened([visit], clock)
        skill, code = case.kwargs["skill"], case.args[0]
        shop.begin(visit.customer.id, Fate(fails={skill: (code, 1)}))
        found = skills(Desk(shop, visit.customer))[skill]
        inputs = {name: given[name] for name in found.schema.signature.inputs if name in given}
        outcome = await found.call(inputs, Call("s"))
        assert (outcome.code, outcome.output) == (code, None), skill
        assert found.schema.failure(code) is not None
        assert not [*shop.refunds, *shop.messages, *shop.tickets]
