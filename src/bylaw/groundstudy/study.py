"""The study: a model answers each question under each prompt; answers are checked and recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from bylaw.agents.loop import Episode, new_chat
from bylaw.agents.protocol import ChatModel
from bylaw.bench.recording import ActiveEpisode, JobRunner
from bylaw.bench.results import VERSION, Results
from bylaw.enforcement.guard import Guard
from bylaw.grounding.predicate import READ_FILE, Grounding
from bylaw.groundstudy.prompts import ANSWER, Prompt, system_prompt, user_prompt
from bylaw.groundstudy.questions.questions import QuestionSet, SymbolQuestion
from bylaw.groundstudy.repositories.file_tools import PAGE, SPECS
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Message
from bylaw.trace.trace import Trace
from bylaw.values import Json, write_json

STUDY: Final = "grounding"
"""The `study` field of the study's results."""
BUDGET: Final = 30
"""The number of calls that a run may execute before it must answer."""
SEEDS: Final = 2
"""The number of times each question is asked under each prompt."""
Category: TypeAlias = Literal["CG", "CU", "IG", "IU"]
"""Correct or incorrect, grounded or ungrounded: the paper's four categories."""
CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)
_OBSERVED: Final = Procedure.from_dict(
    {"name": STUDY, "constraints": [{"name": "source-read", "rule": f"Called({READ_FILE})"}]}
)
"""The procedure of the guard, which only observes."""


@dataclass(frozen=True, slots=True)
class StudyJob:
    """One run to make."""

    model: str
    prompt: Prompt
    question: SymbolQuestion
    seed: int

    @property
    def task(self) -> str:
        """The question and the seed, without the model and the prompt."""
        return f"{self.question.key}/{self.seed}"

    @property
    def key(self) -> str:
        """The identity of the run in the results."""
        return f"{self.model} {self.prompt} {self.task}"


def study_jobs(
    model: str, prompts: Iterable[Prompt], questions: Sequence[SymbolQuestion], seeds: int = SEEDS
) -> Iterator[StudyJob]:
    """The jobs of a model."""
    for prompt in prompts:
        for seed in range(seeds):
            for question in questions:
                yield StudyJob(model, prompt, question, seed)


class StudyRunner(JobRunner[StudyJob, ActiveEpisode[StudyJob]]):
    """Asks a model the questions whose runs are not yet on record."""

    def __init__(
        self,
        model: ChatModel,
        asked: QuestionSet,
        results: Results,
        *,
        step: Callable[[], None] = lambda: None,
    ) -> None:
        conditions = {"questions": asked.digest, "budget": BUDGET, "page": PAGE}
        super().__init__(model, results, conditions, step)
        self._asked: Final = asked

    def start(self, job: StudyJob) -> ActiveEpisode[StudyJob]:
        """The episode of a job, before its first turn."""
        question = job.question
        repository = self._asked.repository(question.repository)
        task = user_prompt(question.repository, question.text)
        system = system_prompt(job.prompt)
        conversation = new_chat(job.key, job.task, system, task, [*SPECS, ANSWER])
        guard = Guard(_OBSERVED, "baseline")
        guard.say("user", question.text)
        return ActiveEpisode(job, Episode(conversation, repository.tools, guard, BUDGET))

    def record(self, active: ActiveEpisode[StudyJob]) -> dict[str, Json]:
        """The result of a finished run, with the verdict on its answer."""
        job, episode, question = active.job, active.episode, active.job.question
        trace = study_trace(question, episode)
        report = Grounding().check(trace)
        correct = is_correct(trace.answer or "", question.truth)
        return {
            "bylaw": VERSION,
            "study": STUDY,
            "key": job.key,
            "model": job.model,
            "prompt": job.prompt,
            "repository": question.repository,
            "bucket": self._asked.about(question.repository).bucket,
            "symbol": question.symbol,
            "question": question.text,
            "seed": job.seed,
            "conditions": self.conditions,
            "answer": trace.answer,
            "truth": list(question.truth),
            "correct": correct,
            "category": category(correct=correct, grounded=report.satisfied),
            "grounding": report.to_dict(),
            "located": Grounding(location=True).check(trace).satisfied,
            "defined": Grounding(definitions_only=True).check(trace).satisfied,
            "reads": sum(call.tool == READ_FILE and call.ok for call in episode.executed),
            "calls": len(episode.executed),
            "ending": episode.ending,
            "turns": episode.turns,
            "malformed": episode.malformed,
            "input_tokens": episode.input_tokens,
            "output_tokens": episode.output_tokens,
            "trace": trace.to_record(),
            "timing": active.timing(),
        }


def study_trace(question: SymbolQuestion, episode: Episode) -> Trace:
    """The trace of an episode, with the question as its first event."""
    events = list(episode.events)
    answer = episode.answer
    last = events[-1] if events else None
    if episode.ending == "silent" and isinstance(last, Message):
        # The agent was reminded to call a tool and wrote text instead: that text is its answer.
        answer = last.text
        events.pop()
    text = answer if answer is None or isinstance(answer, str) else write_json(answer)
    return Trace([Message("user", question.text, 0), *events], answer=text)


def is_correct(answer: str, truth: Iterable[str]) -> bool:
    """True if the answer contains every string of `truth`, ignoring case."""
    return all(each.casefold() in answer.casefold() for each in truth)


def category(*, correct: bool, grounded: bool) -> Category:
    """The category of an answer; `grounded` is the paper's predicate."""
    if correct:
        return "CG" if grounded else "CU"
    return "IG" if grounded else "IU"
