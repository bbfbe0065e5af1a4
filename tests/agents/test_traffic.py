"""What a confined process says it did, brought to the records: believed as far as the engine knows it, and once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.agents import traffic
from core.agents.orders import Orders
from core.agents.run_agent import orders_of
from core.agents.target import TargetSpec
from core.agents.tools.suggest import TURNS
from core.foundation.clock import new_session_id, now_ms
from core.models.interface import ModelRef
from core.state import readonly
from core.state.agents import create_agent, edit_config
from core.state.atomic import StorageError
from core.state.fresh import ensure_home
from core.strategy.bank import executions, shadow, turns
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.changes import FEEDBACK
from core.strategy.bank.comparison import Comparison
from core.strategy.bank.turns import Turn
from core.strategy.execution.records import Execution
from core.strategy.feedback.bad_cases import Queue
from core.traces.writer import new_trace_path

SECRET = 's3cret"value'
HEAD = "schema: strategy/v1\nid: shop.refund\npurpose: P.\ndomain: shop\nowner: ada\nplan: {run: refund}\n"
NAME = "shop/shop.refund.yaml"


@pytest.fixture
def orders(tmp_path: Path) -> Orders:
    project = ensure_home(tmp_path / "home")
    agent = create_agent(project, "clerk", name="Clerk", description="Serves.", agents_md="Be kind.\n")
    edit_config(agent, {"skills.selection": "strategy"})
    folder = agent.state / "strategies" / "shop"
    folder.mkdir(parents=True)
    (folder / "shop.refund.yaml").write_text(HEAD + "version: 1\n")
    session_id = new_session_id()
    workspace = agent.workspaces / session_id
    workspace.mkdir(parents=True)
    spec = TargetSpec(
        project=project,
        agent_id=agent.id,
        workspace=workspace,
        message="hi",
        model=ModelRef("rehearsal", "rehearsal-1"),
        session_id=session_id,
        trace_path=new_trace_path(agent, session_id),
    )
    made = orders_of(spec)
    assert made.governed is not None
    governed = replace(made.governed, user={"id": "u1"}, shadow={NAME: HEAD + "version: 2\n"})
    return replace(made, governed=governed, vault={"TOKEN": SECRET})


def bank(orders: Orders) -> Bank:
    return bank_of(orders.project)


def execution(**more: Any) -> Execution:
    made = Execution("x", 1, now_ms(), "shop.refund", 1, "turn", True, ("run refund",), {"level0": None}, None, 1.0, "")
    return replace(made, **more)


def comparison(**more: Any) -> Comparison:
    made = Comparison(now_ms(), "x", 1, "shop.refund", 1, 2, {"path": True}, True, True, "", "", 1.0, 1.0, ())
    return replace(made, **more)


def turn(*ran: Execution, **more: Any) -> Turn:
    event = {"event": "called", "skill": "refund", "code": "BROKEN", "message": f"key {SECRET} refused"}
    made = Turn("x", 1, now_ms(), "y", "c", "done", "", "shop.refund", "help", {}, (event,), ran)
    return replace(made, **more)


def leave(orders: Orders, *lines: Turn | str) -> Path:
    path = orders.scratchpad / TURNS
    text = "".join(f"{one if isinstance(one, str) else json.dumps(one.to_json())}\n" for one in lines)
    path.write_text(text)
    return path


def counted(orders: Orders) -> tuple[int, int, int, int]:
    """Return how many turns, executions, comparisons and bad cases are kept."""
    records = bank(orders).records
    kept, findings = turns.read(records, orders.session_id)
    assert findings == ()
    compared, _ = shadow.read(bank(orders), "shop.refund", 2)
    cases = Queue(records / FEEDBACK).read().cases
    return len(kept), len(executions.read(records).executions), len(compared), len(cases)


def test_whose_they_are_is_what_the_engine_knows(orders: Orders) -> None:
    path = leave(
        orders, turn(execution(user={"id": "another"}), user={"id": "another"}, comparisons=(comparison().to_json(),))
    )
    traffic.bring_turns_home(orders)
    assert counted(orders) == (1, 1, 1, 0)
    assert not path.exists()
    (ran,) = executions.read(bank(orders).records).executions
    assert (ran.session, ran.user) == (orders.session_id, {"id": "u1"})
    (beside,), _ = shadow.read(bank(orders), "shop.refund", 2)
    assert (beside.session, beside.user) == (orders.session_id, {"id": "u1"})


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        (turn(execution(strategy_id="shop.other")), "wasn't in force"),
        (turn(execution(version=2)), "wasn't in force"),
        (turn(execution(time="2999-01-01T00:00:00Z")), "wasn't there then"),
        (turn(execution(time="2001-01-01T00:00:00Z")), "wasn't there then"),
        (turn(comparisons=(comparison(strategy_id="shop.other").to_json(),)), "wasn't in shadow"),
        (turn(comparisons=(comparison(strategy_id="../../../../up").to_json(),)), "is no comparison"),
        (turn(comparisons=(comparison(time="2999-01-01T00:00:00Z").to_json(),)), "wasn't there then"),
    ],
)
def test_what_the_session_was_not_given_counts_nowhere(
    orders: Orders, lie: Turn, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(orders.project.root.parent.rglob("*up*"))
    leave(orders, lie)
    traffic.bring_turns_home(orders)
    assert counted(orders) == (1, 0, 0, 0)  # the turn is kept, without what it claims
    assert said in capsys.readouterr().err
    assert sorted(orders.project.root.parent.rglob("*up*")) == before


def test_lines_that_are_no_turns_end_nothing_and_are_told_in_few_words(
    orders: Orders, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = json.dumps(turn(execution()).to_json() | {"executions": [{"validation_result": []}]})
    deep = '{"a":' * 5000 + "1" + "}" * 5000
    nothing = ["", "\0" * 300, "NaN", "[]", '{"session": "\x1b]0;owned\x07"}', bad, deep] * 100
    leave(orders, *nothing, turn(execution()))
    traffic.bring_turns_home(orders)
    assert counted(orders)[:2] == (1, 1)
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 21
    assert "more such lines" in said
    assert "\x1b" not in said


def test_a_file_beyond_reading_is_left_and_told(orders: Orders, capsys: pytest.CaptureFixture[str]) -> None:
    path = leave(orders, turn(execution()))
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    traffic.bring_turns_home(orders)
    assert counted(orders) == (0, 0, 0, 0)
    assert "more than is read" in capsys.readouterr().err
    assert path.exists()


def test_a_secret_reaches_no_record(orders: Orders) -> None:
    told = {"result": [f"it is {SECRET}"], SECRET: 1}
    failed = execution(code="BROKEN", fallbacks=(f"run {SECRET}",))
    leave(orders, turn(failed, utterance=SECRET, context=told, suggestion=told, comparisons=()))
    traffic.bring_turns_home(orders)
    assert counted(orders) == (1, 1, 0, 1)
    kept = [path for path in bank(orders).records.rglob("*") if path.is_file()]
    assert [path for path in kept if SECRET in path.read_text() or json.dumps(SECRET)[1:-1] in path.read_text()] == []


LINES = (
    turn(execution(), execution(), comparisons=(comparison().to_json(),)),
    turn(execution(code="BROKEN"), turn=2),
)
WHOLE = (2, 3, 1, 1)


def test_twice_the_same_run_of_one_turn_counts_twice_and_a_second_coming_not_at_all(orders: Orders) -> None:
    leave(orders, *LINES)
    traffic.bring_turns_home(orders)
    assert counted(orders) == WHOLE
    leave(orders, *LINES)  # killed before the file was put away
    traffic.bring_turns_home(orders)
    assert counted(orders) == WHOLE


@pytest.mark.parametrize("step", range(1, 9))
def test_a_kill_between_any_two_steps_counts_nothing_twice_and_loses_nothing(
    orders: Orders, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        pass

    leave(orders, *LINES)
    steps = 0

    def dying(real: Any) -> Any:
        def call(*arguments: Any, **more: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == step:
                raise KilledError
            return real(*arguments, **more)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(executions, "append", dying(executions.append))
        patch.setattr(shadow, "append", dying(shadow.append))
        patch.setattr(turns, "append", dying(turns.append))
        patch.setattr(Queue, "add", dying(Queue.add))
        try:
            traffic.bring_turns_home(orders)
        except KilledError:
            assert counted(orders) != WHOLE
        else:
            assert step == 8  # there are seven steps
    traffic.bring_turns_home(orders)
    assert counted(orders) == WHOLE


def test_a_full_disk_loses_no_turn(
    orders: Orders, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = leave(orders, *LINES)

    def full(*_: Any) -> None:
        raise StorageError("cannot write: no space left")

    with monkeypatch.context() as patch:
        patch.setattr(executions, "append", full)
        traffic.bring_turns_home(orders)
    assert "no space left" in capsys.readouterr().err
    assert path.exists()
    traffic.bring_turns_home(orders)
    assert counted(orders) == WHOLE


def test_a_home_that_is_opened_read_only_loses_no_turn(orders: Orders, capsys: pytest.CaptureFixture[str]) -> None:
    path = leave(orders, *LINES)
    with readonly.sealed(orders.project.root):
        traffic.bring_turns_home(orders)
        assert path.exists()
    assert "read-only" in capsys.readouterr().err
