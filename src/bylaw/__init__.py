"""Bylaw checks what tool-using LLM agents do against the procedure they should follow."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bylaw.errors import BylawError, Diagnostic, SpecError, TraceError
    from bylaw.procedure.constraint import Constraint, Severity
    from bylaw.procedure.procedure import Procedure
    from bylaw.scoring.explain import Explanation, explain
    from bylaw.scoring.verify import ConstraintResult, Report, verify_trace
    from bylaw.semantics.enforceability import enforceable
    from bylaw.semantics.monitor import Monitor
    from bylaw.semantics.reference import holds
    from bylaw.semantics.verdict import Outcome, Verdict
    from bylaw.syntax.json_form import from_json, to_json
    from bylaw.syntax.parser import parse
    from bylaw.syntax.printer import to_text
    from bylaw.syntax.python_form import to_python
    from bylaw.trace.event import Call, Message
    from bylaw.trace.files import read_trace, read_traces
    from bylaw.trace.trace import Trace
    from bylaw.vocabulary.registry import Vocabulary

__version__ = "0.1.0"

_HOMES = {
    "BylawError": "bylaw.errors",
    "Call": "bylaw.trace.event",
    "Constraint": "bylaw.procedure.constraint",
    "ConstraintResult": "bylaw.scoring.verify",
    "Diagnostic": "bylaw.errors",
    "Explanation": "bylaw.scoring.explain",
    "Message": "bylaw.trace.event",
    "Monitor": "bylaw.semantics.monitor",
    "Outcome": "bylaw.semantics.verdict",
    "Procedure": "bylaw.procedure.procedure",
    "Report": "bylaw.scoring.verify",
    "Severity": "bylaw.procedure.constraint",
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
    "to_json": "bylaw.syntax.json_form",
    "to_python": "bylaw.syntax.python_form",
    "to_text": "bylaw.syntax.printer",
    "verify_trace": "bylaw.scoring.verify",
}
"""Each public name and the module it lives in, imported when first asked for."""

__all__ = [  # spelt out for editors; a test holds it to the table above
    "BylawError",
    "Call",
    "Constraint",
    "ConstraintResult",
    "Diagnostic",
    "Explanation",
    "Message",
    "Monitor",
    "Outcome",
    "Procedure",
    "Report",
    "Severity",
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
