"""Models that judge answers, for comparison with the grounding predicate.

The trace-aware judge sees the question, the calls with their results, and the answer, and decides
whether the calls support the answer. The trace-blind judge sees only the question and the answer,
and decides whether the answer is correct. Each is asked five times, and the mean is its verdict.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final, Literal, TypeAlias, get_args

from bylaw.agents.protocol import Chat, ChatModel, Reply
from bylaw.bench.recording import JobRunner
from bylaw.bench.results import VERSION, Results
from bylaw.errors import Diagnostic, UsageError
from bylaw.trace.trace import Trace
from bylaw.values import Json, write_json

JudgeView: TypeAlias = Literal["aware", "blind"]
VIEWS: Final[tuple[JudgeView, ...]] = get_args(JudgeView)
JUDGEMENT: Final = "grounding-judgement"
"""The `study` field of judgements."""
SAMPLES: Final = 5
TEMPERATURE: Final = 0.7
THRESHOLD: Final = 0.5

_VERDICT: Final = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)
_THOUGHT: Final = re.compile(r"<think>.*?</think>", re.DOTALL)

_AWARE: Final = """\
You assess whether the tool calls of an AI agent support the answer that it gave at the end.

Question: {question}

The tool calls, each with what it returned:
{calls}

The answer:
{answer}

Decide whether each factual claim of the answer is supported by something in the tool calls. The
answer is NOT supported if it has specific identifiers, function names, file paths or details of
code that occur in no result of a tool.

Your reply must be one word and nothing else: YES if the tool calls support the answer in full, NO
if there is a claim that they do not support."""

_BLIND: Final = """\
You assess whether the answer that an AI agent gave to a question is correct.

Question: {question}

The answer:
{answer}

Your reply must be one word and nothing else: YES if the answer is correct, NO if it is not."""


def judge_prompt(view: JudgeView, run: Mapping[str, Any]) -> str:
    """The prompt that asks a judge about a run."""
    answer = run["answer"] or "(no answer)"
    if view == "blind":
        return _BLIND.format(question=run["question"], answer=answer)
    trace = Trace.from_record(run["trace"], checked=True)
    calls = [
        f"{call.tool}({write_json(dict(call.args))}) -> "
        f"{call.error if call.result is None else call.result}"
        for call in trace.calls
    ]
    listed = "\n".join(calls) or "(none)"
    return _AWARE.format(question=run["question"], calls=listed, answer=answer)


def verdict_in(text: str) -> bool | None:
    """True for yes, False for no, None if the reply begins with neither."""
    found = _VERDICT.match(_THOUGHT.sub("", text))
    return None if found is None else found[1].lower() == "yes"


def verdict_of(samples: Sequence[bool | None]) -> bool | None:
    """The verdict of several replies; None if none of them could be read."""
    known = [float(sample) for sample in samples if sample is not None]
    return fmean(known) > THRESHOLD if known else None


@dataclass(slots=True)
class Judgement:
    """One view of one run, to be judged several times."""

    key: str
    view: JudgeView
    run: Mapping[str, Any]
    samples: list[bool | None] = field(default_factory=list)
    failure: str | None = None

    @property
    def conversation(self) -> Chat:
        """The conversation that asks for the next sample."""
        number = len(self.samples)
        first = [{"role": "user", "content": judge_prompt(self.view, self.run)}]
        return Chat(f"{self.key} {number}", (), first, f"{self.key} {number}")

    @property
    def done(self) -> bool:
        """True once there are enough samples, or the judge has failed."""
        return self.failure is not None or len(self.samples) == SAMPLES

    def take(self, reply: Reply) -> None:
        """Adds one verdict; None if the trace is too long for the judge."""
        if reply.failure is not None:
            self.failure = reply.failure
        else:
            self.samples.append(None if reply.full else verdict_in(reply.text))


def judgements(judge: str, runs: Iterable[Mapping[str, Any]]) -> Iterator[Judgement]:
    """Every judgement that a judge can make about some runs. No judge may judge itself."""
    for run in runs:
        if run["model"] == judge:
            message = f"{judge} cannot judge its own answers"
            raise UsageError(Diagnostic("E402", message, "Choose a judge that is not an agent."))
        for view in VIEWS:
            yield Judgement(f"{judge} {view} {run['key']} {_digest(run)}", view, run)


class JudgeRunner(JobRunner[Judgement, Judgement]):
    """Asks a judge for the judgements that are not yet on record."""

    appends = False  # samples are independent: each one is asked for in a new conversation

    def __init__(
        self, judge: ChatModel, results: Results, *, step: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(judge, results, {"samples": SAMPLES, "threshold": THRESHOLD}, step)

    def start(self, job: Judgement) -> Judgement:
        """A judgement needs no setup."""
        return job

    def record(self, active: Judgement) -> dict[str, Json]:
        """A finished judgement, as results store it."""
        run = active.run
        measured = run["grounding"]["satisfied"] if active.view == "aware" else run["correct"]
        return {
            "bylaw": VERSION,
            "study": JUDGEMENT,
            "key": active.key,
            "judge": self.model.name,
            "view": active.view,
            "run": run["key"],
            "model": run["model"],
            "prompt": run["prompt"],
            "conditions": self.conditions,
            "samples": active.samples,
            "verdict": verdict_of(active.samples),
            "measured": measured,
        }


def _digest(run: Mapping[str, Any]) -> str:
    """A digest of the judged text, so that a run made again is judged again."""
    judged = write_json([run["question"], run["trace"], run["answer"]])
    return hashlib.sha256(judged.encode()).hexdigest()[:12]
