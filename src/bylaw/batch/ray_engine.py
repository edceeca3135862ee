"""Scores a corpus on a cluster, with Ray Data: `pip install 'bylaw[ray]'`.

Tasks of the cluster cut the files into chunks and score them, so every machine must be able to
read the files: from a shared folder, or from storage by an address. Only scores return to this
process, in order. Ray repeats the work of a lost machine elsewhere, and the same corpus is always
cut in the same way: the results are those of a run on one machine.
"""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from bylaw.batch.corpus import ChunkScores, packed, score_content, unpacked
from bylaw.batch.input.chunks import Chunk, Cursor, Limits, chunks_of
from bylaw.batch.input.files import FileGroups
from bylaw.batch.optional import import_extra
from bylaw.batch.scoring.scorer import Scorer
from bylaw.errors import Diagnostic, UsageError
from bylaw.procedure.procedure import Procedure

_TASKS: Final = 4096
"""The largest number of tasks that cut files into chunks."""


@dataclass(frozen=True, slots=True)
class RayEngine:
    """Scores on the cluster that RAY_ADDRESS names, or on a small one started on this machine."""

    jobs: int | None = None
    """The number of chunks that are scored at once; by default, the cluster's number of cores."""

    def __call__(
        self, groups: FileGroups, start: Cursor, procedures: Sequence[Procedure], limits: Limits
    ) -> Iterator[ChunkScores]:
        """The chunks, in order."""
        if any(source.once for group in groups for source in group):
            message = "a cluster cannot read this machine's standard input or pipes"
            raise UsageError(Diagnostic("E402", message, "Name a file, or use --engine local."))
        ray = import_extra("ray", "--engine ray", "ray")
        import_extra("ray.data", "--engine ray", "ray")
        if not ray.is_initialized():
            ray.init(log_to_driver=False, logging_level="ERROR")
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        try:
            for row in self._results(ray.data, groups, start, procedures, limits):
                yield pickle.loads(row["result"])
        except ray.exceptions.RayError as error:
            message = f"the cluster failed: {str(error).strip().splitlines()[-1]}"
            help = "With --out, the same command resumes this run."
            raise UsageError(Diagnostic("E430", message, help)) from None

    def _results(
        self,
        data: Any,
        groups: FileGroups,
        start: Cursor,
        procedures: Sequence[Procedure],
        limits: Limits,
    ) -> Iterator[dict[str, Any]]:
        context = data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        cursors = [start, *(Cursor(number) for number in range(start.group + 1, len(groups)))]
        files = [
            {"group": pickle.dumps((groups[cursor.group], cursor))}
            for cursor in cursors
            if cursor.group < len(groups)
        ]
        if not files:
            return
        here = str(Path.cwd())
        work = (
            data.from_items(files, override_num_blocks=min(len(files), _TASKS))
            .flat_map(_cut, fn_args=(limits, here))
            .repartition(target_num_rows_per_block=1)
            .map(_score, fn_args=(packed(procedures), here), concurrency=self.jobs)
        )
        yield from work.iter_rows()


# ── on the cluster ────────────────────────────────────────────────────────────────────────


def _cut(row: dict[str, Any], limits: Limits, folder: str) -> Iterator[dict[str, bytes]]:
    _enter(folder)
    group, start = pickle.loads(row["group"])
    for chunk in chunks_of(group, start, limits):
        yield {"chunk": pickle.dumps(chunk)}


def _score(row: dict[str, Any], procedures: bytes, folder: str) -> dict[str, bytes]:
    _enter(folder)
    chunk: Chunk = pickle.loads(row["chunk"])
    scores = score_content(chunk.content, _scorers(procedures))
    return {"result": pickle.dumps(ChunkScores.of(chunk, scores))}


@lru_cache(maxsize=4)
def _scorers(procedures: bytes) -> list[Scorer]:
    """A process scores many chunks, and unpacks the procedures once."""
    return unpacked(procedures)


def _enter(folder: str) -> None:
    """Makes paths relative to the folder of the command, if this machine has it."""
    if Path(folder).is_dir():
        os.chdir(folder)
