"""Notes: a line of reasoning before each call, with its step, the computation and the clause.

The procedure is executed again with integers that narrate what is computed from them. A note is
therefore true, and contains no more than the template's own code computed, with the prompt's words:
`v = 3. Step 2: The larger of 3 and 4 is 4. 3 is not greater than 4. tool_c(x = v), v = 3.`
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from bylaw.bench.gold import BranchCall, Execution, V
from bylaw.bench.templates.template import PromptText
from bylaw.bench.tools import ToolValue
from bylaw.errors import Diagnostic, UsageError
from bylaw.training.data.augment import Core, Extras, execute, text_of
from bylaw.training.data.clauses import clause_of
from bylaw.training.data.example import Example
from bylaw.training.data.narrated_int import NarratedInt
from bylaw.training.data.templates import HELD_OUT, TRAINING

_BODY: Final = re.compile(r"Do steps? \d+(?: (?:and|to) \d+)? for")
"""A loop whose body is in other steps."""
_SUM: Final = re.compile(r"\d+ \+ .*\.")
_NAMES: Final = re.compile(r"Let (\w+(?: and \w+)*) be ")
"""The names that a step gives to its results."""


@dataclass(frozen=True, slots=True)
class LoopRound:
    """One iteration of a loop."""

    header: int
    """The step that contains the loop."""
    name: str
    """The prompt's name for the loop variable."""
    values: Sequence[int]
    at: int

    def __str__(self) -> str:
        value, *later = (int(value) for value in self.values[self.at :])
        left = f"then {', '.join(map(str, later))}" if later else "the last"
        return f"{self.name} = {value}, {left}"


@dataclass(slots=True)
class NarratedExecution(Execution):
    """The execution of a procedure, with a note for each call."""

    text: PromptText = field(kw_only=True)
    """The task, including the steps of extra calls."""
    shift: int = field(kw_only=True)
    """The number of steps before the template's own."""
    notes: list[str] = field(default_factory=list)
    _sentences: list[str] = field(default_factory=list)
    """The current note."""
    _at: int | None = None
    """The step that it last mentioned."""
    _new_round: LoopRound | None = None
    """An iteration that no note has mentioned yet."""
    _list: str | None = None
    """The name of the list that the procedure fills."""
    _named: Counter[int] = field(default_factory=Counter)
    """The number of named results per step."""

    def let(self, name: str, value: V) -> V:
        """Notes an initial value."""
        self._say(f"{name} = {value}.")
        self._list = name if isinstance(value, list) else self._list
        return value

    def put(self, values: list[int], value: int) -> None:
        """Appends a value to a list; if the list has a name, its contents are noted."""
        values.append(value)
        if self._list is not None:
            self._say(f"{self._list} = {_plain(values)}.")

    def each(self, name: str, values: Sequence[int], body: int | None = None) -> Iterator[int]:
        """The values of a loop; each iteration is noted."""
        header = self.step
        for at, value in enumerate(Execution.each(self, name, values, body)):
            self._new_round = LoopRound(header, name, values, at)
            yield value

    def _call(
        self, tool: str, arguments: dict[str, Any], given: bool, instead: BranchCall | None
    ) -> ToolValue:
        self._mark()
        plain = {name: _plain(value) for name, value in arguments.items()}
        clause = clause_of(tool, plain, self._sentence, self.text.procedure)
        self._sentences.append(f"{clause.with_values(plain)}.")
        self._close()
        # Not `super()`: it would refer to the class before `slots=True` replaced it.
        result = cast(int, Execution._call(self, tool, plain, given, instead))
        self._name(result)
        return NarratedInt(result, self._say)

    @property
    def _sentence(self) -> str:
        return self._sentence_of(self.step)

    def _sentence_of(self, step: int) -> str:
        return self.text.procedure[step + self.shift - 1]

    def _mark(self) -> None:
        """Notes the step and the iteration of a loop, if they have changed."""
        new, self._new_round = self._new_round, None
        if new and (body := _BODY.search(self._sentence_of(new.header))):
            self._at_step(new.header)
            self._sentences.append(f"{body[0]} {new}.")
            self._at_step(self.step)
        elif new:
            self._sentences.append(f"Step {self.step + self.shift} for {new}:")
            self._at = self.step
        else:
            self._at_step(self.step)

    def _at_step(self, step: int) -> None:
        if self._at != step:
            self._sentences.append(f"Step {step + self.shift}:")
            self._at = step

    def _name(self, result: int) -> None:
        """Notes the name of a result, if the step gives it one."""
        found = _NAMES.search(self._sentence)
        names = found[1].split(" and ") if found else []
        at, self._named[self.step] = self._named[self.step], self._named[self.step] + 1
        if names:
            self._sentences.append(f"{names[at % len(names)]} = {result}.")

    def _say(self, fact: str) -> None:
        self._mark()
        self._sentences.append(_worded(fact, self.text))

    def answered(self, result: int, extras: Sequence[int]) -> int:
        """Notes the answer and its computation."""
        answer, sums = int(result), []
        for extra in map(int, extras):
            sums.append(f"{answer} + {extra} = {answer + extra}.")
            answer += extra
        self._sentences += [f"N is {self.text.answer}:", *(sums or [f"{answer}."])]
        self._close()
        return answer

    def _close(self) -> None:
        """Completes the note: a call or the answer follows."""
        self.notes.append(" ".join(self._sentences))
        self._sentences.clear()
        self._at = None


def _plain(value: ToolValue) -> ToolValue:
    return [int(each) for each in value] if isinstance(value, list) else int(value)


def _worded(fact: str, text: PromptText) -> str:
    """The sentence; a sum is given the procedure's name for it."""
    if _SUM.fullmatch(fact) and text.answer.startswith("the total"):
        return f"total = {fact}"
    return fact


def notes(example: Example) -> Sequence[str]:
    """A note for each call of a simplified example, and one for the answer."""
    patterns = (TRAINING | HELD_OUT).get(example.template, ())
    pattern = next((each for each in patterns if each.transform == example.transform), None)
    if pattern is None:
        raise _no_notes(f"there are no notes for {example.name}: its pattern is unknown")
    first, last = (int(cast(int, example.gold[at].arguments.get("i", 0))) for at in (0, -1))
    extras = Extras(
        first if example.augmentation in ("prefix", "both") else None,
        last if example.augmentation in ("suffix", "both") else None,
    )
    core = Core(pattern, example.parameters)
    text = text_of(core, extras)
    run = NarratedExecution(core.parameters["seed"], 1, text=text, shift=extras.shift)
    _, answer = execute(core, extras, run)
    calls = [(call.tool, call.arguments) for call in run.calls]
    if calls != [(call.tool, call.arguments) for call in example.gold] or answer != example.answer:
        raise _no_notes(f"there are no notes for {example.name}: its tools have other names")
    return run.notes


def _no_notes(message: str) -> UsageError:
    return UsageError(Diagnostic("E402", message, "Notes exist for the training corpus only."))
