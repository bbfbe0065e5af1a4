"""A curator in another process: what is asked arrives whole, and every way in which it can fail is told."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.curation import wire
from core.curation.curator_process import CuratorProcess, CuratorProcessError, trained
from core.curation.curators import Curation, CurationInput
from core.curation.fields import Fields
from core.curation.worlds import Episode, Step, Task
from core.foundation import strict_json
from core.foundation.errors import NotFoundError
from core.skillrepo.calls import parse, render
from core.skillrepo.skill import Skill, write

pytestmark = pytest.mark.meets("K6")

SERVING = """
import os, sys
from core.curation.curator_serving import serve_pipes
from core.curation.curators import Curation
from core.foundation.errors import RefusedError
from core.skillrepo.calls import parse, render

class Echo:
    name = "echo"
    def refuses(self, world):
        return "" if world == "kitchen" else f"It was trained for kitchen, not for {world}."
    def curate(self, inputs):
        print("a library prints this to standard output")
        if any(given.episode.task.id == "refused" for given in inputs):
            raise RefusedError("It will not.", hint="Ask another.")
        if any(given.episode.task.id == "crash" for given in inputs):
            print("out of memory", file=sys.stderr)
            os._exit(9)
        for given in inputs:
            text = render("new_skill_insert", {"skill_name": given.episode.task.text, "content": str(given.seed)})
            yield Curation(text, parse(text), len(given.retrieved), None)

