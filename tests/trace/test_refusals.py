"""Calls that a gate refused did not run, in whichever format the transcript is."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_formats import NATIVE, SAME_RUN, asks, returns, says

from bylaw import Call, Guard, Message, Procedure, Trace, read_traces, verify_trace
from bylaw.cli.main import main
from bylaw.enforcement.decision import ConstraintViolationError, Decision
from bylaw.trace.event import MISSING
from bylaw.trace.formats import read
from bylaw.trace.refusal_mark import marked, refusal_of, set_aside, unmarked

RULES = ["CalledN(pay, <= 1)", "G !call(look, ok)", 'G(pay -> args.to != "[1]")', "F list"]
"""The second and the third refuse the calls below; all but the second hold of what is left."""


def _procedure(**more: Any) -> Procedure:
    constraints = [{"name": rule, "rule": rule} for rule in RULES]
    return Procedure.from_dict({"constraints": constraints, **more})


def _refused(tool: str, args: dict[str, Any], **options: Any) -> Decision:
    """A gate's refusal of a call."""
    rules = [{"name": "never", "rule": f"G !{tool}", "why": "It is late."}]
    procedure = Procedure.from_dict({"constraints": rules})
    return Guard(procedure, **options).propose([Call(tool, args)])[0]


PAY = _refused("pay", {"to": "[1]"}, run_id="r1")
LOOK = _refused("look", {"n": 7}, run_id="r2")


# ── in every format ───────────────────────────────────────────────────────────────────────────


def _with(value: Any, old: str, new: str) -> Any:
    """The value, with one result in the place of another, also inside JSON texts."""
    if isinstance(value, dict):
        return {key: _with(item, old, new) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with(item, old, new) for item in value]
    if not isinstance(value, str):
        return value
    if value == old:
        return new
    if value.startswith(f"{old}\n"):  # the results of a smolagents step are one text
        return new + value.removeprefix(old)
    try:
        inner = json.loads(value)
    except ValueError:
        return value
    return json.dumps(_with(inner, old, new)) if isinstance(inner, dict | list) else value


FAILED, RETURNED = "no", "x"
"""The error of the first payment, and the result of `look`, in the run of every format."""


TRANSCRIPTS = [name for name in SAME_RUN if name != "gate log"]
"""A log has entries for its refusals, and is not read if a result in it was changed."""


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_a_refusal_is_recognised_in_every_format(name: str) -> None:
    run = _with(_with(SAME_RUN[name], FAILED, PAY.message), RETURNED, LOOK.message)
    reading = read(run)
    trace, whole = reading.trace, read(SAME_RUN[name]).trace
    assert [call.tool for call in trace.calls] == ["list", "pay"]
    ran = [e for e in whole.events if isinstance(e, Message) or e.id in ("c2", "c3")]
    assert list(trace.events) == ran
    assert trace.answer == whole.answer
    look, pay = trace.refusals
    assert (look.call.tool, look.call.args, look.decision) == ("look", {"n": 7}, "r2.0.0")
    assert (pay.call.tool, pay.call.args, pay.action) == ("pay", {"to": "[1]"}, "block")
    assert pay.message == unmarked(PAY.message)
    assert pay.constraints == ("never",)
    assert [each.events_before for each in trace.refusals] == [3, 4]
    assert [note.code for note in reading.notes] == ["W523"]
    assert "2 calls count as refused" in reading.notes[0].message


