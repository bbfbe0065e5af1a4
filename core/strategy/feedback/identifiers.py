"""Finding what points at a person: numbers, addresses and codes in a folded text (STRATEGY S98).

Two ways. What has a form of its own (an address of e-mail, an IBAN, a code of letters and digits) is found by a
pattern. Numbers are found as runs of digit groups with spaces, dots, dashes or brackets between them: every window of
neighbouring groups is judged by its digits, so that it doesn't matter how somebody divides a number. What looks like
a date, a time or a price on its own is let be. Where it is not sure, a long number counts as an identifier.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

KINDS = ("email", "iban", "card", "nationalid", "phone", "order", "account", "ip", "id", "name", "user", "address")


@dataclass(frozen=True, slots=True)
class Found:
    """An identifier in a folded text. `key` is the same for every way of writing the same one."""

    start: int
    end: int
    kind: str
    key: str


HIDDEN = "\x00"
"""Stands in a folded text for what is not to be looked at: no pattern takes it."""

_LOCAL = r"[^\s@<>()\[\]{},;:\"'，。；：、！？（）《》“”\u3400-\u9fff\x00]"
_ANY = r"[^\s@<>()\[\]{},;:!?\"'，。；：、！？（）《》“”\x00]"
_LABEL = r"[a-z0-9à-ÿ](?:[a-z0-9à-ÿ-]{0,61}[a-z0-9à-ÿ])?"
_TOP = r"(?:com|net|org|cn|io|de|uk|fr|edu|gov|info|jp|co|me)\b"
_DOT = r"(?: ?(?:\(dot\)|\[dot\]|\{dot\}| dot ) ?|\.)"
# Nothing here may take long for a text that somebody made long on purpose: what is before a sign is taken whole
# (possessively) and from its beginning only, and every other repetition has a bound.
_EMAIL = re.compile(
    rf"(?<!{_LOCAL}){_LOCAL}++ ?@ ?{_LABEL}(?:\.{_LABEL}){{0,9}}(?:\.{_LABEL}| ?\. ?{_TOP})(?: ?\. ?{_TOP})?"
    rf"|(?<!{_LOCAL}){_LOCAL}++ ?(?:\(at\)|\[at\]|\{{at\}}| at ) ?{_LABEL}"
    rf"(?:{_DOT}{_LABEL}){{0,9}}{_DOT}[a-z]{{2,24}}\b"
    rf"|(?<!{_ANY}){_ANY}++@{_ANY}{{1,200}}\.{_ANY}{{1,60}}",
    re.IGNORECASE,
)
_IBAN = re.compile(r"(?<![a-z0-9])(?=([a-z]{2}\d{2}(?:[ .-]?[a-z0-9]){11,30}))", re.IGNORECASE)
_IP = re.compile(r"(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.]*\d)")
_MAC = re.compile(r"(?<![0-9a-f:-])[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}(?![0-9a-f])", re.IGNORECASE)
_UUID = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}(?![0-9a-f])", re.IGNORECASE)
_TOKEN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]++(?:[-_][A-Za-z0-9]++)*+")
_NI = re.compile(r"(?<![a-z0-9])[a-z]{2}(?: ?\d{2}){3} ?[a-d](?![a-z0-9])", re.IGNORECASE)
_HK_ID = re.compile(r"(?<![a-z0-9])[a-z]{1,2}\d{6} ?\([0-9a]\)", re.IGNORECASE)
_PLATE = re.compile(
    r"[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼][A-Z][. -]?[A-Z0-9]{5,6}(?![A-Z0-9])"
)
_CODE = r"([A-Za-z0-9](?:[A-Za-z0-9]|[-_.](?=[A-Za-z0-9])){2,39})"
_ORDER = re.compile(
    r"(?:(?<![a-z])(?:orders?|tickets?|tracking|parcel|shipment|waybill|invoice|refund|reservation|booking|case|rma)"
    r"(?:[ _-]?(?:number|num|no\.?|id|code|ref\.?))?|订单(?:编)?号?|单号|运单号?|快递(?:单)?号|工单号?|流水号|编号)"
    rf"(\s{{0,3}}(?:#|is\b|:|=|：|为|是)\s{{0,3}}#?|\s{{1,3}}#?|)\s{{0,3}}{_CODE}",
    re.IGNORECASE,
)
_PREFIXED = re.compile(
    r"(?<![A-Za-z0-9])(?:ORD|ORDER|TKT|RMA|INV|PO|SO|TRK|REF|TX|TXN|PAY|CUS|CUST|USR|UID)[-_#]?\d[\dA-Z-]{2,30}",
    re.IGNORECASE,
)
_ACCOUNT = re.compile(
    r"(?:(?<![a-z])(?:wechat|weixin|qq|telegram|whatsapp|skype|line id|user ?name|login|account|acct)"
    r"(?:[ _-]?(?:id|no\.?|number|name))?|微信号?|支付宝(?:账号)?|账号|帐号|用户名)"
    r"\s{0,3}(?:is\b|:|=|：|为|是|#)?\s{0,3}@?([A-Za-z0-9][A-Za-z0-9_.-]{3,39})",
    re.IGNORECASE,
)
_SAFE = re.compile(
    # dates, with a time behind them or not
    r"(?<![\dA-Za-z])(?<![\d][-./])(?:(?:19|20)\d\d[-/.年] ?(?:1[0-2]|0?[1-9])[-/.月] ?(?:3[01]|[12]\d|0?[1-9])日?"
    r"|(?:3[01]|[12]\d|0?[1-9])([-/.])(?:3[01]|[12]\d|0?[1-9])\1(?:19|20)\d\d)"
    r"(?:[T ]{1,2}\d{1,2}:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?)?(?![-./]?\d)"
    # times
    r"|(?<![\d:])\d{1,2}:\d\d(?::\d\d(?:\.\d{1,6})?)?(?![\d:])"
    # prices
    r"|[¥$€£] ?\d{1,3}(?:,\d{3})+(?:\.\d{1,2})?(?![\d,])|[¥$€£] ?\d{1,9}(?:\.\d{1,2})?(?!\d)"
    r"|(?<![\d.-])\d{1,8}\.\d{1,2}(?![\d.-]*\d)"
    r"|(?<![\d.-])\d{1,9} ?(?:元|块|万|美元|dollars?|euros?|usd|cny|rmb|eur|gbp|yuan|jpy|円|ms|毫秒|bytes|字节)",
    re.IGNORECASE,
)
_SKU = re.compile(
    r"(?<![A-Za-z0-9])(?:sku|model|型号|货号|条码|ean)[ :#：=_-]{0,3}[A-Za-z0-9][A-Za-z0-9._-]*", re.IGNORECASE
)
_PASSPORT = re.compile(r"[A-UW-Z]\d{8,9}|[A-Z]{2}\d{7}")
_SIZE = re.compile(r"\d{1,5}(?:x\d{1,5}){1,2}[a-z]{0,2}", re.IGNORECASE)
_GROUP = re.compile(r"\d+")
_BETWEEN = re.compile(r"(?!\. |\./)[ .()/_-]{1,3}")  # a full stop ends a sentence, and no number goes on behind it
_PHONE_WORD = re.compile(
    r"(?:phone|mobile|cell|tel|call|fax|sms|text|dial|reach|whatsapp|电话|手机|座机|联系方式|拨打|热线|号码)"
    r"[^\d\n]{0,12}$",
    re.IGNORECASE,
)
_SSN_WORD = re.compile(r"(?:ssn|social security|社保)[^\d\n]{0,20}$", re.IGNORECASE)
_CN_ID = re.compile(r"[1-9]\d{5}(?:18|19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dX]")
_CHECK_X = re.compile(r"[ .-]?X(?![A-Za-z0-9])", re.IGNORECASE)
_CN_ID_OLD = re.compile(r"[1-9]\d{7}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}")
_CN_MOBILE = re.compile(r"(?:0086|86)?0?(1[3-9]\d{9})")
_ORDER_DIGITS, _LONG, _LEAST_CODE = 5, 9, 8
_LEAST_DIGITS, _MOST_DIGITS = 7, 21
IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AT": 20, "BE": 16, "BG": 22, "BR": 29, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18,
    "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FR": 27, "GB": 22, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IL": 23,
    "IS": 26, "IT": 27, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "MC": 27, "MT": 31, "NL": 18, "NO": 15, "PL": 28,
    "PT": 25, "RO": 24, "SA": 24, "SE": 24, "SI": 19, "SK": 24, "TR": 26, "UA": 29,
}  # fmt: skip
"""Of the SWIFT registry: how many characters an IBAN of a country has."""


def identifiers(text: str) -> tuple[Found, ...]:
    """Return the identifiers in a folded text, in order, none inside another."""
    kept: list[Found] = []
    taken = bytearray(len(text))
    for pass_ in (_by_form, _numbers, _codes, _long_numbers):
        left = hidden(text, taken)
        for found in pass_(left):
            if not any(taken[found.start : found.end]) and HIDDEN not in left[found.start : found.end]:
                kept.append(found)
                taken[found.start : found.end] = b"\1" * (found.end - found.start)
    return tuple(sorted(kept, key=lambda found: found.start))


def hidden(text: str, taken: bytearray) -> str:
    """Return a text with HIDDEN at the places that are marked."""
    return "".join(HIDDEN if mark else character for character, mark in zip(text, taken, strict=True))


def _marked(text: str, *patterns: re.Pattern[str]) -> bytearray:
    """Return marks at what patterns match."""
    marks = bytearray(len(text))
    for pattern in patterns:
        for match in pattern.finditer(text):
            marks[match.start() : match.end()] = b"\1" * (match.end() - match.start())
    return marks


def emails(text: str) -> tuple[tuple[int, int], ...]:
    """Return where addresses of e-mail stand in a folded text."""
    return tuple(match.span() for match in _EMAIL.finditer(text))


def _by_form(text: str) -> Iterator[Found]:
    for match in _EMAIL.finditer(text):
        yield Found(match.start(), match.end(), "email", re.sub(r"\s", "", match[0]).lower())
    for match in _IBAN.finditer(text):
        end = _iban_end(match)
        if end:
            yield _plain(match.start(), end, "iban", text)
    for pattern, kind in ((_UUID, "id"), (_MAC, "id"), (_IP, "ip"), (_NI, "nationalid"), (_HK_ID, "nationalid")):
        for match in pattern.finditer(text):
            yield _plain(match.start(), match.end(), kind, text)
    for match in _PLATE.finditer(text):
        yield _plain(match.start(), match.end(), "id", text)


def _codes(text: str) -> Iterator[Found]:
    """Codes: after a word that announces one, behind a usual prefix, or simply with many digits."""
    for match in _ORDER.finditer(text):
        code, count = match[2], sum(map(str.isdigit, match[2]))
        announced = bool(match[1].strip()) or (not code.isdigit() and any(map(str.isdigit, code)))
        if count >= (3 if announced else _ORDER_DIGITS) and not _SAFE.fullmatch(code):
            yield _plain(match.start(2), match.end(2), "order", text)
    for match in _PREFIXED.finditer(text):
        yield _plain(match.start(), match.end(), "order", text)
    for match in _ACCOUNT.finditer(text):
        if any(map(str.isdigit, match[1])) or re.search(r"[:=：#是为]", match[0][: match.start(1) - match.start()]):
            yield _plain(match.start(1), match.end(1), "account", text)
    safe = _marked(text, _SAFE, _SKU)
    for match in _TOKEN.finditer(text):
        if match[0].isdigit() or not re.search("[A-Za-z]", match[0]):
            continue
        digits = "".join(filter(str.isdigit, match[0]))
        if _PASSPORT.fullmatch(match[0]):
            yield _plain(match.start(), match.end(), "nationalid", text)
        elif (
            len(digits) >= _LEAST_CODE
            and not _is_date(digits)
            and not _SIZE.fullmatch(match[0])
            and not any(safe[match.start() : match.end()])
        ):
            yield _plain(match.start(), match.end(), "id", text)


def _numbers(text: str) -> Iterator[Found]:
    """Numbers whose digits say what they are."""
    dated = _marked(text, _SAFE)
    for run in _runs(text):
        sizes = [len(group[0]) for group in run]
        if sum(sizes) < _LEAST_DIGITS or (max(sizes) == 1 and len(sizes) > _MOST_DIGITS):
            continue  # too short for anything; or a row of single digits, which `_long_numbers` takes whole
        at = 0
        while at < len(run):
            before = _Before.of(text, run[at].start())
            for end in range(_furthest(run, at) if before else at, at, -1):
                assert before is not None
                found = _judge(text, run[at:end], dated, before)
                if found:
                    yield found
                    at = end
                    break
            else:
                at += 1


@dataclass(frozen=True, slots=True)
class _Before:
    """What stands before a number: a plus sign (`plus` is where, -1 without), a word for phones, one for SSNs."""

    plus: int
    called: bool
    ssn: bool

    @classmethod
    def of(cls, text: str, start: int) -> _Before | None:
        """Return it, None where the number is the end of a word."""
        if start and text[start - 1].isascii() and text[start - 1].isalpha():
            return None
        before = text[max(0, start - 40) : start]
        bare = before.rstrip(" (")
        plus = start - (len(before) - len(bare)) - 1 if bare.endswith("+") else -1
        return cls(plus, bool(_PHONE_WORD.search(before)), bool(_SSN_WORD.search(before)))


def _furthest(run: list[re.Match[str]], at: int) -> int:
    """Return where the longest window that begins at a group ends: more digits than that are no known number."""
    digits = 0
    for end in range(at, len(run)):
        digits += len(run[end][0])
        if digits > _MOST_DIGITS:
            return end
    return len(run)


def _long_numbers(text: str) -> Iterator[Found]:
    """What is left of long numbers, whatever they are."""
    left = hidden(text, _marked(text, _SAFE, _SKU))
    for run in _runs(left):
        sizes = [len(group[0]) for group in run]
        digits = "".join(group[0] for group in run)
        divided = min(sizes[1:-1] or sizes) >= 3 or (max(sizes) == 1 and len(sizes) >= _LONG)
        if len(digits) >= _LONG and (len(run) == 1 or divided):
            yield Found(run[0].start(), run[-1].end(), "id", digits)
            continue
        for group in run:
            if len(group[0]) >= _LONG:
                yield Found(group.start(), group.end(), "id", group[0])


def _runs(text: str) -> Iterator[list[re.Match[str]]]:
    """Groups of digits that follow each other with nothing but a separator between, none inside a word."""
    run: list[re.Match[str]] = []
    for group in _GROUP.finditer(text):
        if run and not _BETWEEN.fullmatch(text, run[-1].end(), group.start()):
            yield run
            run = []
        run.append(group)
    if run:
        yield run


def _judge(text: str, groups: list[re.Match[str]], dated: bytearray, before: _Before) -> Found | None:
    start, end = groups[0].start(), groups[-1].end()
    digits = "".join(group[0] for group in groups)
    if len(digits) < _LEAST_DIGITS:
        return None
    sizes = [len(group[0]) for group in groups]
    if len(digits) == 17 and (check := _CHECK_X.match(text, end)) and _CN_ID.fullmatch(digits + "X"):
        return Found(start, check.end(), "nationalid", digits + "X")
    if _CN_ID.fullmatch(digits) or sizes == [3, 2, 4] or (len(digits) == 9 and before.ssn):
        return Found(start, end, "nationalid", digits)
    if not _whole(text, end):
        return None
    key = _phone(digits, sizes, plus=before.plus >= 0, called=before.called, date=any(dated[start:end]))
    if key:
        first = before.plus if before.plus >= 0 else start - _bracketed(text, start, end)
        return Found(first, end, "phone", key)
    if 13 <= len(digits) <= 19 and luhn(digits) and _as_a_card(sizes):
        return Found(start, end, "card", digits)
    if len(digits) == 15 and len(groups) == 1 and _CN_ID_OLD.fullmatch(digits):
        return Found(start, end, "nationalid", digits)
    return None


def _phone(digits: str, sizes: list[int], *, plus: bool, called: bool, date: bool) -> str:
    """Return what stands for a phone's number, "" where the digits are none."""
    mobile = _CN_MOBILE.fullmatch(digits)
    if mobile and (min(sizes) > 1 or max(sizes) == 1 or len(sizes) <= 4):
        return mobile[1]
    if plus and 7 <= len(digits) <= 15:
        return digits
    if digits.startswith("00") and digits[2:3] not in ("", "0") and 10 <= len(digits) <= 17 and not date:
        return digits[2:]
    if date:
        return ""
    if called and 7 <= len(digits) <= 15:
        return digits
    if digits.startswith("0") and 10 <= len(digits) <= 12 and (min(sizes) > 1 or max(sizes) == 1):
        return digits
    number = digits.removeprefix("1") if len(digits) == 11 else digits
    whole = sizes in ([10], [11], [1, 10], [3, 7]) and number[0] in "23456789"
    if len(number) == 10 and (whole or sizes[-3:] in ([3, 3, 4], [3, 4, 3])):
        return number
    return ""


