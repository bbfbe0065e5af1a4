"""The rehearsal Target: what it reads, what it follows, and that it keeps nothing in mind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.agents.prompt import assemble_system_prompt, environment_of
from core.models.interface import Message, ModelRef, Request, Text, ToolCall, ToolOutput
from core.models.rehearsal.target import reply
from core.models.rehearsal.target_prompt import SkillEntry, blocks, most_relevant, skills
from core.models.rehearsal.target_statement import bind, recognise
from core.state.agents import create_agent, read_agent
from core.state.fresh import ensure_home
from tests.rehearsal.workbench import PROMPT, TOOLS, State, cases, naive, work

STATEMENT = """\
# Loans

Tidy `loans.csv` into `open.csv`, one row per `card`, with

- `card`: the card
- `lent`: day, `YYYY-MM-DD`
- `fee`: two decimals
- `books`: number of books
- `weight`: sum of `grams`
- `first`: time of the earliest, `YYYY-MM-DDTHH:MM:SSZ`
- `reader`: what follows "Read by"

Papers are in `desk/`; `mapping.csv` names places. The path is `shelf/<year>/<title>.<ext>`.
"""


def asked(prompt: str, *messages: Message) -> Request:
    return Request(ModelRef("rehearsal", "rehearsal-1"), prompt, (Text("user", PROMPT), *messages), TOOLS)


def test_a_statement_binds_its_names() -> None:
    bound = bind(STATEMENT, ["README.md", "loans.csv", "desk/a.txt", "mapping.csv"])
    assert bound["IN"] == "loans.csv"
    assert bound["OUT"] == "open.csv"
    assert bound["DIR"] == "desk/"
    assert bound["MAPPING"] == "mapping.csv"
    assert bound["KEY"] == "card"
    assert bound["PATTERN"] == "shelf/<year>/<title>.<ext>"
    assert bound["COLUMNS"] == "card,lent,fee,books,weight,first,reader"
    assert bound["SPEC"].split(";") == [
        "card=value:card",
        "lent=date:lent",
        "fee=number:fee",
        "books=count:books",
        "weight=sum:grams",
        "first=min:first",
        "reader=value:Read by",
    ]


def test_nothing_is_bound_that_is_not_said() -> None:
    assert bind("Do something nice.", ["README.md"]) == {"README": "README.md"}


@pytest.mark.parametrize(
    ("case", "kind"),
    zip(cases(), ["table", "log", "config", "report", "archive", "text", "table", "text"], strict=True),
    ids=lambda value: value.name if isinstance(value, Path) else value,
)
def test_the_kind_of_chore_is_recognised(case: Path, kind: str) -> None:
    statement = (case / "statement" / "README.md").read_text(encoding="utf-8")
    files = [path.relative_to(case / "statement").as_posix() for path in (case / "statement").rglob("*")]
    bound = bind(statement, files)
    assert recognise(statement, [bound["IN"]]) == kind


def test_blocks_belong_to_their_heading_alone() -> None:
    text = (
        "## Before you start\n\nwords\n\n```sh\n# Not a heading\necho 1\n```\n\n```python\nprint()\n```\n"
        "### Deeper\n```sh\necho 2\n```\n## Other\n```sh\necho 3\n```\n## Before you start\n```bash\necho 4\n```\n"
    )
    assert blocks(text, "before you start") == ("# Not a heading\necho 1", "echo 2", "echo 4")


def test_the_most_relevant_skill_is_chosen_or_none() -> None:
    bees = SkillEntry("bees Counts hives, queens and swarms of an apiary", "/s/bees/SKILL.md")
    boats = SkillEntry("boats Lists hulls, masts and sails of a harbour", "/s/boats/SKILL.md")
    assert most_relevant("Count the hives and queens of the apiary.", [boats, bees]) is bees
    assert most_relevant("Sails and masts of each hull.", [boats, bees]) is boats
    assert most_relevant("Write a poem.", [boats, bees]) is None
    assert most_relevant("Count the hives.", []) is None


def test_the_prompt_of_a_real_agent_shows_skills_and_habits(tmp_path: Path) -> None:
    skill = tmp_path / "count-bees"
    skill.mkdir()
    (skill / "SKILL.md").write_text(
        '---\nname: count-bees\ndescription: "Counts bees: hives and queens."\n---\n# Bees\n', encoding="utf-8"
    )
    project = ensure_home(tmp_path / "home")
    agent = create_agent(
        project,
        "clerk",
        name="Clerk",
        description="Does chores",
        agents_md="# Clerk\n\n## Before you start\n\n```sh\necho ready\n```\n",
        skills=[skill],
    )
    environment = environment_of(
        project, "clerk", workspace=tmp_path, model=ModelRef("rehearsal", "rehearsal-1"), session_id="session-x"
    )
    prompt = assemble_system_prompt(agent, read_agent(agent), environment)
    assert blocks(prompt, "before you start") == ("echo ready",)
    (entry,) = [entry for entry in skills(prompt) if "count-bees" in entry.path]
    assert Path(entry.path) == agent.skills / "count-bees" / "SKILL.md"
    assert "hives and queens" in entry.text


def test_a_reply_depends_on_the_request_alone() -> None:
    (first,) = reply(asked(""), 7)
    assert isinstance(first, ToolCall)
    assert json.loads(first.arguments) == {"file_path": "README.md"}
    heard = asked("", first, ToolOutput(first.call_id, STATEMENT))
    again = reply(heard, 7)
    assert again == reply(heard, 7)
    assert isinstance(again[0], ToolCall)
    assert again[0].call_id != first.call_id


def test_a_task_without_input_ends_in_words() -> None:
    (first,) = reply(asked(""), 7)
    assert isinstance(first, ToolCall)
    (second,) = reply(asked("", first, ToolOutput(first.call_id, "Be well.")), 7)
    assert isinstance(second, ToolCall)
    messages = (first, ToolOutput(first.call_id, "Be well."), second, ToolOutput(second.call_id, "@file README.md\n"))
    (last,) = reply(asked("", *messages), 7)
    assert isinstance(last, Text)


@pytest.mark.parametrize("wrapped", [False, True])
def test_blocks_of_agents_md_run_and_bind(wrapped: bool, tmp_path: Path) -> None:
    prompt = "## Before you start\n```sh\necho look\n```\n## Before you finish\n```sh\necho bye\n```\n"
    messages: list[Message] = []
    commands: list[str] = []
    outputs = {"find .": "@file loans.csv\n", "echo look": "bind DATE_ORDER=dmy\nbind junk\n"}
    for _ in range(9):
        (answer,) = reply(asked(prompt, *messages), 7)
        if not isinstance(answer, ToolCall):
            break
        command = json.loads(answer.arguments).get("cmd", "")
        commands.append(command)
        output = STATEMENT if answer.name == "read_file" else ""
        output = next((text for mark, text in outputs.items() if mark in command), output)
        messages += [answer, ToolOutput(answer.call_id, json.dumps({"output": output}) if wrapped else output)]
    assert "DATE_ORDER=dmy" not in commands[2]
    assert "DATE_ORDER=dmy" in commands[3]
    assert commands[-1].endswith("echo bye")


def test_prose_without_commands_changes_nothing(tmp_path: Path) -> None:
    prose = (
        ("polite-registers", "---\nname: polite-registers\ndescription: tidy open register entries\n---\nBe kind.\n"),
    )
    case = cases()[0] / "statement"
    plain = work(case, tmp_path / "a", naive())
    told = work(case, tmp_path / "b", State("# Agent\n\n## Before you start\n\nRead everything twice.\n", prose))
    assert plain.commands == told.commands
    assert (tmp_path / "a" / "register.csv").read_bytes() == (tmp_path / "b" / "register.csv").read_bytes()


def test_a_limit_of_turns_cuts_the_work_off(tmp_path: Path) -> None:
    case = next(case for case in cases() if "archive" in case.name) / "statement"
    cut = work(case, tmp_path / "a", State(max_turns=8))
    whole = work(case, tmp_path / "b", State(max_turns=40))
    assert (cut.text, cut.turns) == ("", 8)
    assert not (tmp_path / "a" / "manifest.csv").exists()
    assert whole.text.startswith("Done")
    assert (tmp_path / "b" / "manifest.csv").exists()
