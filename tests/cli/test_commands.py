"""The commands, as people type them: what they print, and how they exit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bylaw import Call, Message, Procedure, Trace
from bylaw.cli.main import COMMANDS, main

GOOD = '{"tool_calls": [{"tool_name": "verify"}, {"tool_name": "refund"}]}'
BAD = '{"tool_calls": [{"tool_name": "refund"}]}'
PROCEDURE = """\
bylaw: 1
name: desk
tools: [verify, refund]
constraints:
  - {name: verify-first, rule: G(refund -> O verify), why: Because., fix: Verify.}
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a procedure, a good, a bad and a damaged trace."""
    (tmp_path / "p.yaml").write_text(PROCEDURE)
    (tmp_path / "good.json").write_text(GOOD)
    (tmp_path / "bad.json").write_text(BAD)
    (tmp_path / "damaged.json").write_text('{"tool_calls": [')
    (tmp_path / "runs.jsonl").write_text(f"{GOOD}\n{BAD}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.mark.parametrize(
    ("traces", "code"),
    [
        (["good.json"], 0),
        (["bad.json"], 1),
        (["good.json", "bad.json"], 1),
        (["good.json", "good.json"], 0),
        (["damaged.json"], 2),
        (["missing.json"], 2),
        (["good.json", "damaged.json"], 2),
        (["runs.jsonl"], 1),
        (["."], 2),
    ],
)
def test_verify_exits_by_what_it_found(traces: list[str], code: int, desk: Path) -> None:
    assert main(["verify", "--procedure", "p.yaml", *traces]) == code
    assert main(["verify", *traces, "--json", "-p", "p.yaml"]) == code


def test_verify_prints_rule_verdict_and_reason(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["verify", "-p", "p.yaml", "bad.json"])
    output = capsys.readouterr().out
    assert "VIOLATED  verify-first" in output
    assert 'Call #1 is "refund", but no call up to then is "verify".' in output
    assert "why: Because." in output
    assert "fix: Verify." in output
    assert "score     0.0000  NONE" in output
    assert max(map(len, output.splitlines())) <= 80


def test_verify_counts_the_calls_that_a_gate_refused(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = json.loads((desk / "bad.json").read_text())
    record["refusals"] = [{"tool_name": "refund", "action": "block", "message": "no"}]
    (desk / "gated.json").write_text(json.dumps(record))
    main(["verify", "gated.json", "-p", "p.yaml"])
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.endswith("(1 call, 1 more refused by a gate)")


def test_a_damaged_trace_does_not_hide_the_others(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["verify", "-p", "p.yaml", "damaged.json", "good.json", "bad.json"])
    captured = capsys.readouterr()
    assert "1.0000  FULL      good.json" in captured.out
    assert "0.0000  NONE      bad.json" in captured.out
    assert "2 traces: 1 FULL, 1 NONE; mean score 0.5000" in captured.out
    assert "damaged.json:1:17: error[E315]" in captured.err


def test_verify_json_is_the_papers_record(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["verify", "-p", "p.yaml", "bad.json", "--json"])
    (output,) = json.loads(capsys.readouterr().out)["traces"]
    assert output["compliance_score"] == 0.0
    assert output["compliance_label"] == "NONE"
    assert output["tool_sequence"] == ["refund"]
    assert {"name", "layer", "weight", "passed", "detail"} <= output["constraints"][0].keys()
    assert output["constraints"][0]["witness"] == [0]


def test_verify_json_of_several_has_the_shape_of_one(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["verify", "-p", "p.yaml", "bad.json", "--json"])
    one = json.loads(capsys.readouterr().out)
    main(["verify", "-p", "p.yaml", "runs.jsonl", "damaged.json", "--json"])
    several = json.loads(capsys.readouterr().out)
    assert one.keys() == several.keys() == {"bylaw", "traces", "summary", "provenance"}
    lines = several["traces"]
    assert [line.get("compliance_label") for line in lines] == ["FULL", "NONE", None]
    assert lines[0]["trace"] == "runs.jsonl:1"
    assert lines[2]["errors"][0]["code"] == "E315"


def test_verify_reads_standard_input(desk: Path) -> None:
    command = [sys.executable, "-m", "bylaw", "verify", "-p", "p.yaml", "-"]
    run = subprocess.run(command, input=BAD, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "desk on standard input" in run.stdout


@pytest.mark.parametrize(
    ("command", "code", "shown"),
    [
        ("verify -p p.yaml many.jsonl | head -n 1", 141, ""),
        ("verify -p p.yaml many.jsonl --json | head -n 1", 141, ""),
        ("verify -p p.yaml bad.json >&-", 2, "error: standard output is closed\n"),
        ("verify -p p.yaml bad.json >/dev/full", 2, "No space left on device\n"),
        ("verify -p p.yaml many.jsonl >/dev/full", 2, "No space left on device\n"),
        ("--help >/dev/full", 2, "No space left on device\n"),
        ("verify -p p.yaml - <&-", 2, "error[E310]: cannot be read: it is closed\n"),
        ("verify -p p.yaml runs.jsonl 2>&-", 1, ""),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_streams_that_go_away(
    command: str,
    code: int,
    shown: str,
    unbuffered: str,
    desk: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (desk / "many.jsonl").write_text(f"{BAD}\n" * 2_000)
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    script = f"{sys.executable} -m bylaw {command}; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == code
    assert run.stderr.endswith(shown)
    assert len(run.stderr.splitlines()) == bool(shown)


def test_an_error_of_another_file_is_not_blamed_on_the_output(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: object) -> int:
        raise BrokenPipeError("a worker is gone")

    monkeypatch.setattr("bylaw.cli.verify.run", fails)
    with pytest.raises(BrokenPipeError):
        main(["verify", "-p", "p.yaml", "good.json"])


def test_open_predicates_come_only_through_with(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "rules_for_desk.py").write_text(
        "import bylaw\nwords = bylaw.Vocabulary()\n"
        "@words.predicate\ndef short(trace, at, metrics): return len(trace) < 2\n"
    )
    (desk / "q.yaml").write_text("constraints: [{name: short, rule: short()}]")
    assert main(["verify", "-p", "q.yaml", "bad.json"]) == 2
    assert "error[E115]" in capsys.readouterr().err
    assert main(["verify", "-p", "q.yaml", "--with", "rules_for_desk:words", "bad.json"]) == 0
    for wrong in ("rules_for_desk", "rules_for_desk:nothing", "no_such_module:words", "json:loads"):
        assert main(["verify", "-p", "q.yaml", "--with", wrong, "bad.json"]) == 2
        assert "error[E401]" in capsys.readouterr().err


def test_explain_names_the_calls_that_decided(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "verify-first", "-p", "p.yaml", "bad.json"]) == 1
    assert "Decided by these calls:\n  #1 refund {}" in capsys.readouterr().out
    assert main(["explain", "verify-first", "-p", "p.yaml", "runs.jsonl:2", "--json"]) == 1
    output = json.loads(capsys.readouterr().out)
    assert (output["calls"], output["absence"], output["minimal"]) == ([0], [], True)
    assert main(["explain", "verify-first", "-p", "p.yaml", "good.json"]) == 0


def test_explain_names_the_messages_that_decided(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "m.yaml").write_text("constraints: [{name: c, rule: G(a -> X b), events: all}]")
    run = Trace([Call("a"), Message("user", "wait"), Call("b")])
    (desk / "m.json").write_text(json.dumps(run.to_record()))
    assert main(["explain", "c", "-p", "m.yaml", "m.json"]) == 1
    printed = capsys.readouterr().out
    assert 'These messages matter only for what they are not:\n  not user: "wait"\n' in printed


def test_explain_shows_a_rule_by_example(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "verify-first", "-p", "p.yaml"]) == 0
    output = capsys.readouterr().out
    assert "satisfied by: verify, refund" in output
    assert "violated by:  refund" in output
    assert "doomed by:    refund" in output
    assert "enforceable: after `refund` nothing can satisfy it any more." in output
    assert main(["explain", "G(search -> F cite)", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [call["tool_name"] for call in shown["violating"]["tool_calls"]] == ["search"]
    assert shown["dooming"] is None
    assert "a later `cite` always rescues it" in shown["reason"]


FETCHING = """\
bylaw: 1
failed: text ~ /^Error/
constraints:
  - {name: fetched, rule: 'F call(fetch, ok)'}
  - {name: shown, rule: 'F call(fetch, result = "Error: timeout", ok)'}
  - {name: asked, rule: 'G !call(fetch, result = "Error: timeout")'}
