"""Drives many runs with one model, in batches or in threads, as the model prefers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from threading import Event
from typing import Protocol, TypeVar, runtime_checkable

from bylaw.agents.protocol import Chat, ChatModel, Reply


class AgentRun(Protocol):
    """A run that takes a model's replies until it is done."""

    @property
    def conversation(self) -> Chat: ...

    @property
    def done(self) -> bool: ...

    def take(self, reply: Reply) -> None: ...


J = TypeVar("J")
R = TypeVar("R", bound=AgentRun)


@runtime_checkable
class RunExecutor(Protocol):
    """A model that executes whole runs itself, so as not to read them again at every turn."""

    @property
    def can_execute_runs(self) -> bool:
        """Is it able to? Otherwise it is called turn by turn."""

    def execute_runs(self, runs: Sequence[R], end: Callable[[Sequence[R]], None]) -> None:
        """Executes runs until they are done, and passes those that are to `end`."""


def drive(
    model: ChatModel,
    jobs: Iterable[J],
    begin: Callable[[J], R],
    end: Callable[[Sequence[R]], None],
    *,
    appends: bool = True,
) -> None:
    """Begins a run for each job, and passes finished runs to `end`, possibly from a thread.

    `appends` says that a run only appends to its conversation. If it starts a new one for a turn,
    the model is called turn by turn.
    """
    if appends and isinstance(model, RunExecutor) and model.can_execute_runs:
        model.execute_runs([begin(job) for job in jobs], end)
    elif model.batched:
        _drive_in_batches(model, map(begin, jobs), end)
    else:
        _drive_in_threads(model, jobs, begin, end)


def _drive_in_batches(
    model: ChatModel, runs: Iterator[R], end: Callable[[Sequence[R]], None]
) -> None:
    active = list(islice(runs, model.width))
    while active:
        replies = model.reply([each.conversation for each in active])
        for each, reply in zip(active, replies, strict=True):
            each.take(reply)
        end([each for each in active if each.done])
        active = [each for each in active if not each.done]
        active += islice(runs, model.width - len(active))


def _drive_in_threads(
    model: ChatModel,
    jobs: Iterable[J],
    begin: Callable[[J], R],
    end: Callable[[Sequence[R]], None],
) -> None:
    cancelled = Event()

    def work(job: J) -> None:
        run = begin(job)
        while not run.done:
            (reply,) = model.reply([run.conversation])
            if cancelled.is_set():
                return
            run.take(reply)
        end([run])

    def cancel() -> None:
        cancelled.set()
        close(model)

    in_threads(model.width, jobs, work, cancel)


def in_threads(
    width: int,
    jobs: Iterable[J],
    work: Callable[[J], None],
    cancel: Callable[[], None] = lambda: None,
) -> None:
    """Does the work for each job in `width` threads. The first failure ends it.

    Jobs that are running then are awaited; `cancel` asks them to stop early.
    """
    pool = ThreadPoolExecutor(width)
    try:
        for future in as_completed([pool.submit(work, job) for job in jobs]):
            future.result()
    except BaseException:  # including an interrupt
        cancel()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def close(model: ChatModel) -> None:
    """Closes a model that can be closed; threads that wait for it return."""
    if hasattr(model, "close"):
        model.close()
