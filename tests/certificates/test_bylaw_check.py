"""`bylaw verify --certificate` and `bylaw-check`, on files."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import Any

import jmespath
import pytest
from forging import NOTHING, case_of

import bylaw_check
from bylaw import Call, Message, Procedure, Trace, Vocabulary, to_json
from bylaw.cli.main import main
from bylaw.procedure.document import read_document_file

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
DESK = EXAMPLES / "refund-desk" / "procedure.yaml"
PROGRAM = ROOT / "src" / "bylaw_check.py"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A copy of the checker, with nothing beside it."""
    folder = tmp_path / "auditor"
    folder.mkdir()
    return Path(shutil.copy(PROGRAM, folder))


def checked(program: Path, *paths: Path, options: tuple[str, ...] = ()) -> Any:
    """The answer of a copied checker, in a Python that can import nothing that is installed."""
    command = [sys.executable, "-S", "-E", str(program), *map(str, paths), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def certified(folder: Path, trace: Path, procedure: Path) -> Path:
    written = folder / "c.json"
    main(["verify", "--certificate", str(written), "-p", str(procedure), str(trace), "--force"])
    return written


def test_the_checker_imports_only_the_standard_library() -> None:
    imported = set()
    for node in ast.walk(ast.parse(PROGRAM.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    assert imported <= sys.stdlib_module_names


@pytest.mark.parametrize("trace", ["good.json", "bad.json"])
def test_a_certificate_is_accepted_by_a_copy_of_the_checker(
    trace: str, tmp_path: Path, program: Path
) -> None:
    written = certified(tmp_path, DESK.with_name(trace), DESK)
    found = checked(program, written, DESK.with_name(trace), DESK)
    assert (found.returncode, found.stdout, found.stderr) == (0, "accepted\n", "")


def test_another_trace_or_procedure_is_noticed(tmp_path: Path, program: Path) -> None:
    bad = DESK.with_name("bad.json")
    written = certified(tmp_path, bad, DESK)
    softer = tmp_path / "procedure.yaml"
    softer.write_text(DESK.read_text() + "# softer\n")
    for trace, procedure, about in (
        (DESK.with_name("good.json"), DESK, "trace"),
        (bad, softer, "procedure"),
    ):
        found = checked(program, written, trace, procedure)
        assert found.returncode == 1
        assert found.stdout == f"wrong: the certificate is about another {about}\n"


def test_a_rule_that_was_edited_is_noticed_also_with_its_hash_replaced(
    tmp_path: Path, program: Path
) -> None:
    bad = DESK.with_name("bad.json")
    written = certified(tmp_path, bad, DESK)
    softer = tmp_path / "procedure.yaml"
    softer.write_text(DESK.read_text().replace("G(refund -> O verify)", "G(refund -> F verify)"))
    claims = json.loads(written.read_text())
    claims["procedure"]["sha256"] = hashlib.sha256(softer.read_bytes()).hexdigest()
    written.write_text(json.dumps(claims))
    found = checked(program, written, bad, softer)
    assert (found.returncode, found.stdout) == (
        1,
        "wrong: verify-first: the formula is not that of the rule\n",
    )


def test_other_formats_are_exported_and_the_record_is_certified(
    tmp_path: Path, program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    retail = EXAMPLES / "retail" / "procedure.yaml"
    written = certified(tmp_path, EXAMPLES / "retail" / "chat.json", retail)
    exported = tmp_path / "c.trace.json"
    assert "it is about the record in" in capsys.readouterr().out
    assert "exported_from" in json.loads(written.read_text())["trace"]
    assert checked(program, written, exported, retail).stdout == "accepted\n"


def test_an_exported_record_does_not_replace_another_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.trace.json").write_text("mine")
    retail = EXAMPLES / "retail"
    paths = ["-p", str(retail / "procedure.yaml"), str(retail / "chat.json")]
    assert main(["verify", "--certificate", str(tmp_path / "c.json"), *paths]) == 2
    assert "exists already" in capsys.readouterr().err
    assert (tmp_path / "c.trace.json").read_text() == "mine"


def test_a_certificate_is_about_one_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in ([], ["--summary"]):
        runs = [str(DESK.with_name("good.json")), str(DESK.with_name("bad.json"))]
        command = ["verify", "--certificate", str(tmp_path / "c.json"), "-p", str(DESK)]
        assert main([*command, *runs, *more]) == 2
        assert "--certificate is for one trace" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "[]", "{}", "null", '{"certificate": 1}', "\udcff", "{"])
def test_what_is_no_certificate_is_no_traceback(
    content: str, tmp_path: Path, program: Path
) -> None:
    written = tmp_path / "c.json"
    written.write_bytes(content.encode("utf-8", "surrogateescape"))
    found = checked(program, written, DESK.with_name("bad.json"), DESK)
    assert (found.returncode, found.stderr) == (2, "")
    assert found.stdout.startswith("unusable: ")


HOSTILE: dict[str, tuple[str, str, int]] = {
    "a run of a billion": ('"true": [1, 1]', '"true": [1000000000, 1]', 1),
    "ten billion in few bytes": ('"true": [1, 1]', '"true": [9999999999, 9999999999]', 1),
    "a run with many digits": ('"true": [1, 1]', f'"true": [{"9" * 5000}]', 2),
    "a negative run": ('"true": [1, 1]', '"true": [-1, 3]', 1),
    "a run that is true": ('"true": [1, 1]', '"true": [true, 1]', 1),
    "a run that is a float": ('"true": [1, 1]', '"true": [1.0, 1]', 1),
    "runs that are a text": ('"true": [1, 1]', '"true": "11"', 1),
    "a row that is null": ('[{"true": [1, 1]}]', "[null]", 2),
    "tables that are a number": ('"tables": [', '"tables": 7, "other": [', 2),
    "no formula": ('"formula": [', '"formula": [], "other": [', 1),
    "a part that is a number": ('{"event": {"tool": "refund"}}', "7", 1),
    "a part with two tags": ('{"event": {"tool": "refund"}}', '{"truth": true, "says": "user"}', 1),
    "a part that does not exist": ('{"once": [1]}', '{"once": [99]}', 1),
    "a part before the first": ('{"once": [1]}', '{"once": [-1]}', 1),
    "a part that is true": ('{"once": [1]}', '{"once": [true]}', 1),
    "a part of itself": ('{"once": [1]}', '{"once": [2]}', 1),
    "a part that is deep": ('{"once": [1]}', "[" * 100_000 + "]" * 100_000, 2),
    "a value that is deep": ('{"once": [1]}', '{"literal": ' + "[" * 900 + "]" * 900 + "}", 2),
    "a key twice": ('"score":', '"score": 1.0, "score":', 2),
    "not a number": ('"score":', '"score": NaN, "other":', 2),
    "infinity": ('"score":', '"score": 1e999, "other":', 2),
    "a weight that is a text": ('"weight": 3.0', '"weight": "3"', 1),
    "a weight that is true": ('"weight": 3.0', '"weight": true', 1),
    "rules that are an object": ('"rules": [', '"rules": {}, "other": [', 1),
    "an outcome that is a list": ('"outcome": "violated"', '"outcome": ["violated"]', 1),
    "half a character": ('"name": "verify-first"', r'"name": "\ud83d"', 1),
    "a character beyond the BMP": ('"name": "verify-first"', '"name": "\U0001f600"', 1),
    "a control character": ('"name": "verify-first"', r'"name": "\u001b[2J"', 1),
}
"""A text of the certificate, its replacement, and the exit code: 1 is a lie, 2 no certificate."""


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_certificate_gets_a_sentence(name: str, tmp_path: Path, program: Path) -> None:
    old, new, code = HOSTILE[name]
    written = certified(tmp_path, DESK.with_name("bad.json"), DESK)
    text = written.read_text()
    assert old in text
    written.write_text(text.replace(old, new, 1))
    found = checked(program, written, DESK.with_name("bad.json"), DESK)
    assert (found.returncode, found.stderr) == (code, "")
    (line,) = found.stdout.splitlines()
    assert line.startswith("wrong: " if code == 1 else "unusable: ")
    assert line.isprintable()
    assert len(line) < 300


@pytest.mark.parametrize(
    "trace",
    [
        *("", "[]", "{}", '{"tool_calls": 7}', '{"tool_calls": [7]}', '{"tool_calls": [{}]}'),
        '{"tool_calls": [{"tool_name": "a", "step": true}]}',
        '{"tool_calls": [{"tool_name": "a", "step": 1e999}]}',
        '{"tool_calls": [{"tool_name": "final_answer"}]}',
        '{"tool_calls": [], "messages": [{"role": "user"}]}',
        '{"tool_calls": [], "bylaw": 2}',
        '{"tool_calls": ' + "[" * 100_000,
    ],
)
def test_a_hostile_trace_gets_a_sentence(trace: str, tmp_path: Path, program: Path) -> None:
    written, path = certified(tmp_path, DESK.with_name("bad.json"), DESK), tmp_path / "t.json"
    path.write_text(trace)
    claims = json.loads(written.read_text())
    claims["trace"]["sha256"] = hashlib.sha256(trace.encode()).hexdigest()
    written.write_text(json.dumps(claims))
    found = checked(program, written, path, DESK)
    assert (found.returncode, found.stderr) == (2, "")
    assert found.stdout.startswith("unusable: ")


def test_a_rule_without_tables_is_named_and_its_reason_cannot_write_lines(
    tmp_path: Path, program: Path
) -> None:
    written = certified(tmp_path, DESK.with_name("bad.json"), DESK)
    claims = json.loads(written.read_text())
    del claims["rules"][0]["tables"]
    claims["rules"][0]["reason"] = "\x1b[2J\nall is well"
    written.write_text(json.dumps(claims))
    found = checked(program, written, DESK.with_name("bad.json"), DESK)
    first, second = found.stdout.splitlines()
    assert (found.returncode, first) == (3, "accepted")
    assert second.startswith("not checked: verify-first: it has no tables")
    assert second.isprintable()


# ── what is proved, and what is not ───────────────────────────────────────────────────────


def unproved(rule: str, trace: Trace, **fields: Any) -> list[str]:
    """The claims of a true certificate that the checker names as not checked."""
    vocabulary = fields.pop("vocabulary", Vocabulary())
    rules = {"constraints": [{"name": "rule", "rule": rule}], **fields}
    case = case_of(Procedure.from_dict(rules, vocabulary=vocabulary), trace)
    return bylaw_check.check(case.certificate, case.record, bylaw_check.Procedure(case.rules))


def test_functions_registered_in_python_are_not_checked() -> None:
    vocabulary = Vocabulary()

    @vocabulary.predicate
    def lucky(trace: Trace, at: int, metrics: Any) -> bool:
        return True

    trace = Trace([Call("a")])
    (claim,) = unproved("G lucky()", trace, vocabulary=vocabulary)
    assert claim == "rule: 'lucky', which is registered in Python or new"
    assert unproved("G a", trace, vocabulary=vocabulary) == []


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ('forall x in args(a, "sort(@)"): x = 1', "the path 'sort(@)'"),
        ('forall x in args(a, "i || j"): x = 1', "the path 'i || j'"),
        ("G(text ~ /x\\B/)", "the regular expression"),
    ],
)
def test_what_is_beyond_the_checker_is_named(rule: str, reason: str) -> None:
    (claim,) = unproved(rule, Trace([Call("a", {"i": 1}, result="x")]))
    assert claim.startswith(f"rule: {reason}")


