"""The shop's state: what is really so, whatever a skill says (the ground truth that `truth` reads)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from core.foundation.errors import UsageError
from core.strategy.execution.clock import Clock
from core.strategy.shop.orders import MOVES, Customer, Order, Parcel, Status


class IllegalMoveError(UsageError):
    """An order can't become that."""


@dataclass(frozen=True, slots=True)
class Refund:
    """Money that went back; cents."""

    order: str
    cents: int


@dataclass(frozen=True, slots=True)
class Message:
    """A message that really arrived."""

    customer: str
    channel: str
    text: str


@dataclass(frozen=True, slots=True)
class Ticket:
    """A person was asked to take over. `promise_minutes`: until when the customer was told to hear (S30)."""

    id: str
    customer: str
    about: str
    promise_minutes: int | None = None


@dataclass(frozen=True, slots=True)
class Fate:
    """What will go wrong for one customer, drawn before anything is tried, so that every arm meets the same.

    `lies` counts, by skill, how many of its first calls say success and do nothing (S39). `late_ms` is what a skill
    takes instead of its usual time, `fails` the code that its first calls give and how many do. `down` are the price
    sources that answer 503, `slow` those that take seconds. `ships_after_ms`: when the warehouse hands over an order
    that is only paid, None for not soon.
    """

    lies: dict[str, int] = field(default_factory=dict)
    late_ms: dict[str, float] = field(default_factory=dict)
    fails: dict[str, tuple[str, int]] = field(default_factory=dict)
    down: frozenset[str] = frozenset()
    slow: frozenset[str] = frozenset()
    sms_left: int = 5
    approve: str = "approve"
    evidence_after: int = 1
    ships_after_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """A skill was called and ended, with the code it gave; what the records of an executor can be checked against."""

    skill: str
    code: str
    ms: float


class Shop:
    """Customers, orders and everything that was done to them.

    Invariant: an order's status changes by `move` alone, along MOVES; a ticket's id is nobody else's. What skills
    answer is not kept here: only effects are.
    """

    def __init__(self, customers: Iterable[Customer], orders: Iterable[Order], clock: Clock) -> None:
        self.clock = clock
        self.customers = {customer.id: customer for customer in customers}
        self.orders = {order.id: order for order in orders}
        self.fates: dict[str, Fate] = {}
        self.refunds: list[Refund] = []
        self.messages: list[Message] = []
        self.tickets: dict[str, Ticket] = {}
        self.claims: set[str] = set()
        self.done: list[Done] = []
        self.keys: dict[str, dict[str, object]] = {}
        self._due: list[tuple[float, Callable[[], None]]] = []

    def begin(self, customer: str, fate: Fate) -> None:
        """Let a customer's visit begin: what happens later in it is timed from here."""
        self.fates[customer] = fate
        if fate.ships_after_ms is not None:
            at = self.clock.monotonic_ms() + fate.ships_after_ms
            self._due += [(at, partial(self._ship, order.id)) for order in self.of(customer)]

    def of(self, customer: str) -> list[Order]:
        """Return a customer's orders, the newest first."""
        held = [order for order in self.orders.values() if order.customer == customer]
        return sorted(held, key=lambda order: (order.paid_at, order.id), reverse=True)

    def catch_up(self) -> None:
        """Let what is due by now happen: the warehouse does not wait for anybody's plan (S28)."""
        now = self.clock.monotonic_ms()
        due = [event for event in self._due if event[0] <= now]
        self._due = [event for event in self._due if event[0] > now]
        for _, happen in sorted(due, key=lambda event: event[0]):
            happen()

    def move(self, order: str, status: Status) -> Order:
        """Change an order's status. Raises IllegalMoveError where that can't follow."""
        present = self.orders[order]
        if status not in MOVES[present.status]:
            raise IllegalMoveError(
                f"Order {order} is {present.status}: it can't become {status}.",
                hint=f"It can become {', '.join(sorted(MOVES[present.status])) or 'nothing else'}.",
            )
        self.orders[order] = moved = replace(present, status=status)
        return moved

    def refund(self, order: str, cents: int) -> None:
        """Give money back and let the order become `refunding`. Raises IllegalMoveError above the listed amount.

        More than was paid goes through, as it does in systems that know the list price only: level 1 is for that (S41).
        """
        if cents > self.orders[order].listed:
            raise IllegalMoveError(f"Order {order} was listed at {self.orders[order].listed} cents, not {cents}.")
        self.move(order, "refunding")
        self.refunds.append(Refund(order, cents))

    def open_ticket(self, ticket: Ticket) -> None:
        """Keep a ticket. Raises IllegalMoveError where its id is taken (S86)."""
        if ticket.id in self.tickets:
            raise IllegalMoveError(f"There is a ticket {ticket.id} already.", hint="Reserve another id.")
        self.tickets[ticket.id] = ticket

    def _ship(self, order: str) -> None:
        if self.orders[order].status == "paid":
            due = self.clock.now() + timedelta(days=3)
            parcel = Parcel(f"TN{order[1:]}", "Swiftline", "warehouse", due)
            self.orders[order] = replace(self.move(order, "shipped"), parcel=parcel)
