"""Running jobs and recording their results: shared by the benchmark, the study and its judges."""

from __future__ import annotations

import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from time import perf_counter
from typing import ClassVar, Final, Generic, Protocol, Self, TypeVar

from bylaw import __version__
from bylaw.agents.driving import AgentRun, drive
from bylaw.agents.loop import Episode
from bylaw.agents.protocol import Chat, ChatModel, Reply
from bylaw.bench.results import Results
from bylaw.values import Json


class KeyedJob(Protocol):
    """Work to be done. Its key identifies it in the results."""

    @property
    def key(self) -> str: ...


class ActiveJob(AgentRun, KeyedJob, Protocol):
    """A job in progress."""

    @property
    def failure(self) -> str | None: ...


J = TypeVar("J", bound=KeyedJob)
A = TypeVar("A", bound=ActiveJob)


class JobRunner(ABC, Generic[J, A]):
    """Runs the jobs that are not yet on record, and records each one when it finishes."""

    appends: ClassVar[bool] = True
    """Does a job only append to its conversation? Otherwise it starts new ones."""

    def __init__(
        self,
        model: ChatModel,
        results: Results,
        conditions: dict[str, Json],
        step: Callable[[], None] = lambda: None,
    ) -> None:
        versions = {"bylaw": __version__, "python": platform.python_version()}
        self.model: Final = model
        self.results: Final = results
        self.conditions: Final[dict[str, Json]] = {
            "about": model.about,
            **conditions,
            "versions": versions,
        }
        """Everything that the results depend on besides the job."""
        self.made = 0
        """The number of jobs recorded."""
        self.failed: Final[dict[str, str]] = {}
        """The reason for each job that could not be finished. These are not on record."""
        self._step: Final = step
        """Called after each job."""
        self._lock: Final = Lock()

    @abstractmethod
    def start(self, job: J) -> A:
        """Sets a job up, before its first turn."""

    @abstractmethod
    def record(self, active: A) -> dict[str, Json]:
        """The result of a finished job."""

    def missing(self, jobs: Iterable[J]) -> list[J]:
        """The jobs that are not yet on record, each once."""
        wanted = {job.key: job for job in jobs}
        return [job for key, job in wanted.items() if not self.results.has(key, self.conditions)]

    def run(self, jobs: Iterable[J]) -> Self:
        """Runs the missing jobs, as many at a time as suits the model."""
        self._run(self.missing(jobs))
        return self

    def _run(self, jobs: Sequence[J]) -> None:
        drive(self.model, jobs, self.start, self._finish, appends=self.appends)

    def _finish(self, ended: Sequence[A]) -> None:
        """Records jobs that have ended, in one write."""
        finished = [each for each in ended if each.failure is None]
        self.results.append([self.record(each) for each in finished])
        with self._lock:
            self.made += len(finished)
            for each in ended:
                if each.failure is not None:
                    self.failed[each.key] = each.failure
                self._step()


@dataclass(slots=True)
class ActiveEpisode(Generic[J]):
    """A job that is an agent at work."""

    job: J
    episode: Episode
    started: float = field(default_factory=perf_counter)

    @property
    def key(self) -> str:
        """The key of the job."""
        return self.job.key

    @property
    def failure(self) -> str | None:
        """The reason why the episode could not be finished, if it could not."""
        return self.episode.failure

    @property
    def conversation(self) -> Chat:
        """The conversation that the model continues."""
        return self.episode.conversation

    @property
    def done(self) -> bool:
        """True once the episode has ended or failed."""
        return self.episode.done

    def take(self, reply: Reply) -> None:
        """Carries out one turn of the model."""
        self.episode.take(reply)

    def timing(self) -> dict[str, Json]:
        """The time that the episode has taken so far, as results store it."""
        return {"seconds": round(perf_counter() - self.started, 6)}