serve_pipes(Echo())
"""


def command(script: str = SERVING) -> list[str]:
    return [sys.executable, "-P", "-c", textwrap.dedent(script)]


def given_input(task_id: str = "t", seed: int = 5, text: str = "do it") -> CurationInput:
    episode = Episode(Task(task_id, "f", text, "test", 3), None, 1, (Step("a", "b", True),), failure="lost")
    return CurationInput(episode, (write("a", "b", "c"),), seed)


def test_answers_come_in_order_and_prints_do_not_disturb() -> None:
    with CuratorProcess(command()) as curator:
        assert curator.name == "echo"
        assert curator.refuses("kitchen") == ""
        assert curator.refuses("shop") == "It was trained for kitchen, not for shop."
        answers = curator.curate([given_input(seed=1), given_input(seed=2, text="\N{SNOWMAN} \ud800")])
        assert [answer.calls[0].arguments and answer.calls[0].arguments["content"] for answer in answers] == ["1", "2"]
        assert answers[0].prompt_tokens == 1
        assert answers[0].answer_tokens is None
        assert curator.curate([]) == ()


def test_a_refusal_is_an_error_with_its_hint_and_the_process_lives_on() -> None:
    with CuratorProcess(command()) as curator:
        with pytest.raises(CuratorProcessError, match="It will not") as caught:
            curator.curate([given_input("refused")])
        assert caught.value.hint == "Ask another."
        assert len(curator.curate([given_input()])) == 1


def test_a_process_that_dies_says_its_last_words() -> None:
    with (
        CuratorProcess(command()) as curator,
        pytest.raises(CuratorProcessError, match=r"ended\. Its last words: out of memory"),
    ):
        curator.curate([given_input("crash")])


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("import sys; sys.exit('no policy there')", "ended.*no policy there"),
        ('print(\'{"hello": 99, "curator": "x"}\')', "does not speak our protocol"),
        ("print('[1]')", "no object"),
        ("print('nonsense')", "no JSON"),
        ("import time; time.sleep(60)", "gave no answer for 0.3 s"),
    ],
)
def test_a_process_that_cannot_begin_is_told_and_gone(script: str, words: str) -> None:
    patience = 0.3 if "sleep" in script else 60.0
    curator = CuratorProcess(command(script), starting_s=patience)
    with pytest.raises(CuratorProcessError, match=words):
        curator.__enter__()
    with pytest.raises(CuratorProcessError, match="not open"):
        curator.refuses("x")


HELLO = """
import sys, time
out = sys.stdout.buffer
out.write(b'{"hello": 1, "curator": "odd"}\\n')
out.flush()
"""


@pytest.mark.parametrize(
    ("does", "words"),
    [
        ("time.sleep(60)", r"took no question for 0\.5 s"),
        ("sys.stdin.readline(); time.sleep(60)", r"gave no answer for 0\.5 s"),
        # One that writes without an end is never silent, and its patience must run out all the same.
        ("while True: out.write(b'x' * 100_000); time.sleep(0.01)", r"no question for|no answer for 0\.5 s"),
        ("sys.stdin.readline()\nwhile True: out.write(b'x' * 100_000); time.sleep(0.01)", r"no answer for 0\.5 s"),
        ("sys.stdin.readline(); out.write(b'\\xff\\xfe\\n'); out.flush(); time.sleep(60)", "no JSON"),
        ('sys.stdin.readline(); out.write(b\'{"id": 1, "curations": []}\\n\')', "0 answers to 1 questions"),
    ],
    ids=["reads nothing", "is silent", "floods at once", "floods", "answers bytes", "answers nothing"],
)
def test_whatever_a_process_does_its_time_is_kept(does: str, words: str) -> None:
    # FAULTS: timeouts not enforced. The question is longer than any pipe takes.
    question = given_input(text="x" * 300_000)
    with (
        pytest.raises(CuratorProcessError, match=words),
        CuratorProcess([sys.executable, "-S", "-c", HELLO + does], answering_s=0.5) as curator,
    ):
        curator.curate([question])


def test_an_answer_without_an_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.curation.curator_process._LONGEST", 1 << 20)
    script = HELLO + "sys.stdin.readline(); out.write(b'x' * (4 << 20)); out.flush(); time.sleep(60)"
    with (
        pytest.raises(CuratorProcessError, match="1 MiB without a line end"),
        CuratorProcess([sys.executable, "-S", "-c", script]) as curator,
    ):
        curator.curate([given_input()])


def test_it_ends_with_its_context(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    script = f"import os, pathlib\npathlib.Path({str(note)!r}).write_text(str(os.getpid()))\n{SERVING}"
    with CuratorProcess(command(script)) as curator:
        curator.refuses("kitchen")
        pid = int(note.read_text())
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_policy_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="nowhere"):
        trained(tmp_path / "nowhere")


# ---------------------------------------------------------------------------------------------------- the JSON

texts = st.text(max_size=12)
tasks = st.builds(
    Task,
    id=texts,
    family=texts,
    text=texts,
    split=st.sampled_from(["train", "test"]),
    seed=st.integers(0, 2**31),
    difficulty=st.none() | st.floats(0, 1),
    data=st.dictionaries(texts, st.none() | st.integers(-9, 9) | texts, max_size=3),
)
episodes = st.builds(
    Episode,
    task=tasks,
    success=st.none() | st.booleans(),
    steps=st.integers(0, 30),
    trajectory=st.lists(st.builds(Step, texts, texts, st.booleans()), max_size=3).map(tuple),
    intro=texts,
    score=st.none() | st.floats(0, 1),
    judged=st.none() | st.booleans(),
    tokens=st.none() | st.integers(0, 99),
    used=st.lists(texts, max_size=2).map(tuple),
    failure=texts,
)
skills: Sequence[Skill] = (write("one", "first", "body"), write("two words", "second: with a colon", "# H\n\nx"))


@given(episodes, st.lists(st.sampled_from(skills), max_size=2).map(tuple), st.integers(0, 2**40))
def test_an_input_survives_the_pipe(episode: Episode, retrieved: tuple[Skill, ...], seed: int) -> None:
    given_ = CurationInput(episode, retrieved, seed)
    assert wire.read_input(Fields(strict_json.parse(strict_json.dumps(wire.input_json(given_))))) == given_


@given(st.lists(st.sampled_from(["plain", "<tool_call>{", render("skill_delete", {"skill_name": "é"})])))
def test_a_curation_survives_the_pipe(parts: list[str]) -> None:
    text = "\n".join(parts)
    made = Curation(text, parse(text), None, 7, "")
    assert wire.read_curation(Fields(strict_json.parse(strict_json.dumps(wire.curation_json(made))))) == made


@pytest.mark.parametrize(
    ("key", "value"),
    [("steps", True), ("steps", None), ("success", 0), ("trajectory", [["a", "b"]]), ("task", 3), ("judged", "yes")],
)
def test_what_cannot_be_is_refused_by_name(key: str, value: object) -> None:
    document = wire.episode_json(given_input().episode)
    document[key] = value
    with pytest.raises(ValueError, match="split" if key == "task" and value is None else key):
        wire.read_episode(Fields(document))
