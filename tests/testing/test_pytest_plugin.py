"""The pytest plugin, in runs of pytest inside pytest."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

# A run inside this process forgets what it has imported, and PyYAML cannot be imported twice.
import bylaw.procedure.yaml_document
import bylaw.testing.marked_traces
import bylaw.testing.procedure_check  # noqa: F401

pytest_plugins = ("pytester",)

INSTALLED = any(each.name == "bylaw" for each in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "bylaw.pytest_plugin")
PROCEDURE = """\
name: desk
constraints:
  - {name: verify-first, rule: G(refund -> O verify), why: Money., fix: Call verify first.}
  - {name: told, rule: G(cancel -> F notify)}
"""
GOOD = {"tool_calls": [{"tool_name": "verify"}, {"tool_name": "refund"}]}
BAD = {"tool_calls": [{"tool_name": "search"}, {"tool_name": "refund", "arguments": {"id": 7}}]}


@pytest.fixture
def desk(pytester: pytest.Pytester) -> pytest.Pytester:
    (pytester.path / "procedure.yaml").write_text(PROCEDURE)
    (pytester.path / "runs").mkdir()
    (pytester.path / "runs" / "a.jsonl").write_text(f"{json.dumps(GOOD)}\n{json.dumps(BAD)}\n")
    (pytester.path / "runs" / "b.json").write_text(json.dumps(GOOD))
    return pytester


def _run(desk: pytest.Pytester, test: str, *arguments: str) -> pytest.RunResult:
    desk.makepyfile(f"import pytest\nfrom bylaw import Call, Procedure\n\n{test}")
    options = ("-W", "error", "--strict-markers", "-p", "no:cacheprovider")
    return desk.runpytest_inprocess(*PLUGIN, *options, *arguments)


MARKED = """\
@pytest.mark.bylaw("procedure.yaml", traces={traces})
def test_runs(bylaw):
    {body}
"""


def test_each_trace_is_a_test(desk: pytest.Pytester) -> None:
    test = MARKED.format(traces='["runs/*.jsonl", "runs/*.json"]', body="bylaw.check()")
    result = _run(desk, test, "-v")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines_random(
        [
            "*test_runs[[]runs/a.jsonl:1] PASSED*",
            "*test_runs[[]runs/a.jsonl:2] FAILED*",
            "*test_runs[[]runs/b.json] PASSED*",
            "E*AssertionError: desk: 1 of 2 rules violated in *runs/a.jsonl:2",
            'E*verify-first: Call #2 is "refund", but no call up to then is "verify".',
            "E*why: Money.",
            "E*fix: Call verify first.",
            "E*    #1 search *",
            'E*  > #2 refund {"id": 7}',
        ]
    )
    result.stdout.no_fnmatch_line("*procedure_check.py*")


def test_the_summary_counts_rules_over_all_runs(desk: pytest.Pytester) -> None:
    test = MARKED.format(traces='"runs"', body="bylaw.check()")
    result = _run(desk, test)
    result.stdout.fnmatch_lines(
        [
            "*= bylaw =*",
            "desk: rule          in play  violated",
            "      verify-first        3         1",
            "      told                0         0  never put to the test",
        ]
    )


def test_there_is_no_summary_without_runs(desk: pytest.Pytester) -> None:
    result = _run(desk, "def test_nothing():\n    pass\n")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*= bylaw =*")


@pytest.mark.parametrize(
    ("body", "outcome", "message"),
    [
        ("bylaw.check()", "failed", "1 of 2 rules violated"),
        ("bylaw.check('told')", "passed", ""),
        ("bylaw.check('verify-first')", "failed", "1 of 1 rules violated"),
        ("bylaw.check('told', 'verify-first')", "failed", "1 of 2 rules violated"),
        ("bylaw.check('verfy-first')", "failed", "did you mean 'verify-first'?"),
        ("bylaw.check(score=0.5)", "passed", ""),
        ("bylaw.check(score=0.6)", "failed", "the score 0.5000 is below 0.6000"),
        ("assert bylaw.report.score == 0.5", "passed", ""),
        ("assert [call.tool for call in bylaw.trace] == ['search', 'refund']", "passed", ""),
        ("pass", "failed", "1 of 2 rules violated"),  # it is checked at the end
        ("raise KeyError('mine')", "failed", "KeyError: 'mine'"),
    ],
)
def test_assertions(desk: pytest.Pytester, body: str, outcome: str, message: str) -> None:
    (desk.path / "bad.json").write_text(json.dumps(BAD))
    result = _run(desk, MARKED.format(traces='"bad.json"', body=body))
    result.assert_outcomes(**{outcome: 1})
    if message:
        result.stdout.fnmatch_lines([f"*{message}*"])


AGENT = """\
def agent(gate, *tools):
    for tool in tools:
        for decision in gate.propose([Call(tool)]):
            if decision.allowed:
                gate.record(decision, "done")


