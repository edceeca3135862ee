"""`bylaw explain`: a rule by example, a verdict by its calls, or a diagnostic code."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from typing import Final

from bylaw.cli.explain_by_example import explain_rule
from bylaw.cli.main import OK, exit_code
from bylaw.cli.options import (
    add_edit_results,
    add_json,
    add_procedure,
    add_run_functions,
    load_procedure,
    load_vocabulary,
)
from bylaw.cli.traces import one_trace
from bylaw.codes import CODES
from bylaw.enforcement.coverage import RuleCoverage, coverage
from bylaw.errors import Diagnostic, UsageError, did_you_mean
from bylaw.procedure.failure import reads_failure
from bylaw.procedure.procedure import Procedure
from bylaw.reports.outcome_words import WORDS
from bylaw.scoring.edits import Repair
from bylaw.scoring.explain import Explanation, explain
from bylaw.scoring.repair import repair
from bylaw.scoring.verify import ConstraintResult
from bylaw.semantics.examples.reading_options import ReadingOptions
from bylaw.semantics.verdict import Outcome
from bylaw.syntax.parser import parse
from bylaw.terminal import coloured, in_line, safe, shortened, wrapped
from bylaw.trace.event import Message
from bylaw.trace.trace import Trace
from bylaw.values import write_json

EPILOG: Final = """\
  bylaw explain verify-first -p refund.yaml run.json   why a rule holds or not
  bylaw explain verify-first -p refund.yaml            the rule by example
  bylaw explain 'G(search -> F cite)'                  any rule by example
  bylaw explain E104                                   what a code means

By example: prints a shortest trace that satisfies the rule, one that violates
it, and one that dooms it. After a trace that dooms the rule, nothing can
satisfy it any more. If possible, the first trace does not satisfy the rule
vacuously. For a rule that compares data of several events, a search invents
traces; these may not be the shortest. The search runs registered functions only
with --run-functions.

On a trace: prints the calls that decide the verdict. The verdict follows from
these calls alone, whatever the other calls were, and each of them is needed.
Calls marked "not" matter only for what they are not: to see that no `cite`
followed, you need every later call. With `events: all`, messages can be among
them.

For a violated rule, prints the cheapest edits of the trace that would satisfy
it. Inserting or deleting a call costs 1, changing its arguments 0.5. Results
are changed only with --edit-results.
"""
_CODE: Final = re.compile(r"[A-Z]\d{3}")
_SHOWN: Final = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("subject", metavar="RULE", help="a constraint's name, a formula, or a code")
    parser.add_argument("trace", nargs="?", metavar="TRACE", help="the trace, for a rule")
    add_procedure(parser, required=False)
    add_edit_results(parser)
    add_run_functions(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Explains; for a rule on a trace, the exit code is its verdict."""
    if _CODE.fullmatch(options.subject) and options.trace is None:
        return _explain_code(options.subject, as_json=options.json)
    if options.procedure is None:
        if options.trace is not None:
            message = "to explain a rule on a trace, name its procedure"
            help = "bylaw explain RULE -p FILE TRACE"
            raise UsageError(Diagnostic("E402", message, help))
        formula = parse(options.subject, vocabulary=load_vocabulary(options.vocabulary))
        setting = ReadingOptions(run_functions=options.run_functions)
        return explain_rule(formula, setting, as_json=options.json)
    procedure = load_procedure(options)
    if options.trace is None:
        constraint = procedure[options.subject]
        events = procedure.events_of(constraint)
        marked = procedure.marked if reads_failure(constraint.formula) else None
        setting = ReadingOptions(
            procedure.order,
            events,
            procedure.vocabulary,
            marked,
            tuple(procedure.tools or ()),
            options.run_functions,
        )
        return explain_rule(
            constraint.formula,
            setting,
            as_json=options.json,
            written=constraint.rule,
            covered=_coverage(procedure, constraint.name),
        )
    procedure[options.subject]  # reports an unknown rule before the trace is read
    trace = one_trace(options.trace)
    explanation = explain(trace, procedure, options.subject)
    passed = explanation.result.passed
    found: Repair | None = None
    if passed is False:
        found = repair(trace, procedure, options.subject, edit_results=options.edit_results)
    if options.json:
        fixed = {} if passed is not False else {"repair": found.to_dict() if found else None}
        covered = {"coverage": _coverage(procedure, options.subject).to_dict()}
        print(json.dumps(explanation.to_dict() | fixed | covered, indent=2))
    else:
        _print(explanation, trace)
        if found is not None:
            _print_repair(found)
    return exit_code(unusable=passed is None, violated=not passed)


