"""What the shop's executors understand of a skill's text, and what its rule judge says of it."""

from __future__ import annotations

import pytest

from core.skillrepo.skill import write
from trainer.worlds.lexicon import lexicon_of
from trainer.worlds.shop import reading
from trainer.worlds.shop.reading import (
    BACK,
    BUY,
    COLOR,
    FEATURES,
    NEXT,
    PRICE,
    QUERY,
    SCAN,
    SIZE,
    read,
    sentence_steps,
)
from trainer.worlds.shop.world import Shop

SHOP = Shop()
LEXICON = lexicon_of("shop")


@pytest.mark.parametrize(
    ("sentence", "steps"),
    [
        ("Search for the product type together with its attributes", (QUERY,)),
        ("Type the kind of item and the wanted attribute into the search box", (QUERY,)),
        ("Use a short query of keywords: the noun and its adjectives", (QUERY,)),
        ("Skim the titles before you open anything", (SCAN,)),
        ("Go through the listings and open only what is of the right sort", (SCAN,)),
        ("If it does not fit, click back and try another", (BACK,)),
        ("Use '< Prev' to return to the list", (BACK,)),
        ("Step back to the results when something is missing", (BACK,)),
        ("Move on to the next page when nothing fits", (NEXT,)),
        ("Visit the Features tab and look for what was asked", (FEATURES,)),
        ("Check whether the features list holds the wanted one", (FEATURES,)),
        ("Choose the requested colour", (COLOR,)),
        ("Pick the size named in the task", (SIZE,)),
        ("Click every option the task names", (COLOR, SIZE)),
        ("Choose color and size", (COLOR, SIZE)),
        ("Make sure the price is under the budget", (PRICE,)),
        ("Compare the cost with the limit", (PRICE,)),
        ("Check the price after selecting the size", (SIZE, PRICE)),
        ("After choosing the size, verify the price", (SIZE, PRICE)),
        ("Once the color is picked, check the price", (PRICE,)),
        ("Select the size before checking the price", (SIZE, PRICE)),
        ("Purchase the item", (BUY,)),
        ("Never buy before you have checked the price", (PRICE,)),
        ("Do not select a color", ()),
        ("Don't open the features page", ()),
        ("Be careful and efficient", ()),
        ("Remember that quality matters", ()),
    ],
)
def test_a_sentence_tells_its_steps_in_the_order_of_doing(sentence: str, steps: tuple[str, ...]) -> None:
    assert sentence_steps(sentence) == steps


def test_sections_that_tell_when_are_no_instructions_and_headings_are_none() -> None:
    skill = write(
        "find color",
        "how",
        "# Workflow\n1. Search with the kind and attribute.\n2. Select the color.\n\n"
        "## When NOT to use\n- Tasks that ask you to select a size.\n\n## Steps to end\n- Buy it.\n",
    )
    assert read(skill).steps == (QUERY, COLOR, BUY)
    assert read(skill).lines == 3


def test_names_of_single_things_are_counted_wherever_they_stand() -> None:
    skill = write("find navy", "how", "Look at Arden jackets below $40.00.\n\n# When to use\nFor vegan lipsticks.")
    found = read(skill)
    assert found.specific == 6  # navy; Arden, jackets, $40; vegan, lipsticks
    assert read(write("find", "how", "Select the color. Buy it.")).specific == 0


def test_a_sentence_of_the_lexicon_is_read_as_its_own_step_and_nothing_else() -> None:
    for key, sentence in LEXICON.lines.items():
        assert sentence_steps(sentence.rstrip(".")) == (key,), key
        assert reading.specifics(sentence) == 0
    for key, text in LEXICON.fillers.items():
        found = read(write("find", "how", text))
        assert (found.steps, found.vague) == ((), 1), key


def test_the_lexicon_sees_texts_as_its_own_tokens() -> None:
    known = set(LEXICON.tokens)
    for task in SHOP.stream("test", 0):
        tokens = LEXICON.task_tokens(task)
        assert set(tokens) <= known
        assert task.data["demand"]["kind"] in tokens
        assert all(str(value) in tokens for key, value in task.data["demand"].items() if key != "below")
        episode = SHOP.run(task, SHOP.oracle()[:2], "weak")
        seen = LEXICON.trajectory_tokens(episode)
        assert len(seen) == episode.steps
        assert set(seen) <= set(LEXICON.actions)
    for skill in SHOP.oracle():
        title, keys = LEXICON.skill_tokens(skill)
        assert title == tuple(skill.title.split())
        assert keys == read(skill).steps


def test_what_the_phrase_policy_writes_reads_back_as_its_tokens() -> None:
    body = "\n".join(
        LEXICON.sentence(token) for token in (QUERY, "jackets", FEATURES, "#TIPS", BACK, BUY, "machine washable")
    )
    _, keys = LEXICON.skill_tokens(write("find feature", "how", body))
    assert keys == (QUERY, "jackets", FEATURES, "#TIPS", BACK, BUY, "machine washable")
