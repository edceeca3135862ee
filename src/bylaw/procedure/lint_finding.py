"""What lint reports: a finding says which rules it is about, what is so, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from bylaw.values import Json

Importance: TypeAlias = Literal["warning", "note"]
"""A warning asks for a change; a note is worth knowing, and may be just as intended."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a procedure may not mean. `bylaw explain CODE` tells more about its kind."""

    code: str
    severity: Importance
    constraints: tuple[str, ...]
    """The names of the rules it is about; none if it is about the procedure."""
    message: str
    """What is so, in a sentence. Always a fact, never a guess."""
    suggestion: str
    """What to do about it."""
    rewrite: str | None = None
    """A rule that can be written instead, where there is one."""

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