"""
TIMED_OUT = '{"tool_calls": [{"tool_name": "fetch", "tool_result": "Error: timeout"}]}'


def test_explain_tells_failure_as_the_procedure_does(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "f.yaml").write_text(FETCHING)
    (desk / "timed-out.json").write_text(TIMED_OUT)
    assert main(["explain", "fetched", "-p", "f.yaml", "timed-out.json"]) == 1
    assert "No call satisfies `call(fetch, ok)`" in capsys.readouterr().out
    assert main(["explain", "shown", "-p", "f.yaml"]) == 0
    output = capsys.readouterr().out
    assert "satisfied by: no trace was found" in output
    assert "Found by search; none shorter was found." in output
    assert main(["explain", "asked", "-p", "f.yaml"]) == 0
    output = capsys.readouterr().out
    assert 'doomed by:    fetch returning "Error: timeout"' in output
    assert "No shorter examples" in output


def test_diff_shows_another_sign_of_failure(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (desk / "f.yaml").write_text(FETCHING)
    (desk / "g.yaml").write_text(FETCHING.replace("failed: text ~ /^Error/\n", ""))
    assert main(["diff", "f.yaml", "f.yaml"]) == 0
    capsys.readouterr()
    assert main(["diff", "g.yaml", "f.yaml"]) == 1
    output = capsys.readouterr().out
    assert "undecided  fetched" in output
    assert "`failed` was not given and is now" in output
    assert "asked" not in output, "it does not ask whether calls fail"
    assert "1 rule unchanged" in output
    (desk / "h.yaml").write_text(FETCHING.replace("/^Error/", "/^E/").replace("F call", "G call"))
    assert main(["diff", "f.yaml", "h.yaml", "--json"]) == 1
    fetched = json.loads(capsys.readouterr().out)[0]
    assert (fetched["kind"], fetched["old_holds"]) == ("changed", False)
    assert "The test for failed calls has changed" in fetched["note"]


def test_diff_shows_a_trace_that_tells_the_rules_apart(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def edited(name: str, rule: str) -> None:
        (desk / name).write_text(PROCEDURE.replace("G(refund -> O verify)", f"'{rule}'"))

    edited("q.yaml", "Before(verify, refund)")
    edited("r.yaml", "!F(refund & H !verify)")
    assert main(["diff", "p.yaml", "p.yaml"]) == 0
    assert main(["diff", "p.yaml", "q.yaml"]) == 1
    output = capsys.readouterr().out
    assert "On the empty trace\n  the old rule holds, and the new one is violated." in output
    assert main(["diff", "p.yaml", "q.yaml", "--json"]) == 1
    (change,) = json.loads(capsys.readouterr().out)
    assert (change["kind"], change["old_holds"]) == ("changed", True)
    assert main(["diff", "p.yaml", "r.yaml"]) == 0, "equivalent rules"
    (desk / "s.yaml").write_text("constraints: [{name: other, rule: Called(verify)}]")
    assert main(["diff", "p.yaml", "s.yaml"]) == 1
    assert "removed  verify-first" in capsys.readouterr().out


def test_diff_tells_what_changes_a_gate_and_repeats_no_line(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "ask.yaml").write_text(PROCEDURE.replace("why:", "severity: ASK, why:"))
    assert main(["diff", "p.yaml", "ask.yaml"]) == 1
    assert capsys.readouterr().out == (
        "changed  verify-first\n"
        "  G(refund -> O verify)\n"
        "  The severity was SOFT_BLOCK and is now ASK.\n"
        "0 rules unchanged\n"
    )
    assert main(["diff", "p.yaml", "ask.yaml", "--json"]) == 1
    (change,) = json.loads(capsys.readouterr().out)
    assert change["note"] == "The severity was SOFT_BLOCK and is now ASK."
    (desk / "free.yaml").write_text(PROCEDURE.replace("tools:", "finish: free\ntools:"))
    assert main(["diff", "p.yaml", "free.yaml"]) == 1
    assert capsys.readouterr().out == (
        "changed  the procedure\n  `finish` was met and is now free.\n1 rule unchanged\n"
    )
    assert main(["diff", "p.yaml", "free.yaml", "--json"]) == 1
    assert [each["about"] for each in json.loads(capsys.readouterr().out)] == ["procedure", "rule"]


def test_diff_shows_the_definition_that_changed(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    defining = PROCEDURE.replace("O verify", "O known").replace(
        "constraints:", "define: {known: 'call(verify, ok)'}\nconstraints:"
    )
    (desk / "old.yaml").write_text(defining)
    (desk / "new.yaml").write_text(defining.replace("call(verify, ok)", "verify"))
    assert main(["diff", "old.yaml", "new.yaml"]) == 1
    assert capsys.readouterr().out == (
        "changed  verify-first\n"
        "  G(refund -> O known)\n"
        "  - known: call(verify, ok)\n"
        "  + known: verify\n"
        "  On verify, refund\n"
        "  the old rule is violated, and the new one holds.\n"
        "0 rules unchanged\n"
    )


def test_a_procedure_given_as_a_trace_is_reported_once(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "-p", "p.yaml", "p.yaml"]) == 2
    assert capsys.readouterr().err.count("error[") == 1
    assert main(["verify", "-p", "p.yaml", "good.json", "p.yaml"]) == 2
    captured = capsys.readouterr()
    assert "1.0000  FULL      good.json" in captured.out
    assert "p.yaml: error[E310]: a YAML file is not a trace" in captured.err


def test_a_tool_that_is_not_listed_is_noted(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = [{"tool_name": name} for name in ("verify", "refund_it", "refund_it", "mail")]
    (desk / "renamed.json").write_text(json.dumps({"tool_calls": calls}))
    command = ["verify", "-p", "p.yaml", "renamed.json"]
    assert main(command) == 0, "a note is no violation"
    output = " ".join(capsys.readouterr().out.split())
    shown = "the procedure does not list the tool 'refund_it'; did you mean 'refund'? (at call #2)"
    assert f"note[W522]: {shown}" in output
    assert output.count("W522") == 2
    assert "score 1.0000 FULL" in output
    assert main([*command, "--json"]) == 0
    (trace,) = json.loads(capsys.readouterr().out)["traces"]
    assert [note["where"] for note in trace["notes"]] == ["call #2", "call #4"]
    assert main([*command, "good.json"]) == 0
    assert "2 notes on the traces: 2 × W522" in capsys.readouterr().out
    assert main(["verify", "-p", "p.yaml", "good.json", "--json"]) == 0
    assert "notes" not in json.loads(capsys.readouterr().out)["traces"][0]


def test_arguments_that_do_not_fit_are_noted(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    amount = {"properties": {"amount": {"type": "number"}}}
    rule = {"name": "small", "rule": "G(refund -> O verify)"}
    procedure = {"tools": {"refund": amount, "verify": None}, "constraints": [rule]}
    (desk / "typed.json").write_text(json.dumps(procedure))
    calls = [{"tool_name": "verify"}] + [
        {"tool_name": "refund", "arguments": {"amount": amount}} for amount in (5, "6", "7")
    ]
    (desk / "texts.json").write_text(json.dumps({"tool_calls": calls}))
    assert main(["verify", "-p", "typed.json", "texts.json", "--json"]) == 0
    (note,) = json.loads(capsys.readouterr().out)["traces"][0]["notes"]
    assert (note["code"], note["where"]) == ("W524", "call #3")
    assert note["message"] == "The arguments do not fit: 'amount' must be a number, not \"6\"."


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["explain", "verfy-first", "-p", "p.yaml", "bad.json"], "E210"),
        (["explain", "verify-first", "-p", "p.yaml", "runs.jsonl"], "E312"),
        (["explain", "verify-first", "-p", "p.yaml", "runs.jsonl:9"], "E312"),
        (["explain", "verify-first", "good.json"], "E402"),
        (["explain", "E999"], "E402"),
        (["verify", "good.json"], "E402"),
        (["verify", "-p", "missing.yaml", "good.json"], "E206"),
        (["verify", "-p", "p.yaml", "runs.jsonl", "--repair"], "E402"),
        (["vrify"], "E402"),
        (["view", "bad.json", "-p", "p.yaml", "-o", "no/such/folder.html"], "E403"),
        (["init", "damaged.json"], "E302"),
    ],
)
def test_a_mistake_on_the_command_line_is_a_diagnostic(
    arguments: list[str], code: str, desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert f"error[{code}]" in capsys.readouterr().err


def test_view_writes_one_page(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "bad.json", "-p", "p.yaml", "-o", "out.html"]) == 0
    assert "wrote out.html" in capsys.readouterr().out
    assert "verify-first" in (desk / "out.html").read_text()
    assert main(["view", "runs.jsonl:1", "-p", "p.yaml"]) == 0
    assert (desk / "runs.jsonl-1.html").exists()


def test_init_writes_a_procedure_that_its_traces_satisfy(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "good.json", "-o", "started.yaml"]) == 0
    text = (desk / "started.yaml").read_text()
    assert "tools: [verify, refund]" in text
    assert "rule: G(refund -> O verify)" in text
    assert main(["verify", "-p", "started.yaml", "good.json"]) == 0
    assert main(["verify", "-p", "started.yaml", "bad.json"]) == 1
    assert main(["init", "good.json", "-o", "started.yaml"]) == 2, "nothing is overwritten"
    assert main(["init", "good.json", "-o", "started.yaml", "--force"]) == 0


def test_init_copes_with_any_tool_name(desk: Path) -> None:
    names = ["web-search", "no", "F", "a b", "a-b", 'quo"te', "true", "é", "- x", "#"]
    calls = [{"tool_name": name} for name in names]
    (desk / "odd.json").write_text(json.dumps({"tool_calls": calls}))
    assert main(["init", "odd.json", "-o", "odd.yaml"]) == 0
    assert main(["verify", "-p", "odd.yaml", "odd.json"]) == 0


@pytest.mark.parametrize(
    "name", ["a\nb", "a\r", "a\u2028b", "\u2029", "\x85", "\x7f", "\ufeff", "\U000e0001", "😀"]
)
def test_init_writes_names_that_yaml_cannot_hold_as_they_are(name: str, desk: Path) -> None:
    calls = [{"tool_name": "first"}, {"tool_name": name}]
    (desk / "odd.json").write_text(json.dumps({"tool_calls": calls}))
    assert main(["init", "odd.json", "-o", "odd.yaml"]) == 0
    assert Procedure.load("odd.yaml").tools == ("first", name)
    assert main(["verify", "-p", "odd.yaml", "odd.json"]) == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main([*command.split(), "--help"])
    assert done.value.code == 0
    output = capsys.readouterr().out
    assert f"bylaw {command}" in output
    assert "\n  bylaw " in output, "an example"
    assert max(map(len, output.splitlines())) <= 80


def test_hostile_text_cannot_redraw_the_terminal(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = {"tool_calls": [{"tool_name": "\x1b[2Jrefund", "arguments": {"x": "\x07\ud800"}}]}
    (desk / "hostile.json").write_text(json.dumps(record))
    (desk / "q.yaml").write_text(
        'constraints: [{name: c, rule: "CalledWith(\\"\\\\u001b[2Jrefund\\", x = 1)"}]'
    )
    assert main(["verify", "-p", "q.yaml", "hostile.json"]) == 1
    assert main(["explain", "c", "-p", "q.yaml", "hostile.json"]) == 1
    assert "\x1b" not in capsys.readouterr().out


# ── start-up ──────────────────────────────────────────────────────────────────────────────


def test_a_command_imports_nothing_that_it_does_not_need(desk: Path) -> None:
    """`benchmarks/startup.py` measures what that saves."""
    script = """
import sys
from bylaw.cli.main import main
assert main(["verify", "-p", "p.yaml", "good.json"]) == 0
print("heavy:", {"msgspec", "numpy", "pyarrow", "torch", "transformers"} & set(sys.modules))
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("heavy: set()\n")


def test_the_overview_lists_every_command_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    for command in COMMANDS:
        assert sum(line.startswith(f"  {command}  ") for line in lines) == 1, command
