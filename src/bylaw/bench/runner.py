"""The benchmark's runner: many episodes at once, so that a batched model is kept busy."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from bylaw.agents.driving import close, in_threads
from bylaw.agents.loop import Episode
from bylaw.agents.protocol import ChatModel
from bylaw.bench.jobs import Harness, Job, job_episode, run_record
from bylaw.bench.recording import ActiveEpisode, JobRunner
from bylaw.bench.results import Results
from bylaw.enforcement.decision import Hints
from bylaw.errors import Diagnostic, UsageError
from bylaw.values import Json


def _smolagents() -> Callable[[Episode, ChatModel], None]:
    try:
        from bylaw.bench.smolagents_harness import run_episode
    except ModuleNotFoundError as error:
        help = "pip install 'bylaw[smolagents]'"
        raise UsageError(Diagnostic("E420", str(error), help)) from error
    return run_episode


HARNESSES: Final[Mapping[Harness, Callable[[], Callable[[Episode, ChatModel], None] | None]]] = {
    "loop": lambda: None,
    "smolagents": _smolagents,
}
"""Loads the function that runs a whole episode; None for the built-in loop, which is driven turn
by turn."""


class BenchRunner(JobRunner[Job, ActiveEpisode[Job]]):
    """Runs benchmark jobs that are not yet on record."""

    def __init__(
        self,
        model: ChatModel,
        results: Results,
        *,
        hints: Hints = "rule",
        harness: Harness = "loop",
        step: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(model, results, {"hints": hints, "harness": harness}, step)
        self._hints: Final[Hints] = hints
        self._run_episode: Final = HARNESSES[harness]()

    def start(self, job: Job) -> ActiveEpisode[Job]:
        """The episode of a job, before its first turn."""
        return ActiveEpisode(job, job_episode(job, self._hints))

    def record(self, active: ActiveEpisode[Job]) -> dict[str, Json]:
        """The result of a finished run."""
        return run_record(active.job, active.episode, self.conditions, active.timing())

    def _run(self, jobs: Sequence[Job]) -> None:
        gc.freeze()  # tasks and rules stay alive: the collector need not scan them repeatedly
        try:
            if self._run_episode is None:
                super()._run(jobs)
            else:
                abort = partial(close, self.model)
                in_threads(self.model.width, jobs, self._run_whole, abort)
        finally:
            gc.unfreeze()

    def _run_whole(self, job: Job) -> None:
        assert self._run_episode is not None, "the built-in loop is driven turn by turn"
        active = self.start(job)
        self._run_episode(active.episode, self.model)
        self._finish([active])
