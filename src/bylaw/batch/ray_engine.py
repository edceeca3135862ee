"""The same pieces on a cluster, with Ray Data: `pip install 'bylaw[ray]'`.

Files are cut by tasks of the cluster and scored by others, so every machine must be able to read
them: from a shared folder, or from storage by an address. Only scores come back to this process,
in order. Ray does the work of a machine that is lost again elsewhere, and pieces do not depend on
who cuts them: the results are those of a run on one machine.
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

from bylaw.batch.extras import needed
from bylaw.batch.pieces import Groups, Limits, Piece, Place, pieces_of
from bylaw.batch.pipeline import Result, packed, scored, unpacked
from bylaw.batch.scorer import Scorer
from bylaw.errors import Diagnostic, UsageError
from bylaw.procedure.procedure import Procedure

_TASKS: Final = 4096
"""Over how many tasks the cutting of files is spread, at most."""


@dataclass(frozen=True, slots=True)
class OnRay:
    """Scores on the cluster that RAY_ADDRESS names, or on a small one made on this machine."""

    jobs: int | None = None
    """How many pieces are scored at once; as many as the cluster has cores by default."""

    def __call__(
        self, groups: Groups, start: Place, procedures: Sequence[Procedure], limits: Limits
    ) -> Iterator[Result]:
        """The results, in order."""
        if any(source.once for group in groups for source in group):
            message = "a cluster cannot read this machine's standard input, nor a pipe"
            raise UsageError(Diagnostic("E402", message, "Name a file, or use --engine local."))
        ray = needed("ray", "--engine ray", "ray")
        needed("ray.data", "--engine ray", "ray")
        if not ray.is_initialized():
            ray.init(log_to_driver=False, logging_level="ERROR")
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        try:
            for row in self._results(ray.data, groups, start, procedures, limits):
                yield pickle.loads(row["result"])
        except ray.exceptions.RayError as error:
            message = f"the cluster gave up: {str(error).strip().splitlines()[-1]}"
            help = "With --out, the same command goes on where this run stopped."
            raise UsageError(Diagnostic("E430", message, help)) from None

    def _results(
        self,
        data: Any,
        groups: Groups,
        start: Place,
        procedures: Sequence[Procedure],
        limits: Limits,
    ) -> Iterator[dict[str, Any]]:
        context = data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        places = [start, *(Place(number) for number in range(start.group + 1, len(groups)))]
        files = [
            {"group": pickle.dumps((groups[place.group], place))}
            for place in places
            if place.group < len(groups)
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
    _go_to(folder)
    group, start = pickle.loads(row["group"])
    for piece in pieces_of(group, start, limits):
        yield {"piece": pickle.dumps(piece)}


def _score(row: dict[str, Any], procedures: bytes, folder: str) -> dict[str, bytes]:
    _go_to(folder)
    piece: Piece = pickle.loads(row["piece"])
    scores = scored(piece.content, _scorers(procedures))
    return {"result": pickle.dumps(Result(piece.place, piece.after, piece.size, scores))}


@lru_cache(maxsize=4)
def _scorers(procedures: bytes) -> list[Scorer]:
    """A process scores many pieces, and reads the procedures once."""
    return unpacked(procedures)


def _go_to(folder: str) -> None:
    """Paths are relative to where the command was given, if this machine has that folder, too."""
    if Path(folder).is_dir():
        os.chdir(folder)
