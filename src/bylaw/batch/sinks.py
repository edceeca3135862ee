"""Scores as files: a row for each trace, and for each record that could not be used.

| column | is |
| --- | --- |
| `trace` | the record's name: `runs.jsonl:17` |
| `score` | from 0 to 1; null without one |
| `label` | `FULL`, `PARTIAL` or `NONE`; null without a score |
| `calls` | how many calls the trace has; null for an unusable record |
| `violated`, `vacuous`, `undecided` | the names of the rules that were |
| `error` | why the record could not be used; null otherwise |

Rows are in the order of the corpus, but unusable records follow the traces of their piece. A file
is written in parts, which are joined when all are there: no kind of file can be appended to safely,
but whole files can be put in place.
"""

from __future__ import annotations

import gzip
import io
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from bylaw.batch.extras import needed
from bylaw.batch.scores import ERROR, LABELS, VACUOUS, VIOLATED, Scores, Unusable
from bylaw.errors import Diagnostic, UsageError
from bylaw.procedure.procedure import Procedure

_NAMED: Final = {"violated": VIOLATED, "vacuous": VACUOUS, "undecided": ERROR}
"""The columns that hold names of rules, and the outcome they are about."""


class Sink(Protocol):
    """A kind of file."""

    def part(self, pieces: Sequence[Scores], procedure: Procedure) -> bytes:
        """A file with the rows of some pieces. Which pieces share a part shows in no row."""
        ...

    def join(self, parts: Sequence[Path], target: Path) -> None:
        """A file with the rows of these, in order."""
        ...


def sink_for(path: str) -> Sink:
    """The kind of file that a name asks for."""
    for ending, sink in SINKS.items():
        if path.endswith(ending):
            return sink
    message = f"'{path}' is of no kind that scores are written to"
    help = f"Let it end in {', '.join(SINKS)}."
    raise UsageError(Diagnostic("E402", message, help))


def _reason(record: Unusable) -> str:
    return "; ".join(problem.message for problem in record.diagnostics) or "cannot be used"


# ── JSONL ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class JsonLines:
    """JSONL; compressed parts behind each other are a compressed file, too."""

    compression: str | None = None

    def part(self, pieces: Sequence[Scores], procedure: Procedure) -> bytes:
        """One object a line."""
        lines = [line for scores in pieces for line in self._lines(scores, procedure)]
        return self._packed("".join(f"{line}\n" for line in lines).encode())

    def _lines(self, scores: Scores, procedure: Procedure) -> list[str]:
        values, labels = scores.values(procedure), scores.labels()
        names = [constraint.name for constraint in procedure.constraints]
        endings: dict[bytes, str] = {}  # few rows differ in their verdicts
        lines: list[str] = []
        for row, trace in enumerate(scores.names):
            outcomes = scores.outcomes[row]
            key = outcomes.tobytes()
            if key not in endings:
                told = {
                    column: [names[n] for n in np.flatnonzero(outcomes == code)]
                    for column, code in _NAMED.items()
                }
                label = LABELS[labels[row]]
                score = None if label is None else float(values[row])
                judged = json.dumps({"score": score, "label": label} | told, ensure_ascii=False)
                endings[key] = judged[1:]
            start = f'{{"trace": {_text(trace)}, "calls": {scores.calls[row]}, '
            lines.append(start + endings[key])
        return lines + [
            f'{{"trace": {_text(each.name)}, "error": {_text(_reason(each))}}}'
            for each in scores.unusable
        ]

    def _packed(self, text: bytes) -> bytes:
        if self.compression == "gzip":
            return gzip.compress(text, 6, mtime=0)
        if self.compression == "zstd":
            zstandard = needed("zstandard", "writing .zst files")
            return bytes(zstandard.ZstdCompressor().compress(text))
        return text

    def join(self, parts: Sequence[Path], target: Path) -> None:
        """The parts behind each other."""
        with target.open("wb") as whole:
            for part in parts:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, whole)


def _text(text: str) -> str:
    return json.dumps(_plain(text), ensure_ascii=False)


# ── Parquet ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Parquet:
    """Parquet, a row group for each part."""

    def part(self, pieces: Sequence[Scores], procedure: Procedure) -> bytes:
        """A whole Parquet file."""
        arrow = needed("pyarrow", "writing Parquet")
        parquet = needed("pyarrow.parquet", "writing Parquet")
        schema = _schema(arrow)
        tables = [
            arrow.Table.from_arrays(self._columns(arrow, scores, procedure), schema=schema)
            for scores in pieces
        ]
        into = io.BytesIO()
        parquet.write_table(arrow.concat_tables(tables), into, compression="zstd")
        return into.getvalue()

    def _columns(self, arrow: Any, scores: Scores, procedure: Procedure) -> list[Any]:
        rest = len(scores.unusable)
        values, labels = scores.values(procedure), scores.labels()
        names = arrow.array([constraint.name for constraint in procedure.constraints])
        none = [None] * rest

        def followed(column: Any) -> Any:
            """A column of the traces, and nulls for the unusable records."""
            return arrow.concat_arrays([column, arrow.array(none, column.type)])

        scored = labels != LABELS.index(None)
        label = arrow.array([*LABELS], arrow.string()).take(arrow.array(labels))
        traces = [*scores.names, *(each.name for each in scores.unusable)]
        return [
            _texts(arrow, traces),
            followed(arrow.array(values, mask=~scored)),
            followed(label),
            followed(arrow.array(scores.calls)),
            *(followed(_names(arrow, scores, names, code)) for code in _NAMED.values()),
            _texts(arrow, [None] * len(scores) + [*map(_reason, scores.unusable)]),
        ]

    def join(self, parts: Sequence[Path], target: Path) -> None:
        """The row groups of the parts."""
        arrow = needed("pyarrow", "writing Parquet")
        parquet = needed("pyarrow.parquet", "writing Parquet")
        with parquet.ParquetWriter(target, _schema(arrow), compression="zstd") as writer:
            for part in parts:
                writer.write_table(parquet.read_table(part))


def _names(arrow: Any, scores: Scores, names: Any, code: int) -> Any:
    """For each trace, the names of the rules with an outcome."""
    found = scores.outcomes == code
    ends = np.concatenate([[0], np.cumsum(found.sum(axis=1))]).astype(np.int32)
    return arrow.ListArray.from_arrays(arrow.array(ends), names.take(np.nonzero(found)[1]))


def _texts(arrow: Any, texts: Sequence[str | None]) -> Any:
    """A column of text; what has no UTF-8 form is written with backslashes."""
    try:
        return arrow.array(texts, arrow.string())
    except UnicodeEncodeError:
        return arrow.array([text and _plain(text) for text in texts], arrow.string())


def _plain(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _schema(arrow: Any) -> Any:
    text = arrow.string()
    return arrow.schema(
        [
            ("trace", text),
            ("score", arrow.float64()),
            ("label", text),
            ("calls", arrow.int64()),
            *((column, arrow.list_(text)) for column in _NAMED),
            ("error", text),
        ]
    )


SINKS: Final[dict[str, Sink]] = {
    ".jsonl": JsonLines(),
    ".jsonl.gz": JsonLines("gzip"),
    ".jsonl.zst": JsonLines("zstd"),
    ".parquet": Parquet(),
}
"""The kinds of file, by what a name ends in."""
