"""The Project's command policy: patterns in which commands are refused (EVOLUTION 4.3 no. 7 and 8, DECISIONS 20).

The patterns are JavaScript regular expressions. Each is rewritten for Python so that it matches what it matches
there. One that can't be rewritten fails closed: while it is enabled, no command passes, and the refusal says which
rule to repair.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

from core.foundation.errors import DamagedError

_NO_END = "[^\\n\\r\\u2028\\u2029]"
_JS_SPACE = "\\t\\n\\x0b\\x0c\\r \\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
_GROUP = re.compile(r"\(\?(?:[:=!]|<[=!]|<(?P<name>[A-Za-z_$][\w$]*)>|(?P<on>[is]*)(?:-(?P<off>[is]*))?:)")
_QUANTIFIER = re.compile(r"\{\d+(?:,\d*)?\}")
_KEPT = frozenset("dDwWbBnrtfv")


class PatternError(DamagedError):
    """A pattern that Python can't take in the meaning it has in JavaScript."""


@dataclass(frozen=True)
class CommandRule:
    """A rule: a command in which `pattern` is found is refused. `problem` says why the pattern can't be used."""

    name: str
    pattern: str
    description: str = ""
    enabled: bool = True
    problem: str = ""
    compiled: re.Pattern[str] | None = None


@dataclass(frozen=True)
class Verdict:
    """Whether a command may run; if not, the rule's name and a reason for the model and the operator."""

    allowed: bool
    rule: str = ""
    reason: str = ""


@dataclass(frozen=True)
class CommandPolicy:
    """The rules in file order. Switched off, it allows everything."""

    enabled: bool = True
    rules: tuple[CommandRule, ...] = ()

    def verdict(self, command: str) -> Verdict:
        """Return whether `command` may run: refused where a rule matches, or where one can't be understood."""
        if not self.enabled:
            return Verdict(allowed=True)
        active = [rule for rule in self.rules if rule.enabled]
        for rule in active:
            if rule.compiled is not None and rule.compiled.search(command):
                told = f": {rule.description}" if rule.description else ""
                return Verdict(allowed=False, rule=rule.name, reason=f"Rule {rule.name!r} forbids it{told}")
        for rule in active:
            if rule.compiled is None:
                reason = (
                    f"Rule {rule.name!r} of the command policy can't be understood ({rule.problem}), so no command "
                    "passes until its pattern is repaired or the rule is disabled in .project_config.toml."
                )
                return Verdict(allowed=False, rule=rule.name, reason=reason)
        return Verdict(allowed=True)


def command_rule(name: str, pattern: str, description: str = "", *, enabled: bool = True) -> CommandRule:
    """Return the rule, compiled where its pattern can be, else with the problem."""
    try:
        return CommandRule(name, pattern, description, enabled, compiled=compile_javascript(pattern))
    except PatternError as error:
        return CommandRule(name, pattern, description, enabled, problem=str(error))


def compile_javascript(pattern: str) -> re.Pattern[str]:
    """Return `pattern`, a JavaScript expression without flags, as a Python one. Raises PatternError."""
    translated = _Translation(pattern).whole()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return re.compile(translated, re.ASCII)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise PatternError(f"Python refuses it: {error}") from error