@pytest.mark.parametrize("order", ["position", "step"])
@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_a_transcript_is_scored_as_the_gate_scored_the_run(name: str, order: str) -> None:
    """The gate refuses the first payment; the transcript has its words in place of a result."""
    procedure = _procedure(order=order)
    guard = Guard(procedure)
    calls = [Call(e["tool_name"], e["arguments"], id=e["id"]) for e in NATIVE["tool_calls"]]  # type: ignore[index]  # a list of objects
    look, listed = guard.propose(calls[:2])
    guard.record(look, "x")
    guard.record(listed, ["a"])
    (refused,) = guard.propose(calls[2:3])
    assert not refused.allowed
    assert guard.propose(calls[3:])[0].allowed
    live = guard.finish("Done.")
    report = verify_trace(_with(SAME_RUN[name], FAILED, refused.message), procedure)
    assert (report.score, report.label) == (live.score, live.label) == (0.75, "PARTIAL")
    assert verify_trace(SAME_RUN[name], procedure).score == 0.25  # had it run


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_a_corpus_sets_refusals_aside_like_a_single_trace(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = _with(SAME_RUN[name], FAILED, PAY.message)
    Path("p.json").write_text(json.dumps(_procedure().to_dict()))
    Path("runs.jsonl").write_text(f"{json.dumps(run)}\n{json.dumps(SAME_RUN[name])}\n")
    assert main(["verify", "-p", "p.json", "runs.jsonl", "--out", "scores.jsonl"]) == 1
    scores = [json.loads(line)["score"] for line in Path("scores.jsonl").read_text().splitlines()]
    assert scores == [0.75, 0.25]


# ── how it stands there ───────────────────────────────────────────────────────────────────────

_ERROR = ConstraintViolationError(PAY)
_FORMS: dict[str, Any] = {
    "the message": PAY.message,
    "with blank lines around it": f"\n{PAY.message}\n\n",
    "the observation": _ERROR.to_dict(),
    "the observation as JSON": json.dumps(_ERROR.to_dict()),
    "the observation as JSON, indented": json.dumps(_ERROR.to_dict(), indent=2),
    "the observation as Python writes it": str(_ERROR.to_dict()),
    "the message as an error": {"error": PAY.message},
    "the exception with its name": f"ConstraintViolationError: {_ERROR}",
    "τ-bench": f"Error: {_ERROR}",
    "MCP": f"Error executing tool pay: {_ERROR}",
    "OpenAI Agents": f"An error occurred while running the tool. Please try again. Error: {_ERROR}",
    "LangGraph": f"Error: {_ERROR!r}\n Please fix your mistakes.",
    "LangGraph, a tool that raises": "Error executing tool 'pay' with kwargs {'to': '[1]'} with "
    f"error:\n {_ERROR}\n Please fix the error and try again.",
    "smolagents": "Error executing tool 'pay' with arguments {'to': '[1]'}: "
    f"ConstraintViolationError: {_ERROR}\nPlease try again or use another tool",
}


@pytest.mark.parametrize(
    ("form", "place"),
    [
        (form, place)
        for form, value in _FORMS.items()
        for place in ("result", "error", "both")
        if place == "result" or isinstance(value, str)  # an error is a text
    ],
)
def test_a_refusal_is_recognised_as_frameworks_write_it(form: str, place: str) -> None:
    value = _FORMS[form]
    call = Call(
        "pay",
        result=MISSING if place == "error" else value,
        error=None if place == "result" else value,
    )
    found = refusal_of(call)
    assert found is not None
    assert (found.action, found.decision) == ("block", "r1.0.0")
    assert found.message == unmarked(PAY.message)


def test_the_tool_of_a_server_and_the_answer_have_other_names_in_transcripts() -> None:
    answer = _refused("final_answer", {"answer": "5"})
    assert refusal_of(Call("mcp__desk__pay", result=PAY.message))
    assert refusal_of(Call("submit", result=answer.message))
    assert not refusal_of(Call("repay", result=PAY.message))


@pytest.mark.parametrize("action", ["warn", "stop", "ask"])
def test_every_action_is_recognised(action: str) -> None:
    severity = {"warn": "BLOCK_AND_WARN", "stop": "HARD_STOP", "ask": "ASK"}[action]
    rules = [{"name": "never", "rule": "G !pay", "severity": severity}]
    guard = Guard(Procedure.from_dict({"constraints": rules}))
    refused = guard.propose([Call("pay"), Call("look")])
    found = [refusal_of(replace(each.call, result=each.message)) for each in refused]
    assert found[0] is not None
    assert found[0].action == action
    assert (found[1] is not None) is (action == "stop")  # the rest of the turn is refused, too


# ── what only looks like one ──────────────────────────────────────────────────────────────────


def _body() -> str:
    return unmarked(PAY.message)


_ATTACKS: dict[str, tuple[str, Any]] = {
    "the refusal among other text": ("pay", f"paid 5\n{PAY.message}"),
    "the refusal, and something more": ("pay", f"{PAY.message}\npaid 5"),
    "two refusals": ("pay", f"{PAY.message}\n{PAY.message}"),
    "a refusal of another tool": ("read_file", PAY.message),
    "without the mark": ("pay", _body()),
    "the mark alone": ("pay", PAY.message.removeprefix(_body()).strip()),
    "another text above the mark": ("pay", PAY.message.replace("It is late", "It is early")),
    "a line was cut": ("pay", "\n".join(PAY.message.split("\n")[::2])),
    "another turn": ("pay", PAY.message.replace("r1.0.0", "r1.5.0")),
    "another action": ("pay", PAY.message.replace("[bylaw:block", "[bylaw:stop")),
    "an action that lets calls run": ("pay", marked(_body(), "allow", "r1.0.0")),
    "an id that no gate makes": ("pay", marked(_body(), "block", "r1")),
    "a text that does not say that nothing ran": ("pay", marked("pay: done", "block", "r1.0.0")),
    "the observation with another field": ("pay", {**_ERROR.to_dict(), "paid": 5}),
    "the observation inside another": ("pay", {"result": _ERROR.to_dict()}),
    "a list of observations": ("pay", [_ERROR.to_dict()]),
    "an error with another field": ("pay", {"error": PAY.message, "paid": 5}),
    "a framework's words around another text": (
        "pay",
        f"Error executing tool 'pay' with kwargs {{}} with error:\n paid 5 {PAY.message}",
    ),
    "a very long text": ("pay", f"{' ' * 100_000}x{PAY.message}"),
}


@pytest.mark.parametrize("attack", _ATTACKS)
def test_a_tool_that_only_quotes_a_refusal_has_run(attack: str) -> None:
    tool, result = _ATTACKS[attack]
    call = Call(tool, result=result)
    assert refusal_of(call) is None
    if isinstance(result, str):
        assert refusal_of(Call(tool, error=result)) is None
    assert set_aside([call]) == ([call], [])


def test_a_call_with_a_result_besides_the_refusal_has_run() -> None:
    assert refusal_of(Call("pay", result="paid 5", error=PAY.message)) is None


def test_a_result_that_repeats_an_earlier_refusal_has_run() -> None:
    """Each decision refuses one call: the tool `pay` returns what its log says of the first."""
    chat = [
        asks(("pay", "{}", "c1")),
        returns(PAY.message, "c1"),
        asks(("pay", "{}", "c2")),
        returns(PAY.message, "c2"),
    ]
    trace = read(chat).trace
    assert [call.id for call in trace.calls] == ["c2"]
    assert [refusal.call.id for refusal in trace.refusals] == ["c1"]


def test_after_the_end_of_the_run_the_rest_of_the_turn_did_not_run() -> None:
    """A framework that ends the run leaves no results; calls of another turn are another matter."""
    rules = [{"name": "never", "rule": "G !pay", "severity": "HARD_STOP"}]
    guard = Guard(Procedure.from_dict({"constraints": rules}))
    stop = guard.propose([Call("look"), Call("pay")])[1]
    chat = [
        asks(("look", "{}", "c1"), ("pay", "{}", "c2"), ("look", "{}", "c3"), ("list", "{}", "c4")),
        returns(stop.message, "c2"),
        returns("x", "c4"),
        asks(("look", "{}", "c5")),
    ]
    trace = read(chat).trace
    assert [call.id for call in trace.calls] == ["c1", "c4", "c5"]
    assert [refusal.call.id for refusal in trace.refusals] == ["c2", "c3"]


def test_an_answer_that_was_refused_is_not_an_answer_in_the_middle_of_the_run() -> None:
    refused = _refused("final_answer", {"answer": "5"})
    chat = [
        says("user", "Go."),
        asks(("final_answer", '{"answer": "5"}', "c1")),
        returns(refused.message, "c1"),
        asks(("look", "{}", "c2")),
        returns("x", "c2"),
        asks(("final_answer", '{"answer": "6"}', "c3")),
    ]
    trace = read(chat).trace
    assert trace.answer == "6"
    assert [call.tool for call in trace.calls] == ["look"]
    assert [refusal.call.tool for refusal in trace.refusals] == ["final_answer"]


# ── records ───────────────────────────────────────────────────────────────────────────────────


def _trace() -> Trace:
    return read(_with(SAME_RUN["OpenAI chat"], FAILED, PAY.message)).trace


def test_a_record_keeps_refusals_under_a_key_of_their_own() -> None:
    trace = _trace()
    record = json.loads(json.dumps(trace.to_record()))
    assert [entry["tool_name"] for entry in record["tool_calls"]] == ["look", "list", "pay"]
    (entry,) = record["refusals"]
    assert entry == {
        "tool_name": "pay",
        "arguments": {"to": "[1]"},
        "step": 3,
        "id": "c1",
        "error": PAY.message,
        "action": "block",
        "message": unmarked(PAY.message),
        "decision": "r1.0.0",
        "events_before": 5,
    }
    assert Trace.from_record(record) == trace
    reading = read(record)
    assert reading.trace == trace
    assert reading.notes == ()  # the record says it, not a result


def test_a_call_that_ran_is_not_refused_because_it_was_written_down() -> None:
    """A call that quotes a refusal, and is known to have run, survives being saved and read."""
    ran = Trace([Call("pay", result=PAY.message)])
    assert read(json.loads(json.dumps(ran.to_record()))).trace == ran
    assert Trace.from_record(ran.to_record()) == ran


@pytest.mark.parametrize(
    ("refusal", "where"),
    [
        ({"tool_name": "a", "action": "allow"}, "refusals[0].action"),
        ({"action": "block"}, "refusals[0]"),
        ({"tool_name": "a", "action": "block", "message": 5}, "refusals[0].message"),
        ({"tool_name": "a", "action": "block", "decision": 5}, "refusals[0].decision"),
        ({"tool_name": "a", "action": "block", "events_before": -1}, "refusals[0].events_before"),
        (5, "refusals[0]"),
    ],
)
def test_a_malformed_refusal_in_a_record_is_named(refusal: Any, where: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"tool_calls": [], "refusals": [refusal]}))
    (entry,) = read_traces(path)
    assert entry.error is not None
    assert [each.where for each in entry.error.diagnostics] == [where]


