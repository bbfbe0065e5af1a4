"""JavaScript patterns in Python: same matches, or closed."""

from __future__ import annotations

import pytest

from core.state.command_policy import CommandPolicy, PatternError, command_rule, compile_javascript


@pytest.mark.parametrize(
    ("pattern", "matches", "misses"),
    [
        (
            r"(?:^|[;&|\s])rm\s+-(?:rf|fr)\b",
            ["rm -rf x", "a;rm -fr x", "x\u00a0rm\u2003-rf"],
            ["rm -r", "perform -rf", "rm -rfx"],
        ),
        (r"(?i:format)\s+[a-z]:", ["FORMAT c:"], ["format C:"]),
        (r"^dd(?=.*of=/dev/)", ["dd if=a of=/dev/sda"], ["dd if=a", "dd \n of=/dev/sda", "dd \u2028of=/dev/sda"]),
        (r"x(?!y)", ["xz"], ["xy"]),
        (r"(?<=a)b", ["ab"], ["cb"]),
        (r"(?<q>['\"])x\k<q>", ["'x'", '"x"'], ["'x\""]),
        (r"(a)?\1b$", ["aab", "b"], ["b\n"]),
        (r"[^]x", ["\nx"], ["x"]),
        (r"a[]|b", ["b"], ["a"]),
        (r"[\s\S]z", ["\nz", "az"], ["z"]),
        (r"a{,3}", ["a{,3}"], ["aaa"]),
        (r"a{2}", ["aa"], ["a{2}"]),
        (r"\w", ["a"], ["é"]),
        (r"\d", ["1"], ["\u0661"]),
        (r"[[&&|~~]x", ["[x", "&x", "~x"], ["]x"]),
        (r"\/\e\-\x41\u0042\cI\0", ["/e-AB\t\0"], ["/\\e-AB"]),
        (r"(?s:a.b).c", ["a\nbxc"], ["a\nb\nc"]),
        (r"(?i:a(?-i:b))", ["Ab"], ["AB"]),
        (r"a b#c", ["a b#c"], ["abc"]),
        (r"[\b]", ["\b"], ["b"]),
        (r"}]", ["}]"], ["}"]),
    ],
)
def test_patterns_mean_the_same(pattern: str, matches: list[str], misses: list[str]) -> None:
    compiled = compile_javascript(pattern)
    assert [text for text in matches if not compiled.search(text)] == []
    assert [text for text in misses if compiled.search(text)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        "(", ")", "a)(b", "[a", "a++", "a*+", "*a", "(?P<n>a)", "(?i)a", "(?>a)", "(?#c)", "(?m:^a)", "(?ii:a)",
        r"\p{L}", r"\u{41}", "(?<=a+)b", "\\", "[b-a]", r"\k<n>", r"(a)\2",
    ],
)  # fmt: skip
def test_patterns_that_are_not_shared_are_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        compile_javascript(pattern)


def test_a_rule_that_cannot_be_understood_closes_the_gate_and_says_so() -> None:
    good, bad = command_rule("good", "rm"), command_rule("bad", "a++")
    assert bad.problem
    verdict = CommandPolicy(rules=(bad, good)).verdict("ls")
    assert not verdict.allowed
    assert verdict.rule == "bad"
    assert "'bad'" in verdict.reason
    assert "repaired" in verdict.reason
    assert CommandPolicy(rules=(bad, good)).verdict("rm").rule == "good"
    assert CommandPolicy(rules=(command_rule("bad", "a++", enabled=False), good)).verdict("ls").allowed
    assert CommandPolicy(enabled=False, rules=(bad, good)).verdict("rm").allowed
