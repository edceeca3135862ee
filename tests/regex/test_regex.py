"""Regular expressions mean what Python's mean, and run in time linear in the text."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from bylaw import SpecError, formulas, parse
from bylaw.regex.graph import parsed
from bylaw.regex.linear import RegexError
from bylaw.regex.native import is_safe_in_ascii
from bylaw.regex.needed import needed_characters, needed_word
from bylaw.regex.regex import Regex, compiled, regex_error
from bylaw.regex.sample import is_unmatchable, sample_of
from bylaw.syntax.json_form import from_json

BOTH = pytest.mark.parametrize("native", [True, False], ids=["re", "own"])
"""Simple expressions are left to `re`; whichever engine runs one, it must mean the same."""


# ── the same meaning as in Python ─────────────────────────────────────────────────────────

# expression, text, does it match?
MEANING = [
    ("", "", True),
    ("a", "bab", True),
    ("^a", "ba", False),
    ("a$", "ba", True),
    ("a$", "ba\n", True),
    ("a$", "ba\nb", False),
    ("a$", "ba\n\n", False),
    (r"a\Z", "ba\n", False),
    (r"a\Z", "ba", True),
    ("(?m)^b$", "a\nb\nc", True),
    (r"(?m)\Ab", "a\nb", False),
    ("^$", "", True),
    ("^$", "\n", True),
    (".", "\n", False),
    ("(?s).", "\n", True),
    ("(?i)YES", "yes", True),
    ("(?i)É", "é", True),
    ("(?i)s", "ſ", True),
    ("(?i)[a-z]", "K", True),
    ("(?i:a)b", "AB", False),
    ("(?i)(?-i:a)b", "aB", True),
    (r"\d", "٣", True),
    (r"(?a)\d", "٣", False),
    ("[0-9]", "٣", False),
    (r"\w", "é", True),
    (r"(?a)\w", "é", False),
    (r"\s", "\u00a0", True),
    (r"\bja\b", "éja", False),
    (r"\bja\b", "ja, gut", True),
    (r"(?a)\bja\b", "éja", True),
    (r"\Bja", "ja", False),
    (r"\Bja", "éja", True),
    (r"[^\W\d_]", "1_", False),
    ("a{2,3}$", "baaaa", True),
    ("^a{2,3}$", "aaaa", False),
    ("a{,2}b", "b", True),
    ("a{b", "a{b", True),
    ("(?x) a  b # together", "ab", True),
    ("(?P<first>a)b", "ab", True),
    (r"\u00e9\x41\n", "éA\n", True),
    ("(a|)*b", "aab", True),
    ("\ud800", "a\ud800", True),
]


@BOTH
@pytest.mark.parametrize(("pattern", "text", "matches"), MEANING)
def test_meaning(pattern: str, text: str, matches: bool, native: bool) -> None:
    assert (re.search(pattern, text) is not None) is matches
    assert Regex(pattern, native=native).search(text) is matches


# expression, text, the matches or their only group
FOUND = [
    (r"\d+", "a1b22", ["1", "22"]),
    (r"a(\d)", "a1a2a", ["1", "2"]),
    (r"(a)(\d)", "a1a2", ["a1", "a2"]),
    ("(a)|b", "ab", ["a"]),
    ("(a)?b", "abb", ["a"]),
    ("a*", "baa", ["", "aa", ""]),
    ("a*?", "aa", ["", "a", "", "a", ""]),
    ("|a", "a", ["", "a", ""]),
    ("ab|abc", "abc", ["ab"]),
    ("(?:(a)|b)*", "ab", ["a"]),
    ("(a|ab)(?:c|bcd)", "abcd", ["a"]),
    ("(a*)*", "aab", ["", "", ""]),
    ("<(.*)>", "<a><b>", ["a><b"]),
    ("<(.*?)>", "<a><b>", ["a", "b"]),
]


@BOTH
@pytest.mark.parametrize(("pattern", "text", "expected"), FOUND)
def test_find(pattern: str, text: str, expected: list[str], native: bool) -> None:
    group = 1 if re.compile(pattern).groups == 1 else 0
    in_python = [m[group] for m in re.finditer(pattern, text) if m[group] is not None]
    assert in_python == expected
    assert Regex(pattern, native=native).find(text) == expected


# expression, replacement, text, the result; None if the replacement cannot be used
REPLACED = [
    (r"\d", "", "a1b2", "ab"),
    ("(a)(b)", r"\2\1", "abab", "baba"),
    ("(?P<x>a)", r"<\g<x>\g<0>\g<1>>", "ab", "<aaa>b"),
    ("(a)|b", r"[\1]", "ab", "[a][]"),
    ("x*", "-", "axb", "-a--b-"),
    ("a", r"\n\\\.", "a", "\n\\\\."),
    ("a", r"\1", "a", None),
    ("a", r"\g<x>", "a", None),
    ("a", r"\q", "a", None),
    ("a", "\\", "a", None),
    ("a", "b" * 5, "aa", "b" * 10),
]


@BOTH
@pytest.mark.parametrize(("pattern", "new", "text", "expected"), REPLACED)
def test_replace(pattern: str, new: str, text: str, expected: str | None, native: bool) -> None:
    expression = Regex(pattern, native=native)
    if expected is None:
        with pytest.raises((re.error, IndexError)):
            re.sub(pattern, new, text)
        with pytest.raises(RegexError):
            expression.replaced(text, new)
    else:
        assert re.sub(pattern, new, text) == expected
        assert "".join(expression.replaced(text, new)) == expected


_ATOMS = (
    *("a", "b", "c", ".", "[ab]", "[^a]", "[a-b1]", r"[^\w]", "é", "\\n", ""),
    *(r"\w", r"\W", r"\d", r"\s", r"\b", r"\B", "^", "$", r"\A", r"\Z"),
)
_REPEATS = ("*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{2,}", "{,3}")


def _larger(inner: SearchStrategy[str]) -> SearchStrategy[str]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        several.map("".join),
        several.map(lambda ways: f"(?:{'|'.join(ways)})"),
        inner.map("({})".format),
        st.builds("(?{}:{})".format, st.sampled_from("ims"), inner),
        st.builds("(?:{}){}".format, inner, st.sampled_from(_REPEATS)),
    )


patterns = st.recursive(st.sampled_from(_ATOMS), _larger, max_leaves=12)
texts = st.text("aabbcé1 \nA_", max_size=9)


@given(patterns, texts, st.booleans())
def test_every_expression_means_what_it_means_in_python(
    pattern: str, text: str, native: bool
) -> None:
    assume(text or r"\B" not in pattern or sys.version_info >= (3, 14))
    there, here = re.compile(pattern), Regex(pattern, native=native)
    assert here.search(text) is (there.search(text) is not None)
    found = [(*m.span(), m.groups()) for m in there.finditer(text)]
    assert found == [
        (start, end, _groups(text, [*marks])) for start, end, marks in here.matches(text)
    ]


def _groups(text: str, marks: list[int | None]) -> tuple[str | None, ...]:
    pairs = zip(marks[::2], marks[1::2], strict=True)
    return tuple(None if start is None else text[start:end] for start, end in pairs)


@given(patterns)
def test_a_sample_matches(pattern: str) -> None:
    sample = sample_of(pattern)
    assert sample is None or re.search(pattern, sample) or r"\B" in pattern


@pytest.mark.parametrize(
    ("pattern", "sample"),
    [(r"^\d{4}-[A-F]+$", "1111-A"), ("yes|no", "no"), (r"\bja\b", "ja"), ("[^a]b", "1b")],
)
def test_sample(pattern: str, sample: str) -> None:
    assert sample_of(pattern) == sample


# ── where the meaning differs from Python's ───────────────────────────────────────────────


@given(patterns, texts)
def test_what_matches_nothing_matches_nothing(pattern: str, text: str) -> None:
    expression = compiled(pattern)
    assume(expression is not None)
    assert expression is not None
    if is_unmatchable(expression.graph):
        assert not expression.search(text)


@pytest.mark.parametrize(
    ("pattern", "nothing"),
    [
        ("a^b", True),
        ("$5", True),
        (r"[^\s\S]", True),
        (r"\Aa|b\Ac", False),
        (r"$\n", False),
        (r"$\n$", False),
        (r"$\n\n", True),
        (r"\Z\n", True),
        ("(?m)a^b", False),
        ("^$", False),
        ("a*^b", False),
        (r"x|[^\s\S]", False),
    ],
)
def test_what_matches_nothing_is_known(pattern: str, nothing: bool) -> None:
    expression = compiled(pattern)
    assert expression is not None
    assert is_unmatchable(expression.graph) is nothing


def test_no_boundary_matches_in_the_empty_text_whatever_the_version_of_python() -> None:
    assert Regex(r"\B").search("")
    assert not Regex(r"\b").search("")


def test_a_flag_for_a_part_holds_for_the_part() -> None:
    assert Regex(r"(?a:\W)").search("é")  # `re.search` overlooks it


# expression, the message, the remedy
REJECTED = [
    ("(?=a)b", "looks at the text around the match", "test it apart"),
    ("a(?!b)", "looks at the text around the match", "test it apart"),
    ("(?<=a)b", "looks at the text around the match", "test it apart"),
    ("(?<!a)b", "looks at the text around the match", "test it apart"),
    (r"(a)\1", "refers back to a group", "compare the parts"),
    ("(?P<x>a)(?P=x)", "refers back to a group", "compare the parts"),
    ("(a)?(?(1)b|c)", "depends on whether a group matched", "write both cases"),
    ("a*+", "possessive", "leave out the last +"),
    ("(?>a)", "atomic", "write (?:…)"),
    ("(((a{99}){99}){99}){99}", "too large", "repeat fewer times"),
    ("a{99999}", "too large", "repeat fewer times"),
    ("a{99999999999999999999}", "too large", "repeat fewer times"),
    ("((((((((a*b*)*)*)*)*)*)*)*)*" * 20, "too large", "repeat fewer times"),
    ("(" * 5_000, "nests too deeply", None),
    ("(", "not a regular expression: missing ), unterminated subpattern", None),
    ("[", "not a regular expression: unterminated character set", None),
    (r"\q", r"not a regular expression: bad escape \q", None),
]


@pytest.mark.parametrize(("pattern", "message", "remedy"), REJECTED, ids=range(len(REJECTED)))
def test_rejected(pattern: str, message: str, remedy: str | None) -> None:
    error = regex_error(pattern)
    assert error is not None
    assert compiled(pattern) is None
    assert message in error.message
    assert (error.help or "").find(remedy or "") >= 0


def _in_text(pattern: str) -> object:
    return parse(f"args.q ~ /{pattern}/")


def _in_a_string(pattern: str) -> object:
    return parse(f'args.q ~ "{pattern}"')


def _in_a_pattern(pattern: str) -> object:
    return parse(f"call(a, q ~ /{pattern}/)")


def _in_find(pattern: str) -> object:
    return parse(f'find(args.q, "{pattern}") = []')


def _in_json(pattern: str) -> object:
    compared = [{"read": "text"}, "~", {"literal": pattern}]
    return from_json({"bylaw": 1, "formula": [{"compare": compared}]})


def _in_a_json_function(pattern: str) -> object:
    operands = [{"read": "text"}, {"literal": pattern}]
    found = {"apply": {"function": "find", "to": operands}}
    compared = [found, "=", {"literal": []}]
    return from_json({"bylaw": 1, "formula": [{"compare": compared}]})


def _in_python(pattern: str) -> object:
    return formulas.compare(formulas.this.text, "~", pattern)


def _in_a_python_function(pattern: str) -> object:
    return formulas.apply("replace", formulas.this.text, pattern, "")


@pytest.mark.parametrize(
    "written",
    [
        _in_text,
        _in_a_string,
        _in_a_pattern,
        _in_find,
        _in_json,
        _in_a_json_function,
        _in_python,
        _in_a_python_function,
    ],
)
def test_rejected_wherever_it_is_written(written: Callable[[str], object]) -> None:
    written("ab")
    with pytest.raises(SpecError) as caught:
        written("(?=a)b")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E111"
    assert "test it apart" in (diagnostic.help or "")


# ── linear time ───────────────────────────────────────────────────────────────────────────

EXPENSIVE = [
    ("(a+)+b", "a"),
    ("(a*)*b", "a"),
    ("(a|a)*b", "a"),
    ("(a|aa)+$", "ab"),
    ("(.*)*x", "y"),
    (r"(\w+\s?)*!", "word "),
    (r"^(\d+)*$", "1" * 99 + "x"),
    (r"\d+x", "1"),
    ("x*y|x", "x"),
    ("(x+x+)+y", "x"),
    ("(.?){30}y", "x"),
    (r"([a-z0-9]+[.])*[a-z0-9]+@", "a."),
    ("(?i)(a|b|ab)*c", "aB"),
    ("(a?){50}a{50}", "b"),
    (r"(\b\w*\b|\s)*;", "a b"),
    ("(a|b)*a(a|b){14}c", "abbab"),
]
"""Expressions for which `re` takes time that grows faster than the text, and a text to repeat."""


@pytest.mark.parametrize(("pattern", "unit"), EXPENSIVE)
def test_a_long_text_is_searched(pattern: str, unit: str) -> None:
    expression, text = Regex(pattern), unit * (20_000 // len(unit))
    expected = Regex(pattern).search(unit * (100 // len(unit)))
    assert expression.search(text) is expected
    pieces = list(expression.replaced(text, ""))
    assert len(pieces) <= 2 * len(text) + 3


def test_an_expression_forgets_what_it_cannot_keep() -> None:
    expression = Regex("(a|b)*a(a|b){14}c", native=False)
    text = "".join(format(number, "b") for number in range(6_000))
    text = text.replace("0", "a").replace("1", "b")
    assert not expression.search(text)
    assert expression.search(text + "a" * 15 + "c")
    assert not expression.search("".join(map(chr, range(0x20000, 0x29000))))


@pytest.mark.parametrize("pattern", ["yes|no", r"(?i)\b(yes|confirm)\b", r"^\d{4}-\d\d$"])
def test_few_ways_are_left_to_python(pattern: str) -> None:
    assert Regex(pattern)._native is not None


@pytest.mark.parametrize("pattern", ["a*", "(a+)+", r"\d+", "(a?){20}", "(ab|b){9}", r"\Ba"])
def test_many_ways_are_not(pattern: str) -> None:
    assert Regex(pattern)._native is None


# ── characters that every match contains ──────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("pattern", "needed"),
    [
        (r"\$(\d+)", ["$", "7"]),
        (r"(?i)order (#W\d*)", ["#", "w"]),
        (r"(#|\$)\d*", ["#"]),
        (r"(##|\$)\d*", []),
        (r"#*\d*", []),
        (r"(#a*b|#c*d)", ["#"]),
        (r"please", ["p"]),
        (r"", []),
    ],
)
def test_needed_characters(pattern: str, needed: list[str]) -> None:
    """Only what no match can do without, and few texts contain."""
    found = needed_characters(Regex(pattern).graph)
    assert len(found) == len(needed)
    assert all(kind.match(each) for kind, each in zip(found, needed, strict=True))


# ── expressions that are left to `re` ─────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("pattern", "safe"),
    [
        (r"\$(\d[\d,]*(?:\.\d*[1-9])?)", True),
        (r"#\w+", True),
        (r"(?i)\bI (?:also )?cancel \d+", True),
        (r"#[^#]*?x", True),
        (r"#\d*\w", True),
        (r"\d+x", False),  # it begins anew at each digit
        (r"#(\d+)*x", False),  # the same digits can be divided in many ways
        (r"#\d*\d*x", False),
        (r"#[a-z]*#", False),  # what ends one attempt can begin another
        (r"#(?:\d*|\w*)x", False),
        (r"\d*", False),  # it matches the empty text
    ],
)
def test_re_searches_only_what_it_searches_in_linear_time(pattern: str, safe: bool) -> None:
    assert is_safe_in_ascii(parsed(pattern).graph) is safe


@pytest.mark.parametrize(
    ("pattern", "word", "found", "lacking"),
    [
        (r"(?i)cancell?ed order", "ed order", "CANCELED Order", "cancelled orde"),
        (r"\bW?(hello)+", "hello", "say hello", "Hello"),
        ("(abc|abd)e", None, None, None),
        ("a(bcd)?", None, None, None),
    ],
)
def test_a_word_that_every_match_contains_is_looked_for_first(
    pattern: str, word: str | None, found: str | None, lacking: str | None
) -> None:
    needed = needed_word(parsed(pattern).graph)
    assert (None if needed is None else needed.word) == word
    if needed is not None and found is not None and lacking is not None:
        assert not needed.is_missing(found)
        assert needed.is_missing(lacking)


def test_as_many_characters_in_a_row_are_needed_as_every_match_reads() -> None:
    (needed,) = needed_characters(parsed(r"\bW?(\d{7}|\d{10})\b").graph)
    assert needed.search("W1234567")
    assert not needed.search("123456 78")
