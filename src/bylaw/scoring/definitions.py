"""The names that a procedure defines for parts of its rules, so that sentences can use them."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from bylaw.errors import SpecError
from bylaw.logic.formula import Formula
from bylaw.procedure.procedure import Procedure
from bylaw.syntax.parser import parse_in, read_definition
from bylaw.syntax.printer import to_text
from bylaw.syntax.scope import NameScope


class Definitions:
    """What `define` says, read the other way: from a formula to its name."""

    def __init__(self, procedure: Procedure) -> None:
        self.names: Final[dict[Formula, str]] = {}
        # A file was checked; what a procedure made in Python says here need not parse.
        with suppress(SpecError):
            self._read(procedure)

    def _read(self, procedure: Procedure) -> None:
        read = [read_definition(head, body) for head, body in procedure.define.items()]
        macros = {macro.name: macro for macro in read}
        names = (procedure.tools, procedure.groups, procedure.vocabulary, procedure.constants)
        scope = NameScope.of(*names, macros)
        for macro in read:
            if macro.parameters:
                continue  # what it stands for depends on its operands
            try:
                formula = parse_in(macro.name, scope)
            except SpecError:
                continue  # it stands for a value
            if len(to_text(formula)) > len(macro.name):  # a name that is longer tells nobody more
                self.names.setdefault(formula, macro.name)
