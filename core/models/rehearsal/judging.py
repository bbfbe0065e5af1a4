"""How the rehearsal Evaluator judges what no check decides: by a plain rule, leniently, the same way each time.

An artefact that isn't there earns nothing. One that is there earns half, and the whole where enough of the words that
the item speaks in stand in it. It is a stand-in for a model's opinion, no oracle: rubrics should decide by checks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_QUOTED = re.compile(r"`([^`\s]{1,120})`")
_FILE = re.compile(r"^[\w][\w./-]*\.[A-Za-z0-9]{1,8}$")
_WORD = re.compile(r"[a-z]{4,}")
_COMMON = frozenset(
    _WORD.findall(
        "about after also been before both each else every file files from gives have holds into item left line "
        "lines made more most must named none only other over same says shows some such text than that their them "
        "then there these they this those what when where which while with without work"
    )
)
_ENOUGH = 1 / 3  # of an item's words


def artefacts_named(text: str) -> list[str]:
    """Return the relative file names that stand between back-quotes in `text`, each once, in order."""
    names = (match[1] for match in _QUOTED.finditer(text) if _FILE.match(match[1]) and ".." not in match[1])
    return list(dict.fromkeys(names))


def judge(item: str, texts: Mapping[str, str | None]) -> tuple[float, str]:
    """Return the share (0 to 1) of an item's judged points, and why.

    `texts` maps an artefact's name to its text, None where it isn't there.
    """
    present = [name for name, text in texts.items() if text is not None and text.strip()]
    if not present:
        return 0.0, "nothing to judge: " + (", ".join(texts) or "no artefact") + " not there or empty"
    words = sorted(set(_WORD.findall(_QUOTED.sub(" ", item.lower()))) - _COMMON)
    corpus = "\n".join(texts[name] or "" for name in present).lower()
    # The first five letters stand for a word's family: drop, dropped, dropping.
    found = [word for word in words if word[:5] in corpus]
    share = len(present) / len(texts)
    reason = f"{', '.join(present)} there; {len(found)} of {len(words)} words of the item found"
    return (share if len(found) >= _ENOUGH * len(words) else share / 2), reason


def last_words(trace: str) -> str | None:
    """Return the newest assistant text of a trace (JSON Lines, possibly cut), or None."""
    for line in reversed(trace.splitlines()):
        try:
            payload = json.loads(line)["payload"]
            if payload["type"] == "text" and payload["role"] == "assistant":
                return str(payload["text"])
        except (ValueError, KeyError, TypeError):
            continue
    return None
