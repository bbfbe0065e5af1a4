"""Texts without whoever they are about, before anything is stored (STRATEGY S98).

Phones, e-mails, payment cards, national ids, IBANs, codes of orders and accounts, IP addresses and names become
placeholders such as <phone-1>; the same identifier, however it is written, gets the same one, so a text stays useful.
What is not looked for in free text: streets and places, and names that nobody gives as names. It is careful rather than
exact: a number of nine digits and more that is no date and no price is taken for an identifier.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from core.foundation.visible import well_formed
from core.strategy.feedback.folding import fold
from core.strategy.feedback.identifiers import HIDDEN, KINDS, Found, emails, hidden, identifiers
from core.strategy.feedback.names import introduced, occurrences

PLACEHOLDER = re.compile(rf"<(?:{'|'.join(KINDS)})-\d{{1,4}}>")
_LAST = 9999
_MOST = 20_000
_CUT = " [cut]"
_KEYS: Mapping[str, str] = {
    **dict.fromkeys(("name", "user_name", "username", "customer", "customer_name", "full_name", "first_name"), "name"),
    **dict.fromkeys(("last_name", "recipient", "receiver", "contact", "cardholder", "姓名", "收件人"), "name"),
    **dict.fromkeys(("user_id", "uid", "user", "customer_id", "openid", "device_id", "fingerprint"), "user"),
    **dict.fromkeys(("phone", "mobile", "tel", "telephone", "phone_number", "手机", "电话"), "phone"),
    **dict.fromkeys(("email", "e_mail", "mail", "邮箱"), "email"),
    **dict.fromkeys(("ip", "ip_address"), "ip"),
    **dict.fromkeys(("order_id", "order_number", "ticket_id", "tracking_number", "parcel_id", "订单号"), "order"),
    **dict.fromkeys(("card", "card_number", "iban", "account", "account_number", "wechat", "qq", "token"), "account"),
    **dict.fromkeys(("address", "shipping_address", "street", "地址", "收货地址"), "address"),
    **dict.fromkeys(("id_number", "ssn", "passport", "身份证"), "nationalid"),
}
"""Keys of structured values whose whole value is an identifier, whatever it looks like."""


def anonymise(text: str, names: Iterable[str] = ()) -> str:
    """Return `text` with placeholders for all identifiers. Once is enough: a second time changes nothing."""
    return Anonymiser(names).text(text)


class Anonymiser:
    """Placeholders that mean the same over several texts, such as those of one bad case.

    Invariant: an identifier has one placeholder, and a placeholder one identifier. What stands for what is kept in
    memory only.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names: dict[str, None] = dict.fromkeys(fold(name).text.strip() for name in names if name.strip())
        self._literals: dict[str, str] = {}
        self._given: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}

    def learn(self, value: Any) -> None:
        """Take in names and ids of a text or of a structured value, so that `text` and `value` know them anywhere."""
        if isinstance(value, str):
            self._names.update(dict.fromkeys(introduced(fold(value).text)))
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                kind = _KEYS.get(str(key).casefold().replace("-", "_"))
                if kind is not None and isinstance(inner, str | int) and not isinstance(inner, bool):
                    self._learn(kind, str(inner).strip())
                else:
                    self.learn(inner)
        elif isinstance(value, list | tuple):
            for inner in value:
                self.learn(inner)

    def _learn(self, kind: str, text: str) -> None:
        if not text or PLACEHOLDER.fullmatch(text):
            return
        if kind == "name":
            self._names[fold(text).text] = None
        elif len(text) >= 4:
            self._literals[fold(text).text.casefold()] = kind

    def text(self, text: str) -> str:
        """Return a text with placeholders. Of a longer one than 20,000 characters only the beginning is kept."""
        text = well_formed(text)
        if len(text) > _MOST and not text.endswith(_CUT):
            text = text[:_MOST] + _CUT
        self.learn(text)
        self._reserve(text)
        while True:
            # Taking one out can leave a neighbour that is one: until nothing is found, so that once is enough.
            changed = self._once(text)
            if changed == text:
                return text
            text = changed

    def value(self, value: Any, key: str = "") -> Any:
        """Return a structured value (as of JSON) with placeholders in its texts, keys and long numbers.

        Values of keys such as `user_id` or `name` are replaced whole.
        """
        kind = _KEYS.get(key.casefold().replace("-", "_"))
        if kind is not None and isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            whole = str(value).strip()
            return whole if PLACEHOLDER.fullmatch(whole) else self._placeholder(kind, fold(whole).text.casefold())
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(name)): self.value(inner, str(name)) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(inner, key) for inner in value]
        if isinstance(value, int) and not isinstance(value, bool):
            told = self.text(str(value))
            return value if told == str(value) else told
        return value

    def _once(self, text: str) -> str:
        folded = fold(text)
        looked = PLACEHOLDER.sub(lambda match: HIDDEN * len(match[0]), folded.text)
        found = list(self._known(looked))
        taken = bytearray(len(looked))
        for one in found:
            taken[one.start : one.end] = b"\1" * (one.end - one.start)
        found += identifiers(hidden(looked, taken))
        pieces, done = [], 0
        for one in sorted(found, key=lambda one: one.start):
            start, end = folded.span(one.start, one.end)
            pieces += [text[done:start], self._placeholder(one.kind, one.key)]
            done = end
        return "".join(pieces) + text[done:]

    def _known(self, text: str) -> Iterable[Found]:
        """Yield what was learnt: ids first, then names."""
        for literal in sorted(self._literals, key=lambda literal: (-len(literal), literal)):
            for match in re.finditer(rf"(?<![^\W_]){re.escape(literal)}(?![^\W_])", text, re.IGNORECASE):
                if HIDDEN not in match[0]:
                    text = text[: match.start()] + HIDDEN * len(match[0]) + text[match.end() :]
                    yield Found(match.start(), match.end(), self._literals[literal], literal)
        # An address that holds a name is an address.
        addresses = emails(text)
        for found in occurrences(text, self._names):
            if not any(start <= found.start < end for start, end in addresses):
                yield found

    def _reserve(self, text: str) -> None:
        """Count on from the placeholders that a text brings along: they stand for something else."""
        for match in PLACEHOLDER.finditer(text):
            if match[0] not in self._given.values():
                kind, _, number = match[0].strip("<>").partition("-")
                self._counts[kind] = max(self._counts.get(kind, 0), int(number))

    def _placeholder(self, kind: str, key: str) -> str:
        if (kind, key) not in self._given:
            self._counts[kind] = min(_LAST, self._counts.get(kind, 0) + 1)
            self._given[kind, key] = f"<{kind}-{self._counts[kind]}>"
        return self._given[kind, key]
