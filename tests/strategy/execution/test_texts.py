"""A body's text is what a whole writing would give, however it came about."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.strategy.execution.paths import with_value
from core.strategy.execution.texts import Texts

values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
paths = st.lists(st.sampled_from("abc"), min_size=1, max_size=5).map(".".join)


@given(st.lists(st.tuples(paths, values), max_size=8))
def test_the_text_reads_back_as_the_body_after_every_change(changes: list[tuple[str, Any]]) -> None:
    texts, body = Texts(), dict[str, Any]()
    for path, value in changes:
        body = with_value(body, path, value)
        assert json.loads(texts.of(body)) == body
