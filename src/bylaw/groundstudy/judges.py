"""Models as judges of answers, to compare the grounding predicate with.

The trace-aware judge sees the question, the calls with their results, and the answer, and says
whether the calls support the answer. The trace-blind judge sees the question and the answer alone,
and says whether it is right. Each is asked five times, and the mean decides.
"""

from __future__ import annotations

import hashlib
import platform
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final, Literal, TypeAlias, get_args

from bylaw import __version__
from bylaw.agents.driving import drive
from bylaw.agents.protocol import ChatModel, Conversation, Reply
from bylaw.bench.results import VERSION, Results
from bylaw.errors import Diagnostic, UsageError
from bylaw.trace.trace import Trace
from bylaw.values import Json, write_json

View: TypeAlias = Literal["aware", "blind"]
VIEWS: Final[tuple[View, ...]] = get_args(View)
JUDGEMENT: Final = "grounding-judgement"
"""What marks a line of results as one of these."""
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


def asked_of(view: View, run: Mapping[str, Any]) -> str:
    """What a judge is asked about a run."""
    answer = run["answer"] or "(no answer)"
    if view == "blind":
        return _BLIND.format(question=run["question"], answer=answer)
    trace = Trace.from_record(run["trace"], checked=True)
    calls = [
        f"{call.tool}({write_json(dict(call.args))}) -> "
        f"{call.error if call.result is None else call.result}"
        for call in trace.calls
    ]
    told = "\n".join(calls) or "(none)"
    return _AWARE.format(question=run["question"], calls=told, answer=answer)


def verdict_in(text: str) -> bool | None:
    """Yes or no, if the reply begins with one of them."""
    found = _VERDICT.match(_THOUGHT.sub("", text))
    return None if found is None else found[1].lower() == "yes"


def decided(samples: Sequence[bool | None]) -> bool | None:
    """The verdict of several replies; none if no reply could be read."""
    known = [float(sample) for sample in samples if sample is not None]
    return fmean(known) > THRESHOLD if known else None


@dataclass(slots=True)
class Judgement:
    """One run before one judge: the same question, several times."""

    key: str
    view: View
    run: Mapping[str, Any]
    samples: list[bool | None] = field(default_factory=list)
    failure: str | None = None

    @property
    def conversation(self) -> Conversation:
        """The next sample."""
        number = len(self.samples)
        first = [{"role": "user", "content": asked_of(self.view, self.run)}]
        return Conversation(f"{self.key} {number}", (), first, f"{self.key} {number}")

    @property
    def done(self) -> bool:
        """Has the judge been asked often enough?"""
        return self.failure is not None or len(self.samples) == SAMPLES

    def take(self, reply: Reply) -> None:
        """Takes one verdict in; a trace that is too long for the judge gives none."""
        if reply.failure is not None:
            self.failure = reply.failure
        else:
            self.samples.append(None if reply.full else verdict_in(reply.text))


class Judging:
    """A judge at work: judges the runs that it has not judged yet."""

    def __init__(
        self, judge: ChatModel, results: Results, *, step: Callable[[], None] = lambda: None
    ) -> None:
        self.judge: Final = judge
        self.results: Final = results
        self.made: int = 0
        self.failed: Final[dict[str, str]] = {}
        self.conditions: Final[dict[str, Json]] = {
            "about": judge.about,
            "samples": SAMPLES,
            "threshold": THRESHOLD,
            "versions": {"bylaw": __version__, "python": platform.python_version()},
        }
        self._lock: Final = threading.Lock()
        self._step: Final = step

    def missing(self, runs: Iterable[Mapping[str, Any]]) -> list[Judgement]:
        """What is still to be judged. No judge judges itself."""
        wanted = []
        for run in runs:
            if run["model"] == self.judge.name:
                message = f"{self.judge.name} cannot judge its own answers"
                raise UsageError(Diagnostic("E402", message, "Choose a judge that is no agent."))
            for view in VIEWS:
                key = f"{self.judge.name} {view} {run['key']} {_digest(run)}"
                if not self.results.has(key, self.conditions):
                    wanted.append(Judgement(key, view, run))
        return wanted

    def run(self, wanted: Iterable[Judgement]) -> None:
        """Puts judgements on record."""
        drive(self.judge, wanted, lambda judgement: judgement, self._end)

    def _end(self, over: Sequence[Judgement]) -> None:
        finished = [each for each in over if each.failure is None]
        self.results.append([self._recorded(each) for each in finished])
        with self._lock:
            self.made += len(finished)
            for each in over:
                if each.failure is not None:
                    self.failed[each.key] = each.failure
                self._step()

    def _recorded(self, judgement: Judgement) -> dict[str, Json]:
        run = judgement.run
        measured = run["grounding"]["satisfied"] if judgement.view == "aware" else run["correct"]
        return {
            "bylaw": VERSION,
            "study": JUDGEMENT,
            "key": judgement.key,
            "judge": self.judge.name,
            "view": judgement.view,
            "run": run["key"],
            "model": run["model"],
            "prompt": run["prompt"],
            "conditions": self.conditions,
            "samples": judgement.samples,
            "verdict": decided(judgement.samples),
            "measured": measured,
        }


def _digest(run: Mapping[str, Any]) -> str:
    """What a judgement depends on, in short: of another run of the same name it says nothing."""
    judged = write_json([run["question"], run["trace"], run["answer"]])
    return hashlib.sha256(judged.encode()).hexdigest()[:12]