class _Translation:
    """Walks a pattern once. Invariant: `out` means in Python what `source[:at]` means in JavaScript."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.out: list[str] = []
        self.dot_all = [False]  # of each open group

    def whole(self) -> str:
        while self.at < len(self.source):
            self._step()
        return "".join(self.out)

    def _take(self, count: int, text: str | None = None) -> None:
        self.out.append(self.source[self.at : self.at + count] if text is None else text)
        self.at += count

    def _step(self) -> None:
        char = self.source[self.at]
        if char == "\\":
            self._escape()
        elif char == "[":
            self._character_class()
        elif char == "(":
            self._group()
        elif char == ")":
            if len(self.dot_all) == 1:
                raise PatternError(f"a ')' too many at {self.at}")
            self.dot_all.pop()
            self._take(1)
        elif char == ".":
            self._take(1, "[\\s\\S]" if self.dot_all[-1] else _NO_END)
        elif char == "$":
            self._take(1, "\\Z")
        elif char == "^":
            self._take(1)
        elif char in "*+?" or (char == "{" and _QUANTIFIER.match(self.source, self.at)):
            self._quantifier()
        elif char in "{}]":
            self._take(1, "\\" + char)
        else:
            self._take(1, re.escape(char) if char in "#&~- " else None)

    def _quantifier(self) -> None:
        braces = _QUANTIFIER.match(self.source, self.at)
        self._take(len(braces.group()) if braces else 1)
        following = self.source[self.at : self.at + 1]
        if following == "?":
            self._take(1)
        elif following and following in "*+":  # possessive in Python, an error in JavaScript
            raise PatternError(f"nothing to repeat at {self.at}")

    def _group(self) -> None:
        if not self.source.startswith("(?", self.at):
            self.dot_all.append(self.dot_all[-1])
            self._take(1)
            return
        opening = _GROUP.match(self.source, self.at)
        if opening is None:
            raise PatternError(f"the group at {self.at} is not one that JavaScript and Python share")
        on, off, name = opening["on"] or "", opening["off"] or "", opening["name"]
        if opening["on"] is not None and (not on + off or len(set(on + off)) != len(on + off)):
            raise PatternError(f"the flags at {self.at} are not valid")
        self.dot_all.append((self.dot_all[-1] or "s" in on) and "s" not in off)
        if name is not None:
            if not name.isidentifier():
                raise PatternError(f"the group name {name!r} can't be used")
            self._take(len(opening.group()), f"(?P<{name}>")
            return
        kept_on, kept_off = on.replace("s", ""), off.replace("s", "")  # `.` is rewritten, so s has no further use
        flags = kept_on + (f"-{kept_off}" if kept_off else "")
        self._take(len(opening.group()), f"(?{flags}:" if opening["on"] is not None else None)

    def _escape(self) -> None:
        rest = self.source[self.at + 1 :]
        if not rest:
            raise PatternError("it ends in a backslash")
        char = rest[0]
        if char == "k":
            named = re.match(r"k<([A-Za-z_]\w*)>", rest)
            if named is None:
                raise PatternError(f"\\k at {self.at} names no group")
            # A group that took no part matches nothing there, and fails here.
            self._take(1 + len(named.group()), f"(?({named[1]})(?P={named[1]})|)")
        elif char in "123456789":
            digits = re.match(r"\d{1,2}", rest)
            assert digits is not None
            self._take(1 + len(digits.group()), f"(?({digits.group()})\\{digits.group()}|)")
        elif char == "s":
            self._take(2, f"[{_JS_SPACE}]")
        elif char == "S":
            self._take(2, f"[^{_JS_SPACE}]")
        else:
            self._take(*self._plain_escape(rest))

    def _plain_escape(self, rest: str) -> tuple[int, str | None]:
        """Return how many characters an escape that stands for one character or class takes, and its rewriting."""
        char = rest[0]
        if char in _KEPT:
            return 2, None
        if char == "0" and not rest[1:2].isdigit():
            return 2, "\\x00"
        numeric = re.match(r"x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}", rest)
        if numeric:
            return 1 + len(numeric.group()), None
        control = re.match(r"c([A-Za-z])", rest)
        if control:
            return 3, f"\\x{ord(control[1]) % 32:02x}"
        if char.isalnum():
            if char in "xucpPk0123456789":
                raise PatternError(f"the escape \\{char} at {self.at} has no clear meaning")
            return 2, char  # \e, \y and the like mean the letter itself
        return 2, re.escape(char)

    def _character_class(self) -> None:
        self._take(1)
        negated = self.source.startswith("^", self.at)
        if negated:
            self._take(1)
        if self.source.startswith("]", self.at):
            self.out[-2 if negated else -1 :] = ["[\\s\\S]" if negated else "(?!)"]
            self.at += 1
            return
        while self.at < len(self.source):
            char = self.source[self.at]
            if char == "]":
                self._take(1)
                return
            if char == "\\":
                self._class_escape()
            else:
                self._take(1, "\\" + char if char in "[&~|" else None)
        raise PatternError("a '[' is never closed")

    def _class_escape(self) -> None:
        rest = self.source[self.at + 1 :]
        if rest[:1] == "b":
            self._take(2, "\\x08")
        elif rest[:1] == "s":
            self._take(2, _JS_SPACE)
        elif rest[:1] == "S":
            self._take(2)  # with ASCII rules a little wider than JavaScript's, so it never lets more pass
        elif rest[:1] == "B" or not rest:
            raise PatternError(f"the escape at {self.at} can't stand in a class")
        else:
            self._take(*self._plain_escape(rest))