@pytest.mark.parametrize(
    "path", ["i", "i[]", "@", "i[0]", "i[-1].k", "i[].k", "i[].k[]", '"a b".k', "i.k.k", "i[][0]"]
)
@pytest.mark.parametrize(
    "arguments",
    [
        {"i": 1},
        {"i": [1, None, [2, [3]]]},
        {"i": [{"k": [1, None]}, {"k": 2}, {}, 5]},
        {"i": {"k": {"k": [1]}}, "a b": {"k": None}},
        {},
    ],
)
def test_paths_find_what_jmespath_finds(path: str, arguments: Any) -> None:
    assert bylaw_check.search(path, arguments) == jmespath.search(path, arguments)


def test_the_procedures_own_test_for_failures_is_checked_too() -> None:
    trace = Trace(
        [Call("a", result="Error: no"), Call("a", result="fine"), Message("user", "Error")]
    )
    assert unproved("G(a -> ok)", trace, failed="text ~ /^Error/", events="all") == []
    rules = {"constraints": [{"name": "rule", "rule": "G ok"}], "failed": "text ~ /^Error/"}
    case = case_of(Procedure.from_dict(rules), trace)
    assert case.certificate["rules"][0]["outcome"] == "violated"
    case.certificate["failed"]["tables"] = [[{"true": []}]]
    assert case.rejected() is not None
    del case.certificate["failed"]
    assert case.rejected() is not None


