"""Whom a run is for: --user and --attr (S67, S101)."""

from __future__ import annotations

import pytest

from core.foundation.errors import UsageError
from core.strategy.bank.assign import User
from tui.cli.user_option import user_of


@pytest.mark.meets("S67", "S69")
def test_a_user_and_what_is_known_of_them() -> None:
    assert user_of(None, ()) is None
    assert user_of("u-1", ("device=ios", "active_days_30d=7", "note=a=b")) == User(
        "u-1", {"device": "ios", "active_days_30d": 7.0, "note": "a=b"}
    )


@pytest.mark.parametrize(
    ("user", "attributes", "said"),
    [
        (None, ("device=ios",), "there is none"),
        (" ", (), "empty"),
        ("u", ("device",), "KEY=VALUE"),
        ("u", ("id=x",), "KEY=VALUE"),
        ("u", ("De=x",), "KEY=VALUE"),
    ],
)
def test_what_is_no_user_is_refused(user: str | None, attributes: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        user_of(user, attributes)
