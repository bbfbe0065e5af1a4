"""A tiny Qwen3 made on the spot: a tokenizer trained on given texts, random weights in the true shape (CURATION 2d).

Nothing is fetched. What is written is an ordinary Hugging Face folder: `AutoModelForCausalLM` and `AutoTokenizer` read
it back, so everything that works on it works on a Qwen3 of any size, by path.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen3Config

END_OF_TEXT, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
# Control tokens that are text to whoever reads an answer: they survive decoding, as in Qwen's own tokenizers.
MARKS = ("<tool_call>", "</tool_call>", "<think>", "</think>")
# A new line and a digit stand alone, and so does what stands around a title in view, in a call and in a skill's head: a
# title is then the same tokens wherever it stands, and can be copied. A line in a call ends as JSON writes it, so that
# it is another token than the same line in view, which a copy would break the JSON with.
_BREAKS = r'\n|\d|name: |_name": "|", "(?:new_)?content": "|\\ndescription: |"}}|name="|">'

# Qwen3's turns: tools stand in the system turn, and without thinking the answer begins after an empty thought.
CHAT_TEMPLATE = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
    {{- '# Tools\\n\\n<tools>' }}
    {%- for tool in tools %}{{- '\\n' + (tool | tojson) }}{%- endfor %}
    {{- '\\n</tools>\\n\\nAnswer with one JSON object for each call, between the tags:\\n<tool_call>\\n' }}
    {{- '{"name": <name>, "arguments": <arguments>}\\n</tool_call><|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if not (loop.first and message.role == 'system') %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a Qwen3. The default has about 3 million parameters and runs on a CPU."""

    hidden: int = 256
    layers: int = 4
    heads: int = 4
    key_value_heads: int = 2
    head_size: int = 64
    intermediate: int = 768
    vocabulary: int = 4096
    positions: int = 16_384

    def config(self, vocabulary: int | None = None, **special: Any) -> Qwen3Config:
        """Return the configuration; `vocabulary` is the size a tokenizer really reached."""
        return Qwen3Config(
            vocab_size=vocabulary or self.vocabulary,
            hidden_size=self.hidden,
            intermediate_size=self.intermediate,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            num_key_value_heads=self.key_value_heads,
            head_dim=self.head_size,
            max_position_embeddings=self.positions,
            tie_word_embeddings=True,
            bos_token_id=None,
            **special,
        )


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer with Qwen's control tokens and chat template, learnt from `texts`.

    Every byte is in its alphabet, so it can write any text. Tokens may span words (but no line and no digit), so what
    `texts` say often, a whole sentence, is one token: a network this small then learns from sequences it can hold.
    """
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_BREAKS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END_OF_TEXT, START, END, *MARKS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(texts, trainer)
    # The trainer made the marks special; said again as plain added tokens, decoding keeps them.
    core.add_tokens([AddedToken(mark, special=False, normalized=False) for mark in MARKS])
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token=END,
        pad_token=END_OF_TEXT,
        additional_special_tokens=[START],
        padding_side="left",
        clean_up_tokenization_spaces=False,
        chat_template=CHAT_TEMPLATE,
    )


def build(texts: Iterable[str], *, seed: int, shape: Shape | None = None) -> tuple[Any, PreTrainedTokenizerFast]:
    """Return a model with random weights and its tokenizer. The caller's random state is left as it was."""
    shape = shape or Shape()
    tokenizer = train_tokenizer(texts, shape.vocabulary)
    config = shape.config(len(tokenizer), eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        _begin(model, config)
    return model, tokenizer


@torch.no_grad()
def _begin(model: Any, config: Qwen3Config) -> None:
    """Draw the weights that decide how fast a narrow network learns to copy, for its own width.

    Qwen3's 0.02 for every weight is meant for thousands of channels: in a narrow network a token's own vector drowns
    in what random layers add to it. Here embeddings have the length 1, which gives logits of about 1, and what layers
    add is scaled by the root of their number (as in GPT-2).
    """
    model.get_input_embeddings().weight.normal_(0.0, config.hidden_size**-0.5)
    for name, weight in model.named_parameters():
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            weight /= (2 * config.num_hidden_layers) ** 0.5


def make(directory: Path, texts: Iterable[str], *, seed: int, shape: Shape | None = None) -> int:
    """Write what `build` gives into `directory`; return the number of parameters.

    The same texts, seed and shape give the same files.
    """
    model, tokenizer = build(texts, seed=seed, shape=shape)
    directory.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return sum(weight.numel() for weight in model.parameters())
