"""A miner in a process of its own, with a limit of processor time.

The limit holds for each process that the miner starts, too. scarlet searches in one, and writes
down what it has found so far.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Final, TypeAlias

from bylaw import Trace

Miner: TypeAlias = Callable[[list[Trace], list[Trace]], list[str]]
SECONDS: Final = 60
"""The processor time that a miner is given for a procedure, in a comparison."""


def in_process(
    miner: Miner, good: list[Trace], bad: list[Trace], limit: int | None
) -> tuple[list[str], float]:
    """The rules of a miner, none if its time is up before, and its processor time.

    What it imports is imported before, and does not count.
    """
    forking = multiprocessing.get_context("fork")
    ours, theirs = forking.Pipe(duplex=False)
    child = forking.Process(target=_mined, args=(theirs, miner, good, bad, limit))
    before = _used()
    child.start()
    theirs.close()
    try:
        rules: list[str] = ours.recv()
    except EOFError:  # killed by the limit
        rules = []
    child.join()
    if child.exitcode not in (0, -signal.SIGKILL):
        raise RuntimeError(f"{miner.__name__} failed")
    return rules, _used() - before


def _mined(
    to: Connection, miner: Miner, good: list[Trace], bad: list[Trace], limit: int | None
) -> None:
    if limit is not None:
        used = int(sum(os.times()[:2]))
        resource.setrlimit(resource.RLIMIT_CPU, (used + limit, used + limit))
    to.send(miner(good, bad))


def _used() -> float:
    """The processor time of processes that have ended, in seconds."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime
