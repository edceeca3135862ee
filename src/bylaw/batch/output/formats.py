"""The formats of results files: a row for each trace, and for each unusable record.

| column | is |
| --- | --- |
| `trace` | the record's name: `runs.jsonl:17` |
| `score` | from 0 to 1; null without one |
| `label` | `FULL`, `PARTIAL` or `NONE`; null without a score |
| `calls` | the number of calls; null for an unusable record |
| `violated`, `vacuous`, `undecided` | the names of the rules with this outcome |
| `error` | the reason why the record cannot be used; null otherwise |

Rows are in the order of the corpus, but unusable records follow the traces of their chunk. A file
is written in parts, which are joined at the end: no format can be appended to safely, but whole
files can be put in place.
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

from bylaw.batch.optional import import_extra
from bylaw.batch.scoring.scorer import ERROR, VACUOUS, VIOLATED, Scores, Unusable
from bylaw.errors import Diagnostic, UsageError
from bylaw.procedure.procedure import SCORE_LABELS, Procedure

_OUTCOME_COLUMNS: Final = {"violated": VIOLATED, "vacuous": VACUOUS, "undecided": ERROR}
"""The columns that hold names of rules, and the outcomes of these rules."""


class ResultsFormat(Protocol):
    """A format that rows can be written in."""

    def part(self, chunks: Sequence[Scores], procedure: Procedure) -> bytes:
        """A part with the rows of some chunks. Rows do not depend on which chunks share a part."""
        ...

    def join(self, parts: Sequence[Path], target: Path) -> None:
        """Writes a file with the rows of the parts, in order."""
        ...

    def recognises(self, path: Path) -> bool:
        """Does a file hold rows that this format wrote?"""
        ...


def format_for(path: str) -> ResultsFormat:
    """The format that a file's name ends in."""
    for suffix, format_ in FORMATS.items():
        if path.endswith(suffix):
            return format_
    message = f"'{path}' does not name a format that scores can be written in"
    help = f"End the name in {', '.join(FORMATS)}."
    raise UsageError(Diagnostic("E402", message, help))


def is_results_file(path: Path) -> bool:
    """Is this a file of scores, so that a new one may replace it?"""
    try:
        return path.is_file() and format_for(str(path)).recognises(path)
    except Exception:  # a damaged file of another kind fails in many ways
        return False


def _reason(record: Unusable) -> str:
    return "; ".join(problem.message for problem in record.diagnostics) or "cannot be used"


# ── JSONL ─────────────────────────────────────────────────────────────────────────────────


_SCORED: Final = ["trace", "calls", "score", "label", *_OUTCOME_COLUMNS]
"""The fields of the row of a trace."""
_HEAD: Final = 1 << 16
"""The number of bytes in which the first row of a file is looked for."""


@dataclass(frozen=True, slots=True)
class JsonlFormat:
    """JSONL. Concatenated compressed parts are a compressed file."""

    compression: str | None = None

    def part(self, chunks: Sequence[Scores], procedure: Procedure) -> bytes:
        """One object a line."""
        lines = [line for scores in chunks for line in self._lines(scores, procedure)]
        return self._compressed("".join(f"{line}\n" for line in lines).encode())

    def _lines(self, scores: Scores, procedure: Procedure) -> list[str]:
        values, labels = scores.values, scores.labels
        names = [constraint.name for constraint in procedure.constraints]
        endings: dict[bytes, str] = {}  # many rows have the same outcomes
        lines: list[str] = []
        for row, trace in enumerate(scores.names):
            outcomes = scores.outcomes[row]
            key = outcomes.tobytes()
            if key not in endings:
                rules = {
                    column: [names[n] for n in np.flatnonzero(outcomes == code)]
                    for column, code in _OUTCOME_COLUMNS.items()
                }
                label = SCORE_LABELS[labels[row]]
                score = None if label is None else float(values[row])
                judged = json.dumps({"score": score, "label": label} | rules, ensure_ascii=False)
                endings[key] = judged[1:]
            start = f'{{"trace": {_text(trace)}, "calls": {scores.calls[row]}, '
            lines.append(start + endings[key])
        return lines + [
            f'{{"trace": {_text(each.name)}, "error": {_text(_reason(each))}}}'
            for each in scores.unusable
        ]

    def _compressed(self, text: bytes) -> bytes:
        if self.compression == "gzip":
            return gzip.compress(text, 6, mtime=0)
        if self.compression == "zstd":
            zstandard = import_extra("zstandard", "writing .zst files")
            return bytes(zstandard.ZstdCompressor().compress(text))
        return text

    def recognises(self, path: Path) -> bool:
        """Does the file begin as those that this format writes?"""
        with path.open("rb") as file:
            if self.compression == "gzip":
                start = gzip.GzipFile(fileobj=file).read(_HEAD)
            elif self.compression == "zstd":
                zstandard = import_extra("zstandard", "writing .zst files")
                start = zstandard.ZstdDecompressor().stream_reader(file).read(_HEAD)
            else:
                start = file.read(_HEAD)
        first = json.loads(bytes(start).partition(b"\n")[0])
        return list(first) in (["trace", "error"], _SCORED)

    def join(self, parts: Sequence[Path], target: Path) -> None:
        """Concatenates the parts."""
        with target.open("wb") as whole:
            for part in parts:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, whole)