def _coverage(procedure: Procedure, name: str) -> RuleCoverage:
    return next(rule for rule in coverage(procedure) if rule.name == name)


def _explain_code(code: str, *, as_json: bool) -> int:
    if code not in CODES:
        help = did_you_mean(code, CODES) or f"The codes are: {', '.join(CODES)}."
        raise UsageError(Diagnostic("E402", f"unknown code {code}", help))
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
    print(f"{coloured(word, colour)}  {in_line(result.name)}")
    print(wrapped(safe(f"rule: {result.constraint.rule}"), 2))
    print(wrapped(safe(result.detail), 2))
    for label, text in (("why", result.constraint.why), ("fix", result.constraint.fix)):
        if text:
            print(wrapped(safe(f"{label}: {text}"), 2))
    _print_occurrences(result)
    print()
    if result.outcome is Outcome.ERROR:
        print("The rule could not be decided.")
    elif not _print_events(explanation, trace):
        print("It follows from no call in particular, at most from how many there are.")
    elif explanation.minimal:
        print("Each of these is needed: without it the verdict would be undecided.")
    else:
        print("The trace is too long to find a minimal set; these are sufficient.")


def _print_occurrences(result: ConstraintResult) -> None:
    """Prints every occurrence of a violation, if there are several."""
    found = result.occurrences
    if len(found) < 2:
        return
    print(f"\nIt is broken {len(found):,} times:")
    for each in found[:_SHOWN]:
        print(wrapped(safe(each.detail), 2))
    if len(found) > _SHOWN:
        print(f"  … and {len(found) - _SHOWN:,} more")


def _print_events(explanation: Explanation, trace: Trace) -> bool:
    """Prints the events that decided the verdict; false if there are none."""
    spoken = "And by these messages:" if explanation.calls else "Decided by these messages:"
    lists = (
        ("Decided by these calls:", _calls(trace, explanation.calls, "#")),
        (spoken, _messages(trace, explanation.messages)),
        (
            "These calls matter only for what they are not:",
            _calls(trace, explanation.absence, "not #"),
        ),
        (
            "These messages matter only for what they are not:",
            _messages(trace, explanation.other_messages, "not "),
        ),
    )
    for title, rows in lists:
        if rows:
            print(title)
            for row in rows[:_SHOWN]:
                print(shortened(row))
            if len(rows) > _SHOWN:
                print(f"  … and {len(rows) - _SHOWN} more")
    return any(rows for _, rows in lists)


def _print_repair(found: Repair) -> None:
    print("\nWhat would have fixed it:")
    for sentence in found.sentences()[:_SHOWN]:
        print(wrapped(safe(sentence), 2))
    if len(found.edits) > _SHOWN:
        print(f"  … and {len(found.edits) - _SHOWN} more")
    print(f"  Cost: {found.cost:g}{'' if found.exact else ' (an upper bound)'}.")


def _calls(trace: Trace, indices: Sequence[int], mark: str) -> list[str]:
    rows = []
    for index in indices:
        if index < len(trace.calls):
            call = trace.calls[index]
            row = f"  {mark}{index + 1} {call.tool} {write_json(dict(call.args))}"
        else:
            row = f"  the final answer: {trace.answer}"
        rows.append(in_line(row.replace("\n", " ")))
    return rows


def _messages(trace: Trace, places: Sequence[int], mark: str = "") -> list[str]:
    said = [trace.events[place] for place in places]
    return [
        in_line(f"  {mark}{message.role}: {write_json(message.text)}")
        for message in said
        if isinstance(message, Message)
    ]
