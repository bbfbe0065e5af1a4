"""Names: those that a session is known to have, and those that somebody introduces in a text (STRATEGY S98)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from core.strategy.feedback.identifiers import HIDDEN, Found

_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林郑谢罗梁宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟"
    "谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
)
_CHINESE = rf"(?:欧阳|司马|上官|诸葛|司徒|[{_SURNAMES}])[\u4e00-\u9fff]{{1,2}}"
_STOP = r"(?=[^\u4e00-\u9fff]|$|的|是|在|想|要|电|手|，|来|买|说)"
_TITLES = "先生|女士|小姐|老师|经理|同学|师傅|太太|总"
_SAID_CHINESE = re.compile(
    r"(?:我(?:的名字)?(?:叫|是)|姓名|收件人|收货人|联系人|本人|名字叫|户名|持卡人)[:： 是为]{0,2}"
    rf"({_CHINESE}?){_STOP}"
    rf"|([{_SURNAMES}])(?:{_TITLES})"
)
_WORD = r"[A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ'’-]+(?:[A-Z][a-z]+)?"
_SAID = re.compile(
    rf"(?i:\bmy name(?:'s| is)|\bname\s*[:=]|\brecipient\s*[:=]|\bcardholder\s*[:=]|\bcall me|\bsigned,?|\bregards,)\s+"
    rf"({_WORD}(?:[ ](?:(?:van|von|de|da|bin|al)[ ])?{_WORD}){{0,3}})"
    rf"|\b(?:I am|I'm|[Tt]his is|Mr\.?|Mrs\.?|Ms\.?|Dr\.?|Miss)\s+({_WORD}(?:[ ]{_WORD}){{1,2}})"
    rf"|\b(?:Mr|Mrs|Ms|Dr|Miss)\.?\s+({_WORD})"
    r"|(?i:\bmy name is)\s+([a-z]{2,20})\b"
)
_LETTER = r"[^\W\d_\u3400-\u9fff]"
_LEAST = 2
_NO_NAMES = frozenset(
    {"a", "an", "the", "my", "your", "our", "so", "very", "really", "not", "still", "sorry", "extremely", "totally"}
    | {"absolutely", "just", "too", "happy", "sad", "angry"}
)


def introduced(text: str) -> tuple[str, ...]:
    """Return the names that a folded text gives as names, as they stand there."""
    matches = [*_SAID_CHINESE.finditer(text), *_SAID.finditer(text)]
    names = dict.fromkeys(name for match in matches for name in match.groups() if name)
    return tuple(name for name in names if name.split()[0].casefold() not in _NO_NAMES)


def occurrences(text: str, names: Iterable[str]) -> Iterator[Found]:
    """Yield where names, or parts of them, stand in a folded text, the longest first.

    A Latin name's words count each, whatever their case; of a Chinese one also what follows the surname, and the
    surname with a title. All that belongs to one name has one key.
    """
    forms: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (-len(name), name)):
        for form in _forms(name):
            forms.setdefault(form.casefold(), name.casefold())
    if not forms:
        return
    ordered = sorted(forms, key=lambda form: (-len(form), form))
    pattern = "|".join(
        re.escape(form) if _is_chinese(form) else rf"(?<!{_LETTER}){re.escape(form)}(?!{_LETTER})" for form in ordered
    )
    for match in re.finditer(pattern, text, re.IGNORECASE):
        if HIDDEN not in match[0]:
            yield Found(match.start(), match.end(), "name", forms.get(match[0].casefold(), match[0].casefold()))


def _forms(name: str) -> list[str]:
    name = " ".join(name.split())
    if _is_chinese(name):
        surname = 2 if name[:2] in ("欧阳", "司马", "上官", "诸葛", "司徒") else 1
        given = [name[surname:]] if len(name) - surname >= _LEAST else []
        whole = [name] if len(name) >= _LEAST else []
        return [*whole, *given, *(name[:surname] + title for title in _TITLES.split("|"))]
    parts = [part for part in re.split(r"[\s.]+", name) if len(part) >= _LEAST and part.casefold() not in _SMALL]
    return [name, *parts] if len(name) >= _LEAST else []


_SMALL = frozenset({"van", "von", "de", "da", "al", "bin", "the", "and", "mr", "mrs", "ms", "dr"})


def _is_chinese(text: str) -> bool:
    return any("\u3400" <= character <= "\u9fff" for character in text)
