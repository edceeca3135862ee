"""The pieces of a corpus, scored on several processes, and given back in order.

Few pieces are under way at any time, so memory does not grow with the corpus. The processes end
when this one does, however that comes; if one of them dies, the run ends with an error.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import get_all_start_methods, get_context, parent_process
from typing import Final, Protocol

from bylaw.batch.contents import Content
from bylaw.batch.pieces import Files, Groups, Limits, Piece, Place, pieces
from bylaw.batch.scorer import Scorer
from bylaw.batch.scores import Scores
from bylaw.errors import Diagnostic, UsageError
from bylaw.procedure.procedure import Procedure

_AHEAD: Final = 3
"""How many pieces are under way for each process."""
# Processes that are forked off this one would inherit the threads' locks, but not the threads. They
# are forked off one that has loaded what they need, and nothing else: it is in memory once.
_METHOD: Final = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"


@dataclass(frozen=True, slots=True)
class Result:
    """The scores of one piece, under each procedure."""

    place: Place
    after: Place
    size: int
    scores: tuple[Scores, ...]


class Engine(Protocol):
    """Whoever scores a corpus from some place on, and gives the results in order."""

    def __call__(
        self, groups: Groups, start: Place, procedures: Sequence[Procedure], limits: Limits
    ) -> Iterator[Result]: ...


@dataclass(frozen=True, slots=True)
class Local:
    """Scores on this machine. One job is done in this process."""

    jobs: int

    def __call__(
        self, groups: Groups, start: Place, procedures: Sequence[Procedure], limits: Limits
    ) -> Iterator[Result]:
        """The results, in order."""
        work = pieces(groups, start, limits)
        begun = list(islice(work, 2))
        work = chain(begun, work)
        if self.jobs > 1 and len(begun) > 1:
            yield from self._shared_out(work, procedures)
            return
        scorers = scorers_for(procedures)
        for piece in work:
            yield _result(piece, scored(piece.content, scorers))

    def _shared_out(
        self, work: Iterator[Piece], procedures: Sequence[Procedure]
    ) -> Iterator[Result]:
        context = get_context(_METHOD)
        if _METHOD == "forkserver":
            context.set_forkserver_preload([__name__])
        pool = ProcessPoolExecutor(self.jobs, context, _begin, (packed(procedures),))
        waiting: deque[tuple[Piece, Future[tuple[Scores, ...]]]] = deque()
        try:
            for piece in work:
                waiting.append((piece, pool.submit(_scored_here, piece.content)))
                if len(waiting) >= self.jobs * _AHEAD:
                    yield _first(waiting)
            while waiting:
                yield _first(waiting)
        except BrokenProcessPool:
            message = "a worker process ended before its work was done"
            help = (
                "It may have run out of memory: use fewer --jobs. With --out, the same command "
                "goes on where this run stopped."
            )
            raise UsageError(Diagnostic("E430", message, help)) from None
        finally:
            pool.shutdown(cancel_futures=True)


def scored(content: Content | Files, scorers: Sequence[Scorer]) -> tuple[Scores, ...]:
    """The scores of a piece, under each procedure."""
    loaded = content.loaded()
    return tuple(loaded.scores(scorer) for scorer in scorers)


def packed(procedures: Sequence[Procedure]) -> bytes:
    """The procedures, for another process: as files have them, and the functions by name."""
    try:
        return pickle.dumps([(each.to_dict(), each.vocabulary) for each in procedures])
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        message = f"the vocabulary cannot be handed to another process: {error}"
        help = "Define its functions at the top level of a module, or use --jobs 1."
        raise UsageError(Diagnostic("E430", message, help)) from None


def unpacked(procedures: bytes) -> list[Scorer]:
    """A scorer for each procedure."""
    return scorers_for(
        [
            Procedure.from_dict(data, vocabulary=vocabulary)
            for data, vocabulary in pickle.loads(procedures)
        ]
    )


def scorers_for(procedures: Sequence[Procedure]) -> list[Scorer]:
    """A scorer for each procedure; all read the same of a record."""
    return [Scorer(procedure, beside=procedures) for procedure in procedures]


def _first(waiting: deque[tuple[Piece, Future[tuple[Scores, ...]]]]) -> Result:
    piece, future = waiting.popleft()
    return _result(piece, future.result())


def _result(piece: Piece, scores: tuple[Scores, ...]) -> Result:
    return Result(piece.place, piece.after, piece.size, scores)


# ── in the other processes ────────────────────────────────────────────────────────────────

_scorers: list[Scorer] = []


def _begin(procedures: bytes) -> None:
    signal.signal(signal.SIGINT, _leave)  # Ctrl-C reaches every process of a terminal
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    _scorers[:] = unpacked(procedures)


def _scored_here(content: Content | Files) -> tuple[Scores, ...]:
    return scored(content, _scorers)


def _leave_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "this is not the first process"
    parent.join()
    _leave()


def _leave(*_: object) -> None:
    os._exit(1)  # nobody is left to be told
