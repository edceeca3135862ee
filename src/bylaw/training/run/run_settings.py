"""The saved settings of a training run: a resumed run must use the same ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from bylaw.errors import Diagnostic, UsageError
from bylaw.opening import read_regular
from bylaw.saved import table
from bylaw.training.data.example import Example
from bylaw.training.run.plan import GrpoPlan
from bylaw.values import Json, canonical, read_json

SETTINGS: Final = "settings.json"
_CHANGEABLE: Final = {"micro_batch_size", "width", "checkpointing", "save_every"}
"""Settings that may change on resumption: they affect memory and time only."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings that the weights depend on, besides the model."""

    values: Mapping[str, Json]

    @classmethod
    def of(cls, plan: GrpoPlan, precision: str, examples: Sequence[Example]) -> RunSettings:
        """The settings of a run on these examples."""
        fixed = {name: value for name, value in asdict(plan).items() if name not in _CHANGEABLE}
        data = canonical([[each.name, each.prompt] for each in examples])
        digest = hashlib.sha256(data.encode()).hexdigest()[:16]
        return cls({**fixed, "precision": precision, "examples": digest})

    def write(self, output: Path) -> None:
        """Saves the settings of a new run."""
        output.mkdir(parents=True, exist_ok=True)
        (output / SETTINGS).write_text(json.dumps(self.values, indent=1), encoding="utf-8")

    def check(self, output: Path) -> None:
        """Raises an error if the run was started with other settings."""
        path = output / SETTINGS
        saved = _read(path) if path.exists() else {}
        other = [name for name, value in self.values.items() if saved.get(name, value) != value]
        if other:
            named = ", ".join(f"{name} {saved[name]}" for name in other)
            help = "Resume with the original options, or start another run."
            message = f"the run was started with other settings: {named}"
            raise UsageError(Diagnostic("E402", message, help, source=str(output)))


def _read(path: Path) -> Mapping[str, Json]:
    try:
        return table(read_json(read_regular(path)))
    except (OSError, ValueError) as error:
        message = f"the settings of the run cannot be read: {error}"
        raise UsageError(Diagnostic("E402", message, source=str(path))) from None
