"""Bylaw checks what tool-using LLM agents do against the procedure they should follow."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bylaw.enforcement.decision import Action, ConstraintViolationError, Decision
    from bylaw.enforcement.guard import Guard
    from bylaw.enforcement.log import AuditLog
    from bylaw.enforcement.severity import SoftBlockMode
    from bylaw.errors import BylawError, Diagnostic, SpecError, TraceError
    from bylaw.procedure.constraint import Constraint, Severity
    from bylaw.procedure.procedure import Procedure
    from bylaw.scoring.explain import Explanation, explain
    from bylaw.scoring.verify import ConstraintResult, Report, verify_trace
    from bylaw.semantics.enforceability import enforceable
    from bylaw.semantics.monitor import Monitor
    from bylaw.semantics.reference import holds
    from bylaw.semantics.verdict import Outcome, Verdict
    from bylaw.syntax.json_form import from_json
    from bylaw.syntax.json_writer import to_json
    from bylaw.syntax.parser import parse
    from bylaw.syntax.printer import to_text
    from bylaw.syntax.python_form import to_python
    from bylaw.trace.event import Call, Message
    from bylaw.trace.files import read_trace, read_traces
    from bylaw.trace.trace import Trace
    from bylaw.vocabulary.registry import Vocabulary

__version__ = "0.1.0"

_HOMES = {
    "Action": "bylaw.enforcement.decision",
    "AuditLog": "bylaw.enforcement.log",
    "BylawError": "bylaw.errors",
    "Call": "bylaw.trace.event",
    "Constraint": "bylaw.procedure.constraint",
    "ConstraintResult": "bylaw.scoring.verify",
    "ConstraintViolationError": "bylaw.enforcement.decision",
    "Decision": "bylaw.enforcement.decision",
    "Diagnostic": "bylaw.errors",
    "Explanation": "bylaw.scoring.explain",
    "Guard": "bylaw.enforcement.guard",
    "Message": "bylaw.trace.event",
    "Monitor": "bylaw.semantics.monitor",
    "Outcome": "bylaw.semantics.verdict",
    "Procedure": "bylaw.procedure.procedure",
    "Report": "bylaw.scoring.verify",
    "Severity": "bylaw.procedure.constraint",
    "SoftBlockMode": "bylaw.enforcement.severity",
    "SpecError": "bylaw.errors",
    "Trace": "bylaw.trace.trace",
    "TraceError": "bylaw.errors",
    "Verdict": "bylaw.semantics.verdict",
    "Vocabulary": "bylaw.vocabulary.registry",
    "enforceable": "bylaw.semantics.enforceability",
    "explain": "bylaw.scoring.explain",
    "from_json": "bylaw.syntax.json_form",
    "holds": "bylaw.semantics.reference",
    "parse": "bylaw.syntax.parser",
    "read_trace": "bylaw.trace.files",
    "read_traces": "bylaw.trace.files",
    "to_json": "bylaw.syntax.json_writer",
    "to_python": "bylaw.syntax.python_form",
    "to_text": "bylaw.syntax.printer",
    "verify_trace": "bylaw.scoring.verify",
}
"""Each public name and the module it lives in, imported when first asked for."""

__all__ = [  # spelt out for editors; a test holds it to the table above
    "Action",
    "AuditLog",
    "BylawError",
    "Call",
    "Constraint",
    "ConstraintResult",
    "ConstraintViolationError",
    "Decision",
    "Diagnostic",
    "Explanation",
    "Guard",
    "Message",
    "Monitor",
    "Outcome",
    "Procedure",
    "Report",
    "Severity",
    "SoftBlockMode",
    "SpecError",
    "Trace",
    "TraceError",
    "Verdict",
    "Vocabulary",
    "enforceable",
    "explain",
    "from_json",
    "holds",
    "parse",
    "read_trace",
    "read_traces",
    "to_json",
    "to_python",
    "to_text",
    "verify_trace",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bylaw' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
