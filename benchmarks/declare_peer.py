"""The DECLARE rules that pm4py knows too, and its verdicts on them.

Only templates on which both agree are here. pm4py reads "not succession" otherwise than its
definition (it lets `b` follow an `a` if another `a` comes later), so that one is left out.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Sequence
from typing import Any, Final

try:
    with contextlib.redirect_stdout(io.StringIO()):  # it greets
        import pandas
        import pm4py
except ImportError:
    pm4py = None

INSTALL: Final = "pm4py is not installed, so it is not compared. To compare: pip install pm4py"

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
"""What pm4py calls a template, and the rule that says the same."""
_OF_ONE: Final = ("existence", "absence", "exactly_one")

Rule = tuple[str, str, str]
"""A template and two activities."""


def rules(count: int) -> list[Rule]:
    """So many rules, each template with several pairs of activities."""
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


def log(traces: Sequence[Sequence[str]]) -> Any:
    """The traces as pm4py wants them."""
    begun = pandas.Timestamp(2026, 1, 1)
    rows = [
        (f"{number:09d}", name, begun + pandas.Timedelta(seconds=at))
        for number, names in enumerate(traces)
        for at, name in enumerate(names)
    ]
    columns = ["case:concept:name", "concept:name", "time:timestamp"]
    return pandas.DataFrame(rows, columns=columns)


def model(listed: Sequence[Rule]) -> dict[str, dict[Any, dict[str, float]]]:
    """The rules as a DECLARE model of pm4py."""
    found: dict[str, dict[Any, dict[str, float]]] = {}
    for template, first, second in listed:
        key = first if template in _OF_ONE else (first, second)
        found.setdefault(template, {})[key] = {"support": 1.0, "confidence": 1.0}
    return found


def verdicts(log: Any, model: Any, listed: Sequence[Rule]) -> list[list[bool]]:
    """Whether each rule holds in each trace."""
    with contextlib.redirect_stderr(io.StringIO()):  # it draws a bar
        judged = pm4py.conformance_declare(log, model)
    broken = [{(template, key) for template, key in each["deviations"]} for each in judged]
    return [
        [(t, a if t in _OF_ONE else (a, b)) not in found for t, a, b in listed] for found in broken
    ]
