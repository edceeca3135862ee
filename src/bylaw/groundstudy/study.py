"""The study itself: each question, under each prompt, asked of a model, and judged on record."""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

from bylaw import __version__
from bylaw.agents.driving import drive
from bylaw.agents.loop import Episode, opened
from bylaw.agents.protocol import ChatModel, Conversation, Reply
from bylaw.bench.results import VERSION, Results
from bylaw.enforcement.guard import Guard
from bylaw.grounding.correctness import category, is_correct
from bylaw.grounding.predicate import READ_FILE, Grounding
from bylaw.groundstudy.files_tools import PAGE, SPECS
from bylaw.groundstudy.prompts import ANSWER, Prompt, system_prompt, user_prompt
from bylaw.groundstudy.questions import Question, QuestionSet
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Message
from bylaw.trace.trace import Trace
from bylaw.values import Json, write_json

STUDY: Final = "grounding"
"""What marks a line of results as one of this study."""
BUDGET: Final = 30
"""How many calls a run may make before it has to answer."""
SEEDS: Final = 2
"""How often each question is asked under each prompt."""
_WATCHED: Final = Procedure.from_dict(
    {"name": STUDY, "constraints": [{"name": "source-read", "rule": f"Called({READ_FILE})"}]}
)
"""What the gate of a run follows; it lets everything pass."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run that is to be made."""

    model: str
    prompt: Prompt
    question: Question
    seed: int

    @property
    def task(self) -> str:
        """What is asked, of whomever and under whatever prompt."""
        return f"{self.question.key}/{self.seed}"

    @property
    def key(self) -> str:
        """What tells this run from all others."""
        return f"{self.model} {self.prompt} {self.task}"


def jobs(
    model: str, prompts: Iterable[Prompt], questions: Sequence[Question], seeds: int = SEEDS
) -> Iterator[Job]:
    """The runs of a model."""
    for prompt in prompts:
        for seed in range(seeds):
            for question in questions:
                yield Job(model, prompt, question, seed)


@dataclass(slots=True)
class Run:
    """A run that is under way."""

    job: Job
    episode: Episode
    begun: float = field(default_factory=perf_counter)

    @property
    def conversation(self) -> Conversation:
        """What the model reads."""
        return self.episode.conversation

    @property
    def done(self) -> bool:
        """Is there nothing more to do?"""
        return self.episode.done

    def take(self, reply: Reply) -> None:
        """Carries out one turn of the model."""
        self.episode.take(reply)

    @property
    def trace(self) -> Trace:
        """What happened, with the question in front."""
        asked = Message("user", self.job.question.text, 0)
        events = list(self.episode.events)
        given = self.episode.answer
        last = events[-1] if events else None
        if self.episode.ending == "silent" and isinstance(last, Message):
            # It was reminded to call, and went on in words: they are what it has to say.
            given = last.text
            events.pop()
        text = given if given is None or isinstance(given, str) else write_json(given)
        return Trace([asked, *events], answer=text)


class Study:
    """Makes the runs of a model that are not on record yet."""

    def __init__(
        self,
        model: ChatModel,
        asked: QuestionSet,
        results: Results,
        *,
        step: Callable[[], None] = lambda: None,
    ) -> None:
        self.model: Final = model
        self.results: Final = results
        self.made: int = 0
        """How many runs were put on record."""
        self.failed: Final[dict[str, str]] = {}
        """The runs that could not be finished, and why. They are not on record."""
        self.conditions: Final[dict[str, Json]] = {
            "about": model.about,
            "questions": asked.digest,
            "budget": BUDGET,
            "page": PAGE,
            "versions": {"bylaw": __version__, "python": platform.python_version()},
        }
        self._asked: Final = asked
        self._lock: Final = threading.Lock()
        self._step: Final = step
        """Called after every run."""

    def missing(self, wanted: Iterable[Job]) -> list[Job]:
        """The jobs that are still to be done."""
        return [job for job in wanted if not self.results.has(job.key, self.conditions)]

    def run(self, wanted: Iterable[Job]) -> None:
        """Makes the runs, as many at a time as the model likes best."""
        drive(self.model, self.missing(wanted), self._begun, self._end)

    def _begun(self, job: Job) -> Run:
        question = job.question
        repository = self._asked.repository(question.repository)
        task = user_prompt(question.repository, question.text)
        system = system_prompt(job.prompt)
        conversation = opened(job.key, job.task, system, task, [*SPECS, ANSWER])
        guard = Guard(_WATCHED, "baseline")
        guard.say("user", question.text)
        return Run(job, Episode(conversation, repository.tools, guard, BUDGET))

    def _end(self, over: Sequence[Run]) -> None:
        """Puts finished runs on record, together."""
        finished = [run for run in over if run.episode.failure is None]
        self.results.append([self._recorded(run) for run in finished])
        with self._lock:
            self.made += len(finished)
            for run in over:
                if run.episode.failure is not None:
                    self.failed[run.job.key] = run.episode.failure
                self._step()

    def _recorded(self, run: Run) -> dict[str, Json]:
        job, episode, trace = run.job, run.episode, run.trace
        report = Grounding().check(trace)
        correct = is_correct(trace.answer or "", job.question.truth)
        return {
            "bylaw": VERSION,
            "study": STUDY,
            "key": job.key,
            "model": job.model,
            "prompt": job.prompt,
            "repository": job.question.repository,
            "bucket": self._asked.asked(job.question.repository).bucket,
            "symbol": job.question.symbol,
            "question": job.question.text,
            "seed": job.seed,
            "conditions": self.conditions,
            "answer": trace.answer,
            "truth": list(job.question.truth),
            "correct": correct,
            "category": category(correct=correct, grounded=report.satisfied),
            "grounding": report.to_dict(),
            "located": Grounding(location=True).check(trace).satisfied,
            "reads": sum(call.tool == READ_FILE and call.ok for call in episode.executed),
            "calls": len(episode.executed),
            "ending": episode.ending,
            "turns": episode.turns,
            "malformed": episode.malformed,
            "input_tokens": episode.input_tokens,
            "output_tokens": episode.output_tokens,
            "trace": trace.to_record(),
            "timing": {"seconds": round(perf_counter() - run.begun, 6)},
        }