# ── procedures ────────────────────────────────────────────────────────────────────────────


def formulas(path: Path) -> list[tuple[str, int, int]]:
    """Each rule, with the numbers of what the checker reads and of what Bylaw reads."""
    read = bylaw_check.Procedure(bylaw_check.Yaml(path.read_text()).document())
    own = Procedure.load(path).constraints
    return [
        (each.name, read.reader.root(rule["rule"]), read.reader.root(to_json(each.formula)))
        for each, rule in zip(own, read.rules, strict=True)
        if (each.name, each.weight) == (rule["name"], rule["weight"])
    ]


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.glob("*/procedure.yaml")), ids=lambda p: p.parent.name
)
def test_the_procedures_of_the_examples_are_read(path: Path) -> None:
    document = read_document_file(path)[1].plain()
    assert bylaw_check.Yaml(path.read_text()).document() == document
    if path.parent.name != "figure-1":  # which calls functions that are registered in Python
        found = formulas(path)
        assert len(found) == len(document["constraints"])
        assert all(read == own for _, read, own in found)


HEAD = "bylaw: 1\nconstraints:\n"


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "- name: a\n  rule: G x\n",
        HEAD + "  - {name: a, rule: 'G(x -> y)', weight: 2}\n",
        HEAD + "  - name: 'it''s'\n    rule: \"G(\\\"x\\\" -> y)\"  # why\n",
        HEAD + "  - name: a\n    rule: |\n      G(x # a comment\n        -> y)\n    weight: 1.5\n",
        HEAD + "  - name: a\n    rule: >-\n      G(x\n      -> y)\n\n  - name: b\n    rule: true\n",
        HEAD + "  - name: a b\n    rule: G(x ->\n      F y)\n",
        'constraints: [{"name": "a", "rule": "G x"},\n  {"name": "b", "rule": "F x"}]\n',
        "groups: {WRITE: [a, 'b*', OTHER], OTHER: [c, a]}\n"
        "constants: {N: 3, M: {k: [1, 2.0]}}\n"
        + HEAD[9:]
        + "  - {name: a, rule: 'G(WRITE -> args.n in M.k | args.n = N)'}\n",
        "define:\n  f(x): 'exists i in args.items: i = x'\n  g: c\n"
        + HEAD[9:]
        + "  - {name: a, rule: 'G(a -> let i = args.i: f(i) & !g)'}\n",
        "define:\n  s(t, i): length(sofar(call(t, id = i))) = 1\n"
        "  p(q): F q within 10 min\n"
        + HEAD[9:]
        + "  - {name: a, rule: 'G({a, b} -> let i = args.id: s(a, i) & p(b & c))'}\n",
        HEAD
        + "  - {name: a, rule: 'G(call(a, x > last(b).result.y, z = 1, ok) -> -1 < args.a - 1)'}\n",
        HEAD + "  - {name: a, rule: 'a and not b until c implies d iff e or (f -> g)'}\n",
        HEAD + "  - {name: a, rule: '(a & b) & c | (d | call(e, n > 1) & f)'}\n",
    ],
)
def test_procedures_are_read_as_bylaw_reads_them(text: str, tmp_path: Path) -> None:
    path = tmp_path / "procedure.yaml"
    path.write_text(text)
    found = formulas(path)
    assert found
    assert all(read == own for _, read, own in found)


