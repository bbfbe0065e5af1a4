"""--user and --attr: whom a run or chat is for, so that releases and A/B tests can draw (STRATEGY S67, S101)."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from core.foundation.errors import UsageError

if TYPE_CHECKING:
    from core.strategy.bank.assign import User

R = TypeVar("R")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,9})?")


def user_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add --user and --attr; the command receives them as `user: User | None`, None where nobody was named."""

    @click.option("--user", "user_id", metavar="ID", help="Whom it is for; then it counts as traffic of strategies.")
    @click.option("--attr", "attributes", multiple=True, metavar="KEY=VALUE", help="What is known of the user.")
    @functools.wraps(command)
    def with_user(*args: Any, user_id: str | None, attributes: tuple[str, ...], **kwargs: Any) -> R:
        return command(*args, user=user_of(user_id, attributes), **kwargs)

    return with_user


def user_of(user_id: str | None, attributes: tuple[str, ...]) -> User | None:
    """Return who is meant. Raises UsageError for attributes without a user, and for what is no KEY=VALUE."""
    if user_id is None:
        if attributes:
            raise UsageError("--attr says something of a user, and there is none.", hint="Name the user: --user ID")
        return None
    if not user_id.strip():
        raise UsageError("The user's id is empty.", hint="--user takes any text that is the same for the same user.")
    from core.strategy.bank.assign import User

    known: dict[str, Any] = {}
    for text in attributes:
        name, equals, value = text.partition("=")
        if not equals or not _NAME.fullmatch(name) or name == "id":
            raise UsageError(
                f"{text!r} is no KEY=VALUE.", hint="For example: --attr device=ios --attr active_days_30d=7"
            )
        known[name] = float(value) if _NUMBER.fullmatch(value) else value
    return User(user_id, known)
