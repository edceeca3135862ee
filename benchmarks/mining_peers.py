"""Rules about tools alone, as pm4py, Declare4Py and scarlet discover them, in Bylaw's language.

pm4py and Declare4Py learn from good runs only; scarlet finds one formula that tells good runs from
bad ones, or none in the time that it is given.
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from declare_peer import IN_DECLARE4PY, TEMPLATES

from bylaw import Trace

Miner: TypeAlias = Callable[[list[Trace], list[Trace]], list[str]]
_SECONDS: Final = 60
"""The time that scarlet is given."""
_TWO_WAY: Final = ("succession", "coexistence")
"""Templates that state two rules at once; each is compared by itself, too."""


def available() -> list[str]:
    """The miners that are installed."""
    found = []
    for name, module in (("pm4py", "pm4py"), ("Declare4Py", "Declare4Py"), ("scarlet", "Scarlet")):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(ImportError):
            __import__(module)
            found.append(name)
    return found


def by_pm4py(good: list[Trace], bad: list[Trace]) -> list[str]:
    """The rules that pm4py discovers in the good runs."""
    with _quietly():
        import pm4py

        model = pm4py.discover_declare(_frame(good))
    rules = []
    for template, found in model.items():
        if template in TEMPLATES:
            for key in found:
                tools = (key, "") if isinstance(key, str) else key
                rules.append(_text(TEMPLATES[template], *tools))
    return rules


def by_declare4py(good: list[Trace], bad: list[Trace]) -> list[str]:
    """The rules that Declare4Py discovers in the good runs."""
    templates = {name: template for template, name in IN_DECLARE4PY.items()}
    with _quietly(), tempfile.TemporaryDirectory() as folder:
        import pm4py
        from Declare4Py.D4PyEventLog import D4PyEventLog
        from Declare4Py.ProcessMiningTasks.Discovery.DeclareMiner import DeclareMiner

        path = str(Path(folder) / "log.xes")
        pm4py.write_xes(_frame(good), path)
        log = D4PyEventLog(case_name="case:concept:name")
        log.parse_xes_log(path)
        mined = DeclareMiner(
            log=log, consider_vacuity=False, min_support=0.95, max_declare_cardinality=1
        ).run()
    rules = []
    for line in mined.serialized_constraints:
        template, operands = re.fullmatch(r"(.*?)\[(.*?)\].*", line).groups()  # type: ignore[union-attr]  # its form
        if template in templates:
            tools = [each.strip() for each in operands.split(",")]
            rules.append(_text(TEMPLATES[templates[template]], *tools, *[""] * (2 - len(tools))))
    return rules


MINERS: Final[dict[str, Miner]] = {"pm4py": by_pm4py, "Declare4Py": by_declare4py}


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
