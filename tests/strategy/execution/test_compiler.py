"""Banks: faults with file and line, cycles, ties, what a reload compiles anew (S79 to S83, S5 of hot reload)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from core.strategy.documents.release import BankSettings
from core.strategy.execution.compiler import compile_bank
from core.strategy.execution.hot import Material, Reloader
from tests.strategy.execution.making import World, text

HEAD = "schema: strategy/v1\nid: shop.one\nversion: 1\npurpose: One.\ndomain: shop\nowner: someone\n"


def faults(body: str, world: World | None = None) -> list[str]:
    world = world or World().skill("look", inputs=["a"]).skill("pay", effects="write")
    schemas = {name: one.schema for name, one in world.skills.items()}
    bank = compile_bank({"one.yaml": HEAD + body}, BankSettings.model_validate({}), schemas)
    assert (not bank.strategies) == bool(bank.faults)
    return [str(fault) for fault in bank.faults]


@pytest.mark.meets("S81", "S82")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("plan: {run: nothing}", "one.yaml:7:8: plan.run: there is no skill nothing"),
        ("plan:\n  - {run: look}\n  - {skip: gone}", "one.yaml:9:6: plan[1].skip: there is no skill gone"),
        ("plan: {call: shop.two}", "one.yaml:7:8: call: there is no strategy shop.two"),
        ("trigger: {when: ordr.status == 'x'}", "one.yaml:7:17: trigger.when: "),
        ("plan: {run: look, with: {b: 1}}", "one.yaml:7:26: plan.with.b: look has no input b"),
        ("plan: {run: look, with: {a: $nobody.knows}}", "plan.with.a: nothing is known as nobody.knows"),
        ("plan: {loop: {do: {run: look}, until: 'x ==', max_iterations: 2}}", "one.yaml:7:"),
        ("plan: {loop: {do: {run: look}, until: 'true'}}", "plan.loop.max_iterations: is missing"),
        ("plan: {loop: {do: {run: look}, until: 'true', max_iterations: 9}}", "plan.loop.max_iterations:"),
        ("trigger: {when: 'true'}\ncontext: {needs: [mood]}\n", "8:19: context.needs[0]: is needed: mood"),
        ("context: {complete: {x: pay}}\nplan: {run: look}", "context.complete.x: pay writes (write)"),
        (
            "plan: {run: look, as: x}\nvalidate: {cross: [{at: x, probe: pay, expr: probe.ok}]}",
            "cross[0].probe: pay writes",
        ),
        ("plan: {run: look, as: x}\nvalidate: {level0: {checks: [{at: y, present: [a]}]}}", "known as y"),
        ("effective_from: yesterday\nplan: {run: look}", "one.yaml:7:1: effective_from: is no date"),
        ("effective_from: '2026-06-02'\ndeprecation_date: '2026-06-01'\nplan: {run: look}", "never be in force"),
    ],
)
def test_a_fault_has_its_file_line_and_path(body: str, said: str) -> None:
    assert said in faults(body)[0]


def test_all_faults_are_told_not_just_the_first() -> None:
    assert len(faults("plan:\n  - {run: one}\n  - {run: two}\n  - {skip: three}")) == 3


@pytest.mark.meets("S83")
def test_cycles_of_calls_and_of_precedence_are_refused_with_their_way() -> None:
    world = World().skill("look")
    bank = world.bank(
        "{id: shop.a, plan: [{run: look}, {call: shop.b}]}",
        "{id: shop.b, called: true, plan: {run: look, recover: {'*': {do: {call: shop.c}}}}}",
        "{id: shop.c, called: true, plan: {call: shop.a}}",
        "{id: shop.d, called: true, plan: {run: look}}",
        allow_faults=True,
    )
    assert len(bank.faults) == 1
    assert "calls go round in a circle: shop.a -> shop.b -> shop.c -> shop.a" in str(bank.faults[0])
    assert str(bank.faults[0]).startswith("0.yaml:")
    rivals = world.bank(
        "{id: shop.a, conflict_resolution: {overrides: [shop.b]}, plan: {run: look}}",
        "{id: shop.b, conflict_resolution: {overrides: [shop.c]}, plan: {run: look}}",
        "{id: shop.c, conflict_resolution: {overrides: [shop.a]}, plan: {run: look}}",
        allow_faults=True,
    )
    assert "precedence goes round in a circle: shop.a -> shop.b -> shop.c -> shop.a" in str(rivals.faults[0])


@pytest.mark.meets("S124", "S125")
def test_a_proved_tie_is_refused_and_a_written_order_settles_it() -> None:
    world = World().skill("look")
    one = "{id: shop.a, trigger: {when: intent.confidence > 0.5 && turn.count > 1}, plan: {run: look}}"
    other = "{id: shop.b, %s trigger: {when: turn.count > 1 && intent.confidence > 0.5}, plan: {run: look}}"
    bank = world.bank(one, other % "", allow_faults=True)
    assert "fires whenever shop.a does and nothing says which goes first" in str(bank.faults[0])
    assert set(bank.strategies) == {"shop.a"}
    assert len(world.bank(one, other % "conflict_resolution: {overrides: [shop.a]},").strategies) == 2
    assert len(world.bank(one, other % "conflict_resolution: {priority: 9},").strategies) == 2


def test_the_same_id_twice_and_an_override_of_nobody() -> None:
    world = World().skill("look")
    bank = world.bank("plan: {run: look}", "plan: {run: look}", allow_faults=True)
    assert "shop.one is in 0.yaml too" in str(bank.faults[0])
    warned = world.bank("{conflict_resolution: {overrides: [shop.gone]}, plan: {run: look}}")
    assert "there is no strategy shop.gone" in str(warned.warnings[0])


@pytest.mark.meets("S80")
def test_only_what_changed_is_compiled_again_unless_skills_changed() -> None:
    world = World().skill("look").skill("other")
    schemas = {name: one.schema for name, one in world.skills.items()}
    settings = BankSettings.model_validate({})
    files = {
        f"{n}.yaml": text(f"{{id: shop.s{n}, plan: {{run: look}}, trigger: {{when: turn.count > {n}}}}}")
        for n in range(5)
    }
    first = compile_bank(files, settings, schemas)
    assert first.compiled_anew == 5
    changed = {**files, "3.yaml": files["3.yaml"].replace("look", "other"), "shop.s3.release.yaml": "anything"}
    second = compile_bank(changed, settings, schemas, first)
    assert second.compiled_anew == 1
    assert second.strategies["shop.s1"] is first.strategies["shop.s1"]
    assert second.strategies["shop.s3"].sha256 != first.strategies["shop.s3"].sha256
    assert second.sha256 != first.sha256
    fewer = compile_bank(changed, settings, {"look": schemas["look"]}, second)
    assert (fewer.compiled_anew, len(fewer.faults)) == (5, 1)


@pytest.mark.meets("S79", "S80")
async def test_a_bank_follows_its_files_and_sessions_under_way_keep_theirs(tmp_path: Path) -> None:
    world = World().skill("look").skill("other")
    schemas = {name: one.schema for name, one in world.skills.items()}
    file = tmp_path / "shop" / "one.yaml"
    file.parent.mkdir()
    file.write_text(text("plan: {run: look}"))

    def read() -> Material:
        files = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*.yaml")}
        return Material(files, BankSettings.model_validate({}), schemas)

    reloader, stop = Reloader(read), asyncio.Event()
    began = reloader.bank_of("s1")
    updates = reloader.watch(tmp_path, stop)
    waiting = asyncio.ensure_future(anext(updates))
    for number in range(200):  # the watcher says nothing of when it is ready: write until it has seen something
        file.write_text(text(f"{{version: {number + 2}, plan: {{run: other}}}}"))
        done, _ = await asyncio.wait([waiting], timeout=0.1)
        if done:
            break
    assert waiting.result().changed == ("shop.one",)
    assert reloader.bank.strategies["shop.one"].strategy.version > 1
    assert reloader.bank_of("s1") is began
    assert reloader.bank_of("s2") is reloader.bank
    good = reloader.bank
    file.write_text(text("plan: {run: gone}"))
    assert [fault.file for fault in reloader.reload().faults] == ["shop/one.yaml"]
    assert reloader.bank.strategies.keys() == good.strategies.keys()
    reloader.end("s1")
    assert reloader.bank_of("s1") is reloader.bank
    stop.set()


def test_the_bank_of_the_worked_example_needs_its_skills() -> None:
    body = (Path(__file__).parents[2] / "fixtures" / "strategies" / "aftersale.paid_no_parcel.yaml").read_text()
    bank = compile_bank({"one.yaml": body}, BankSettings.model_validate({}), {})
    assert any("there is no skill refund_precheck" in fault.reason for fault in bank.faults)
