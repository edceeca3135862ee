"""A procedure: the weighted set of constraints that an agent should follow, and its score.

A constraint is a rule with its name, weight, layer and severity. The compliance score is
`C = 1 − Σ violated weights / Σ weights`; every score is computed here, for finished traces, gated
runs, corpora and rollouts alike.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, get_args

from bylaw.argument_types import expect
from bylaw.errors import Diagnostic, SpecError, did_you_mean, listing, not_a_choice
from bylaw.frozen import frozen
from bylaw.logic.formula import Formula
from bylaw.procedure.across import LABELS, across_problem
from bylaw.procedure.failure import Failure
from bylaw.syntax.printer import to_text
from bylaw.syntax.scope import check_closed
from bylaw.trace.trace import Events, Trace
from bylaw.values import Json, kind_of
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Order

if TYPE_CHECKING:
    from bylaw.procedure.toolset.schema import ToolSchema
    from bylaw.scoring.verify import Report

VERSION: Final = 1
LARGEST_WEIGHT: Final = 1e100
"""Far larger than useful weights, and small enough that sums of weights are finite."""

LAYERS: Final = {
    "L1": "tool branching",
    "L2": "prompt-derived arguments",
    "L3": "sequence ordering",
    "L4": "pair and instance ordering",
    "L5": "call counts",
    "L6": "exact arguments",
}
"""The six layers of the paper. A layer is a label: procedures may use these, others, or none."""

Severity: TypeAlias = Literal["HARD_STOP", "SOFT_BLOCK", "ASK", "BLOCK_AND_WARN", "TOLERATE"]
"""The reaction of a gate to a call that dooms the constraint, strongest first."""
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
DEFAULT_SEVERITY: Final[Severity] = "SOFT_BLOCK"

Finish: TypeAlias = Literal["met", "free"]
"""An agent may finish only once every rule that a gate enforces is met, or at any time."""
Unlisted: TypeAlias = Literal["block", "allow"]
"""A gate refuses calls of tools that the procedure does not list, or lets the rules decide."""
Label: TypeAlias = Literal["FULL", "PARTIAL", "NONE"]
SCORE_LABELS: Final[tuple[Label | None, ...]] = ("NONE", "PARTIAL", "FULL", None)  # by code
_T = TypeVar("_T")


@frozen
class Constraint:
    """One rule of a procedure."""

    name: str
    formula: Formula
    weight: float = 1.0
    layer: str | None = None
    severity: Severity | None = None
    """The severity that the author states. It is a promise: no guard is made that cannot keep it.
    None stands for the default, as far as the rule can be enforced."""
    why: str | None = None
    """The reason for the rule, for people and for an agent whose call is refused."""
    fix: str | None = None
    """Advice on what to do instead."""
    rule: str = ""
    """The formula as its author wrote it."""
    events: Events | None = None
    """The events that this rule sees; None for the procedure's choice."""
    across: str | None = None
    """The label by which this rule judges runs together: all that have one value of it. None if it
    judges each run by itself."""

    def __post_init__(self) -> None:
        if reason := weight_problem(self.weight):
            raise SpecError(Diagnostic("E205", reason, where=f"{self.name}.weight"))
        if self.severity is not None and self.severity not in SEVERITIES:
            message, help = not_a_choice("severity", self.severity, SEVERITIES)
            raise SpecError(Diagnostic("E212", message, help, where=f"{self.name}.severity"))
        if self.across is not None and (problem := across_problem(self.formula, self.across)):
            raise SpecError(Diagnostic("E217", *problem, where=f"{self.name}.across"))
        if not self.rule:
            object.__setattr__(self, "rule", to_text(self.formula))

    @property
    def effective_severity(self) -> Severity:
        """The severity that is stated, or the default."""
        return self.severity or DEFAULT_SEVERITY

    def to_dict(self) -> dict[str, Json]:
        """The constraint as a procedure file writes it, without absent fields."""
        optional = {
            "severity": self.severity,
            "events": self.events,
            "across": None if self.across is None else f"{LABELS}{self.across}",
            "layer": self.layer,
            "why": self.why,
            "fix": self.fix,
        }
        return {"name": self.name, "rule": self.rule, "weight": self.weight} | {
            key: value for key, value in optional.items() if value is not None
        }


