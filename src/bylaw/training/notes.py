"""What an agent would jot down before a call: what leads to it, and the words it carries out.

A procedure is carried out once more with numbers that remember what is done to them. So a note is
true, and it says what the template's own code worked out, no more; then it quotes the prompt:
`3 is greater than 4: no. tool_c(x = v), v = 3.`
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, SupportsInt, cast

from bylaw.bench.gold import Alternative, Execution
from bylaw.bench.tools import Value
from bylaw.errors import Diagnostic, UsageError
from bylaw.training.augment import Core, Extras, carried_out, steps_of
from bylaw.training.clauses import clause_of
from bylaw.training.example import Example
from bylaw.training.templates import HELD_OUT, TRAINING
from bylaw.training.templates.pattern import Text

Say = Callable[[str], None]


class Noted(int):
    """A number that came from a tool, or from such numbers. It says what is worked out from it."""

    say: Say

    def __new__(cls, value: SupportsInt, say: Say) -> Noted:
        made = super().__new__(cls, int(value))
        made.say = say
        return made

    def _worked_out(self, left: int, sign: str, right: int, result: int) -> Noted:
        self.say(f"{left:d} {sign} {right:d} = {result:d}.")
        return Noted(result, self.say)

    def _asked(self, condition: str, holds: bool) -> bool:
        self.say(f"{self:d} is {condition}: {'yes' if holds else 'no'}.")
        return holds

    def __add__(self, other: int) -> Noted:
        return self._worked_out(self, "+", other, int(self) + int(other))

    def __radd__(self, other: int) -> Noted:
        return self._worked_out(other, "+", self, int(other) + int(self))

    def __mul__(self, other: int) -> Noted:
        return self._worked_out(self, "*", other, int(self) * int(other))

    def __rmul__(self, other: int) -> Noted:
        return self._worked_out(other, "*", self, int(other) * int(self))

    def __gt__(self, other: int) -> bool:
        return self._asked(f"greater than {other:d}", int(self) > int(other))

    def __lt__(self, other: int) -> bool:
        return self._asked(f"less than {other:d}", int(self) < int(other))

    def __mod__(self, other: int) -> int:
        return Remainder(self, other)


class Remainder(int):
    """What is left of a number. Procedures only ask whether there is something left, or nothing."""

    _of: Noted
    _by: int

    def __new__(cls, of: Noted, by: int) -> Remainder:
        made = super().__new__(cls, int(of) % by)
        made._of, made._by = of, by
        return made

    def __eq__(self, other: object) -> bool:
        condition = "odd" if other == 1 else f"divisible by {self._by:d}"
        return self._of._asked(condition, int(self) == other)

    __hash__ = int.__hash__


@dataclass(slots=True)
class NotedExecution(Execution):
    """A procedure while it is carried out, with a note for each call."""

    notes: list[list[str]] = field(default_factory=list)
    """What was worked out between two calls, or before the answer."""
    sentences: list[int] = field(default_factory=list)
    """Which sentence of the prompt each call belongs to."""
    _said: list[str] = field(default_factory=list)

    def _call(
        self, tool: str, arguments: dict[str, Any], given: bool, instead: Alternative | None
    ) -> Value:
        self.close()
        self.sentences.append(self.sentence)
        plain = {name: _plain(value) for name, value in arguments.items()}
        # Not `super()`: a class with slots is made anew, and would not find itself.
        result = cast(int, Execution._call(self, tool, plain, given, instead))
        return Noted(result, self._said.append)

    def close(self) -> None:
        """The note is complete: what comes next is a call, or the answer."""
        self.notes.append(self._said[:])
        self._said.clear()


def _plain(value: Value) -> Value:
    return [int(each) for each in value] if isinstance(value, list) else int(value)


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
    run, answer = carried_out(core, extras, NotedExecution)
    assert isinstance(run, NotedExecution)
    run.close()
    made = [(call.tool, call.arguments) for call in run.calls]
    if made != [(call.tool, call.arguments) for call in example.gold] or answer != example.answer:
        message = f"there are no notes for {example.name}, whose tools have other names"
        raise UsageError(Diagnostic("E402", message, "Notes are made for the training corpus."))
    return list(_quoting(run, core, extras, answer))


def _quoting(run: NotedExecution, core: Core, extras: Extras, answer: int) -> Iterator[str]:
    """The notes, each with the words that are carried out then."""
    own, whole = core.pattern.text(core.parameters), steps_of(core, extras)
    *notes, last = run.notes
    for said, call, sentence in zip(notes, run.calls, run.sentences, strict=True):
        clause = clause_of(call.tool, call.arguments, own.steps[sentence], whole.steps)
        yield _note(_worded(said, own), f"{clause.with_values(call.arguments)}.")
    added = len(last) - (extras.prefix is not None) - (extras.suffix is not None)
    yield _note(_worded(last[:added], own), f"N is {whole.answer}:", last[added:] or [f"{answer}."])


def _note(*parts: str | Iterable[str]) -> str:
    return " ".join(part if isinstance(part, str) else " ".join(part) for part in parts).strip()


def _worded(said: Iterable[str], text: Text) -> Iterator[str]:
    """What was worked out, as the procedure puts it."""
    speaks_of_two = any("divisible by 2" in step for step in text.steps)
    for each in said:
        if " + " in each and text.answer == "the total":
            yield f"total = {each}"
        else:
            yield each if speaks_of_two else each.replace("divisible by 2:", "even:")
