"""Inputs that are known to break readers: each is refused with words a person can act on, or
read as what it says. None raises anything else, takes long, or takes much memory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fuzz_watch import check_error, deadline, within

from bylaw import (
    Call,
    Diagnostic,
    Procedure,
    SpecError,
    Trace,
    TraceError,
    explain,
    from_json,
    parse,
    read_trace,
    read_traces,
    to_text,
    verify_trace,
)
from bylaw.errors import BylawError

MANY = 100_000
SOME = 20_000
LONG = "x" * 300_000
TRACE = Trace([Call("a", {"q": [1]}, result={"x": 1}), Call("b"), Call("a")], metrics={"n": [1]})


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    with deadline():
        yield


def only(error: BylawError, code: str, words: str) -> Diagnostic:
    """The one diagnostic; it has this code and says these words."""
    check_error(error)
    (diagnostic,) = error.diagnostics
    assert diagnostic.code == code
    assert words in diagnostic.render()
    return diagnostic


def first(error: BylawError, code: str, words: str) -> Diagnostic:
    """The first of some diagnostics."""
    check_error(error)
    assert error.diagnostics[0].code == code
    assert words in error.diagnostics[0].render()
    return error.diagnostics[0]


# ── procedure files ───────────────────────────────────────────────────────────────────────

RULED = {"constraints": [{"name": "n", "rule": "a"}]}
SOUND = "constraints: [{name: n, rule: a}]\n"


def weighing(weight: str) -> str:
    return f"constraints:\n- name: n\n  rule: a\n  weight: {weight}\n"


def laughs() -> str:
    """Nine lines that stand for a thousand million values."""
    lines = ["x0: &x0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    for number in range(1, 9):
        again = ", ".join([f"*x{number - 1}"] * 10)
        lines.append(f"x{number}: &x{number} [{again}]")
    return "\n".join([*lines, SOUND])


def ladder() -> str:
    """Each list nests as deeply as it may, and the one before it stands at its bottom."""
    lines = [f"x0: &x0 {'[' * 60}{']' * 60}"]
    for number in range(1, 40):
        lines.append(f"x{number}: &x{number} {'[' * 60}*x{number - 1}{']' * 60}")
    return "\n".join([*lines, "bylaw: *x39", SOUND])


YAML: dict[str, tuple[str | bytes, str, str]] = {
    "empty": ("", "E201", "empty"),
    "only comments": ("# to do\n\n# later\n", "E201", "empty"),
    "cut off": ("constraints: [{name: n, rule: a", "E201", "not valid YAML"),
    "tab for indentation": ("constraints:\n\t- name: n\n", "E201", "not valid YAML"),
    "unquoted colon": ("constraints:\n- name: n\n  rule: a: b\n", "E201", "needs quotes"),
    "not UTF-8": (b"name: \xff\xfe\n", "E206", "not UTF-8"),
    "UTF-16": (SOUND.encode("utf-16-le"), "E201", "not valid YAML"),
    "UTF-16 with a mark": (SOUND.encode("utf-16"), "E206", "not UTF-8"),
    "control character": ("name: a\x00b\n", "E201", "not valid YAML"),
    "two documents": (f"{SOUND}---\n{SOUND}", "E201", "more than one document"),
    "duplicate key": (f"name: a\nname: b\n{SOUND}", "E207", "'name' appears twice"),
    "duplicate key inside": ("constraints: [{name: n, name: m}]", "E207", "'name' appears twice"),
    "deep brackets": ("x: " + "[" * MANY, "E204", "nests more than 64 deep"),
    "deep brackets, closed": ("[" * MANY + "]" * MANY, "E204", "nests more than 64 deep"),
    "deep braces": ("x: " + "{a: " * MANY, "E204", "nests more than 64 deep"),
    "deep dashes": ("- " * 5000 + "a", "E204", "nests more than 64 deep"),
    "alias inside itself": ("constraints: &a [*a]\n", "E204", "contains itself"),
    "alias inside itself, further down": ("x: &a {y: [{z: *a}]}\n", "E204", "contains itself"),
    "alias without an anchor": ("constraints: *nowhere\n", "E201", "'*nowhere' has no anchor"),
    "laughs": (laughs(), "E204", "when its aliases expand"),
    "ladder": (ladder(), "E204", "nests more than 64 deep"),
    "merge key": (f"x: &x {{name: n}}\n<<: *x\n{SOUND}", "E202", "unknown field 'x'"),
    "Python object": ("name: !!python/object/apply:os.getcwd []\n", "E201", "is not supported"),
    "tag": ("name: !!str 5\n", "E201", "needs quotes around it"),
    "number as a key": (f"5: x\n{SOUND}", "E202", "unknown field '5'"),
    "truth as a key": (f"true: x\n{SOUND}", "E202", "unknown field 'true'"),
    "nothing as a key": (f"~: x\n{SOUND}", "E202", "unknown field '~'"),
    "list as a key": (f"[a, b]: x\n{SOUND}", "E201", "a key must be a string"),
    "mapping as a key": (f"? {{a: b}}\n: x\n{SOUND}", "E201", "a key must be a string"),
    "unknown version": (f"bylaw: 2\n{SOUND}", "E203", "This release reads version 1"),
    "version as text": (
        f"bylaw: '1'\n{SOUND}",
        "E203",
        "the format version is a number, not a string",
    ),
    "version with a point": (f"bylaw: 1.0\n{SOUND}", "E203", "unknown format version 1.0"),
    "version as a list": (f"bylaw: [1]\n{SOUND}", "E203", "unknown format version [1]"),
    "a number": ("5\n", "E201", "expected a mapping, found a number"),
    "a sentence": ("refunds need care\n", "E201", "expected a mapping, found a string"),
    "a list": ("- a\n- b\n", "E201", "expected a mapping, found a list"),
    "no constraints": ("name: n\n", "E208", "Add at least one rule"),
    "empty constraints": ("constraints: []\n", "E208", "Add at least one rule"),
    "constraints in a mapping": ("constraints: {n: a}\n", "E202", "expected a list of constraints"),
    "constraint as text": ("constraints: [a]\n", "E202", "expected a mapping with name and rule"),
    "no rule": ("constraints: [{name: n}]\n", "E202", "no 'rule'"),
    "no name": ("constraints: [{rule: a}]\n", "E202", "no 'name'"),
    "name as a number": ("constraints: [{name: 5, rule: a}]", "E202", "Put it in quotes"),
    "same name twice": (
        "constraints: [{name: n, rule: a}, {name: n, rule: b}]",
        "E209",
        "two constraints are called 'n'",
    ),
    "rule as a number": ("constraints: [{name: n, rule: 5}]", "E202", "expected text"),
    "rule as a list": ("constraints: [{name: n, rule: [a]}]", "E202", "expected text"),
    "rule as some object": ("constraints: [{name: n, rule: {a: b}}]", "E116", '"formula": […]'),
    "rule that is blank": ("constraints: [{name: n, rule: ' '}]", "E101", "the formula is empty"),
    "tool as a number": (f"tools: [5]\n{SOUND}", "E202", "expected text, found a number"),
    "groups in a list": (f"groups: [a]\n{SOUND}", "E202", "expected a mapping from names"),
    "group as text": (f"groups: {{A: b}}\n{SOUND}", "E202", "expected a list of tool names"),
    "group that is empty": (f"groups: {{A: []}}\n{SOUND}", "E106", "the group 'A' is empty"),
    "group named by a word": (f"groups: {{true: [a]}}\n{SOUND}", "E211", "is not a plain name"),
    "order": (f"order: [step]\n{SOUND}", "E212", "It is one of: position, step."),
    "events": (f"events: 1\n{SOUND}", "E212", "It is one of: calls, all."),
    "severity": (
        "constraints: [{name: n, rule: a, severity: {x: 1}}]",
        "E212",
        "It is one of: HARD_STOP",
    ),
    "why in a list": ("constraints: [{name: n, rule: a, why: [b]}]", "E202", "expected text"),
    "unknown field": ("constraints: [{name: n, rule: a, wieght: 2}]", "E202", "'weight'"),
    "long anchor": (f"name: *{LONG}\n", "E201", "has no anchor"),
    "long tag": (f"name: !{LONG} x\n", "E201", "needs quotes"),
    "long version": (f"bylaw: {LONG}\n", "E203", "This release reads version 1"),
    "long choice": (f"order: {LONG}\n{SOUND}", "E212", "It is one of: position, step."),
    "negative weight": (weighing("-1"), "E205", "above 0"),
    "zero weight": (weighing("0"), "E205", "above 0"),
    "weight of minus nothing": (weighing("-0.0"), "E205", "above 0"),
    "weight that is no number": (weighing(".nan"), "E205", "above 0"),
    "infinite weight": (weighing(".inf"), "E205", "at most"),
    "weight below everything": (weighing("-.inf"), "E205", "above 0"),
    "weight beyond floats": (weighing("1e999"), "E205", "at most"),
    "weight of 400 digits": (weighing("9" * 400), "E205", "at most"),
    "weight of 5,000 digits": (weighing("9" * 5000), "E205", "at most"),
    "weight in quotes": (weighing("'3'"), "E205", "a weight is a number, not a string"),
    "weight as a word": (weighing("heavy"), "E205", "a weight is a number, not a string"),
    "weight as a truth": (weighing("true"), "E205", "a weight is a number, not true or false"),
    "weight in a list": (weighing("[1]"), "E205", "a weight is a number, not a list"),
    "weight in a mapping": (weighing("{a: 1}"), "E205", "a weight is a number"),
}

JSON: dict[str, tuple[str | bytes, str, str]] = {
    "empty": ("", "E201", "not valid JSON"),
    "cut off": ('{"constraints": [{"name": "n", "ru', "E201", "not valid JSON"),
    "YAML": (SOUND, "E201", "not valid JSON"),
    "not UTF-8": (b'{"name": "\xff"}', "E206", "not UTF-8"),
    "NaN": ('{"constraints": [{"name": "n", "rule": "a", "weight": NaN}]}', "E201", "NaN"),
    "infinity": ('{"weight": -Infinity}', "E201", "-Infinity is not a JSON value"),
    "number beyond floats": ('{"weight": 1e999}', "E201", "1e999 is too large"),
    "number of 5,000 digits": ('{"x": ' + "9" * 5000 + "}", "E201", "too many digits"),
    "duplicate key": ('{"name": "a", "name": "b"}', "E207", '"name" appears twice'),
    "deep brackets": ("[" * MANY, "E201", "nest more than 200 deep"),
    "deep brackets, closed": ("[" * MANY + "]" * MANY, "E201", "nest more than 200 deep"),
    "deep objects": ('{"a":' * MANY, "E201", "nest more than 200 deep"),
    "two documents": ("{}\n{}", "E201", "not valid JSON"),
    "a list": ("[]", "E201", "expected a mapping, found a list"),
    "null": ("null", "E201", "expected a mapping, found null"),
    "long field": (json.dumps({LONG: 1} | RULED), "E202", "unknown field"),
    "long group": (json.dumps({"groups": {LONG + "-": ["a"]}} | RULED), "E211", "not a plain name"),
    "long tool": (json.dumps({"tools": [LONG]} | RULED), "E104", "unknown tool 'a'"),
    "long tool in a rule": (
        json.dumps({"tools": ["b"], "constraints": [{"name": "n", "rule": LONG}]}),
        "E104",
        "unknown tool",
    ),
    "long key, twice": (f'{{"{LONG}": 1, "{LONG}": 2}}', "E207", "appears twice"),
    "long name, twice": (
        json.dumps({"constraints": [{"name": LONG, "rule": "a"}] * 2}),
        "E209",
        "two constraints are called",
    ),
    "half a character": (
        '{"\\ud800": 1, "constraints": [{"name": "n", "rule": "a"}]}',
        "E202",
        "unknown field",
    ),
    "half a character in a rule": (
        '{"constraints": [{"name": "n", "rule": "\\ud800"}]}',
        "E102",
        "unexpected character",
    ),
}


@pytest.mark.parametrize("case", YAML)
def test_yaml_procedure_is_refused(case: str, tmp_path: Path) -> None:
    refused(tmp_path / "procedure.yaml", *YAML[case])


@pytest.mark.parametrize("case", JSON)
def test_json_procedure_is_refused(case: str, tmp_path: Path) -> None:
    refused(tmp_path / "procedure.json", *JSON[case])


def refused(path: Path, content: str | bytes, code: str, words: str) -> None:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SpecError) as caught:
        Procedure.load(path)
    assert first(caught.value, code, words).source == str(path)


TOOLS_FILES: dict[str, tuple[bytes | None, str, str]] = {
    "missing": (None, "E206", "No such file"),
    "empty": (b"", "E201", "not valid JSON"),
    "cut off": (b"[", "E201", "not valid JSON"),
    "not UTF-8": (b"\xff", "E206", "not UTF-8"),
    "a number": (b"5", "E202", "expected a list of tools, found a number"),
    "a number in the list": (b'["a", 5]', "E202", "expected text, found a number"),
    "a number as a schema": (b'{"a": 1}', "E214", "expected a schema, found a number"),
}


@pytest.mark.parametrize("case", TOOLS_FILES)
def test_tools_file_is_refused(case: str, tmp_path: Path) -> None:
    """`tools` as text names a file, so the diagnostic names that file, not the procedure's."""
    content, code, words = TOOLS_FILES[case]
    if content is not None:
        (tmp_path / "a.json").write_bytes(content)
    (tmp_path / "procedure.yaml").write_text(f"tools: a.json\n{SOUND}")
    with pytest.raises(SpecError) as caught:
        Procedure.load(tmp_path / "procedure.yaml")
    assert first(caught.value, code, words).source == str(tmp_path / "a.json")


