"""A procedure: the weighted set of constraints that an agent should follow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args

from bylaw.errors import Diagnostic, SpecError, did_you_mean, listing, not_a_choice
from bylaw.procedure.constraint import Constraint
from bylaw.procedure.failure import Failure
from bylaw.procedure.files import Finish, Unlisted, read_file, read_mapping
from bylaw.trace.trace import Events, Trace
from bylaw.values import Json
from bylaw.vocabulary.registry import EMPTY, Vocabulary, check_closed
from bylaw.vocabulary.view import Order

if TYPE_CHECKING:
    from bylaw.procedure.toolset.schema import ToolSchema
    from bylaw.scoring.verify import Report

VERSION: Final = 1
_T = TypeVar("_T")


def _schemas(tools: object) -> dict[str, ToolSchema]:
    """The schemas of tools, by name."""
    if not isinstance(tools, Mapping) or all(schema is None for schema in tools.values()):
        return {}
    # Slow to import, and most procedures have no schemas.
    from bylaw.procedure.toolset.schema import ToolSchema

    given = {name: schema for name, schema in tools.items() if schema is not None}
    return {
        name: schema if isinstance(schema, ToolSchema) else ToolSchema(schema)
        for name, schema in given.items()
    }


class Procedure:
    """A set of constraints, and how they read a trace. Immutable.

    `order` says how positions compare, and `events` which events have one. `tools` lists the tools
    that rules may name, and `unlisted` says whether a gate refuses others; `schemas` are those of
    their arguments, by name. `failed` is the test for failed calls. `finish` says whether a gate
    lets an agent finish before all rules are met. `groups`, `constants` and `define` are the names
    used in the text of rules; the formulas of the constraints contain their meanings.
    """

    def __init__(
        self,
        constraints: Iterable[Constraint],
        *,
        name: str = "procedure",
        tools: Sequence[str] | Mapping[str, ToolSchema | Json | None] | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        constants: Mapping[str, Json] | None = None,
        define: Mapping[str, str] | None = None,
        failed: Failure | None = None,
        unlisted: Unlisted = "block",
        order: Order = "position",
        events: Events = "calls",
        finish: Finish = "met",
        vocabulary: Vocabulary = EMPTY,
    ) -> None:
        self.constraints: Final = tuple(constraints)
        self.name: Final = name
        self.tools: Final = None if tools is None else tuple(tools)
        self.schemas: Final = _schemas(tools)
        self.groups: Final = {key: tuple(members) for key, members in (groups or {}).items()}
        self.constants: Final = dict(constants or {})
        self.define: Final = dict(define or {})
        self.failed: Final = failed
        self.unlisted: Final[Unlisted] = unlisted
        self.order: Final[Order] = order
        self.events: Final[Events] = events
        self.finish: Final[Finish] = finish
        self.vocabulary: Final = vocabulary
        self._derived: Final[dict[Callable[[Procedure], Any], Any]] = {}
        self._check()

    def derived(self, kind: Callable[[Procedure], _T]) -> _T:
        """`kind(self)`, computed once and shared by every run."""
        ready: _T | None = self._derived.get(kind)
        if ready is None:
            ready = self._derived.setdefault(kind, kind(self))
        return ready

    def _check(self) -> None:
        problems: list[Diagnostic] = [
            Diagnostic("E214", mistake.message, mistake.help, where=f"tools.{name}")
            for name, schema in self.schemas.items()
            for mistake in schema.mistakes
        ]
        if not self.constraints:
            help = "Add at least one rule under 'constraints'."
            problems.append(Diagnostic("E208", "the procedure has no constraints", help))
        for field, given, choices in (
            ("unlisted", self.unlisted, get_args(Unlisted)),
            ("order", self.order, get_args(Order)),
            ("events", self.events, get_args(Events)),
            ("finish", self.finish, get_args(Finish)),
        ):
            if given not in choices:
                problems.append(Diagnostic("E212", *not_a_choice(field, given, choices)))
        names = Counter(constraint.name for constraint in self.constraints)
        problems += [
            Diagnostic("E209", f"two constraints are called '{name}'")
            for name, count in names.items()
            if count > 1
        ]
        for constraint in self.constraints:
            try:
                check_closed(constraint.formula, self.vocabulary)
            except SpecError as error:
                problems += [d.inside(f"constraint '{constraint.name}'") for d in error.diagnostics]
        if problems:
            raise SpecError(problems)

    def __getitem__(self, name: str) -> Constraint:
        """The constraint of this name."""
        for constraint in self.constraints:
            if constraint.name == name:
                return constraint
        names = [constraint.name for constraint in self.constraints]
        help = did_you_mean(name, names) or f"Its constraints are: {listing(names)}."
        raise SpecError(Diagnostic("E210", f"the procedure has no constraint '{name}'", help))

    def events_of(self, constraint: Constraint) -> Events:
        """The events that a constraint sees."""
        return constraint.events or self.events

    def marked(self, trace: Trace) -> Trace:
        """The trace with an error on each call that fails by the procedure's own test."""
        return trace if self.failed is None else self.failed.marked_trace(trace)

    def verify(self, trace: Trace | Mapping[str, Any]) -> Report:
        """Scores a trace, or a record in any format that is read: `verify_trace`."""
        from bylaw.scoring.verify import verify_trace  # the room above: a method to find it by

        return verify_trace(trace, self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Procedure) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.name, self.constraints))

    def __repr__(self) -> str:
        count = len(self.constraints)
        return f"<Procedure {self.name!r}, {count} constraint{'s' if count != 1 else ''}>"

    @classmethod
    def load(cls, path: str | Path, *, vocabulary: Vocabulary = EMPTY) -> Procedure:
        """The procedure in a YAML or JSON file. Loading runs no code."""
        return cls(**read_file(Path(path), vocabulary), vocabulary=vocabulary)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, vocabulary: Vocabulary = EMPTY) -> Procedure:
        """The procedure that a mapping describes, with the fields of a procedure file."""
        return cls(**read_mapping(data, vocabulary), vocabulary=vocabulary)

    def _tools_to_json(self) -> Json:
        if self.tools is None or not self.schemas:
            return None if self.tools is None else list(self.tools)
        written = {name: schema.written for name, schema in self.schemas.items()}
        return {name: written.get(name) for name in self.tools}

    def to_dict(self) -> dict[str, Json]:
        """The procedure as a mapping that `from_dict` reads back."""
        optional: dict[str, Json] = {
            "tools": self._tools_to_json(),
            "groups": {name: list(members) for name, members in self.groups.items()} or None,
            "constants": self.constants or None,
            "define": self.define or None,
            "failed": self.failed and self.failed.rule,
            "unlisted": None if self.unlisted == "block" else self.unlisted,
            "order": self.order,
            "events": self.events,
            "finish": None if self.finish == "met" else self.finish,
            "constraints": [constraint.to_dict() for constraint in self.constraints],
        }
        given = {key: value for key, value in optional.items() if value is not None}
        return {"bylaw": VERSION, "name": self.name, **given}
