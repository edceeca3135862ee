"""Terms and tools: the nodes of a formula that denote values and sets of calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias, cast, get_args
from typing import Literal as Choice

from bylaw.errors import Diagnostic, SpecError, shown
from bylaw.frozen import frozen
from bylaw.logic.node import Node
from bylaw.values import Json, canonical, is_number, problem

if TYPE_CHECKING:
    from bylaw.logic.formula import Domain, Formula

# ── values ────────────────────────────────────────────────────────────────────────────────


@frozen
class Literal(Node):
    """A JSON value, kept as canonical text: `1` and `1.0` are two literals that compare equal."""

    text: str

    @classmethod
    def of(cls, value: Json) -> Literal:
        """The literal of a Python object that is a JSON value."""
        if reason := problem(value):
            raise SpecError(Diagnostic("E113", f"not a JSON value: {reason}"))
        return cls(canonical(value))

    @classmethod
    def computed(cls, value: Json) -> Literal:
        """The literal of a value that was computed from JSON values, and may be nested deeper."""
        return cls(canonical(value))

    @property
    def value(self) -> Json:
        """The value itself. It is shared: read it, never change it."""
        return _value(self.text)


@lru_cache(maxsize=65536)
def _value(text: str) -> Json:
    return json.loads(text)


@frozen
class Variable(Node):
    """A variable in the place of a value."""

    name: str

    def _free(self) -> frozenset[str]:
        return frozenset({self.name})


@frozen
class ListTerm(Node):
    """A list with a variable somewhere inside; without one it is a `Literal`."""

    items: tuple[Term, ...]
    deepens = True
    nests = True


@frozen
class ObjectEntry(Node):
    """One key of an `ObjectTerm`."""

    key: str
    value: Term


@frozen
class ObjectTerm(Node):
    """An object with a variable somewhere inside; without one it is a `Literal`."""

    entries: tuple[ObjectEntry, ...]
    deepens = True
    nests = True


@frozen
class Answer(Node):
    """`answer`: the text of the final answer, undefined where there is none."""


@frozen
class Labels(Node):
    """`labels`: the labels of the trace."""


# fmt: off
Field: TypeAlias = Choice[
    "args", "result", "tool", "step", "text", "error", "start", "end", "duration", "agent", "usage"
]
# fmt: on
FIELDS: Final[tuple[str, ...]] = get_args(Field)


@frozen
class Reading(Node):
    """`args`, `result`, `tool`, `start`, …: a field of the event being tested."""

    field: Field
    reads = True


@frozen
class At(Node):
    """`base.key`, `base[key]`: the value at a key or an index; a key is looked up in every element
    of a list.
    """

    base: Term
    key: Term
    deepens = True
    nests = True


@frozen
class Apply(Node):
    """`length(x)`, `x + 1`: a built-in function applied to its operands."""

    function: str
    operands: tuple[Term, ...]
    deepens = True
    nests = True


@frozen
class Last(Node):
    """`last(a)`: the latest event of a strictly earlier step where `a` holds, as an object."""

    condition: Formula
    deepens = True
    nests = True
    reads = True


@frozen
class Sofar(Node):
    """`sofar(a)`: the events up to and including the current one where `a` holds, as a list.

    `sofar(a, 24 h)` has those that started at most so long before the current event. It is
    undefined if one of the events, or the current one, has no start.
    """

    condition: Formula
    seconds: Literal | None = None
    deepens = True
    nests = True
    reads = True

    def __post_init__(self) -> None:
        if self.seconds is not None:
            check_duration(self.seconds)
        Node.__post_init__(self)


@frozen
class Counted(Node):
    """`count(x in D: a)`: the number of values of the domain for which `a` holds."""

    variable: str
    domain: Domain
    body: Formula
    deepens = True
    nests = True
    reads = True

    def _free(self) -> frozenset[str]:
        return self.body.free - {self.variable} | self.domain.free


Term: TypeAlias = (
    Literal
    | Variable
    | ListTerm
    | ObjectTerm
    | Answer
    | Labels
    | Reading
    | At
    | Apply
    | Last
    | Sofar
    | Counted
)
_TERMS: Final = get_args(Term)


def check_duration(seconds: Literal) -> None:
    """Raises SpecError unless the literal is a number of seconds, 0 or more."""
    if not isinstance(seconds, Literal) or not is_number(seconds.value) or seconds.value < 0:
        message = "a duration is a number of seconds that is written out"
        raise SpecError(
            Diagnostic("E120", message, "For example: 500 ms, 30 s, 10 min, 24 h, 7 d.")
        )


def is_constant(term: Term) -> bool:
    """Is the value the same at every event, once its variables are bound?"""
    return term.constant


def path_term(base: Term, *keys: object) -> Term:
    """`base.key.key…`"""
    for key in keys:
        base = At(base, term_of(key))
    return base


def list_term(items: Iterable[Term]) -> Term:
    """A list of terms, as a literal where every item is one."""
    items = tuple(items)
    literals = [item for item in items if isinstance(item, Literal)]
    if len(literals) == len(items):
        return Literal.computed([item.value for item in literals])
    return ListTerm(items)


def object_term(entries: Mapping[str, Term]) -> Term:
    """An object of terms, as a literal where every value is one."""
    literals = {key: term for key, term in entries.items() if isinstance(term, Literal)}
    if len(literals) == len(entries):
        return Literal.computed({key: term.value for key, term in literals.items()})
    return ObjectTerm(tuple(ObjectEntry(key, term) for key, term in entries.items()))


def term_of(value: object) -> Term:
    """The term for a Python object; terms are kept, also inside lists and dicts."""
    match value:
        case Node() if isinstance(value, _TERMS):
            return cast(Term, value)
        case list() | tuple():
            return list_term(term_of(item) for item in value)
        case Mapping():
            return object_term({str(key): term_of(item) for key, item in value.items()})
        case _:
            return Literal.of(value)


# ── tools ─────────────────────────────────────────────────────────────────────────────────


@frozen
class ToolName(Node):
    """One tool."""

    name: str


@frozen
class ToolVariable(Node):
    """A variable in the place of a tool."""

    name: str

    def _free(self) -> frozenset[str]:
        return frozenset({self.name})


@frozen
class ToolGlob(Node):
    """`like("get_*")`: every tool whose name matches; `*` stands for any characters."""

    pattern: str

    @property
    def name(self) -> str:
        """The sort key among the members of a set."""
        return self.pattern


@frozen
class ToolSet(Node):
    """`{cancel, refund}`: behaves as one tool; a call of any member is a call of it."""

    members: tuple[ToolMember, ...]

    def __post_init__(self) -> None:
        unique = sorted(set(self.members), key=lambda member: (member.name, str(type(member))))
        object.__setattr__(self, "members", tuple(unique))
        Node.__post_init__(self)


ToolMember: TypeAlias = ToolName | ToolVariable | ToolGlob
Tool: TypeAlias = ToolMember | ToolSet

NO_TOOL = ToolSet(())
"""The tool of a variable whose value names no tool: it is never called."""


def tool_of(value: object) -> Tool:
    """The tool for a Python object: a name, a collection of names, or a variable."""
    match value:
        case ToolName() | ToolSet() | ToolVariable() | ToolGlob():
            return value
        case Variable(name):
            return ToolVariable(name)
        case str() if value:
            return ToolName(value)
        case set() | frozenset() | list() | tuple() if value:
            members = (tool_of(item) for item in value)
            return ToolSet(tuple(flat for member in members for flat in members_of(member)))
        case _:
            message = f"a tool is a non-empty name or set of names, not {shown(value)}"
            raise SpecError(Diagnostic("E106", message))


def members_of(tool: Tool) -> tuple[ToolMember, ...]:
    """The names, globs and variables that a tool consists of."""
    return tool.members if isinstance(tool, ToolSet) else (tool,)
