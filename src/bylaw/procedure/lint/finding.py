"""A finding of lint: the rules it concerns, a fact about them, and a suggestion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from bylaw.values import Json

Importance: TypeAlias = Literal["warning", "note"]
"""A warning calls for a change; a note reports something that may be intended."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a procedure may not mean. `bylaw explain CODE` explains the code."""

    code: str
    constraints: tuple[str, ...]
    """The names of the rules concerned; empty if the finding concerns the procedure."""
    message: str
    """A fact about the rules, in one sentence. Never a guess."""
    suggestion: str
    rewrite: str | None = None
    """A rule to write instead, if there is one."""
    severity: Importance = "warning"

    def to_dict(self) -> dict[str, Json]:
        """The finding as JSON."""
        fields: dict[str, Json] = {
            "code": self.code,
            "severity": self.severity,
            "constraints": list(self.constraints),
            "message": self.message,
            "suggestion": self.suggestion,
        }
        return fields if self.rewrite is None else fields | {"rewrite": self.rewrite}
