"""`exuvia strategy board|domain|outcome|check|lint|impact|graph` over the shop's bank and what was really executed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from core.state.paths import ProjectPaths
from core.strategy.bank.bank import bank_of
from tests.cli.program import environment, tree_hash
from tests.cli.strategy_home import AGENT, NAME, out, ran, strategy, turns_of


def project(home: Path) -> ProjectPaths:
    return ProjectPaths(home / "default_project")


def write(home: Path, name: str, text: str) -> None:
    (bank_of(project(home)).root / name).write_text(text)


def replaced(home: Path, name: str, old: str, new: str) -> None:
    path = bank_of(project(home)).root / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.meets("S43", "S75", "S77")
def test_the_board_counts_what_was_executed_and_leaves_unknown_unknown(shop: Path) -> None:
    told = strategy(shop, "board", "--json").document
    rows = told["rows"]
    assert told["whole"]["executions"] == sum(row["executions"] for row in rows.values()) == len(ran(shop))
    assert rows[NAME]["pseudo_success"] == {"hits": 0, "count": 0, "share": None, "interval": None}
    assert rows["aftersale.pay_back"]["pseudo_success"]["count"] == rows["aftersale.pay_back"]["executions"]
    assert told["whole"]["levels"]["level0"]["share"] > told["whole"]["levels"]["level1"]["share"] == 0
    assert {one["name"]: one["owner"] for one in told["inventory"]["domains"]}["content"] == "content-team"
    line = next(line for line in out(shop, "board").splitlines() if line.startswith(NAME)).split()
    mine = [one for one in ran(shop) if one.strategy_id == NAME]
    fallback = sum(bool(one.fallbacks) for one in mine) / len(mine)
    assert [line[1], *line[3:5]] == [str(len(mine)), f"{fallback:.1%}", "-"]
    assert "waited for checks".upper() in out(shop, "board", NAME)


@pytest.mark.meets("S72")
def test_the_board_breaks_down_by_a_users_attribute(shop: Path) -> None:
    rows = strategy(shop, "board", "--by", "device", "--json").document["rows"]
    assert set(rows) == {"android", "ios", "web"}
    of_one = strategy(shop, "board", NAME, "--by", "device", "--json").document["rows"]
    assert sum(row["executions"] for row in of_one.values()) == sum(one.strategy_id == NAME for one in ran(shop))
    unnamed = strategy(shop, "board", "--by", "shoe_size", "--json").document["rows"]
    assert set(unnamed) == {"unknown"}


def test_the_board_of_what_is_not_there(shop: Path) -> None:
    ended = strategy(shop, "board", "aftersale.nothing")
    assert ended.code == 2
    assert "there is no strategy 'aftersale.nothing'" in ended.err
    assert "Nothing was executed." in out(shop, "board", "--hours", "0.5")


@pytest.mark.meets("S77")
def test_a_domain_is_reviewed_by_a_person_and_the_next_review_is_due_later(shop: Path) -> None:
    assert out(shop, "domain", "list").count("OVERDUE") == 4
    assert "aftersale is reviewed. The next time: " in out(shop, "domain", "review", "aftersale", "--reason", "read")
    assert out(shop, "domain", "list").count("OVERDUE") == 3
    assert "domain_reviewed" in out(shop, "history")
    ended = strategy(shop, "domain", "review", "nothing")
    assert ended.code == 2
    assert "Domains: aftersale, content, presale, service." in ended.err


@pytest.mark.meets("S74", "S102")
def test_outcomes_come_from_outside_one_by_one_and_from_a_file(shop: Path, tmp_path: Path) -> None:
    write(
        shop, f"aftersale/{NAME}.release.yaml",
        f"schema: release/v1\nid: {NAME}\nversion: 4\ntrack: {{business_impact: {{metric: resolved}}}}\n",
    )  # fmt: skip
    sessions = sorted({
        one["session"] for path in (bank_of(project(shop)).records / "executions").iterdir()
        for one in map(json.loads, path.read_text().splitlines()) if one["strategy_id"] == NAME
    })  # fmt: skip
    said = strategy(shop, "outcome", sessions[0], "resolved=true", "nps=9")
    assert said.out == f"Taken for {sessions[0]}: resolved=true, nps=9\n"
    assert "No turn of" in said.err
    lines = [json.dumps({"session": session, "resolved": False}) for session in sessions[1:]]
    file = tmp_path / "outcomes.jsonl"
    file.write_text("\n".join([*lines, '{"session": "x"}', "nonsense"]))
    taken = strategy(shop, "outcome", "--from", str(file), "--json")
    assert taken.code == 1
    assert [line["line"] for line in taken.document["refused"]] == [len(lines) + 1, len(lines) + 2]
    row = strategy(shop, "board", NAME, "--json").document["rows"][NAME]
    mine = [one for one in ran(shop) if one.strategy_id == NAME]
    assert row["business_impact"]["known"] == row["executions"] == len(mine)
    good = sum(one.session == sessions[0] for one in mine)
    assert row["business_impact"]["mean"] == pytest.approx(good / len(mine))
    assert strategy(shop, "board", "--json").document["satisfaction"] == {"answers": 1, "mean": 9.0}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "No session is named."),
        (("s1",), "No outcome was named."),
        (("s1", "resolved"), "'resolved' is no key=value."),
        (("s1", "Resolved=true"), "is no key of an outcome"),
        (("s1", "resolved=true", "--time", "2026-06-01T08:00:00"), "has no time zone"),
        (("s1", "--from", "pyproject.toml"), "--from brings its own sessions"),
    ],
)
def test_an_outcome_that_cannot_be_taken_names_why(shop: Path, words: tuple[str, ...], said: str) -> None:
    ended = strategy(shop, "outcome", *words)
    assert ended.code == 2
    assert said in ended.err
    assert not (bank_of(project(shop)).records / "outcomes").exists()


@pytest.mark.meets("S63", "S64", "S65", "S66", "X5")
def test_a_bank_in_order_passes_and_says_what_it_looked_at(shop: Path) -> None:
    before = tree_hash(shop)
    ended = strategy(shop, "check", NAME, "--json")
    assert ended.code == 0, ended.out
    assert tree_hash(shop) == before
    told = ended.document
    assert told["ok"]
    assert [one["strategy"] for one in told["simulated"]] == [NAME]
    assert [one["strategy"] for one in told["impact"]] == [NAME]
    assert len(told["routing"]) > 20
    mine = turns_of(one for one in ran(shop) if one.strategy_id == NAME)
    assert told["impact"][0]["turns"]["share"] == pytest.approx(
        len(mine) / len(turns_of(one for one in ran(shop) if one.strategy_id))
    )


@pytest.mark.meets("S63", "S64", "S81", "X5")
@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (f"aftersale/{NAME}.yaml", "trigger:", "triger:", f"aftersale/{NAME}.yaml:"),
        ("content/content.how_to.yaml", "intent.name ==", "intent.nane ==", "intent.nane"),
        ("content/content.how_to.yaml", "fire: [", "fire: [{utterance: hello, set: {intent.name: x}}, ",
         "must fire on 'hello'"),
        ("bank.yaml", "lowest: 40", "lowest: 70", "the band of aftersale"),
    ],
)  # fmt: skip
def test_a_fault_makes_the_check_fail_and_says_where(shop: Path, file: str, old: str, new: str, said: str) -> None:
    path = bank_of(project(shop)).root / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    ended = strategy(shop, "check", "service.notify")
    assert ended.code == 1
    assert said in ended.out


def test_only_what_changed_is_simulated_where_that_is_asked(shop: Path) -> None:
    names = sorted(bank_of(project(shop)).files())
    for name in names:
        if name != NAME:  # its text names a version before it that this bank never had
            out(shop, "publish", name)
    told = strategy(shop, "check", "--changed", "--json").document
    assert told["changed"] == [one["strategy"] for one in told["simulated"]] == [NAME]
    replaced(shop, f"aftersale/{NAME}.yaml", "parent_version: 3\n", "")
    out(shop, "publish", NAME)
    assert strategy(shop, "check", "--changed", "--json").document["simulated"] == []
    both = strategy(shop, "check", "--changed", NAME)
    assert both.code == 2
    assert "exclude each other" in both.err


@pytest.mark.meets("S46", "S90")
def test_the_check_looks_at_skills_and_prompts_too(shop: Path) -> None:
    agent = project(shop).agent(AGENT)
    schema = agent.skills / "send_sms" / "skill.yaml"
    schema.write_text(schema.read_text().replace("failure_modes", "failure_modi"))
    agent.agents_md.write_text("When service.notify fires, be friendly.\n")
    told = out(shop, "check", "service.notify", code=1)
    assert f"error: {AGENT}/skills/send_sms/skill.yaml:" in told
    assert f"{AGENT}/AGENTS.md: the prompt holds its id" in told


def test_a_skill_that_two_agents_promise_differently_is_told(shop: Path) -> None:
    other = project(shop).agent("default_agent")
    folder = other.skills / "send_sms"
    folder.mkdir(parents=True)
    mine = (project(shop).agent(AGENT).skills / "send_sms" / "skill.yaml").read_text()
    (folder / "skill.yaml").write_text(mine.replace("side_effects: write", "side_effects: irreversible"))
    told = out(shop, "check", "service.question", code=1)
    assert "differs from" in told
    assert "--agent" in told
    out(shop, "check", "service.question", "--agent", AGENT)
    unknown = strategy(shop, "check", "--agent", "nobody")
    assert unknown.code == 2
    assert "Agents here:" in unknown.err


def test_a_check_of_what_is_not_there(shop: Path, fresh: Path) -> None:
    ended = strategy(shop, "check", "aftersale.nothing")
    assert ended.code == 2
    assert "there is no strategy" in ended.err
    assert strategy(fresh, "check").code == 2


@pytest.mark.meets("S107")
def test_laws_are_told_and_errors_exit_with_one(shop: Path) -> None:
    out(shop, "lint")
    replaced(shop, "content/content.how_to.yaml", "purpose: ", "purpose: Answers everything and ")
    assert "universal strategy" in out(shop, "lint", "content.how_to", code=1)
    assert strategy(shop, "lint", "service.notify", "--json").document == {"ok": True, "lints": []}


@pytest.mark.meets("S66")
def test_impact_says_the_share_of_call_paths_and_of_turns(shop: Path) -> None:
    told = strategy(shop, "impact", "aftersale.pay_back", "--json").document
    assert told["affected"] == [NAME, "aftersale.pay_back"]
    assert told["by_skill"]["apply_refund"]["share"] == 1
    assert told["turns"]["count"] == len(turns_of(one for one in ran(shop) if one.strategy_id))
    assert "apply_refund" in out(shop, "impact", "aftersale.pay_back")
    assert strategy(shop, "impact", "aftersale.nothing").code == 2


@pytest.mark.meets("S108", "S109", "S110")
def test_a_graph_marks_whom_a_change_concerns(shop: Path) -> None:
    told = out(shop, "graph", "aftersale.pay_back")
    assert f"Concerned: {NAME} (call aftersale.pay_back, plan)" in told
    assert re.search(r"^Mandatory: [1-9]\d* routing examples of 2 strategies\.$", told, re.M)
    whole = strategy(shop, "graph", "--json").document
    assert whole["affected"] is None
    assert {"source": NAME, "target": "aftersale.pay_back", "kind": "call", "why": "plan"} in whole["edges"]


def test_a_command_loads_only_what_it_needs(shop: Path) -> None:
    script = (
        "import sys\nfrom tui.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print(sorted(n for n in sys.modules if n == 'cel' or n.startswith(('core.strategy.', 'textual'))))\n"
    )
    for words, absent in (
        (("list",), ("cel", "core.strategy.execution", "core.strategy.governance", "textual")),
        (("--help",), ("cel", "core.strategy.governance", "core.strategy.execution", "textual")),
        (("board",), ("cel", "core.strategy.governance", "core.strategy.execution.turn", "textual")),
    ):
        place = () if "--help" in words else ("--home", str(shop))
        ended = subprocess.run(
            [sys.executable, "-P", "-c", script, "strategy", *words, *place],
            capture_output=True, text=True, check=True, env=environment(PYTHONPATH=str(Path(__file__).parents[2])),
            timeout=60,
        )  # fmt: skip
        loaded = ended.stdout.splitlines()[-1]
        for name in absent:
            assert f"'{name}'" not in loaded, (words, name)