@pytest.mark.parametrize(
    "text",
    [
        *("a: &x 1\nb: *x\n", "a: !!str 1\n", "a: 1\na: 2\n", "a:\t1\n", "a: [1\n", "a: b: c\n"),
        *("# a comment?\u2028a: 1\n", "a: 1\r\n", "? a\n: 1\n", "---\na: 1\n", "a: |2\n    b\n"),
        *("a: 1\n b: 2\n", "a: 'b\n", "1: a\n", "a: b\n---\na: c\n", "%YAML 1.2\n---\na: 1\n"),
    ],
)
def test_other_yaml_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        bylaw_check.Yaml(text).document()


@pytest.mark.parametrize("key", ["literal", "read", "count", "object", "variable", "tool", "any"])
def test_a_key_of_an_object_is_not_taken_for_a_tag(key: str) -> None:
    trace = Trace([Call("a", {"i": 1}), Call("a", {"i": 2})])
    rule = f'G(a -> let x = {{"{key}": args.i}}: x."{key}" < 3 & x = {{"{key}": args.i}})'
    assert unproved(rule, trace) == []
    assert unproved(f'exists x in [{{"{key}": args.i}}]: x."{key}" = 1', trace) == []


def test_a_test_for_failures_that_cannot_be_checked_leaves_every_rule_open() -> None:
    trace = Trace([Call("a", result="Error: no")])
    (claim,) = unproved("G ok", trace, failed="text ~ /Error\\B/")
    assert claim.startswith("every rule, because of the test for failed calls")


