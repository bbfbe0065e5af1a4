"""Skills that are called: by a script, confined for real, or by a sub-session that follows their text (S2, S46)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.agents.callable_skills import answer_in, as_skills, callables
from core.agents.isolation.policy import IsolationPolicy
from core.agents.isolation.support import probe
from core.agents.session import Session
from core.agents.tools.commands import Shell
from core.agents.tools.subagents import ChildWish
from core.foundation.errors import RefusedError
from core.models.interface import Request, Text
from core.strategy.execution.skills import RAISED, TIMEOUT, Call
from core.traces.writer import TraceWriter

from .scripted import Scripted, Step, make_spec, say

confined = pytest.mark.skipif(probe().layer == "none", reason="this kernel confines nothing")
SCHEMA = """skill: {name}
side_effects: read
idempotent: true
signature:
  inputs: {{order_id: {{type: string, role: domain_constraint}}}}
  outputs: {{type: object}}
context: {{}}
failure_modes: [{{code: NOT_FOUND, severity: low}}]
"""
SCRIPT = """import json, sys
asked = json.load(sys.stdin)
print("looking", asked["inputs"]["order_id"])
if asked["inputs"]["order_id"] == "none":
    print(json.dumps({"code": "NOT_FOUND", "message": "no such order"}))
else:
    print(json.dumps({"output": {"status": "paid", "key": asked["call"]["idempotency_key"]}}))