def weight_problem(weight: object) -> str | None:
    """The reason why this is not a weight, or None if it is one."""
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        return f"a weight is a number, not {kind_of(weight)}"
    if not 0 < weight <= LARGEST_WEIGHT:
        return f"a weight is above 0 and at most {LARGEST_WEIGHT:g}"
    return None


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
        help = "A file is for Procedure.load, a mapping for Procedure.from_dict."
        if isinstance(constraints, str | Mapping):
            expect(constraints, Constraint, "constraints", help)
        self.constraints: Final = tuple(constraints)
        for each in self.constraints:
            if type(each) is not Constraint:
                expect(each, Constraint, "constraints", help)
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

    def keep_derived(self, kind: Callable[[Procedure], _T], value: _T) -> None:
        """Keeps `kind(self)` as it was computed before, perhaps by another process."""
        self._derived[kind] = value

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

    def with_constraints(self, constraints: Iterable[Constraint]) -> Procedure:
        """The same procedure with other constraints."""
        return Procedure(
            constraints,
            name=self.name,
            tools=None if self.tools is None else {t: self.schemas.get(t) for t in self.tools},
            groups=self.groups,
            constants=self.constants,
            define=self.define,
            failed=self.failed,
            unlisted=self.unlisted,
            order=self.order,
            events=self.events,
            finish=self.finish,
            vocabulary=self.vocabulary,
        )

    @property
    def across(self) -> tuple[str, ...]:
        """The labels by which some rules judge runs together, in order of appearance."""
        return self.derived(_across_labels)

    @property
    def run_constraints(self) -> tuple[Constraint, ...]:
        """The rules that judge each run by itself. They alone make the score of a run."""
        return self.derived(_run_constraints)

    def of_one_run(self) -> Procedure:
        """The procedure without the rules across runs. A SpecError if no rule is left."""
        return self.derived(_of_one_run)

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
        if type(path) is not str:
            help = "A mapping is for Procedure.from_dict."
            expect(path, (str, PathLike), "the path of a file", help)
        if isinstance(path, str) and "\n" in path:
            help = "Write it to a file, or give its contents as a mapping: Procedure.from_dict."
            expect(path, Path, "the path of a file", help)
        from bylaw.procedure.files import read_file  # reads procedures, so it imports this file

        return cls(**read_file(Path(path), vocabulary), vocabulary=vocabulary)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, vocabulary: Vocabulary = EMPTY) -> Procedure:
        """The procedure that a mapping describes, with the fields of a procedure file."""
        help = "A file is for Procedure.load; a list of constraints stands under a key: "
        expect(data, Mapping, "a mapping", f'{help}{{"constraints": […]}}.')
        from bylaw.procedure.files import read_mapping  # as above

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


def _across_labels(procedure: Procedure) -> tuple[str, ...]:
    labels = (constraint.across for constraint in procedure.constraints)
    return tuple(dict.fromkeys(label for label in labels if label is not None))


def _of_one_run(procedure: Procedure) -> Procedure:
    if procedure.across and not procedure.run_constraints:
        message = "every rule judges runs together, so single traces cannot be scored"
        help = "Leave out --out, --report, --summary and --jobs, or add a rule without `across`."
        raise SpecError(Diagnostic("E208", message, help))
    if not procedure.across:
        return procedure
    return procedure.with_constraints(procedure.run_constraints)


def _run_constraints(procedure: Procedure) -> tuple[Constraint, ...]:
    return tuple(constraint for constraint in procedure.constraints if constraint.across is None)


# ── scores ─────────────────────────────────────────────────────────────────────────────


class Score(NamedTuple):
    """A compliance score from 0 to 1 and its label; both None if a constraint is undecided."""

    value: float | None
    label: Label | None


UNDECIDED: Final = Score(None, None)


def score_of(weights: Sequence[float], passed: Iterable[bool | None]) -> Score:
    """The score of constraints with these weights; `passed` is None for an undecided one."""
    lost = []
    for weight, held in zip(weights, passed, strict=True):
        if not held:
            if held is None:
                return UNDECIDED
            lost.append(weight)
    label = label_of(len(lost), len(weights))
    return Score(value_of(math.fsum(lost), math.fsum(weights), label), label)


def violations(names: Sequence[str], constraints: int) -> str:
    """A sentence that names the constraints that were violated."""
    if not names:
        return "All constraints satisfied."
    return f"{len(names)} of {constraints} constraints violated: {', '.join(names)}."


def label_of(violated: int, constraints: int) -> Label:
    """The label. It depends on the number of violated constraints, never on a rounded score."""
    if not violated:
        return "FULL"
    return "NONE" if violated == constraints else "PARTIAL"


def value_of(lost: float, total: float, label: Label) -> float:
    """The score, from the violated and the total weight; exactly 0 if everything is violated.

    Where no rule judges a run by itself, nothing is violated.
    """
    if label != "PARTIAL":
        return 0.0 if label == "NONE" else 1.0
    return 1 - lost / total
