"""`bylaw explain`: which calls decided a rule, or what a diagnostic code means."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from typing import Final

from bylaw.cli.inputs import add_procedure, load_procedure, one_trace
from bylaw.cli.main import OK, UNUSABLE, VIOLATED
from bylaw.cli.terminal import WORDS, coloured, safe, width, wrapped
from bylaw.codes import CODES
from bylaw.errors import Diagnostic, UsageError, did_you_mean
from bylaw.scoring.explain import Explanation, explain
from bylaw.semantics.verdict import Outcome
from bylaw.trace.trace import Trace
from bylaw.values import write_json

EPILOG: Final = """\
  bylaw explain verify-first -p refund.yaml run.json   why a rule holds or not
  bylaw explain E104                                   what a code means

For a rule, the calls printed are a set from which none can be left out: the
verdict follows from them alone, whatever the other calls were. Calls marked
"not" matter only for what they are not: that no `cite` followed takes every
later call to see.
"""
_CODE: Final = re.compile(r"[A-Z]\d{3}")
_SHOWN: Final = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("subject", metavar="RULE", help="a constraint's name, or a code like E104")
    parser.add_argument("trace", nargs="?", metavar="TRACE", help="the trace, for a rule")
    add_procedure(parser, required=False)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Explains; for a rule the exit code is its verdict."""
    if _CODE.fullmatch(options.subject) and options.trace is None:
        return _explain_code(options.subject, as_json=options.json)
    if options.procedure is None or options.trace is None:
        message = "a rule is explained on a trace"
        help = "bylaw explain RULE --procedure FILE TRACE; for a code: bylaw explain E104"
        raise UsageError(Diagnostic("E402", message, help))
    procedure = load_procedure(options)
    procedure[options.subject]  # an unknown rule is reported before the trace is read
    trace = one_trace(options.trace)
    explanation = explain(trace, procedure, options.subject)
    if options.json:
        print(json.dumps(explanation.to_dict(), indent=2))
    else:
        _print(explanation, trace)
    passed = explanation.result.passed
    return UNUSABLE if passed is None else OK if passed else VIOLATED


def _explain_code(code: str, *, as_json: bool) -> int:
    if code not in CODES:
        help = did_you_mean(code, CODES) or f"The codes are: {', '.join(CODES)}."
        raise UsageError(Diagnostic("E402", f"there is no code {code}", help))
    entry = CODES[code]
    if as_json:
        fields = ("title", "meaning", "wrong", "right")
        print(json.dumps({"code": code} | {name: getattr(entry, name) for name in fields}))
        return OK
    print(f"{code}: {entry.title}\n\n{wrapped(entry.meaning, 0)}")
    for label, example in (("wrong", entry.wrong), ("right", entry.right)):
        print(f"\n{label}:")
        print("\n".join(f"    {line}" for line in (example or "(nothing)").splitlines()))
    return OK


def _print(explanation: Explanation, trace: Trace) -> None:
    result = explanation.result
    word, colour = WORDS[result.outcome]
    print(f"{coloured(word, colour)}  {safe(result.name)}")
    print(wrapped(safe(f"rule: {result.constraint.rule}"), 2))
    print(wrapped(safe(result.detail), 2))
    for label, text in (("why", result.constraint.why), ("fix", result.constraint.fix)):
        if text:
            print(wrapped(safe(f"{label}: {text}"), 2))
    print()
    if result.outcome is Outcome.ERROR:
        print("The rule could not be decided.")
    elif not explanation.calls and not explanation.absence:
        print("It follows without looking at any call, at most at how many there are.")
    else:
        _print_calls(explanation, trace)


def _print_calls(explanation: Explanation, trace: Trace) -> None:
    if explanation.calls:
        print("Decided by these calls:")
        _rows(trace, explanation.calls, "#")
    if explanation.absence:
        print("These calls matter only for what they are not:")
        _rows(trace, explanation.absence, "not #")
    if explanation.minimal:
        print("None of them can be left out: without it the verdict would be open.")
    else:
        print("The trace is too long to find the smallest set; this one is enough.")


def _rows(trace: Trace, indices: Sequence[int], mark: str) -> None:
    for index in indices[:_SHOWN]:
        if index < len(trace.calls):
            call = trace.calls[index]
            row = f"  {mark}{index + 1} {call.tool} {write_json(dict(call.args))}"
        else:
            row = f"  the final answer: {trace.answer}"
        row = safe(row.replace("\n", " "))
        print(row if len(row) <= width() else row[: width() - 1] + "…")
    if len(indices) > _SHOWN:
        print(f"  … and {len(indices) - _SHOWN} more")