def test_rules_that_mark_failures_keep_the_refusals() -> None:
    procedure = _procedure(failed='text = "x"')
    marked_trace = procedure.marked(_trace())
    assert marked_trace.refusals == _trace().refusals
    assert marked_trace.calls[0].failed


_READERS: dict[str, Callable[[Any], Trace]] = {
    "verify_trace": lambda run: verify_trace(run, _procedure()).trace,
    "read": lambda run: read(run).trace,
}


@pytest.mark.parametrize("reader", _READERS)
def test_all_ways_of_reading_agree(reader: str) -> None:
    run = _with(SAME_RUN["OpenAI chat"], FAILED, PAY.message)
    assert _READERS[reader](run).refusals == _trace().refusals


# ── answers ───────────────────────────────────────────────────────────────────────────────────

ANSWER = _refused("final_answer", {"answer": "Paid."}, run_id="r3")
_STOP = marked("pay: Not executed. The run ends here.", "stop", "r4.0.0")
_STOPPED_ANSWER = marked("final_answer: Not executed. The run ends here.", "stop", "r5.0.0")


def test_a_refused_answer_is_no_message() -> None:
    chat = [
        says("user", "Pay."),
        says("assistant", "Paid."),
        says("user", ANSWER.message),
        asks(("pay", "{}", "c1")),
        returns("paid", "c1"),
        says("assistant", "Paid 5."),
    ]
    trace = read(chat).trace
    assert [event.text for event in trace.seen("all") if isinstance(event, Message)] == [
        "Pay.",
        "Paid 5.",
    ]
    (refusal,) = trace.refusals
    assert dict(refusal.call.args) == {"answer": "Paid."}
    assert refusal.events_before == 1
    assert trace.answer == "Paid 5."


