"""What an agent would jot down before a call: where it is, what leads to it, what it carries out.

A procedure is carried out once more with numbers that say what is done to them. So a note is true,
and it tells what the template's own code worked out, no more; then it quotes the prompt:
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
from bylaw.training.augment import Core, Extras, carried_out, text_of
from bylaw.training.clauses import clause_of
from bylaw.training.example import Example
from bylaw.training.noted import Noted
from bylaw.training.templates import HELD_OUT, TRAINING

_BODY: Final = re.compile(r"Do steps? \d+(?: (?:and|to) \d+)? for")
"""The steps of a loop, where they are not the one that speaks of it."""
_SUM: Final = re.compile(r"\d+ \+ .*\.")
_NAMES: Final = re.compile(r"Let (\w+(?: and \w+)*) be ")
"""What a step calls its results."""


@dataclass(frozen=True, slots=True)
class Round:
    """One time through a loop."""

    header: int
    """The step that speaks of the loop."""
    name: str
    """What the prompt calls the value that changes from round to round."""
    values: Sequence[int]
    at: int

    def __str__(self) -> str:
        value, *later = (int(value) for value in self.values[self.at :])
        left = f"then {', '.join(map(str, later))}" if later else "the last"
        return f"{self.name} = {value}, {left}"


@dataclass(slots=True)
class NotedExecution(Execution):
    """A procedure while it is carried out, with a note for each call."""

    text: PromptText = field(kw_only=True)
    """The task, with the steps of extra calls."""
    shift: int = field(kw_only=True)
    """How many steps come before those of the template itself."""
    notes: list[str] = field(default_factory=list)
    _said: list[str] = field(default_factory=list)
    """The note that is being written."""
    _at: int | None = None
    """The step that it speaks of, if any yet."""
    _new_round: Round | None = None
    """A time through a loop of which nothing was said yet."""
    _list: str | None = None
    """What the procedure calls the list that it fills."""
    _named: Counter[int] = field(default_factory=Counter)
    """How many results of each step have a name."""

    def let(self, name: str, value: V) -> V:
        """A value to begin with, which is said."""
        self._say(f"{name} = {value}.")
        self._list = name if isinstance(value, list) else self._list
        return value

    def put(self, values: list[int], value: int) -> None:
        """Puts a value at the end of a list; if that has a name, notes say what is in it."""
        values.append(value)
        if self._list is not None:
            self._say(f"{self._list} = {_plain(values)}.")

    def each(self, name: str, values: Sequence[int], body: int | None = None) -> Iterator[int]:
        """The values of a loop; notes say which round it is."""
        header = self.step
        for at, value in enumerate(Execution.each(self, name, values, body)):
            self._new_round = Round(header, name, values, at)
            yield value

    def _call(
        self, tool: str, arguments: dict[str, Any], given: bool, instead: BranchCall | None
    ) -> ToolValue:
        self._mark()
        plain = {name: _plain(value) for name, value in arguments.items()}
        clause = clause_of(tool, plain, self._words, self.text.procedure)
        self._said.append(f"{clause.with_values(plain)}.")
        self._close()
        # Not `super()`: a class with slots is made anew, and would not find itself.
        result = cast(int, Execution._call(self, tool, plain, given, instead))
        self._name(result)
        return Noted(result, self._say)

    @property
    def _words(self) -> str:
        return self._wording(self.step)

    def _wording(self, step: int) -> str:
        return self.text.procedure[step + self.shift - 1]

    def _mark(self) -> None:
        """Says which step comes now, and which round of a loop, if that is news."""
        begun, self._new_round = self._new_round, None
        if begun and (body := _BODY.search(self._wording(begun.header))):
            self._at_step(begun.header)
            self._said.append(f"{body[0]} {begun}.")
            self._at_step(self.step)
        elif begun:
            self._said.append(f"Step {self.step + self.shift} for {begun}:")
            self._at = self.step
        else:
            self._at_step(self.step)

    def _at_step(self, step: int) -> None:
        if self._at != step:
            self._said.append(f"Step {step + self.shift}:")
            self._at = step

    def _name(self, result: int) -> None:
        """Says what a result is called from now on, where the step gives it a name."""
        found = _NAMES.search(self._words)
        names = found[1].split(" and ") if found else []
        at, self._named[self.step] = self._named[self.step], self._named[self.step] + 1
        if names:
            self._said.append(f"{names[at % len(names)]} = {result}.")

    def _say(self, fact: str) -> None:
        self._mark()
        self._said.append(_worded(fact, self.text))

    def answered(self, result: int, extras: Sequence[int]) -> int:
        """Says what the answer is, and how it is worked out."""
        answer, sums = int(result), []
        for extra in map(int, extras):
            sums.append(f"{answer} + {extra} = {answer + extra}.")
            answer += extra
        self._said += [f"N is {self.text.answer}:", *(sums or [f"{answer}."])]
        self._close()
        return answer

    def _close(self) -> None:
        """The note is complete: what comes next is a call, or the answer."""
        self.notes.append(" ".join(self._said))
        self._said.clear()
        self._at = None


def _plain(value: ToolValue) -> ToolValue:
    return [int(each) for each in value] if isinstance(value, list) else int(value)


def _worded(fact: str, text: PromptText) -> str:
    """What was worked out; a sum is called what the procedure calls it."""
    if _SUM.fullmatch(fact) and text.answer.startswith("the total"):
        return f"total = {fact}"
    return fact


def notes(example: Example) -> Sequence[str]:
    """A note for each call of a simplified example, and one for the answer."""
    patterns = (TRAINING | HELD_OUT)[example.template]
    pattern = next(each for each in patterns if each.transform == example.transform)
    first, last = (int(cast(int, example.gold[at].arguments.get("i", 0))) for at in (0, -1))
    extras = Extras(
        first if example.augmentation in ("prefix", "both") else None,
        last if example.augmentation in ("suffix", "both") else None,
    )
    core = Core(pattern, example.parameters)
    text = text_of(core, extras)
    run = NotedExecution(core.parameters["seed"], 1, text=text, shift=extras.shift)
    _, answer = carried_out(core, extras, run)
    made = [(call.tool, call.arguments) for call in run.calls]
    if made != [(call.tool, call.arguments) for call in example.gold] or answer != example.answer:
        message = f"there are no notes for {example.name}, whose tools have other names"
        raise UsageError(Diagnostic("E402", message, "Notes are made for the training corpus."))
    return run.notes
