"""The metrics of a training run: a log in JSON Lines, and the table of its learning curves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from bylaw.errors import Diagnostic, TraceError
from bylaw.opening import read_regular
from bylaw.saved import Damaged, number, table, text, whole
from bylaw.tables import Column, Table
from bylaw.values import Json

METRICS: Final = "metrics.jsonl"
"""The name of the metrics file in the folder of a run."""
TERMS: Final = ("compliance", "answer", "closeness", "reward")
PHASES: Final = ("train", "evaluation")
_POINTS: Final = 11
"""The most points of a curve; each is a mean."""


class MetricsLog:
    """The metrics file of a run. Each entry is written immediately."""

    def __init__(self, path: Path, *, up_to: int | None = None) -> None:
        """With `up_to`, later entries are removed: the run resumes at this step."""
        self._path: Final = path
        before = _rows(path) if up_to is not None and path.exists() else []
        kept = [row for row in before if up_to is not None and row["step"] <= up_to]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(row)}\n" for row in kept), encoding="utf-8")

    def add(self, phase: str, step: int, values: Mapping[str, Json]) -> None:
        """Appends an entry."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"phase": phase, "step": step, **values}) + "\n")


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The rows of a metrics file."""
    try:
        return _rows(path)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        message = "there are no metrics" if missing else f"cannot be read: {error.strerror}"
        raise TraceError(Diagnostic("E310", message, source=str(path))) from None


def _rows(path: Path) -> list[dict[str, Any]]:
    """The complete lines of a file; a killed run may leave an incomplete one."""
    try:
        lines = read_regular(path).splitlines(keepends=True)
        rows = [json.loads(line) for line in lines if line.endswith("\n")]
        odd = next((n for n, row in enumerate(rows, 1) if not _is_metric(row)), None)
    except (ValueError, RecursionError) as error:  # not UTF-8, or not JSON
        raise TraceError(
            Diagnostic("E315", f"not a metrics file: {error}", source=str(path))
        ) from error
    if odd is not None:
        message = f"not a metrics file: unexpected fields in line {odd}"
        raise TraceError(Diagnostic("E315", message, source=str(path)))
    return rows


def _is_metric(row: Any) -> bool:
    try:
        stated = table(row)
        text(stated.get("phase")), whole(stated.get("step"))
        if stated.get("reward") is not None:
            whole(stated.get("after"))
            for term in TERMS:
                if not isfinite(number(stated.get(term))):
                    return False
    except Damaged:
        return False
    return True


def curves(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> Table:
    """The terms of the reward and their total, by optimizer steps."""
    return Table(
        "curves",
        f"Reward while training: {', '.join(runs)}",
        [
            Column("run"),
            Column("phase"),
            Column("after"),
            *(Column(term, "share") for term in TERMS),
        ],
        [[run, *point] for run, rows in runs.items() for point in _points(rows)],
        ["after: optimizer steps; the points of longer runs are means"],
    )


def _points(rows: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    scored = [row for row in rows if row.get("reward") is not None]
    seen = sorted({row["after"] for row in scored})
    size = -(-len(seen) // _POINTS) or 1
    spans = [seen[start : start + size] for start in range(0, len(seen), size)]
    return [
        [phase, f"{span[0]:d}", *(fmean(row[term] for row in group) for term in TERMS)]
        for phase in PHASES
        for span in spans
        if (group := [r for r in scored if r["phase"] == phase and r["after"] in span])
    ]
