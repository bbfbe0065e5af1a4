"""The phrase book: tokens to literal calls and back, with nothing but text in between (CURATION 2c)."""

from __future__ import annotations

import pytest
from hypothesis import given as given_any
from hypothesis import strategies as st

from core.curation.curators import CurationInput
from core.skillrepo import calls, skill
from core.skillrepo.repository import Repository
from trainer.policies.phrases import EOS, SPECIAL, PhraseBook
from trainer.worlds import open_world
from trainer.worlds.lexicon import lexicon_of

WORLD = open_world("household")
BOOK = PhraseBook("household", lexicon_of("household"))
TASK = WORLD.group("train", 5, 1, "clean")[0]


def seen(*titles: str) -> CurationInput:
    """Return an input with retrieved skills of these titles."""
    skills = tuple(skill.write(title, f"About {title}.", "# Workflow\n\n1. Put it down there.") for title in titles)
    return CurationInput(WORLD.run(TASK, skills, "weak"), skills)


def answer(*tokens: str) -> list[int]:
    return BOOK.encode(tokens)


def test_an_insert_is_a_whole_skill_that_the_repository_takes() -> None:
    text = BOOK.render(answer("INSERT", "put", "clean", "|", "SEARCH", "CLEAN", "tips", "END", EOS), seen())
    repository = Repository()
    (verdict,) = repository.apply(calls.parse(text))
    assert verdict.valid, verdict.reason
    written = repository.skills[0]
    assert written.title == "put clean"
    assert "# Workflow\n\n1. Search every receptacle" in written.body
    assert "Tips" in written.body
    assert BOOK.skill(written) == (("put", "clean"), ("SEARCH", "CLEAN", "tips"))


def test_a_pointer_is_the_exact_title_of_what_was_retrieved() -> None:
    looked = seen("Wash, then place: a guide", "second")
    repository = Repository(looked.retrieved)
    text = BOOK.render(answer("UPDATE", "$1", "|", "TAKE", "CLEAN", "END", "DELETE", "$2", "END", EOS), looked)
    verdicts = repository.apply(calls.parse(text))
    assert [verdict.valid for verdict in verdicts] == [True, True]
    (kept,) = repository.skills
    assert kept.title == "Wash, then place: a guide"
    assert kept.description == "About Wash, then place: a guide."
    assert BOOK.skill(kept)[1] == ("TAKE", "CLEAN")


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        (("INSERT", "put", "|", "TAKE"), "not closed"),
        (("INSERT", "put", "END"), "content"),
        (("INSERT", "|", "TAKE", "END"), "skill_name"),
        (("INSERT", "put", "|", "END"), "body"),
        (("UPDATE", "$2", "|", "TAKE", "END"), "no skill"),
        (("UPDATE", "clean", "|", "TAKE", "END"), "no skill"),
        (("DELETE", "$1", "|", "TAKE", "END"), "content"),
        (("INSERT", "$1", "|", "TAKE", "END"), "first"),
        (("INSERT", "SEARCH", "OPEN", "|", "TAKE", "END"), "64"),
    ],
)
def test_what_makes_no_call_is_invalid_and_not_missing(tokens: tuple[str, ...], reason: str) -> None:
    looked = seen("first")
    verdicts = Repository(looked.retrieved).apply(calls.parse(BOOK.render(answer(*tokens), looked)))
    assert [verdict.valid for verdict in verdicts] == [False]
    assert reason in verdicts[0].reason


def test_words_outside_of_a_call_are_no_call() -> None:
    assert calls.parse(BOOK.render(answer("put", "clean", "END", EOS), seen())) == ()


def test_a_call_that_was_cut_costs_only_itself() -> None:
    text = BOOK.render(answer("INSERT", "put", "|", "INSERT", "clean", "|", "CLEAN", "END", EOS), seen())
    assert [verdict.valid for verdict in Repository().apply(calls.parse(text))] == [False, True]


@given_any(st.lists(st.sampled_from(BOOK.tokens), max_size=34), st.integers(0, 5))
def test_any_answer_renders_and_is_read_without_an_error(tokens: list[str], skills: int) -> None:
    looked = seen(*(f"skill number {number}" for number in range(skills)))
    repository = Repository(looked.retrieved)
    verdicts = repository.apply(calls.parse(BOOK.render(BOOK.encode(tokens), looked)))
    operations = [token for token in tokens[: tokens.index(EOS) if EOS in tokens else None] if token in BOOK_OPERATIONS]
    assert len(verdicts) == len(operations)  # every attempt at a call is one, broken or not
    for written in repository.skills:
        BOOK.skill(written)


BOOK_OPERATIONS = ("INSERT", "UPDATE", "DELETE")


def test_a_prompt_shows_task_outcome_skills_and_how_it_went() -> None:
    looked = seen("put clean")
    tokens = [BOOK.tokens[number] for number in BOOK.prompt(looked, 136)]
    assert tokens[0] == "<bos>"
    assert tokens[-1] == "<ask>"
    assert ("<ok>" if looked.judged else "<fail>") in tokens
    at = tokens.index("$1")
    assert tokens[at : at + 6] == ["$1", "put", "clean", "|", "PUT", "END"]
    assert "<trajectory>" in tokens
    assert "a:go" in tokens


def test_a_prompt_never_outgrows_its_limit_and_keeps_its_ends() -> None:
    looked = seen(*(f"skill {name}" for name in ("put", "clean", "heat", "cool", "two")))
    for longest in (60, 70, 136):
        prompt = BOOK.prompt(looked, longest)
        assert len(prompt) <= longest
        assert BOOK.tokens[prompt[-1]] == "<ask>"


def test_the_judges_opinion_is_shown_and_never_the_worlds() -> None:
    for task in WORLD.stream("train", 3, 80):
        episode = WORLD.run(task, (), "weak")
        if episode.judged != episode.success:
            tokens = [BOOK.tokens[number] for number in BOOK.prompt(CurationInput(episode, ()), 136)]
            assert ("<ok>" in tokens) == episode.judged
            return
    pytest.fail("no Episode in which the judge erred: the test shows nothing")


@pytest.mark.parametrize("world", ["household", "shop"])
def test_every_line_and_filler_survives_being_written_and_read(world: str) -> None:
    book = PhraseBook(world, lexicon_of(world))
    looked = CurationInput(open_world(world).run(open_world(world).stream("train", 1, 1)[0], (), "weak"), ())
    for key in (*book.lexicon.lines, *book.lexicon.fillers):
        tokens = book.encode(["INSERT", book.lexicon.words[0], "|", key, "END", EOS])
        repository = Repository()
        (verdict,) = repository.apply(calls.parse(book.render(tokens, looked)))
        assert verdict.valid, (key, verdict.reason)
        assert book.skill(repository.skills[0])[1] == (key,), key


def test_no_special_token_is_a_word_of_a_world() -> None:
    for world in ("household", "shop"):
        assert not set(SPECIAL) & set(lexicon_of(world).tokens)
