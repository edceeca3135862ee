"""The reward of a rollout: compliance, the answer, and closeness to the gold trace.

Each term is a pure function that can be used alone. A rollout that cannot be verified has no
reward but a reason: a reward of zero would teach something that was not established.
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
from bylaw.training.data.example import Example
from bylaw.training.reward.distance import between, keys
from bylaw.values import Json, write_json

ALPHA: Final = 0.5
WELL_FORMED: Final = 0.1
"""The value of an answer that is a wrong integer."""


class Weights(NamedTuple):
    """The weight of each term."""

    compliance: float
    answer: float
    closeness: float


def weights(alpha: float = ALPHA) -> Weights:
    """Compliance has weight `alpha`; the answer and the trace share the rest."""
    return Weights(alpha, (1 - alpha) / 2, (1 - alpha) / 2)


Rewarded: TypeAlias = Literal["both", "answer", "compliance"]
"""The terms that a model is trained on: `both` is the paper's reward, with all three terms."""
REWARDED: Final[Mapping[Rewarded, Weights]] = {
    "both": weights(),
    "answer": Weights(0.0, 1.0, 0.0),
    "compliance": Weights(1.0, 0.0, 0.0),
}


def correctness(answer: Json, expected: int) -> float:
    """1 for the right answer, 0.1 for another integer, 0 for anything else."""
    given = as_integer(answer)
    if given is None:
        return 0.0
    return 1.0 if given == expected else WELL_FORMED


def closeness(distance: float) -> float:
    """1 for the gold trace itself, decreasing with the distance from it."""
    return math.exp(-distance)


@dataclass(frozen=True, slots=True)
class Rollout:
    """The executed calls of an agent, and its answer if it gave one.

    The last call may be `final_answer`, which then holds the answer.
    """

    calls: Sequence[Call] = ()
    answer: Json = None


NOTHING: Final = Rollout()
"""The rollout of an agent that does nothing, as a baseline."""


@dataclass(frozen=True, slots=True)
class Reward:
    """The terms of a reward. All are None if there is no reward; `reason` says why."""

    compliance: float | None
    answer: float | None
    closeness: float | None
    reason: str | None = None

    def total(self, weights: Weights = REWARDED["both"]) -> float | None:
        """The weighted sum of the terms."""
        if self.compliance is None or self.answer is None or self.closeness is None:
            return None
        terms = (self.compliance, self.answer, self.closeness)
        return math.fsum(map(math.prod, zip(weights, terms, strict=True)))


class Goal:
    """An example, prepared to reward many rollouts."""

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
        except (TypeError, ValueError) as error:  # not representable as JSON
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
    """Prepared examples by name."""

    def __init__(self, examples: Iterable[Example]) -> None:
        self._goals: Final[Mapping[str, Goal]] = {each.name: Goal(each) for each in examples}

    def __getitem__(self, name: str) -> Goal:
        return self._goals[name]

    def rewards(self, names: Sequence[str], rollouts: Sequence[Rollout]) -> list[Reward]:
        """The rewards of a batch: `names` are the examples of the rollouts."""
        return [
            self._goals[name].reward(rollout) for name, rollout in zip(names, rollouts, strict=True)
        ]