def _bracketed(text: str, start: int, end: int) -> bool:
    return text[start - 1 : start] == "(" and ")" in text[start:end]


def _as_a_card(sizes: list[int]) -> bool:
    """Groups as on a card, all alone, or in one piece: not a row of measurements."""
    return len(sizes) == 1 or max(sizes) == 1 or min(sizes[:-1]) >= 4 or (sizes[0] >= 4 and len(sizes) <= 3)


def _whole(text: str, end: int) -> bool:
    return not (end < len(text) and text[end].isascii() and text[end].isalpha() and text[end] not in "xX")


def luhn(digits: str) -> bool:
    """Tell whether the last digit checks the others, as on payment cards (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0 and len(set(digits)) > 1


def _iban_end(match: re.Match[str]) -> int:
    """Return where an IBAN that begins there ends, 0 where none does (ISO 13616: the remainder by 97 is 1)."""
    letters: list[str] = []
    wanted = IBAN_LENGTHS.get(match[1][:2].upper())
    for at, character in enumerate(match[1]):
        if character.isalnum():
            letters.append(character.upper())
        if wanted is not None and len(letters) == wanted:
            turned = "".join(letters[4:] + letters[:4])
            if int("".join(str(int(letter, 36)) for letter in turned)) % 97 == 1:
                return match.start() + at + 1
            return 0
    return 0


def _is_date(digits: str) -> bool:
    return bool(re.fullmatch(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])", digits))


def _plain(start: int, end: int, kind: str, text: str) -> Found:
    return Found(start, end, kind, re.sub(r"[\s.()-]", "", text[start:end]).lower())
