"""Every diagnostic code: its meaning, a mistake and its correction. `bylaw explain` prints them."""

from __future__ import annotations

from typing import Final

from bylaw.codes.commands import COMMAND_CODES
from bylaw.codes.formulas import FORMULA_CODES
from bylaw.codes.lint import LINT_CODES
from bylaw.codes.procedures import PROCEDURE_CODES
from bylaw.codes.protocols import PROTOCOL_CODES
from bylaw.codes.traces import TRACE_CODES

_ALL = FORMULA_CODES | PROCEDURE_CODES | TRACE_CODES | COMMAND_CODES | PROTOCOL_CODES | LINT_CODES
CODES: Final = {code: _ALL[code] for code in sorted(_ALL)}
