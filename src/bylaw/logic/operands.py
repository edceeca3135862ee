"""The parts of a formula that are not formulas: domains, patterns, the operands of predicates."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Literal as Choice
from typing import TypeAlias

from bylaw.frozen import frozen
from bylaw.logic.node import Node
from bylaw.logic.terms import Literal, Term, Tool
from bylaw.values import Json, arguments_key

# ── the domains of quantifiers ────────────────────────────────────────────────────────────


@frozen
class Listed(Node):
    """`[1, args.id]`: the values themselves, without those that are undefined."""

    items: tuple[Term, ...]


@frozen
class Found(Node):
    """`args.items`: the elements of a list at the current event; any other value is one element."""

    term: Term


def each_of(term: Term) -> Listed | Found | None:
    """The domain of a term's elements; for a literal, the list of them, or None if it is empty."""
    if not isinstance(term, Literal):
        return Found(term)
    value = term.value
    items = value if isinstance(value, list) else [] if value is None else [value]
    return Listed(tuple(map(Literal.of, items))) if items else None


@frozen
class FromArgs(Node):
    """`args(tool, "path")`: the values at the path in the arguments of each call of the tool."""

    tool: Tool
    path: str


@frozen
class FromResults(Node):
    """`results(tool, "path")`: the values at the path in the result of each call of the tool."""

    tool: Tool
    path: str


@frozen
class FromMetrics(Node):
    """`metrics("path")`: the values at the path in the metrics record."""

    path: str


@frozen
class Extracted(Node):
    """`name(…)`: the values that a registered extractor yields."""

    name: str
    operands: tuple[Term, ...] = ()


Domain: TypeAlias = Listed | Found | FromArgs | FromResults | FromMetrics | Extracted


# ── the patterns of event atoms ───────────────────────────────────────────────────────────


@frozen
class ArgumentIs(Node):
    """`q = "foo"`: the argument is present and equals the value. The path leads into objects."""

    path: tuple[str, ...]
    expected: Term
    expects_constant = True


@frozen
class ResultIs(Node):
    """`result.status = "open"`: the same for the result; an empty path is the whole result."""

    path: tuple[str, ...]
    expected: Term
    expects_constant = True


@frozen
class OutcomeIs(Node):
    """`ok` or `failed`: the outcome of the call."""

    outcome: Choice["ok", "failed"]


Pattern: TypeAlias = ArgumentIs | ResultIs | OutcomeIs


# ── the operands of trace predicates ──────────────────────────────────────────────────────


@frozen
class Count(Node):
    """`<= 3`: a comparison with a number of calls."""

    comparison: str
    number: Term


@frozen
class ToolList(Node):
    """`[a, b]`: several tools, each taken separately; a `ToolSet` behaves as one tool."""

    tools: tuple[Tool, ...]


class _Arguments(Node):
    __slots__ = ("key", "literals")

    literals: Mapping[str, Json] | None
    """The arguments as a mapping, if all are literal and none is nested."""
    key: Hashable | None
    """The key shared by calls with exactly these arguments, under the same condition."""
    patterns: tuple[ArgumentIs, ...]

    def __post_init__(self) -> None:
        Node.__post_init__(self)
        plain = {p.path[0]: p.expected for p in self.patterns if len(p.path) == 1}
        literals = {key: term.value for key, term in plain.items() if isinstance(term, Literal)}
        complete = len(literals) == len(self.patterns)
        object.__setattr__(self, "literals", literals if complete else None)
        object.__setattr__(self, "key", arguments_key(literals) if complete else None)


@frozen
class Arguments(_Arguments):
    """`amount = 5, currency = "EUR"`: the arguments that a predicate expects of a call."""

    patterns: tuple[ArgumentIs, ...] = ()


Operand: TypeAlias = Tool | ToolList | Count | Term | Arguments
