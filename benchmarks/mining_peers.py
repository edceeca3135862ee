"""Rules about tools alone, as pm4py, Declare4Py and scarlet discover them, in Bylaw's language.

pm4py and Declare4Py learn from good runs only; scarlet finds one formula that tells good runs from
bad ones, the best of those that it has met when its time is up.
"""

from __future__ import annotations

import contextlib
import csv
import io
import logging
import re
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from declare_peer import IN_DECLARE4PY, TEMPLATES
from mining_process import Miner

from bylaw import Trace, parse
from bylaw.logic.formula import And, Formula
from bylaw.syntax.printer import to_text

_WAIT: Final = 3600
"""The seconds after which scarlet would end itself; its processor time is limited before."""
_SUPPORT: Final = 0.2
_CONFIDENCE: Final = 0.95
"""The share of good runs that a rule concerns, and of those that keep it."""
_NEGATIVE: Final = {
    "nonsuccession": "G(A -> !F B)",
    "nonchainsuccession": "G(A -> !X B)",
    "Not Response": "G(A -> !F B)",
    "Not Precedence": "G(B -> !O A)",
    "Not Responded Existence": "!(Called(A) & Called(B))",
    "Not Chain Response": "G(A -> !X B)",
    "Not Chain Precedence": "G(B -> !Y A)",
}
"""Templates of either that forbid something, and their meaning."""
_NOISE: Final = 0.05
"""The share of runs that scarlet's formula may get wrong."""


def available() -> dict[str, Miner]:
    """The miners that are installed."""
    found = {}
    for name, module in (("pm4py", "pm4py"), ("Declare4Py", "Declare4Py"), ("scarlet", "Scarlet")):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(ImportError):
            __import__(module)
            found[name] = MINERS[name]
    return found


def by_pm4py(good: list[Trace], bad: list[Trace]) -> list[str]:
    """The rules that pm4py discovers in the good runs."""
    with _quietly():
        import pm4py

        levels = {"min_support_ratio": _SUPPORT, "min_confidence_ratio": _CONFIDENCE}
        model = pm4py.discover_declare(_frame(good), **levels)
    rules = []
    for template, found in model.items():
        if rule := (TEMPLATES | _NEGATIVE).get(template):
            for key in found:
                tools = (key, "") if isinstance(key, str) else key
                rules.append(_text(rule, *tools))
    return rules


def by_declare4py(good: list[Trace], bad: list[Trace]) -> list[str]:
    """The rules that Declare4Py discovers in the good runs."""
    templates = {name: TEMPLATES[template] for template, name in IN_DECLARE4PY.items()}
    templates |= _NEGATIVE
    with _quietly(), tempfile.TemporaryDirectory() as folder:
        import pm4py
        from Declare4Py.D4PyEventLog import D4PyEventLog
        from Declare4Py.ProcessMiningTasks.Discovery.DeclareMiner import DeclareMiner

        path = str(Path(folder) / "log.xes")
        pm4py.write_xes(_frame(good), path)
        log = D4PyEventLog(case_name="case:concept:name")
        log.parse_xes_log(path)
        mined = DeclareMiner(
            log=log,
            consider_vacuity=True,  # else it finds next to nothing
            min_support=_CONFIDENCE,
            itemsets_support=_SUPPORT,
            max_declare_cardinality=1,
        ).run()
    rules = []
    for line in mined.serialized_constraints:
        template, operands = re.fullmatch(r"(.*?)\[(.*?)\].*", line).groups()  # type: ignore[union-attr]  # its form
        if template in templates:
            tools = [each.strip() for each in operands.split(",")]
            rules.append(_text(templates[template], *tools, *[""] * (2 - len(tools))))
    return rules


def by_scarlet(good: list[Trace], bad: list[Trace]) -> list[str]:
    """The formula that scarlet finds in its time, each of its conjuncts a rule."""
    tools = sorted({call.tool for trace in (*good, *bad) for call in trace.calls})
    with _quietly(), tempfile.TemporaryDirectory() as folder:
        from Scarlet.ltllearner import LTLlearner

        runs, found = Path(folder) / "runs.trace", Path(folder) / "found.csv"
        lines = ["\n".join(_one_hot(trace, tools) for trace in some) for some in (good, bad)]
        runs.write_text("\n---\n".join([*lines, "F,G,X,!,&,|", ",".join(tools)]))
        logging.disable(logging.CRITICAL)
        options = {"timeout": _WAIT, "verbosity": 0, "csvname": str(found), "thres": _NOISE}
        LTLlearner(input_file=str(runs), **options).learn()
        rows = list(csv.reader(found.open(encoding="utf-8")))
    return [to_text(part) for part in _conjuncts(parse(rows[-1][2]))] if len(rows) > 1 else []


def _one_hot(trace: Trace, tools: Sequence[str]) -> str:
    return ";".join(",".join(str(int(call.tool == tool)) for tool in tools) for call in trace.calls)


def _conjuncts(formula: Formula) -> list[Formula]:
    return list(formula.operands) if isinstance(formula, And) else [formula]


MINERS: Final[dict[str, Miner]] = {
    "pm4py": by_pm4py,
    "Declare4Py": by_declare4py,
    "scarlet": by_scarlet,
}


def _text(rule: str, first: str, second: str) -> str:
    return re.sub(r"\b[AB]\b", lambda found: first if found[0] == "A" else second, rule)


def _frame(traces: Sequence[Trace]) -> Any:
    import pandas

    begun = pandas.Timestamp(2026, 1, 1)
    rows = [
        (f"{number:09d}", call.tool, begun + pandas.Timedelta(seconds=at))
        for number, trace in enumerate(traces)
        for at, call in enumerate(trace.calls)
    ]
    columns = ["case:concept:name", "concept:name", "time:timestamp"]
    return pandas.DataFrame(rows, columns=columns)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without greetings, bars and warnings."""
    quiet = io.StringIO()
    with (
        contextlib.redirect_stdout(quiet),
        contextlib.redirect_stderr(quiet),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield
