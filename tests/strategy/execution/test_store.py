"""The context store: versions, snapshots, ids that no two hold, locks (S84 to S86)."""

from __future__ import annotations

import multiprocessing
import threading
from pathlib import Path

import pytest

from core.foundation.errors import ConflictError, NotFoundError
from core.strategy.execution.store import KEPT_SNAPSHOTS, ContextStore


@pytest.mark.meets("S84")
def test_values_are_kept_by_session_and_survive_the_process(tmp_path: Path) -> None:
    store = ContextStore(tmp_path / "context.sqlite")
    store.write("s1", {"values.user.id": "u1", "values.dialogue.summary": "asks for a refund"})
    store.write("s1", {"values.results.query_order": {"status": "paid"}, "values.temp.tries": 2})
    store.write("s2", {"values.user.id": "u2"})
    store.close()
    again = ContextStore(tmp_path / "context.sqlite")
    assert again.read("s1").version == 2
    assert again.read("s1").body["values"] == {
        "user": {"id": "u1"},
        "dialogue": {"summary": "asks for a refund"},
        "results": {"query_order": {"status": "paid"}},
        "temp": {"tries": 2},
    }
    assert again.sessions() == ("s1", "s2")


@pytest.mark.meets("S28")
def test_a_write_of_another_process_is_seen_at_once(tmp_path: Path) -> None:
    one, other = ContextStore(tmp_path / "c.sqlite"), ContextStore(tmp_path / "c.sqlite")
    one.write("s", {"values.order.status": "paid"})
    assert other.read("s").body["values"]["order"]["status"] == "paid"
    other.write("s", {"values.order.status": "shipped"})
    assert one.read("s").body["values"]["order"]["status"] == "shipped"


def test_a_write_upon_an_old_version_is_refused_and_changes_nothing() -> None:
    store = ContextStore()
    version = store.write("s", {"values.a": 1})
    store.write("s", {"values.a": 2})
    with pytest.raises(ConflictError, match="at version 2, not at 1"):
        store.write("s", {"values.a": 3}, expected=version)
    assert store.read("s").body == {"values": {"a": 2}}


def test_what_was_read_does_not_change_under_the_reader() -> None:
    store = ContextStore()
    store.write("s", {"values.a.b": 1})
    before = store.read("s")
    store.write("s", {"values.a.b": 2})
    assert before.body == {"values": {"a": {"b": 1}}}


@pytest.mark.meets("S85")
def test_snapshots_are_seen_by_session_and_the_oldest_go() -> None:
    store = ContextStore()
    for turn in range(KEPT_SNAPSHOTS + 5):
        store.write("s", {"values.n": turn})
        store.snapshot("s", turn, "end", "2026-06-01T08:00:00Z")
    kept = store.snapshots("s")
    assert (len(kept), kept[0].turn, kept[-1].body) == (KEPT_SNAPSHOTS, 5, {"values": {"n": KEPT_SNAPSHOTS + 4}})
    with pytest.raises(NotFoundError):
        store.snapshots("nobody")


@pytest.mark.meets("S86")
def test_a_hundred_threads_get_a_hundred_ids_and_what_is_given_back_is_given_again() -> None:
    store = ContextStore()
    taken = []
    start = threading.Barrier(100)

    def take(number: int) -> None:
        start.wait()
        taken.append(store.reserve("ticket_id", f"s{number}"))

    threads = [threading.Thread(target=take, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one.id for one in taken}) == 100
    assert store.settle(taken[0], "released")
    assert not store.settle(taken[0], "committed")  # given back: it is not ours any more
    assert store.settle(taken[1], "in_doubt")
    assert store.settle(taken[2], "committed")
    assert store.reserve("ticket_id", "next").id == taken[0].id
    assert store.reserve("ticket_id", "last").id == "ticket_id-000101"


def _take(path: str, number: int) -> list[str]:
    store = ContextStore(Path(path))
    return [store.reserve("ticket_id", f"s{number}-{turn}").id for turn in range(10)]


@pytest.mark.meets("S86")
def test_ten_processes_get_a_hundred_ids(tmp_path: Path) -> None:
    ContextStore(tmp_path / "c.sqlite").close()
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        found = pool.starmap(_take, [(str(tmp_path / "c.sqlite"), number) for number in range(10)])
    assert len({one for some in found for one in some}) == 100


def test_a_lock_has_one_owner_until_it_is_given_back_or_its_time_is_over() -> None:
    store = ContextStore()
    assert store.acquire("turn/s", "a", 60)
    assert not store.acquire("turn/s", "b", 60)
    store.release("turn/s", "b")
    assert not store.acquire("turn/s", "b", 60)
    store.release("turn/s", "a")
    assert store.acquire("turn/s", "b", -1)
    assert store.acquire("turn/s", "a", 60)  # b's time is over
