"""Damaged files are read or refused with diagnostics: no other error, no hang, no memory lost.

`BYLAW_FUZZ_FILES` says how many files, half of them procedures and half traces, and as many
rule texts.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from fuzz_corpus import FORMULA, PROCEDURES, RULES, TRACES
from fuzz_mutations import mutant
from fuzz_watch import TookTooLong, Watch, check_error, deadline, within
from random_cases import chosen_number

from bylaw import (
    Call,
    Diagnostic,
    Procedure,
    SpecError,
    Trace,
    TraceError,
    explain,
    from_json,
    holds,
    parse,
    read_traces,
    to_json,
    to_text,
    verify_trace,
)

FILES = chosen_number("BYLAW_FUZZ_FILES", 2_000)
SEED = 20250711
MEGABYTES = 200

TRACE = Trace(
    [
        Call("lookup", {"id": 7}, result='{"ids": [1, "verify"]}', step=0),
        Call("search", {"q": "foo", "ids": ["a"]}, result={"ids": ["cite", 5]}, step=0),
        Call("tool_a_list", result={"numbers": [8, 2]}, step=1),
        Call("refund", error="timeout", step=2),
        Call("pay", {"amount": 6}, result=None, step=3),
    ],
    metrics={"models": [{"name": "m"}]},
)
"""Without an answer, so that `answer` is undefined."""

PROCEDURE = Procedure.from_dict(
    {
        "bylaw": 1,
        "events": "all",
        "constraints": [
            {"name": "eventually", "rule": "G(search -> F cite)"},
            {"name": "before", "rule": "Before(lookup, refund) & Before(search, final_answer)"},
            {"name": "result", "rule": 'CalledWithResult(lookup, {"ids": [1, 2]})'},
            {
                "name": "all",
                "rule": 'forall q in args(search, "ids[]"): CalledWith(pay, q = q)',
            },
            {
                "name": "any",
                "rule": 'exists n in results(tool_a_list, "numbers[]"): call(ok, x = n)',
            },
            {"name": "metrics", "rule": 'forall t in metrics("tokens.*"): CalledN(pay, <= t)'},
            {"name": "answer", "rule": "CalledWith(cite, text = answer)"},
        ],
    }
)


def use_procedure(path: Path) -> str:
    """Loads a procedure, scores a trace with it, and writes it down again."""
    try:
        procedure = Procedure.load(path)
    except SpecError as error:
        check_error(error)
        return "refused"
    json.dumps(verify_trace(TRACE, procedure).to_dict(), allow_nan=False)
    json.dumps(explain(TRACE, procedure, procedure.constraints[-1].name).to_dict())
    assert Procedure.from_dict(procedure.to_dict()) == procedure, "it does not read back"
    return "read"


def use_traces(path: Path) -> str:
    """Reads every record, scores the good ones, and writes them down again."""
    outcomes = set()
    for entry in read_traces(path):
        if entry.trace is None:
            assert isinstance(entry.error, TraceError), "an entry has a trace or an error"
            check_error(entry.error)
            outcomes.add("refused")
        else:
            assert entry.error is None, "an entry has a trace or an error"
            json.dumps(verify_trace(entry.trace, PROCEDURE).to_dict(), allow_nan=False)
            record = json.loads(json.dumps(entry.trace.to_record(), allow_nan=False))
            assert Trace.from_record(record) == entry.trace, "it does not read back"
            outcomes.add("read")
    return " and ".join(sorted(outcomes)) or "nothing"


def use_rule(text: str) -> str:
    """Reads a rule, writes it in both forms, and asks whether it holds."""
    try:
        formula = parse(text)
    except SpecError as error:
        check_error(error)
        return "refused"
    assert parse(to_text(formula)) == formula, "its text does not read back"
    assert from_json(json.loads(json.dumps(to_json(formula)))) == formula, "nor does its JSON"
    try:
        holds(formula, TRACE)
    except SpecError as error:  # a predicate that nobody registered
        check_error(error)
    return "read"


def finish(
    watch: Watch, outcomes: Counter[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    with capsys.disabled():
        print(
            f"\nfuzz: {watch.inputs} {what}: {told}, {len(watch.failures)} kinds of failure; "
            f"slowest {watch.slowest:.2f} s ({watch.slowest_input:.40}…), "
            f"memory grew by {watch.growth:.0f} MB"
        )
    if watch.failures:
        pytest.fail(watch.report(), pytrace=False)
    assert watch.growth < MEGABYTES
    assert len(outcomes) > 1, "mutation that leaves nothing sound, or damages nothing, tests little"


# ── the corpus itself ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("suffix", "text"), sorted(set(PROCEDURES)))
def test_procedures_to_start_from_are_sound(suffix: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / f"procedure{suffix}"
    path.write_bytes(text.encode())
    assert use_procedure(path) == "read"


@pytest.mark.parametrize(("suffix", "text"), TRACES)
def test_traces_to_start_from_are_sound(suffix: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / f"traces{suffix}"
    path.write_bytes(text.encode())
    assert use_traces(path) == "read"


def test_rules_to_start_from_are_sound() -> None:
    from_json(FORMULA)
    assert set(map(use_rule, RULES)) == {"read"}


# ── the watch itself ──────────────────────────────────────────────────────────────────────


def test_the_watch_sees_errors() -> None:
    watch = Watch()
    with watch.over("fine"):
        pass
    with watch.over("broken"):
        json.loads("oh")
    assert watch.inputs == 2
    assert "JSONDecodeError: Expecting value" in watch.report()


def test_the_watch_sees_what_does_not_end() -> None:
    def spin() -> None:
        while True:
            pass

    with pytest.raises(TookTooLong), deadline(0.05):
        spin()


def test_the_watch_sees_memory() -> None:
    with pytest.raises(AssertionError, match="memory grew"), within(megabytes=10):
        len(bytearray(64 << 20))


@pytest.mark.parametrize(
    ("code", "message"),
    [("E1", "a code too short"), ("E101", " "), ("E101", "KeyError: 'tool'")],
    ids=["code", "silence", "jargon"],
)
def test_the_watch_sees_bad_diagnostics(code: str, message: str) -> None:
    with pytest.raises(AssertionError):
        check_error(SpecError(Diagnostic(code, message)))


# ── damage ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.fuzz
def test_damaged_procedures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watch, outcomes = Watch(), Counter[str]()
    for number in range(FILES // 2):
        damaged = mutant(PROCEDURES, SEED, number)
        path = tmp_path / f"procedure{damaged.suffix}"
        path.write_bytes(damaged.content)
        with watch.over(damaged):
            outcomes[use_procedure(path)] += 1
    finish(watch, outcomes, "procedure files", capsys)


@pytest.mark.fuzz
def test_damaged_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watch, outcomes = Watch(), Counter[str]()
    for number in range(FILES // 2):
        damaged = mutant(TRACES, SEED, number)
        path = tmp_path / f"traces{damaged.suffix}"
        path.write_bytes(damaged.content)
        with watch.over(damaged):
            outcomes[use_traces(path)] += 1
    finish(watch, outcomes, "trace files", capsys)


@pytest.mark.fuzz
def test_damaged_rules(capsys: pytest.CaptureFixture[str]) -> None:
    corpus = [("", rule) for rule in RULES]
    watch, outcomes = Watch(), Counter[str]()
    for number in range(FILES):
        damaged = mutant(corpus, SEED, number)
        with watch.over(damaged):
            outcomes[use_rule(damaged.content.decode(errors="replace"))] += 1
    finish(watch, outcomes, "rules", capsys)
