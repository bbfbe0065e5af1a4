"""`exuvia strategy` under --read-only changes nothing, and prints nothing raw that a model, a user or a file said."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from core.state.paths import ProjectPaths
from core.strategy.bank.bank import bank_of
from core.strategy.bank.changes import FEEDBACK
from core.strategy.bank.states import Actor
from core.strategy.feedback.bad_cases import Queue
from core.strategy.feedback.review import submit
from core.strategy.feedback.synthesis import Draft
from tests.cli.program import call, tree_hash
from tests.cli.strategy_home import AGENT, NAME, keep_turns
from tests.cli.test_escapes import ATTACK, RAW
from tests.strategy.feedback.making import case

CHANGING = [
    ["outcome", "s1", "resolved=true"],
    ["outcome", "--from", "{file}"],
    ["import", "{draft}", "service.new", "--purpose", "One."],
    ["schema", AGENT, "query_order", "--draft", "--write"],
    ["nightly"],
    ["domain", "review", "service"],
    ["matrix", "--try", "rehearsal/rehearsal-1", "--agent", AGENT, "--write"],
    ["review", "approve", NAME, "--reason", "x"],
    ["review", "reject", NAME, "--reason", "x"],
    ["publish", "service.notify"],
    ["submit", NAME],
]


@pytest.mark.parametrize("words", CHANGING, ids=" ".join)
def test_read_only_holds_for_every_command_that_writes(words: list[str], shop: Path, tmp_path: Path) -> None:
    (tmp_path / "outcomes").write_text('{"session": "s1", "resolved": true}\n')
    (tmp_path / "draft").write_text("trigger_skill(send_sms)")
    project = ProjectPaths(shop / "default_project")
    keep_turns(project)
    (project.agent(AGENT).skills / "query_order" / "skill.yaml").unlink()
    held = bank_of(project)
    file = held.root / "aftersale" / f"{NAME}.yaml"
    file.write_text(file.read_text().replace("parent_version: 3\n", ""))
    me = Actor("ada", person=True)
    held.publish(NAME, me)
    if words[0] == "review":
        assert call("strategy", "submit", NAME, "--home", shop).code == 0
    filled = [word.format(file=tmp_path / "outcomes", draft=tmp_path / "draft") for word in words]
    before = tree_hash(shop)
    refused = call("--read-only", "strategy", *filled, "--home", shop)
    assert refused.code in {1, 2}, refused
    assert "read-only" in refused.err
    assert tree_hash(shop) == before
    assert call("strategy", *filled, "--home", shop).code in {0, 1}
    assert tree_hash(shop) != before


def test_nothing_hostile_reaches_the_terminal_raw(shop: Path) -> None:
    project = ProjectPaths(shop / "default_project")
    held = bank_of(project)
    bad = case(f"my parcel {ATTACK}", skill="query_logistics", code="X")
    assert Queue(held.records / FEEDBACK).add(bad)
    quoted = json.dumps(f"One {ATTACK}")
    text = (
        f"schema: strategy/v1\nid: service.hostile\nversion: 1\npurpose: {quoted}\ndomain: service\n"
        f"owner: {json.dumps(ATTACK)}\ncreated_by: {json.dumps(ATTACK)}\norigin: {{kind: synthesized}}\n"
        f"trigger: {{when: 'intent.name == {quoted}'}}\nplan: {{run: send_sms}}\n"
    )
    (held.root / "service" / "service.hostile.yaml").write_text(text)
    made = held.read("service.hostile")
    submit(held, Draft(text, made, "cluster", (), "model", ()))
    schema = project.agent(AGENT).skills / "send_sms" / "skill.yaml"
    schema.write_text(f"{json.dumps(ATTACK)}: 1\n{schema.read_text()}")
    for words in (
        ["list"], ["show", "service.hostile"], ["review"], ["review", "show", "service.hostile"], ["cases"],
        ["cases", bad.id], ["clusters"], ["check", "service.hostile"], ["lint"], ["graph"], ["board"], ["troubles"],
        ["conflicts"], ["schema", AGENT], ["schema", AGENT, "send_sms"], ["domain", "list"], ["history"],
        ["board", ATTACK.replace("\x00", "")], ["impact", ATTACK], ["outcome", ATTACK, "a=1"], ["cases", ATTACK],
        ["troubles", ATTACK], ["domain", "review", ATTACK],
    ):  # fmt: skip
        for json_too in ([], ["--json"]):
            if words == ["review"] and json_too:
                continue
            ended = call("strategy", *words, *json_too, "--home", shop)
            for stream in (ended.out, ended.err):
                assert not RAW.search(stream), (words, stream)
            assert ended.code in {0, 1, 2}, (words, ended)
    assert re.search(r"One .*ALL PASSED", call("strategy", "list", "--home", shop).out)
