"""From shapes to `sh(…)`, the atom about shell commands."""

from __future__ import annotations

from collections.abc import Sequence

from bylaw.logic import formula as f
from bylaw.logic.terms import Literal, Term, list_term
from bylaw.syntax import shapes as s
from bylaw.syntax.elaborate_values import NO_VALUE, ValueElaborator
from bylaw.syntax.scope import NameScope
from bylaw.vocabulary.shell_atom import KEYS, ShellCondition, shell_atom


class ShellElaborator(ValueElaborator):
    """Reads the operands of `sh`."""

    def shell_event(self, operands: Sequence[s.Item], scope: NameScope) -> f.Formula:
        """`sh(git, push, option = "--force")`: program, subcommand and conditions."""
        conditions: list[ShellCondition] = []
        dynamic = False
        for number, operand in enumerate(operands):
            match operand:
                case s.Name(_, "opaque") if number == 0:
                    conditions.append(("kind", "=", Literal.of("opaque")))
                case s.Name(_, "dynamic") if number:
                    dynamic = True
                case s.Relation(_, symbol, s.Name(_, key), right) if key in KEYS:
                    value = self.term(right, scope)
                    if symbol == "~":
                        self.check_pattern(value, right, scope)
                    conditions.append((key, symbol, value))
                case s.Relation(_, _, left, _):
                    message = f"a command has no {s.kind_of_shape(left)}"
                    if isinstance(left, s.Name):
                        message = f"a command has no '{left.text}'"
                    help = f"Its keys are: {', '.join(KEYS)}."
                    self.complain(left.span, scope, "E105", message, help)
                case _ if number < 2:
                    key = "subcommand" if number else "program"
                    conditions.append((key, *self.shell_names(operand, scope)))
                case _:
                    message = f"expected a condition, found {s.kind_of_shape(operand)}"
                    help = 'For example: sh(git, push, option = "--force").'
                    self.complain(operand.span, scope, "E105", message, help)
        return shell_atom(conditions, dynamic=dynamic)

    def shell_names(self, shape: s.Item, scope: NameScope) -> tuple[str, Term]:
        """A program or subcommand, or a set of them, as a relation and a value."""
        match shape:
            case s.Name(_, name) if name in scope.arguments:
                return self.shell_names(scope.arguments[name].shape, scope.arguments[name].scope)
            case s.Name(_, name) if name in scope.variables:
                return "=", self.term(shape, scope)
            case s.Name(_, name) if name in scope.constants:
                value = scope.constants[name]
                return ("in" if isinstance(value, list) else "="), Literal.of(value)
            case s.Name(_, name) | s.Scalar(_, str(name)):
                return "=", Literal.of(name)
            case s.Braces(_, items) if items:
                names = [self.shell_names(item, scope)[1] for item in items]
                if all(isinstance(name, Literal) for name in names):
                    return "in", list_term(names)
        message = f"expected the name of a program, found {s.kind_of_shape(shape)}"
        self.complain(shape.span, scope, "E105", message, 'For example: sh({rm, "apt-get"}).')
        return "=", NO_VALUE