@pytest.mark.bylaw("procedure.yaml")
def test_agent(bylaw):
"""


@pytest.mark.parametrize(
    ("body", "outcome", "message"),
    [
        ("agent(bylaw.guard(), 'verify', 'refund')", "passed", ""),
        ("agent(bylaw.guard(), 'refund'); assert bylaw.refused", "passed", ""),
        ("agent(bylaw.record(), 'refund')", "failed", "> #1 refund"),
        ("agent(bylaw.record(), 'verify', 'refund'); bylaw.check()", "passed", ""),
        ("agent(bylaw.record(), 'refund'); bylaw.check('told')", "passed", ""),
        ("agent(bylaw.record(), 'verify'); agent(bylaw.record(), 'refund')", "failed", "refund"),
        ("g = bylaw.record(); agent(g, 'refund'); g.finish('x')", "failed", "verify-first"),
        ("bylaw.check()", "failed", "the test has no run to check"),
        ("pass", "passed", ""),
    ],
)
def test_an_agent_is_guarded_or_recorded(
    desk: pytest.Pytester, body: str, outcome: str, message: str
) -> None:
    result = _run(desk, f"{AGENT}    {body}\n")
    result.assert_outcomes(**{outcome: 1})
    if message:
        result.stdout.fnmatch_lines([f"*{message}*"])


def test_a_procedure_may_be_given_in_the_test(desk: pytest.Pytester) -> None:
    test = """\
def test_named(bylaw):
    bylaw.use("procedure.yaml")
    bylaw.record().propose([Call("verify")])

@pytest.mark.bylaw(Procedure.from_dict({"constraints": [{"name": "r", "rule": "Called(x)"}]}))
def test_object(bylaw):
    bylaw.record().propose([Call("x")])

def test_none(bylaw):
    with pytest.raises(Exception, match="the test names no procedure"):
        bylaw.guard()
"""
    _run(desk, test).assert_outcomes(passed=3)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (MARKED.format(traces='"none/*.jsonl"', body="pass"), "*cannot be read*"),
        (MARKED.format(traces="[]", body="pass"), "*the marker names no traces*"),
        (
            MARKED.format(traces='"runs"', body="pass").replace("(bylaw)", "()"),
            "*test_runs needs the fixture: def test_runs(bylaw)*",
        ),
    ],
)
def test_mistakes_in_a_marker_fail_the_collection(
    desk: pytest.Pytester, test: str, message: str
) -> None:
    result = _run(desk, test)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ('"missing.yaml"', "*missing.yaml*cannot be read*"),
        ('"a.yaml", "b.yaml"', "*the marker takes one procedure*"),
        ('"procedure.yaml", trace="x"', "*the marker takes one procedure*"),
    ],
)
def test_mistakes_about_the_procedure_fail_the_test(
    desk: pytest.Pytester, marker: str, message: str
) -> None:
    test = f"@pytest.mark.bylaw({marker})\ndef test_it(bylaw):\n    pass\n"
    result = _run(desk, test)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


def test_a_record_that_cannot_be_used_fails_alone(desk: pytest.Pytester) -> None:
    (desk.path / "runs" / "a.jsonl").write_text(f"{json.dumps(GOOD)}\n{{\n")
    result = _run(desk, MARKED.format(traces='"runs"', body="bylaw.check()"))
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["E*E315*"])


def test_hostile_names_stay_text(desk: pytest.Pytester) -> None:
    hostile = "\x1b[31m\n::error::x"
    rules = [{"name": hostile, "rule": f"!F {json.dumps(hostile)}"}]
    (desk.path / "p.json").write_text(json.dumps({"name": hostile, "constraints": rules}))
    (desk.path / "bad.json").write_text(json.dumps({"tool_calls": [{"tool_name": hostile}]}))
    test = MARKED.format(traces='"bad.json"', body="bylaw.check()").replace(
        "procedure.yaml", "p.json"
    )
    result = _run(desk, test, "--color=no")
    result.assert_outcomes(failed=1)
    assert "\x1b" not in result.stdout.str()
    assert not [line for line in result.outlines if line.strip().startswith("::error")]


def test_xdist_runs_the_same_tests_and_counts_them_once(
    desk: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xdist", reason="NOT TESTED: pytest-xdist is missing")
    desk.makepyfile("import pytest\n\n" + MARKED.format(traces='"runs"', body="bylaw.check()"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the others take seconds to start
    plugins = ("-p", "xdist", "-p", "bylaw.pytest_plugin", "-p", "no:cacheprovider")
    result = desk.runpytest_subprocess(*plugins, "-n", "2")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["desk: rule *", "      verify-first        3         1"])


def test_nothing_of_bylaw_is_imported_until_a_test_uses_it() -> None:
    code = (
        "import pytest, sys; before = set(sys.modules); import bylaw.pytest_plugin;"
        "print(sorted(set(sys.modules) - before))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert shown.strip() == "['bylaw', 'bylaw.pytest_plugin', 'bylaw.version']"
