"""The reward of a rollout: compliance, the answer, and how near it came to the gold trace.

Each term is a pure function that can be used alone. Where a rollout could not be verified there
is no reward, and a reason: to call it zero would teach something that nobody has found out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from bylaw.agents.loop import as_integer
from bylaw.errors import BylawError
from bylaw.scoring.verify import verify_trace
from bylaw.trace.event import Call
from bylaw.trace.trace import Trace
from bylaw.training.distance import between, keys
from bylaw.training.example import Example
from bylaw.values import Json, write_json

ALPHA: Final = 0.5
WELL_FORMED: Final = 0.1
"""What an answer is worth that is an integer, but not the right one."""


class Weights(NamedTuple):
    """What each term counts."""

    compliance: float
    answer: float
    closeness: float


def weights(alpha: float = ALPHA) -> Weights:
    """Compliance counts `alpha`; the answer and the trace share the rest."""
    return Weights(alpha, (1 - alpha) / 2, (1 - alpha) / 2)


Rewarded: TypeAlias = Literal["both", "answer", "compliance"]
"""The terms that a model is trained on: `both` is the paper's reward, with all three terms."""
REWARDED: Final[Mapping[Rewarded, Weights]] = {
    "both": weights(),
    "answer": Weights(0.0, 1.0, 0.0),
    "compliance": Weights(1.0, 0.0, 0.0),
}


def correctness(answer: Json, expected: int) -> float:
    """1 for the right answer, a tenth for another integer, 0 for what is no integer."""
    given = as_integer(answer)
    if given is None:
        return 0.0
    return 1.0 if given == expected else WELL_FORMED


def closeness(distance: float) -> float:
    """1 for the gold trace itself, and less the farther a trace is from it."""
    return math.exp(-distance)


@dataclass(frozen=True, slots=True)
class Rollout:
    """What an agent did: the calls that were executed, and its answer if it gave one.

    A call of `final_answer` may stand last; then the answer is what it says.
    """

    calls: Sequence[Call] = ()
    answer: Json = None


NOTHING: Final = Rollout()
"""The rollout of an agent that does nothing; what it gets is no merit."""


@dataclass(frozen=True, slots=True)
class Reward:
    """The terms of a reward. All are None where there is none, and `reason` says why."""

    compliance: float | None
    answer: float | None
    closeness: float | None
    reason: str | None = None

    def total(self, weights: Weights = REWARDED["both"]) -> float | None:
        """The terms, each times its weight."""
        if self.compliance is None or self.answer is None or self.closeness is None:
            return None
        terms = (self.compliance, self.answer, self.closeness)
        return math.fsum(map(math.prod, zip(weights, terms, strict=True)))


class Goal:
    """An example made ready once, to reward many rollouts."""

    def __init__(self, example: Example) -> None:
        self.example: Final = example
        self._gold: Final = keys(example.calls)

    def reward(self, rollout: Rollout) -> Reward:
        """The reward of a rollout."""
        answer = rollout.answer
        try:
            text = answer if answer is None or isinstance(answer, str) else write_json(answer)
            trace = Trace(rollout.calls, answer=text)
            made = keys(trace.calls)
        except BylawError as error:
            return _unreadable("; ".join(each.message for each in error.diagnostics))
        except (TypeError, ValueError) as error:  # what JSON cannot write
            return _unreadable(str(error))
        report = verify_trace(trace, self.example.procedure)
        if report.score is None:
            return Reward(None, None, None, report.reason)
        return Reward(
            report.score,
            correctness(trace.answer if answer is None else answer, self.example.answer),
            closeness(between(self._gold, made)),
        )


def _unreadable(reason: str) -> Reward:
    return Reward(None, None, None, f"the rollout cannot be read: {reason}")


class Goals:
    """Examples made ready once, by their names."""

    def __init__(self, examples: Iterable[Example]) -> None:
        self._goals: Final[Mapping[str, Goal]] = {each.name: Goal(each) for each in examples}

    def __getitem__(self, name: str) -> Goal:
        return self._goals[name]

    def rewards(self, names: Sequence[str], rollouts: Sequence[Rollout]) -> list[Reward]:
        """The rewards of a batch: for each rollout, the name of the example it is of."""
        return [
            self._goals[name].reward(rollout) for name, rollout in zip(names, rollouts, strict=True)
        ]
