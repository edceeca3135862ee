"""The DECLARE rules that pm4py and Declare4Py know too, and their verdicts on them.

Both read logs in XES. Only templates on which all agree are here: pm4py reads "not succession"
otherwise than its definition (it lets `b` follow an `a` if another `a` comes later).
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

try:
    with contextlib.redirect_stdout(io.StringIO()):  # it greets
        import pandas
        import pm4py
        from Declare4Py.D4PyEventLog import D4PyEventLog
        from Declare4Py.ProcessMiningTasks.ConformanceChecking.MPDeclareAnalyzer import (
            MPDeclareAnalyzer,
        )
        from Declare4Py.ProcessModels.DeclareModel import DeclareModel
except ImportError:
    pm4py = None

INSTALL: Final = (
    "pm4py and Declare4Py are not installed, so they are not compared.\n"
    "To compare, run: pip install pm4py Declare4Py"
)

TEMPLATES: Final = {
    "existence": "Called(A)",
    "absence": "!Called(A)",
    "exactly_one": "CalledN(A, = 1)",
    "responded_existence": "Called(A) -> Called(B)",
    "coexistence": "Called(A) <-> Called(B)",
    "response": "G(A -> F B)",
    "precedence": "!B W A",
    "succession": "G(A -> F B) & (!B W A)",
    "altresponse": "G(A -> X(!A U B))",
    "altprecedence": "(!B W A) & G(B -> WX(!B W A))",
    "chainresponse": "G(A -> X B)",
    "chainprecedence": "G(B -> Y A)",
    "noncoexistence": "!(Called(A) & Called(B))",
}
"""The name of a template in pm4py, and the equivalent rule."""
_OF_ONE: Final = ("existence", "absence", "exactly_one")
IN_DECLARE4PY: Final = {
    "existence": "Existence1",
    "absence": "Absence1",
    "exactly_one": "Exactly1",
    "responded_existence": "Responded Existence",
    "response": "Response",
    "precedence": "Precedence",
    "altresponse": "Alternate Response",
    "altprecedence": "Alternate Precedence",
    "chainresponse": "Chain Response",
    "chainprecedence": "Chain Precedence",
}
"""The same templates by the names of Declare4Py, which has no others of them."""

Rule = tuple[str, str, str]
"""A template and two activities."""


def rules(count: int) -> list[Rule]:
    """The given number of rules, each template with several pairs of activities."""
    templates = list(TEMPLATES)
    return [
        (templates[n % len(templates)], f"a_{n % 10}", f"{'bc'[n // 13 % 2]}_{n * 3 % 10}")
        for n in range(count)
    ]


def text(rule: Rule) -> str:
    """The rule as Bylaw writes it."""
    template, first, second = rule
    return re.sub(r"\b[AB]\b", lambda m: first if m[0] == "A" else second, TEMPLATES[template])


def available() -> bool:
    """Can the comparison be made? Says what to install if not."""
    if pm4py is None:
        print(INSTALL)
    return pm4py is not None


def write(traces: Sequence[Sequence[str]], path: str) -> None:
    """Writes the traces as a log in XES."""
    begun = pandas.Timestamp(2026, 1, 1)
    rows = [
        (f"{number:09d}", name, begun + pandas.Timedelta(seconds=at))
        for number, names in enumerate(traces)
        for at, name in enumerate(names)
    ]
    columns = ["case:concept:name", "concept:name", "time:timestamp"]
    with _quietly():
        pm4py.write_xes(pandas.DataFrame(rows, columns=columns), path)


@dataclass(frozen=True)
class Measured:
    """A peer's answers, and its time."""

    verdicts: list[list[bool]]
    """For each trace and rule, does the rule hold?"""
    reading: float
    """Seconds for the log."""
    checking: float
    """Seconds for the rules."""


def by_pm4py(path: str, listed: Sequence[Rule]) -> Measured:
    """The verdicts of pm4py."""
    model: dict[str, dict[Any, dict[str, float]]] = {}
    for rule in listed:
        model.setdefault(rule[0], {})[_key(rule)] = {"support": 1.0, "confidence": 1.0}
    with _quietly():
        begun = perf_counter()
        log = pm4py.read_xes(path)
        read = perf_counter()
        judged = pm4py.conformance_declare(log, model)
        done = perf_counter()
    broken = [{(template, key) for template, key in each["deviations"]} for each in judged]
    verdicts = [[(rule[0], _key(rule)) not in found for rule in listed] for found in broken]
    return Measured(verdicts, read - begun, done - read)


def by_declare4py(path: str, listed: Sequence[Rule], names: Sequence[str]) -> Measured:
    """The verdicts of Declare4Py."""
    lines = [f"activity {name}" for name in names]
    for template, first, second in listed:
        one = template in _OF_ONE
        operands, conditions = (first, "| |") if one else (f"{first}, {second}", "| | |")
        lines.append(f"{IN_DECLARE4PY[template]}[{operands}] {conditions}")
    with _quietly():
        model = DeclareModel().parse_from_string("\n".join(lines))
        begun = perf_counter()
        log = D4PyEventLog(case_name="case:concept:name")
        log.parse_xes_log(path)
        read = perf_counter()
        checked = MPDeclareAnalyzer(log=log, declare_model=model, consider_vacuity=True).run()
        done = perf_counter()
    states = checked.get_metric(metric="state").to_numpy()
    return Measured([[bool(state) for state in row] for row in states], read - begun, done - read)


def _key(rule: Rule) -> Any:
    template, first, second = rule
    return first if template in _OF_ONE else (first, second)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without bars and warnings."""
    with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
