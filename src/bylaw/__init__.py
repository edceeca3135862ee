"""Bylaw checks what tool-using LLM agents do against the procedure they should follow."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bylaw.version import __version__ as __version__

if TYPE_CHECKING:
    from bylaw.audit.log import AuditLog
    from bylaw.audit.reader import LogError
    from bylaw.client import GateError, RemoteGuard
    from bylaw.enforcement.asking import Ask
    from bylaw.enforcement.coverage import EnforcementPlace, RuleCoverage
    from bylaw.enforcement.decision import (
        Action,
        ConstraintViolationError,
        Decision,
        Hints,
        SoftBlockMode,
        Violation,
        ViolationKind,
    )
    from bylaw.enforcement.events import EnforcementEvent, Resolution
    from bylaw.enforcement.guard import Guard
    from bylaw.enforcement.judge import Outstanding
    from bylaw.enforcement.listening import GuardListener
    from bylaw.enforcement.report import (
        AcrossStanding,
        ConstraintStanding,
        GuardReport,
        Statistics,
    )
    from bylaw.enforcement.severity import Setting, Unenforceable
    from bylaw.enforcement.shared.entries import EntryKind, StreamEntry
    from bylaw.enforcement.shared.rules import SharedRules
    from bylaw.enforcement.shared.stream import OutstandingCall
    from bylaw.enforcement.shared.table import StreamKey, StreamStore
    from bylaw.errors import BylawError, Diagnostic, SpecError, TraceError, UsageError
    from bylaw.logic.formula import Formula
    from bylaw.procedure.failure import Failure
    from bylaw.procedure.procedure import Constraint, Finish, Label, Procedure, Severity, Unlisted
    from bylaw.procedure.toolset.schema import ToolSchema
    from bylaw.scoring.across import AcrossResult, across_results
    from bylaw.scoring.explain import Explanation, explain
    from bylaw.scoring.occurrences import Occurrence
    from bylaw.scoring.verify import ConstraintResult, LayerResult, Report, verify_trace
    from bylaw.semantics.enforceability import enforceable
    from bylaw.semantics.evaluation import holds
    from bylaw.semantics.monitor import Monitor
    from bylaw.semantics.verdict import Outcome, Verdict
    from bylaw.store.store import StoreError
    from bylaw.syntax.json_form import from_json
    from bylaw.syntax.json_writer import to_json
    from bylaw.syntax.parser import parse
    from bylaw.syntax.printer import to_text
    from bylaw.syntax.python_form import to_python
    from bylaw.trace.event import MISSING, Call, Event, Message, Role
    from bylaw.trace.files import Entry, read_trace, read_traces
    from bylaw.trace.refusal import Refusal, RefusalAction
    from bylaw.trace.trace import Events, Trace
    from bylaw.vocabulary.registry import Vocabulary
    from bylaw.vocabulary.view import Order

_HOMES = {
    name: f"bylaw.{module}"
    for module, names in {
        "enforcement.asking": "Ask",
        "enforcement.coverage": "EnforcementPlace RuleCoverage",
        "enforcement.decision": (
            "Action ConstraintViolationError Decision Hints SoftBlockMode Violation ViolationKind"
        ),
        "enforcement.events": "EnforcementEvent Resolution",
        "enforcement.guard": "Guard",
        "enforcement.judge": "Outstanding",
        "enforcement.listening": "GuardListener",
        "audit.log": "AuditLog",
        "audit.reader": "LogError",
        "enforcement.report": "AcrossStanding ConstraintStanding GuardReport Statistics",
        "enforcement.severity": "Setting Unenforceable",
        "enforcement.shared.entries": "EntryKind StreamEntry",
        "enforcement.shared.rules": "SharedRules",
        "enforcement.shared.stream": "OutstandingCall",
        "enforcement.shared.table": "StreamKey StreamStore",
        "errors": "BylawError Diagnostic SpecError TraceError UsageError",
        "logic.formula": "Formula",
        "procedure.failure": "Failure",
        "procedure.procedure": "Constraint Finish Label Procedure Severity Unlisted",
        "procedure.toolset.schema": "ToolSchema",
        "scoring.across": "AcrossResult across_results",
        "scoring.explain": "Explanation explain",
        "scoring.occurrences": "Occurrence",
        "scoring.verify": "ConstraintResult LayerResult Report verify_trace",
        "semantics.enforceability": "enforceable",
        "semantics.evaluation": "holds",
        "semantics.monitor": "Monitor",
        "semantics.verdict": "Outcome Verdict",
        "client": "GateError RemoteGuard",
        "store.store": "StoreError",
        "syntax.json_form": "from_json",
        "syntax.json_writer": "to_json",
        "syntax.parser": "parse",
        "syntax.printer": "to_text",
        "syntax.python_form": "to_python",
        "trace.event": "Call Event MISSING Message Role",
        "trace.files": "Entry read_trace read_traces",
        "trace.refusal": "Refusal RefusalAction",
        "trace.trace": "Events Trace",
        "vocabulary.registry": "Vocabulary",
        "vocabulary.view": "Order",
    }.items()
    for name in names.split()
}
"""Each public name and the module that defines it, imported when the name is first used."""

__all__ = [  # written out for type checkers and editors; a test compares it with the table above
    "MISSING",
    "AcrossResult",
    "AcrossStanding",
    "Action",
    "Ask",
    "AuditLog",
    "BylawError",
    "Call",
    "Constraint",
    "ConstraintResult",
    "ConstraintStanding",
    "ConstraintViolationError",
    "Decision",
    "Diagnostic",
    "EnforcementEvent",
    "EnforcementPlace",
    "Entry",
    "EntryKind",
    "Event",
    "Events",
    "Explanation",
    "Failure",
    "Finish",
    "Formula",
    "GateError",
    "Guard",
    "GuardListener",
    "GuardReport",
    "Hints",
    "Label",
    "LayerResult",
    "LogError",
    "Message",
    "Monitor",
    "Occurrence",
    "Order",
    "Outcome",
    "Outstanding",
    "OutstandingCall",
    "Procedure",
    "Refusal",
    "RefusalAction",
    "RemoteGuard",
    "Report",
    "Resolution",
    "Role",
    "RuleCoverage",
    "Setting",
    "Severity",
    "SharedRules",
    "SoftBlockMode",
    "SpecError",
    "Statistics",
    "StoreError",
    "StreamEntry",
    "StreamKey",
    "StreamStore",
    "ToolSchema",
    "Trace",
    "TraceError",
    "Unenforceable",
    "Unlisted",
    "UsageError",
    "Verdict",
    "Violation",
    "ViolationKind",
    "Vocabulary",
    "across_results",
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