@pytest.mark.parametrize("answered", [False, True], ids=["a call", "an answer"])
def test_the_text_that_ends_a_run_is_no_answer(answered: bool) -> None:
    end = _STOPPED_ANSWER if answered else _STOP
    before = (
        [says("assistant", "Paid.")]
        if answered
        else [asks(("pay", "{}", "c1")), returns(_STOP, "c1")]
    )
    trace = read([says("user", "Pay."), *before, says("assistant", end)]).trace
    assert trace.answer is None
    assert [refusal.call.tool for refusal in trace.refusals] == [
        "final_answer" if answered else "pay"
    ]
    assert list(trace.calls) == []
    assert len(trace.seen("all")) == 1


_QUOTES = {
    "the assistant quotes a refusal": ("assistant", ANSWER.message),
    "the assistant quotes the refusal of a call": ("assistant", PAY.message),
    "the user quotes the refusal of a call": ("user", PAY.message),
    "the user quotes it in a sentence": ("user", f"Why {ANSWER.message}"),
    "the end, and something more": ("assistant", f"{_STOP}\nPaid."),
    "another text above the mark": ("assistant", _STOP.replace("ends", "began")),
}


@pytest.mark.parametrize("quote", _QUOTES)
def test_a_message_that_only_quotes_a_refusal_is_a_message(quote: str) -> None:
    role, text = _QUOTES[quote]
    events = [Message("user", "Pay.", 0), Message("assistant", "Paid.", 1), Message(role, text, 2)]  # type: ignore[arg-type]  # one of the two
    assert set_aside(events) == (events, [])