def test_missing_procedure(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        Procedure.load(tmp_path / "nowhere.yaml")
    assert only(caught.value, "E206", "No such file").source == str(tmp_path / "nowhere.yaml")


def test_directory_as_a_procedure(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        Procedure.load(tmp_path)
    only(caught.value, "E206", "directory")


def test_tags_run_nothing(tmp_path: Path) -> None:
    path, made = tmp_path / "procedure.yaml", tmp_path / "made"
    path.write_text(f"name: !!python/object/apply:os.mkdir ['{made}']\n{SOUND}")
    with pytest.raises(SpecError):
        Procedure.load(path)
    assert not made.exists()


def test_all_mistakes_at_once(tmp_path: Path) -> None:
    path = tmp_path / "procedure.yaml"
    path.write_text("order: up\nconstraints: [{name: n, rule: a b, weight: 0}, {name: n}]\n")
    with pytest.raises(SpecError) as caught:
        Procedure.load(path)
    check_error(caught.value)
    codes = sorted(diagnostic.code for diagnostic in caught.value.diagnostics)
    assert codes == ["E101", "E202", "E205", "E209", "E212"]


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + SOUND.encode(),
        b"constraints:\r\n- name: n\r\n  rule: |\r\n    G(a\r\n      -> b)\r\n",
        b"--- # one document\n" + SOUND.encode() + b"...\n",
        b"constraints: [{name: n, rule: true}]",
        b"constraints: [{name: &n n, rule: *n}]",
        b'constraints: [{name: n, rule: "caf\\u00e9 | \\"\xf0\x9f\x94\x8e\\""}]',
        b"constraints: [{name: n, rule: " + b"(" * 2000 + b"a" + b")" * 2000 + b"}]",
        b"# " + b"x" * 1_000_000 + b"\n" + SOUND.encode(),
    ],
    ids=["BOM", "CRLF", "marks", "truth", "anchor", "unicode", "parentheses", "long comment"],
)
def test_odd_but_sound_procedures(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "procedure.yaml"
    path.write_bytes(content)
    procedure = Procedure.load(path)
    assert verify_trace(TRACE, procedure).score is not None
    assert Procedure.from_dict(procedure.to_dict()) == procedure


def test_procedure_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "procedure.yaml"
    path.write_bytes(b"# " + b"x" * (17 << 20))
    with within(megabytes=100), pytest.raises(SpecError) as caught:
        Procedure.load(path)
    only(caught.value, "E204", "larger than 16 MiB")


def test_thousands_of_mistakes_on_one_line(tmp_path: Path) -> None:
    """The line is not kept once for each of them."""
    path = tmp_path / "procedure.json"
    wrong = [{"name": f"n{number}", "rule": "a b", "why": "x" * 100} for number in range(5000)]
    path.write_text(json.dumps({"constraints": wrong}))
    with within(megabytes=100), pytest.raises(SpecError) as caught:
        Procedure.load(path)
    first(caught.value, "E101", "unexpected 'b'")


def test_long_text_in_a_procedure(tmp_path: Path) -> None:
    path = tmp_path / "procedure.json"
    text = "x" * 3_000_000
    constraint = {"name": "n", "rule": f'call(a, q = "{text}")', "why": text}
    path.write_text(json.dumps({"constraints": [constraint]}))
    with within(megabytes=150):
        assert verify_trace(TRACE, Procedure.load(path)).score == 0


def test_thousands_of_constraints() -> None:
    """Time grows with their number, not with its square."""
    rules = [{"name": f"n{number}", "rule": "a"} for number in range(5000)]
    procedure = Procedure.from_dict({"constraints": rules})
    assert verify_trace(TRACE, procedure).score == 1


def test_thousands_of_unknown_tools(tmp_path: Path) -> None:
    """A spelling is looked for only as long as that is of use."""
    path = tmp_path / "procedure.json"
    tools = [f"tool_{number}" for number in range(3000)]
    group = [f"tuul_{number}" for number in range(3000)]
    constraints = [{"name": "n", "rule": "A"}]
    path.write_text(
        json.dumps({"tools": tools, "groups": {"A": group}, "constraints": constraints})
    )
    with pytest.raises(SpecError) as caught:
        Procedure.load(path)
    first(caught.value, "E104", "unknown tool 'tuul_0'")


# ── rules ─────────────────────────────────────────────────────────────────────────────────

RULES: dict[str, tuple[str, str, str]] = {
    "empty": ("", "E101", "the formula is empty"),
    "blank": (" \n\t", "E101", "the formula is empty"),
    "only a comment": ("# later", "E101", "expected a formula"),
    "cut off": ("G(a ->", "E101", "the formula ends too early: expected a formula"),
    "two formulas": ("a b", "E101", "unexpected 'b'"),
    "keyword": ("G(in)", "E106", 'A tool of that name is written "in".'),
    "deep parentheses": ("(" * SOME + "a", "E101", "expected ')'"),
    "deep negations": ("!" * SOME + "a", "E112", "Split it into several constraints"),
    "deep implications": ("a -> " * 5000 + "a", "E112", "Split it into several constraints"),
    "deep quantifiers": ("forall x in [1]: " * 2000 + "a", "E112", "Split it"),
    "deep list": (f"call(a, q = {'[' * SOME}{']' * SOME})", "E113", "more than 100 deep"),
    "deep list, open": (f"call(a, q = {'[' * SOME}", "E101", "ends too early"),
    "deep object": ("call(a, q = " + '{"k": ' * 10_000 + "1" + "}" * 10_000 + ")", "E113", "deep"),
    "deep sets": ("{" * 10_000 + "}" * 10_000, "E106", "a set of tools holds names"),
    "deep calls": ("call(" * 10_000 + ")" * 10_000, "E105", "Write key = value"),
    "deep path": (f'exists x in metrics("{"(" * MANY}"): a', "E109", "not a JMESPath expression"),
    "number of 5,000 digits": (f"CalledN(a, <= {'9' * 5000})", "E102", "too many digits"),
    "index of 5,000 digits": (
        f'exists x in metrics("[{"9" * 5000}]"): a',
        "E109",
        "not a JMESPath expression",
    ),
    "number beyond floats": ("call(a, q = 1e999)", "E102", "1e999 is too large"),
    "negative count": ("CalledN(a, <= -1)", "E105", "a whole number, 0 or more"),
    "half a call": ("CalledN(a, <= 0.5)", "E105", "a whole number, 0 or more"),
    "long word": (f"a {LONG}", "E101", "unexpected"),
    "long number": (f"a {'9' * MANY}", "E101", "unexpected"),
    "long variable": (f"call(a, q = {LONG})", "E108", "unknown variable"),
    "long predicate": (f"Called(a, {LONG})", "E105", "Called takes 1 operand"),
    "long path": (f'forall x in metrics("{LONG}["): a', "E109", "not a JMESPath expression"),
    "open string": ('call(a, q = "x', "E102", "the string is not closed"),
    "open string of escaped quotes": ('"' + '\\"' * MANY, "E102", "the string is not closed"),
    "line break in a string": ('call(a, q = "x\ny")', "E102", "the string is not closed"),
    "unknown escape": ('call(a, q = "\\x41")', "E102", "escape"),
    "control character in a string": ('call(a, q = "\x01")', "E102", "character"),
    "control character": ("a\x00b", "E102", "unexpected character"),
    "half a character": ("a \ud800", "E102", "unexpected character"),
    "foreign digits": ("CalledN(a, <= ٣)", "E102", "Write 7, -7, 0.7 or 7e3."),
    "foreign and": ("a && b", "E101", "'and' is written &."),
    "foreign equals": ("call(a, q == 1)", "E101", "A comparison for equality is written =."),
    "foreign quotes": ("call(a, q = 'x')", "E102", "double quotes"),
    "empty set": ("{}", "E106", "the set of tools is empty"),
    "empty domain": ("forall x in []: a", "E106", "the list of values is empty"),
    "empty path": ('forall x in metrics(""): a', "E109", "not a JMESPath expression"),
    "unbound variable": ("call(a, q = x)", "E108", '"x"'),
    "bound word": ("forall in in [1]: a", "E108", "Write forall x in"),
    "duplicate argument": ("CalledWith(a, q = 1, q = 2)", "E105", "given twice"),
    "duplicate key": ('call(a, q = {"k": 1, "k": 2})', "E105", "appears twice"),
}


@pytest.mark.parametrize("case", RULES)
def test_rule_is_refused(case: str) -> None:
    text, code, words = RULES[case]
    with pytest.raises(SpecError) as caught:
        parse(text)
    first(caught.value, code, words)


ODD_NAMES = [
    "a·b",
    "℘",
    "G",
    "in",
    "final answer",
    "é",
    "e\u0301",
    "日本",
    "²",
    "_",
    "\ud800",
    "\x00",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_can_be_written(name: str) -> None:
    """Whatever a tool or an argument is called, a rule can speak of it."""
    quoted = json.dumps(name)
    for text in (quoted, f"call(a, {quoted} = 1, result.{quoted} = {{{quoted}: 2}})"):
        formula = parse(text)
        assert parse(to_text(formula)) == formula


def test_long_strings_in_rules() -> None:
    with within(megabytes=100):
        plain, escaped = "x" * 3_000_000, "\\n" * 100_000
        formula = parse(f'call(a, q = "{plain}", r = "{escaped}")')
        assert parse(to_text(formula)) == formula


def test_wide_rules() -> None:
    formula = parse(" & ".join(["a"] * 5000))
    assert verify_trace(TRACE, procedure_of(formula)).score == 1


PARTS: dict[str, Any] = {
    "nothing": {},
    "no parts": [],
    "a number": [5],
    "unknown tag": [{"allways": [0]}],
    "unknown key": [{"event": {"toool": "a"}}],
    "two tags": [{"truth": True, "not": [0]}],
    "itself": [{"not": [0]}],
    "a later part": [{"not": [1]}, {"truth": True}],
    "negative": [{"truth": True}, {"not": [-1]}],
    "truth for a number": [{"truth": True}, {"not": [False]}],
    "too few": [{"truth": True}, {"until": [0]}],
    "set of numbers": [{"event": {"tool": {"any": [1]}}}],
    "set of sets": [{"event": {"tool": {"any": [{"any": ["a"]}]}}}],
    "set of nothing": [{"event": {"tool": {"any": []}}}],
    "tool without a name": [{"event": {"tool": ""}}],
    "pattern": [{"event": {"where": [{"argument": [], "is": {"literal": 1}}]}}],
    "pattern of a number": [{"event": {"where": 5}}],
    "value that is no JSON": [{"event": {"where": [{"result": [], "is": {"literal": {1, 2}}}]}}],
    "comparison": [{"CalledN": {"tool": "a", "count": {"is": ["="], "number": {"literal": 1}}}}],
    "missing operand": [{"Before": {"first": "a"}}],
    "free variable": [{"event": {"tool": {"variable": "x"}}}],
    "variable in a list": [
        {"truth": True},
        {"forall": {"variable": [], "in": {"listed": [{"literal": 1}]}, "body": 0}},
    ],
    "path": [
        {"truth": True},
        {"exists": {"variable": "x", "in": {"metrics": {"path": "["}}, "body": 0}},
    ],
}


@pytest.mark.parametrize("case", PARTS)
def test_json_rule_is_refused(case: str) -> None:
    with pytest.raises(SpecError) as caught:
        from_json({"bylaw": 1, "formula": PARTS[case]})
    check_error(caught.value)


# ── rules that load can be judged ─────────────────────────────────────────────────────────

LARGE = "9" * 4300
"""The longest number that Python reads; one more than it cannot be written."""

JUDGED = {
    "undefined answer": "CalledWith(a, q = answer)",
    "undefined answer inside": 'CalledExactly(a, q = [answer, {"k": answer}])',
    "undefined answer as a result": "CalledWithResult(a, answer)",
    "undefined answer in a domain": "forall x in [answer]: call(a, q = x)",
    "step of zero": 'forall x in args(a, "q[::0]"): b',
    "NaN in a path": "forall x in args(a, \"to_number('nan')\"): call(b, q = x)",
    "infinity in a path": 'exists x in metrics("`1e999`"): call(b, q = x)',
    "arithmetic in a path": "forall x in args(a, \"ceil(to_number('inf'))\"): b",
    "expression for a value": 'forall x in args(a, "&q"): b',
    "function on the wrong value": 'forall x in args(a, "sum(q[0])"): b',
    "old string literal": 'forall x in metrics("`foo`"): b',
    "half a character in a path": 'forall x in metrics("`\\"\\\\ud800\\"`"): call(b, q = x)',
    "large index": f"InstanceBefore(a, {LARGE}, b, 0)",
    "large count": f"CalledN(a, >= {LARGE})",
    "large distance": f"WithinSteps(a, b, {LARGE})",
    "large value": f"CalledWith(a, q = {LARGE})",
    "deep and true": "!(" + "F " * 995 + "a)",
    "deep and false": "G " * 999 + "a",
    "deep negations": "! " * 999 + "a",
    "deep mixture": "!(" + "(a & F " * 490 + "a" + ")" * 490 + ")",
    "deep value": f"exists x in [1]: call(a, q = {'[' * 199}x{']' * 199})",
    "tools that are no names": 'forall t in [[1], null, 2, {}, ""]: Called(t) | G !{t, b}',
}


@pytest.mark.parametrize(
    ("case", "answer"),
    [
        pytest.param(case, answer, marks=[pytest.mark.slow] if answer and "deep" in case else [])
        for case in JUDGED
        for answer in (None, "done")
    ],
)
def test_what_loads_can_be_judged(case: str, answer: str | None) -> None:
    """Or it is refused when it is loaded; nothing fails only when a trace comes."""
    try:
        formula = parse(JUDGED[case])
    except SpecError as error:
        check_error(error)
        return
    trace = Trace(TRACE.events, answer=answer, metrics=TRACE.metrics)
    procedure = procedure_of(formula)
    json.dumps(verify_trace(trace, procedure).to_dict(), allow_nan=False)
    json.dumps(explain(trace, procedure, "n").to_dict(), allow_nan=False)


def procedure_of(formula: Any) -> Procedure:
    return Procedure.from_dict({"constraints": [{"name": "n", "rule": to_text(formula)}]})


# ── trace files ───────────────────────────────────────────────────────────────────────────


def calling(call: str) -> str:
    return f'{{"tool_calls": [{{"tool_name": "a"}}, {call}]}}'


def saying(message: str) -> str:
    return f'{{"tool_calls": [], "messages": [{message}]}}'


TRACES: dict[str, tuple[str | bytes, str, str]] = {
    "empty": ("", "E311", "the file is empty"),
    "blank": ("\n \r\n\t\n", "E311", "the file is empty"),
    "only comments": ("# nothing yet\n", "E315", "not valid JSON"),
    "cut off": ('{"tool_calls": [{"tool_name": "a"', "E315", "not valid JSON"),
    "YAML": ("tool_calls: []\n", "E315", "not valid JSON"),
    "not UTF-8": (b'{"tool_calls": [], "x": "\xff"}', "E314", "not UTF-8"),
    "UTF-16": ('{"tool_calls": []}'.encode("utf-16"), "E314", "not UTF-8"),
    "NaN": ('{"tool_calls": [], "x": NaN}', "E315", "NaN is not a JSON value"),
    "infinity": ('{"tool_calls": [], "x": Infinity}', "E315", "Infinity is not a JSON value"),
    "number beyond floats": ('{"tool_calls": [], "x": 1e999}', "E315", "1e999 is too large"),
    "number of 5,000 digits": (f'{{"x": {"9" * 5000}}}', "E315", "too many digits"),
    "duplicate key": ('{"tool_calls": [], "tool_calls": []}', "E315", "appears twice"),
    "duplicate argument": (
        calling('{"tool_name": "b", "arguments": {"q": 1, "q": 2}}'),
        "E315",
        '"q" appears twice',
    ),
    "deep brackets": ("[" * MANY, "E315", "nest more than 200 deep"),
    "deep brackets, closed": ("[" * MANY + "]" * MANY, "E315", "nest more than 200 deep"),
    "deep objects": ('{"a":' * MANY, "E315", "nest more than 200 deep"),
    "deep brackets before escaped quotes": (
        "[" * 201 + '"' + '\\"' * MANY,
        "E315",
        "nest more than 200 deep",
    ),
    "control character": ('{"x": "\x01"}', "E315", "not valid JSON"),
    "a number": ("5", "E301", "a trace record is an object, not a number"),
    "a sentence": ('"done"', "E301", "a trace record is an object, not a string"),
    "null": ("null", "E301", "a trace record is an object, not null"),
    "no records": ("[]", "E311", "no record"),
    "unknown version": ('{"bylaw": 2, "tool_calls": []}', "E307", "This release reads version 1"),
    "version as text": (
        '{"bylaw": "1", "tool_calls": []}',
        "E307",
        "unknown format version '1'",
    ),
    "version as a long list": (
        json.dumps({"bylaw": [1] * MANY, "tool_calls": []}),
        "E307",
        "This release reads version 1",
    ),
    "long version": (json.dumps({"bylaw": LONG}), "E307", "This release reads version 1"),
    "no calls": ('{"toolcalls": []}', "E302", "'toolcalls'"),
    "calls in an object": ('{"tool_calls": {}}', "E303", "expected a list, found an object"),
    "calls missing by null": ('{"tool_calls": null}', "E303", "expected a list, found null"),
    "call as text": (calling('"b"'), "E303", "tool_calls[1]"),
    "call as null": (calling("null"), "E303", "expected an object, found null"),
    "call without a tool": (calling("{}"), "E302", "the field 'tool_name' is missing"),
    "tool misspelt": (calling('{"toolname": "b"}'), "E302", "'toolname'"),
    "tool without a name": (calling('{"tool_name": ""}'), "E303", "a non-empty string"),
    "tool as a number": (calling('{"tool_name": 5}'), "E303", "found a number"),
    "tool as null": (calling('{"tool_name": null}'), "E303", "found null"),
    "arguments in a list": (
        calling('{"tool_name": "b", "arguments": [1]}'),
        "E303",
        "expected an object, found a list (at tool_calls[1].arguments)",
    ),
    "arguments as text": (
        calling('{"tool_name": "b", "arguments": "{}"}'),
        "E303",
        "expected an object, found a string",
    ),
    "negative step": (calling('{"tool_name": "b", "step": -1}'), "E303", "0 or more"),
    "step with a point": (calling('{"tool_name": "b", "step": 1.5}'), "E303", "a whole number"),
    "step as text": (calling('{"tool_name": "b", "step": "1"}'), "E303", "found a string"),
    "step as a truth": (calling('{"tool_name": "b", "step": true}'), "E303", "true or false"),
    "step of 4,300 digits": (
        f'{{"tool_calls": [{{"tool_name": "a", "step": {LARGE}}}, {{"tool_name": "b"}}]}}',
        "E303",
        "a whole number",
    ),
    "steps that go back": (
        '{"tool_calls": [{"tool_name": "a", "step": 2}, {"tool_name": "b", "step": 1}]}',
        "E304",
        "step 1 follows step 2",
    ),
    "error as an object": (calling('{"tool_name": "b", "error": {}}'), "E303", "a string"),
    "id as a number": (calling('{"tool_name": "b", "id": 5}'), "E303", "expected a string"),
    "start as text": (calling('{"tool_name": "b", "start": "now"}'), "E303", "a number"),
    "answer as a number": ('{"tool_calls": [], "answer": 5}', "E303", "expected a string"),
    "labels in a list": ('{"tool_calls": [], "labels": [1]}', "E303", "expected an object"),
    "messages in an object": ('{"tool_calls": [], "messages": {"a": 1}}', "E303", "a list"),
    "message as text": (saying('"hello"'), "E303", "expected an object, found a string"),
    "message of nobody": (
        saying('{"role": "tool", "text": "x", "before": 0}'),
        "E303",
        "expected one of system, user, assistant",
    ),
    "message by a list": (saying('{"role": [], "text": "x", "before": 0}'), "E303", "expected one"),
    "message without text": (saying('{"role": "user", "before": 0}'), "E303", "expected a string"),
    "message nowhere": (saying('{"role": "user", "text": "x"}'), "E303", "the index of the call"),
    "answer in the middle": (
        '{"tool_calls": [{"tool_name": "final_answer"}, {"tool_name": "a"}]}',
        "E305",
        "can only be the last call",
    ),
    "two answers": (
        '{"answer": "x", "tool_calls": [{"tool_name": "final_answer"}]}',
        "E306",
        "Keep one of them",
    ),
}


@pytest.mark.parametrize("case", TRACES)
def test_trace_is_refused(case: str, tmp_path: Path) -> None:
    content, code, words = TRACES[case]
    path = tmp_path / "trace.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (entry,) = read_traces(path)
    assert entry.trace is None
    assert entry.error is not None
    assert str(path) in (only(entry.error, code, words).source or "")
    with pytest.raises(TraceError):
        read_trace(path)


@pytest.mark.parametrize("case", TRACES)
def test_other_records_are_still_read(case: str, tmp_path: Path) -> None:
    """One damaged line does not hide the others."""
    content = TRACES[case][0]
    damaged = content if isinstance(content, bytes) else content.encode()
    damaged = damaged.replace(b"\r", b" ").replace(b"\n", b" ")
    good = b'{"tool_calls": [{"tool_name": "a"}]}\n'
    path = tmp_path / "traces.jsonl"
    path.write_bytes(good + damaged + b"\n" + good)
    entries = list(read_traces(path))
    assert [entry.trace is not None for entry in (entries[0], entries[-1])] == [True, True]
    assert entries[-1].name == f"{path}:3"
    for entry in entries[1:-1]:
        assert entry.error is not None
        check_error(entry.error)
        assert all(diagnostic.line == 2 for diagnostic in entry.error.diagnostics)


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".log"])
def test_damaged_first_line(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"traces{suffix}"
    path.write_text('{"tool_calls": [}\n{"tool_calls": []}\n{"tool_calls": []}\n')
    assert [entry.trace is not None for entry in read_traces(path)] == [False, True, True]


def test_missing_trace(tmp_path: Path) -> None:
    (entry,) = read_traces(tmp_path / "nowhere.jsonl")
    assert entry.error is not None
    only(entry.error, "E310", "No such file")


def test_directory_as_a_trace(tmp_path: Path) -> None:
    (entry,) = read_traces(tmp_path)
    assert entry.error is not None
    only(entry.error, "E310", "directory")


ODD_RECORDS: dict[str, bytes] = {
    "BOM": b'\xef\xbb\xbf{"tool_calls": []}',
    "CRLF": b'{\r\n"tool_calls": [\r\n]\r\n}\r\n',
    "no line end": b'{"tool_calls": []}',
    "nulls": b'{"tool_calls": [{"tool_name": "a", "step": null, "arguments": null, "tool_result":'
    b' null, "error": null}], "answer": null, "messages": null, "labels": null}',
    "half a character": b'{"tool_calls": [{"tool_name": "\\ud800", "arguments": {"\\udfff": 1}}]}',
    "no character": b'{"tool_calls": [{"tool_name": "\\u0000"}], "answer": "\\u0000"}',
    "unknown fields": b'{"tool_calls": [{"tool_name": "a", "mood": {}}], "": [], "bylaw": 1}',
    "large number": b'{"tool_calls": [{"tool_name": "a", "arguments": {"q": '
    + b"9" * 4300
    + b"}}]}",
    "small number": b'{"tool_calls": [{"tool_name": "a", "arguments": {"q": 1e-999}}]}',
    "brackets in a string": json.dumps({"tool_calls": [], "x": "[" * MANY}).encode(),
    "nesting as deep as it may": b'{"tool_calls": [], "x": ' + b"[" * 199 + b"]" * 199 + b"}",
    "message behind the end": b'{"tool_calls": [], "messages": [{"role": "user", "text": "",'
    b' "before": 9007199254740991}]}',
}


@pytest.mark.parametrize("case", ODD_RECORDS)
def test_odd_but_sound_records(case: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(ODD_RECORDS[case])
    trace = read_trace(path)
    judged(trace)
    assert Trace.from_record(json.loads(json.dumps(trace.to_record()))) == trace


@pytest.mark.parametrize(
    "result",
    [
        "[" * MANY,
        "[" * MANY + "]" * MANY,
        '{"a":' * MANY,
        "[" * 201 + '"' + '\\"' * MANY,
        "9" * 5000,
        "NaN",
        "1e999",
        '{"a": 1, "a": 2}',
        '"\\ud800"',
        "\ud800",
        '{"x": 1',
        "",
    ],
    ids=lambda text: text[:12].encode("unicode_escape").decode(),
)
def test_odd_results(result: str) -> None:
    """A result that is not JSON is the text it is."""
    judged(Trace([Call("a", result=result), Call("b")]))


def judged(trace: Trace) -> None:
    """Scores the trace with rules that look at calls, results and the answer."""
    texts = (
        "G(a -> F b)",
        "F call(a, result.x = 1)",
        'CalledWithResult(a, {"x": 1}, q = 2)',
        "CalledExactly(a, q = 1)",
        'forall x in results(a, "x"): CalledWith(b, q = x)',
        'exists x in args(a, "*"): G !call(a, q = x)',
        "Before(a, final_answer) | CalledWith(a, q = answer)",
    )
    rules = [{"name": text, "rule": text} for text in texts]
    procedure = Procedure.from_dict({"events": "all", "constraints": rules})
    json.dumps(verify_trace(trace, procedure).to_dict(), allow_nan=False)
    for text in texts:
        json.dumps(explain(trace, procedure, text).to_dict(), allow_nan=False)


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
@pytest.mark.parametrize("long_line", [0, 1, 2])
def test_line_of_100_megabytes(long_line: int, suffix: str, tmp_path: Path) -> None:
    """It is skipped, never held as a whole; the other lines are read."""
    path = tmp_path / f"traces{suffix}"
    good, piece = b'{"tool_calls": []}\n', b"x" * (1 << 20)
    with path.open("wb") as file:
        for number in range(3):
            if number == long_line:
                file.write(b'{"tool_calls": [], "x": "')
                for _ in range(100):
                    file.write(piece)
                file.write(b'"}\n')
            else:
                file.write(good)
    with within(megabytes=200):
        entries = list(read_traces(path))
    assert [entry.trace is None for entry in entries] == [n == long_line for n in range(3)]
    error = entries[long_line].error
    assert error is not None
    assert only(error, "E313", "longer than 64 MiB").line == long_line + 1


def test_long_string_beside_many_brackets(tmp_path: Path) -> None:
    """Counting brackets costs no memory for what lies between them."""
    path = tmp_path / "trace.json"
    text, brackets = "x" * (10 << 20), "[]," * 300
    path.write_text(f'{{"tool_calls": [], "x": "{text}", "y": [{brackets} 1]}}')
    with within(megabytes=200):
        assert len(read_trace(path)) == 0


def test_record_of_mistakes(tmp_path: Path) -> None:
    """The first mistakes are told; the half million after them would help nobody."""
    path = tmp_path / "trace.json"
    path.write_text('{"tool_calls": [' + "0," * 500_000 + "0]}")
    with within(megabytes=100):
        (entry,) = read_traces(path)
    assert entry.error is not None
    first(entry.error, "E303", "expected an object, found a number (at tool_calls[0])")
    assert len(entry.error.diagnostics) <= 1000


def test_record_of_wrong_names(tmp_path: Path) -> None:
    """A spelling is looked for only as long as that is of use."""
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({f"tool_cals{number}": 1 for number in range(100_000)}))
    (entry,) = read_traces(path)
    assert entry.error is not None
    only(entry.error, "E302", "the field 'tool_calls' is missing")


# ── values that a program hands over ──────────────────────────────────────────────────────


def cycle() -> list[Any]:
    around: list[Any] = []
    around.append(around)
    return around


def deep() -> list[Any]:
    nested: list[Any] = []
    for _ in range(MANY):
        nested = [nested]
    return nested


OBJECTS: dict[str, Any] = {
    "cycle": cycle(),
    "deep list": deep(),
    "set": {1, 2},
    "bytes": b"x",
    "complex": 1j,
    "NaN": math.nan,
    "infinity": math.inf,
    "number of 5,001 digits": 10**5000,
    "number as a key": {5: 1},
    "object": object(),
    "function": len,
    "class": int,
}


@pytest.mark.parametrize("case", OBJECTS)
def test_odd_objects_in_a_procedure(case: str) -> None:
    """Refused, whichever field they stand in."""
    odd, constraint = OBJECTS[case], {"name": "n", "rule": "a"}
    fields = ("bylaw", "name", "tools", "groups", "order", "events", "constraints", "x")
    mappings = [{"constraints": [constraint], field: odd} for field in fields]
    for field in ("name", "rule", "weight", "layer", "severity", "why", "fix", "x"):
        mappings.append({"constraints": [constraint | {field: odd}]})
    for mapping in mappings:
        with pytest.raises(SpecError) as caught:
            Procedure.from_dict(mapping)
        check_error(caught.value)


@pytest.mark.parametrize("case", OBJECTS)
def test_odd_objects_in_a_rule(case: str) -> None:
    odd = OBJECTS[case]
    where = [{"result": [], "is": {"literal": odd}}, {"result": odd, "is": {"literal": 1}}]
    parts = [odd, {"truth": odd}, {"event": odd}, {"event": {"tool": odd}}, {"not": odd}]
    parts += [{"event": {"where": [pattern]}} for pattern in where]
    for part in parts:
        with pytest.raises(SpecError) as caught:
            from_json({"bylaw": 1, "formula": [part]})
        check_error(caught.value)


@pytest.mark.parametrize("case", OBJECTS)
def test_odd_objects_in_a_record(case: str) -> None:
    odd = OBJECTS[case]
    records: list[dict[str, Any]] = [
        {"tool_calls": [], field: odd} for field in ("bylaw", "answer", "messages", "labels", "x")
    ]
    for field in ("tool_name", "arguments", "tool_result", "step", "error", "id", "start", "end"):
        records.append({"tool_calls": [{"tool_name": "a", field: odd}]})
    for record in records:
        with pytest.raises(TraceError) as caught:
            Trace.from_record(record)
        check_error(caught.value)