"""


def install(skills: Path, name: str, script: str | None = None, schema: str = SCHEMA) -> None:
    folder = skills / name
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: D.\n---\nLook the order up.\n")
    if schema:
        (folder / "skill.yaml").write_text(schema.format(name=name))
    if script is not None:
        (folder / "scripts" / "call.py").write_text(script)


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    workspace, home = (tmp_path / "ws").resolve(), (tmp_path / "home").resolve()
    skills = tmp_path / "skills"
    for directory in (workspace, home, skills):
        directory.mkdir()
    made = Shell(IsolationPolicy(read=(skills.resolve(),), write=(workspace, home)), workspace, home)
    yield made
    await made.aclose()


@pytest.mark.meets("S2", "S46")
def test_a_schema_beside_the_text_makes_a_skill_callable(tmp_path: Path) -> None:
    install(tmp_path, "query_order", SCRIPT)
    install(tmp_path, "plain", schema="")
    install(tmp_path, "half", schema=SCHEMA.replace("failure_modes: [{{code: NOT_FOUND, severity: low}}]\n", ""))
    install(tmp_path, "other", schema=SCHEMA.replace("{name}", "stranger"))
    found, told = callables(tmp_path)
    assert [(one.schema.skill, one.script is not None) for one in found] == [("query_order", True)]
    assert told[0].startswith("half/skill.yaml:1:1: failure_modes: is missing")
    assert told[1].startswith("other/skill.yaml:1:1: skill: is stranger")


@confined
async def test_a_script_answers_with_an_output_or_a_code(shell: Shell, tmp_path: Path) -> None:
    install(tmp_path / "skills", "query_order", SCRIPT)
    skill = as_skills(callables(tmp_path / "skills")[0], shell, None)["query_order"]
    good = await skill.call({"order_id": "A1; echo x"}, Call("s", idempotency_key="k1"))
    assert (good.output, good.code) == ({"status": "paid", "key": "k1"}, "")
    bad = await skill.call({"order_id": "none"}, Call("s"))
    assert (bad.output, bad.code, bad.message) == (None, "NOT_FOUND", "no such order")
    assert list(shell.home.glob("skill-*")) == []


@confined
@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        ("raise SystemExit(3)", RAISED, "exit code 3"),
        ("print('all is well')", RAISED, "no answer: all is well"),
        ("open('/etc/shadow').read()", RAISED, "exit code 1"),
        ("import time; time.sleep(30)", TIMEOUT, "within 1 s"),
    ],
)
async def test_what_does_not_answer_failed(shell: Shell, tmp_path: Path, script: str, code: str, said: str) -> None:
    install(tmp_path / "skills", "query_order", script)
    skill = as_skills(callables(tmp_path / "skills")[0], shell, None)["query_order"]
    outcome = await skill.call({"order_id": "A1"}, Call("s", timeout_ms=1000))
    assert (outcome.output, outcome.code) == (None, code)
    assert said in outcome.message


@pytest.mark.meets("S2")
async def test_a_skill_without_a_script_is_followed_by_a_sub_session(shell: Shell, tmp_path: Path) -> None:
    install(tmp_path / "skills", "query_order")
    asked: list[str] = []

    def open_child(wish: ChildWish) -> Session:
        def answer(request: Request) -> Step:
            last = request.messages[-1]
            assert isinstance(last, Text)
            asked.append(last.text)
            return say('Looked.\n{"output": {"status": "paid"}}')

        spec = make_spec(tmp_path, Scripted(answer), ())
        return Session(replace(spec, session_id="session-child", trace=TraceWriter(tmp_path / "child.jsonl")))

    announced: list[str] = []
    skill = as_skills(callables(tmp_path / "skills")[0], shell, open_child, announced.append)["query_order"]
    outcome = await skill.call({"order_id": "A1"}, Call("s"))
    assert outcome.output == {"status": "paid"}
    assert announced == ["session-child"]
    assert "Look the order up." in asked[0]
    assert '"order_id":"A1"' in asked[0].replace(" ", "")
    assert "NOT_FOUND" in asked[0]

    def refuse(wish: ChildWish) -> Session:
        raise RefusedError("Error: too many.")

    refused = as_skills(callables(tmp_path / "skills")[0], shell, refuse)["query_order"]
    assert (await refused.call({"order_id": "A1"}, Call("s"))).code == RAISED


@pytest.mark.parametrize(
    "text",
    [
        "",
        "done",
        '{"output": 3}',
        '{"output": {}, "code": "X"}',
        '{"code": ""}',
        '{"output": {}, "output": {}}',
        '{"output": {"a": NaN}}',
        '{"output": {}}\nbye',
    ],
)
def test_an_answer_is_read_strictly(text: str) -> None:
    assert answer_in(text).code == RAISED


@confined
@pytest.mark.parametrize(
    ("script", "code"),
    [
        ('print(json.dumps({"output": {"seen": t, t: [t]}}))', ""),
        ('print(json.dumps({"code": "REFUSED", "message": f"{t} is wrong"}))', "REFUSED"),
        ('print(t + "x" * 385); sys.exit(3)', RAISED),  # the cut goes through the secret
        ('print(t + "x" * 385)', RAISED),
    ],
)
async def test_a_vault_value_leaves_no_skill(shell: Shell, tmp_path: Path, script: str, code: str) -> None:
    """However JSON spells it, and whole or in part."""
    secret = 's3cr\u00e9t"value-of-the-vault'
    head = "import json, os, sys\nt = os.environ['TOKEN']\n"
    install(tmp_path / "skills", "query_order", head + script)
    knowing = replace(shell, extra_env={"TOKEN": secret})
    skill = as_skills(callables(tmp_path / "skills")[0], knowing, None)["query_order"]
    outcome = await skill.call({}, Call("s"))
    assert outcome.code == code
    said = f"{outcome.output} {outcome.message}"
    assert "[redacted]" in said
    assert not any(secret[at : at + 6] in said for at in range(len(secret) - 6))


@pytest.mark.parametrize("code", ["not found", "\x1b[2J", "X" * 65, "x", "A\n", "A-B"])
def test_a_code_that_no_profile_could_hold_is_no_answer(code: str) -> None:
    found = answer_in(json.dumps({"code": code, "message": "m"}))
    assert (found.output, found.code) == (None, RAISED)


def test_a_message_is_bounded_and_moves_no_cursor() -> None:
    found = answer_in(json.dumps({"code": "GONE", "message": "\x1b[2J" + "m" * 100_000}))
    assert found.code == "GONE"
    assert len(found.message) < 3000
    assert "\x1b" not in found.message


@pytest.mark.parametrize("levels", [150, 900, 3000])
def test_an_answer_too_deep_for_any_record_is_none(levels: int) -> None:
    found = answer_in('{"output": ' + '{"a": ' * levels + "1" + "}" * levels + "}")
    assert (found.output, found.code) == (None, RAISED)
    assert answer_in('{"output": ' + '{"a": ' * 90 + "1" + "}" * 90 + "}").code == ""


@pytest.mark.parametrize("sign", ["\u2028", "\u0085", "\u2029"])
def test_a_sign_that_ends_no_line_of_json_cuts_no_answer(sign: str) -> None:
    found = answer_in(f'working\r\n{{"output": {{"said": "a{sign}b"}}}}\r\n\n')
    assert (found.output, found.code) == ({"said": f"a{sign}b"}, "")