def _text(text: str) -> str:
    return json.dumps(_plain(text), ensure_ascii=False)


# ── Parquet ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class ParquetFormat:
    """Parquet, with a row group for each part."""

    def part(self, chunks: Sequence[Scores], procedure: Procedure) -> bytes:
        """A complete Parquet file."""
        arrow = import_extra("pyarrow", "writing Parquet")
        parquet = import_extra("pyarrow.parquet", "writing Parquet")
        schema = _schema(arrow)
        tables = [
            arrow.Table.from_arrays(self._columns(arrow, scores, procedure), schema=schema)
            for scores in chunks
        ]
        into = io.BytesIO()
        parquet.write_table(arrow.concat_tables(tables), into, compression="zstd")
        return into.getvalue()

    def _columns(self, arrow: Any, scores: Scores, procedure: Procedure) -> list[Any]:
        rest = len(scores.unusable)
        values, labels = scores.values, scores.labels
        names = arrow.array([constraint.name for constraint in procedure.constraints])
        none = [None] * rest

        def padded(column: Any) -> Any:
            """A column of the traces, and nulls for the unusable records."""
            return arrow.concat_arrays([column, arrow.array(none, column.type)])

        scored = labels != SCORE_LABELS.index(None)
        label = arrow.array([*SCORE_LABELS], arrow.string()).take(arrow.array(labels))
        traces = [*scores.names, *(each.name for each in scores.unusable)]
        return [
            _texts(arrow, traces),
            padded(arrow.array(values, mask=~scored)),
            padded(label),
            padded(arrow.array(scores.calls)),
            *(padded(_names(arrow, scores, names, code)) for code in _OUTCOME_COLUMNS.values()),
            _texts(arrow, [None] * len(scores) + [*map(_reason, scores.unusable)]),
        ]

    def recognises(self, path: Path) -> bool:
        """Does the file have the columns of scores?"""
        arrow = import_extra("pyarrow", "writing Parquet")
        parquet = import_extra("pyarrow.parquet", "writing Parquet")
        return bool(parquet.read_schema(path).names == _schema(arrow).names)

    def join(self, parts: Sequence[Path], target: Path) -> None:
        """Copies the row groups of the parts."""
        arrow = import_extra("pyarrow", "writing Parquet")
        parquet = import_extra("pyarrow.parquet", "writing Parquet")
        with parquet.ParquetWriter(target, _schema(arrow), compression="zstd") as writer:
            for part in parts:
                writer.write_table(parquet.read_table(part))


def _names(arrow: Any, scores: Scores, names: Any, code: int) -> Any:
    """For each trace, the names of the rules with this outcome."""
    found = scores.outcomes == code
    ends = np.concatenate([[0], np.cumsum(found.sum(axis=1))]).astype(np.int32)
    return arrow.ListArray.from_arrays(arrow.array(ends), names.take(np.nonzero(found)[1]))


def _texts(arrow: Any, texts: Sequence[str | None]) -> Any:
    """A column of text; characters without a UTF-8 form are escaped with backslashes."""
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
            *((column, arrow.list_(text)) for column in _OUTCOME_COLUMNS),
            ("error", text),
        ]
    )


FORMATS: Final[dict[str, ResultsFormat]] = {
    ".jsonl": JsonlFormat(),
    ".jsonl.gz": JsonlFormat("gzip"),
    ".jsonl.zst": JsonlFormat("zstd"),
    ".parquet": ParquetFormat(),
}
"""The formats by the suffix of the file's name."""
