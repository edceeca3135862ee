"""Many conversations with one model at once, as the model likes them: together, or in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from threading import Event
from typing import Protocol, TypeVar, runtime_checkable

from bylaw.agents.protocol import ChatModel, Conversation, Reply


class Driven(Protocol):
    """Something that goes on with each reply of a model, until it is done."""

    @property
    def conversation(self) -> Conversation: ...

    @property
    def done(self) -> bool: ...

    def take(self, reply: Reply) -> None: ...


J = TypeVar("J")
D = TypeVar("D", bound=Driven)


@runtime_checkable
class Carrier(Protocol):
    """A model that carries whole runs out itself, because it need not read them again each turn."""

    @property
    def carries(self) -> bool:
        """Can it? Otherwise it is asked turn by turn."""

    def carry_out(self, runs: Sequence[D], end: Callable[[Sequence[D]], None]) -> None:
        """Goes on with all of them until they are done, and hands over those that are."""


def drive(
    model: ChatModel,
    jobs: Iterable[J],
    begin: Callable[[J], D],
    end: Callable[[Sequence[D]], None],
) -> None:
    """Begins each job when its turn comes, and hands over what is done, maybe from a thread."""
    if isinstance(model, Carrier) and model.carries:
        model.carry_out([begin(job) for job in jobs], end)
    elif model.batched:
        _together(model, map(begin, jobs), end)
    else:
        _in_threads(model, jobs, begin, end)


def _together(model: ChatModel, begun: Iterator[D], end: Callable[[Sequence[D]], None]) -> None:
    active = list(islice(begun, model.width))
    while active:
        replies = model.reply([each.conversation for each in active])
        for each, reply in zip(active, replies, strict=True):
            each.take(reply)
        end([each for each in active if each.done])
        active = [each for each in active if not each.done]
        active += islice(begun, model.width - len(active))


def _in_threads(
    model: ChatModel,
    jobs: Iterable[J],
    begin: Callable[[J], D],
    end: Callable[[Sequence[D]], None],
) -> None:
    given_up = Event()

    def alone(job: J) -> None:
        run = begin(job)
        while not run.done:
            (reply,) = model.reply([run.conversation])
            if given_up.is_set():
                return
            run.take(reply)
        end([run])

    def give_up() -> None:
        given_up.set()
        close(model)

    in_threads(model.width, jobs, alone, give_up)


def in_threads(
    width: int,
    jobs: Iterable[J],
    work: Callable[[J], None],
    give_up: Callable[[], None] = lambda: None,
) -> None:
    """Does the work for each job, so many at a time; the first failure ends it.

    What is under way then is waited for: `give_up` tells it to make haste.
    """
    pool = ThreadPoolExecutor(width)
    try:
        for made in as_completed([pool.submit(work, job) for job in jobs]):
            made.result()
    except BaseException:  # an interruption, too
        give_up()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def close(model: ChatModel) -> None:
    """Closes a model, if it is one that can be: who waits for it does not wait any longer."""
    if hasattr(model, "close"):
        model.close()