def test_a_certificate_names_the_files_and_the_version(tmp_path: Path) -> None:
    claims = json.loads(certified(tmp_path, DESK.with_name("bad.json"), DESK).read_text())
    assert claims["trace"]["file"] == "bad.json"
    assert claims["procedure"] == claims["procedure"] | {"file": "procedure.yaml"}
    assert claims["command"].startswith("bylaw verify --certificate")
    assert claims["version"]
    assert NOTHING.to_dict()["file"] == "none"


def lines_of_code(section: re.Match[str]) -> int:
    """The lines without comments, docstrings and blank lines."""
    tree, code = ast.parse(PROGRAM.read_text()), set[int]()
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    for token in tokenize.generate_tokens(io.StringIO(PROGRAM.read_text()).readline):
        if token.type not in layout:
            code |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            text = node.body[0]
            code -= set(range(text.lineno, (text.end_lineno or 0) + 1))
    start, end = (PROGRAM.read_text().count("\n", 0, at) + 1 for at in section.span())
    return sum(start <= line < end for line in code)


def test_the_page_states_the_size_of_each_section() -> None:
    sections = re.finditer(r"(?s)(?: *# ── (\d+)\.|\A).*?(?=\n *# ── \d|\Z)", PROGRAM.read_text())
    sizes = {int(found[1] or 0): lines_of_code(found) for found in sections}
    page = (ROOT / "docs" / "explanation" / "certificates.md").read_text()
    rows = re.findall(r"\| ([\d, ]+): [^|]* \| (\d+) \|", page)
    stated = {tuple(map(int, numbers.split(","))): int(size) for numbers, size in rows}
    assert sorted(number for row in stated for number in row) == list(range(1, 11))
    for row, size in stated.items():
        beginning = sizes[0] if 1 in row else 0
        assert size == beginning + sum(sizes[number] for number in row), row
