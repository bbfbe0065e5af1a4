"""The tiny Qwen3 that is made on the spot: a tokenizer and weights that a few hundred steps can do something with."""

from __future__ import annotations

import pytest
import torch

from core.curation.prompt import skills_text
from core.skillrepo.calls import render
from core.skillrepo.skill import read
from tests.trainer.small_models import CONTENT, SMALL
from trainer.policies.tiny_qwen import Shape, build, train_tokenizer

torch.set_num_threads(1)


def test_a_title_is_the_same_tokens_in_view_in_a_call_and_in_a_head() -> None:
    """So a small network can copy it: what is glued to its neighbours has a token of its own for each place."""
    document = CONTENT.replace("heat first", "{title}")
    titles = ("put clean", "look examine desklamp", "a title that nobody wrote before")
    texts = [
        text
        for title in titles[:2]
        for text in (skills_text((read(document.format(title=title)),)), render("skill_delete", {"skill_name": title}))
    ]
    tokenizer = train_tokenizer(texts * 20, 1200)
    for title in titles:
        alone = tokenizer(title, add_special_tokens=False)["input_ids"]
        content = document.format(title=title)
        for text in (
            skills_text((read(content),)),
            render("skill_delete", {"skill_name": title}),
            render("new_skill_insert", {"skill_name": title, "content": content}),
        ):
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            found = sum(ids[at : at + len(alone)] == alone for at in range(len(ids)))
            assert found >= text.count(title), (title, tokenizer.convert_ids_to_tokens(ids))
    assert len(tokenizer("put clean", add_special_tokens=False)["input_ids"]) == 1


def test_a_line_in_a_call_is_another_token_than_the_same_line_in_view() -> None:
    """Copied from view it would bring a bare new line into a JSON string, which breaks the call."""
    line = "1. Put it down there."
    call = render("new_skill_insert", {"skill_name": "put", "content": f"{line}\n{line}\n"})
    tokenizer = train_tokenizer([f"{line}\n{line}\n", call] * 20, 1200)
    shown = tokenizer.tokenize(f"{line}\n")
    inside = tokenizer.tokenize(call)
    assert len(shown) == 3  # the digit, the line, its end
    assert shown[1] not in inside
    assert any(token.startswith(shown[1]) for token in inside)


@pytest.mark.parametrize("shape", [SMALL, Shape(hidden=128, layers=3, heads=2, intermediate=384, vocabulary=1200)])
def test_a_token_stands_out_from_what_random_layers_add_to_it(shape: Shape) -> None:
    model, tokenizer = build([CONTENT * 20], seed=1, shape=shape)
    ids = torch.tensor([tokenizer(CONTENT, add_special_tokens=False)["input_ids"]])
    with torch.no_grad():
        found = model(ids, output_hidden_states=True)
        # The last of them is normed already; the residual stream before it is what is compared.
        tokens, last = found.hidden_states[0], found.hidden_states[-2]
    cosine = torch.nn.functional.cosine_similarity(tokens, last, dim=-1)
    assert float(cosine.mean()) > 0.8
    assert 0.5 < float(found.logits.std()) < 2.0
