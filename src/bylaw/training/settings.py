"""What a training run was begun with, kept beside it: who resumes it must go on with the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from bylaw.errors import Diagnostic, UsageError
from bylaw.training.example import Example
from bylaw.training.plan import Plan
from bylaw.values import Json, canonical

SETTINGS: Final = "settings.json"
_FREE: Final = {"at_once", "width", "checkpointing", "save_every"}
"""What may change on the way: it is a matter of memory and time."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the weights depend on, beside the model."""

    values: Mapping[str, Json]

    @classmethod
    def of(cls, plan: Plan, precision: str, examples: Sequence[Example]) -> Settings:
        """The settings of a run on these examples."""
        held = {name: value for name, value in asdict(plan).items() if name not in _FREE}
        data = canonical([[each.name, each.prompt] for each in examples])
        digest = hashlib.sha256(data.encode()).hexdigest()[:16]
        return cls({**held, "precision": precision, "examples": digest})

    def write(self, output: Path) -> None:
        """Puts them beside a run that begins."""
        output.mkdir(parents=True, exist_ok=True)
        (output / SETTINGS).write_text(json.dumps(self.values, indent=1), encoding="utf-8")

    def check(self, output: Path) -> None:
        """Are these the settings that a run was begun with?"""
        path = output / SETTINGS
        begun = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        other = [name for name, value in self.values.items() if begun.get(name, value) != value]
        if other:
            named = ", ".join(f"{name} {begun[name]}" for name in other)
            help = "Resume with the options that it was begun with, or begin another run."
            message = f"the run was begun with other settings: {named}"
            raise UsageError(Diagnostic("E402", message, help, source=str(output)))
