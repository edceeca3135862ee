"""The object behind the fixture `bylaw`: runs of an agent under test, and assertions on rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from bylaw.argument_types import expect
from bylaw.enforcement.guard import Guard
from bylaw.errors import Diagnostic, UsageError, clipped
from bylaw.procedure.procedure import Procedure
from bylaw.scoring.verify import ConstraintResult, Report, verify_trace
from bylaw.semantics.verdict import Outcome
from bylaw.terminal import counted, in_line, score_text
from bylaw.trace.files import Entry
from bylaw.trace.refusal import Refusal
from bylaw.trace.trace import Trace
from bylaw.values import write_json

MAX_CALLS: Final = 40
"""The most calls that a message lists."""
MAX_ARGUMENTS: Final = 200
"""The most characters of a call's arguments that a message shows."""


class ProcedureCheck:
    """Checks what an agent did in one test against a procedure.

    `guard` makes a guard that refuses calls, `record` one that only records them; the agent under
    test runs behind it. `check` asserts that the rules hold in every such run, or in the trace that
    the marker names. Runs that a test does not check itself are checked when it ends.
    """

    def __init__(
        self,
        procedure: Procedure | None = None,
        *,
        entry: Entry | None = None,
        folder: Path | None = None,
        note: Callable[[Report], None] = lambda report: None,
    ) -> None:
        self._procedure = procedure
        self._entry: Final = entry
        self._folder: Final = folder or Path()
        self._note: Final = note
        self._guards: Final[list[Guard]] = []
        self._reports: list[Report] = []
        self._checked = False

    def __repr__(self) -> str:
        runs = len(self._guards) + len(self._reports)
        return f"<bylaw fixture, {counted(runs, 'run')}>"

    # ── the procedure ────────────────────────────────────────────────────────────────────

    @property
    def procedure(self) -> Procedure:
        """The procedure that the marker, or `use`, names."""
        if self._procedure is None:
            help = 'Mark the test: @pytest.mark.bylaw("procedure.yaml"), or call bylaw.use(…).'
            raise UsageError(Diagnostic("E414", "the test names no procedure", help))
        return self._procedure

    def use(self, procedure: Procedure | str | Path) -> Procedure:
        """Checks against this procedure, or the one in this file, from now on."""
        if isinstance(procedure, str | Path):
            procedure = Procedure.load(self._folder / procedure)
        expect(procedure, Procedure, "a procedure", "Give a Procedure, or the path of its file.")
        self._procedure = procedure
        return procedure

    # ── runs ─────────────────────────────────────────────────────────────────────────────

    def guard(self, **options: Any) -> Guard:
        """A guard for one run of the agent. The options are those of `Guard`."""
        guard = Guard(self.procedure, **{"max_trace": None, **options})
        self._guards.append(guard)
        self._checked = False
        return guard

    def record(self, **options: Any) -> Guard:
        """A guard that refuses nothing: the run is recorded, to be checked afterwards."""
        return self.guard(**{"setting": "baseline", "unenforceable": "score", **options})

    @property
    def trace(self) -> Trace:
        """The only trace of the test: that of the marker, or of its only run."""
        return self.report.trace

    @property
    def report(self) -> Report:
        """The report on the only trace of the test."""
        reports = self.reports()
        if len(reports) != 1:
            help = "Use `reports()`, or make one guard in the test."
            message = f"the test has {len(reports)} runs, not one"
            raise UsageError(Diagnostic("E414", message, help))
        return reports[0]

    @property
    def refused(self) -> list[Refusal]:
        """The calls that the guards of this test refused."""
        return [each for report in self.reports() for each in report.trace.refusals]

    def reports(self) -> list[Report]:
        """A report on each run, which ends with that, and on the marker's trace."""
        if self._entry is not None and not self._reports:
            self._add(self._entry.required())
        for guard in self._guards:
            report = guard.report or guard.finish()
            assert report.trace is not None, "the trace is kept"
            self._add(report.trace)
        self._guards.clear()
        return self._reports

    def _add(self, trace: Trace) -> None:
        report = verify_trace(trace, self.procedure)
        self._reports.append(report)
        self._note(report)

    # ── assertions ───────────────────────────────────────────────────────────────────────

    def check(self, *rules: str, trace: Trace | None = None, score: float | None = None) -> None:
        """Asserts that these rules hold in every run; without names, that all do.

        With `trace`, only this trace is checked. With `score`, the score must not be below it, and
        rules may be violated.
        """
        __tracebackhide__ = True
        self._checked = True
        for name in rules:
            self.procedure[name]  # an unknown name is an error, not a rule that holds
        if trace is not None:
            reports = [verify_trace(trace, self.procedure)]
            self._note(reports[0])
        else:
            reports = self.reports()
        if not reports:
            help = "Run the agent behind bylaw.guard() or bylaw.record(), or give a trace."
            raise UsageError(Diagnostic("E414", "the test has no run to check", help))
        for report in reports:
            if problem := complaint(report, rules, score):
                raise AssertionError(problem)

    def check_rest(self) -> None:
        """Checks the runs that the test has not checked or looked at itself."""
        __tracebackhide__ = True
        if self._guards or (self._entry is not None and not (self._checked or self._reports)):
            self.check()


def complaint(report: Report, rules: Sequence[str], score: float | None) -> str | None:
    """The message of a failed assertion; None if it does not fail."""
    judged = [each for each in report.constraints if not rules or each.name in rules]
    broken = [each for each in judged if each.outcome in (Outcome.VIOLATED, Outcome.ERROR)]
    if score is not None:
        if report.score is not None and report.score >= score:
            return None
        head = f"the score {score_text(report.score)} is below {score_text(score)}"
    elif broken:
        head = f"{len(broken)} of {len(judged)} rules violated"
    else:
        return None
    name = f" in {in_line(report.trace.name)}" if report.trace.name else ""
    lines = [f"{in_line(report.procedure.name)}: {head}{name}"]
    for result in broken:
        lines += ["", *_rule_lines(result)]
    marked = {number for result in broken for number in result.witness}
    return "\n".join([*lines, "", *_call_lines(report.trace, marked)])


def _rule_lines(result: ConstraintResult) -> Iterator[str]:
    yield in_line(f"{result.name}: {result.detail}")
    for label, text in (("why", result.constraint.why), ("fix", result.constraint.fix)):
        if text:
            yield in_line(f"  {label}: {text}")
    more = len(result.occurrences) - 1
    if more > 0:
        yield f"  and {more} more of the same rule"


def _call_lines(trace: Trace, marked: set[int]) -> Iterator[str]:
    """The calls, those to look at marked with `>`; of a long run, the ones around them."""
    shown = set(range(len(trace.calls)))
    if len(shown) > MAX_CALLS:
        around = {at for number in marked for at in range(number - 2, number + 3)}
        shown = set(sorted(shown & around)[:MAX_CALLS])
    last = -1
    for number in sorted(shown):
        if number > last + 1:
            yield "    …"
        call, last = trace.calls[number], number
        arguments = clipped(write_json(dict(call.args)), MAX_ARGUMENTS) if call.args else ""
        yield in_line(f"  {'>' if number in marked else ' '} #{number + 1} {call.tool} {arguments}")
    if last + 1 < len(trace.calls):
        yield "    …"
    for refusal in trace.refusals[:MAX_CALLS]:
        yield in_line(
            f"    refused: {refusal.call.tool}, {clipped(refusal.message, MAX_ARGUMENTS)}"
        )
