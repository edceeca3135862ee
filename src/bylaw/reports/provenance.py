"""The origin of a report: the program, the procedure, the inputs and the command that made it.

Every page and every machine-readable report names it, and always in these fields. It has no time
and no host: the same command on the same files writes the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bylaw.enforcement.run_log import procedure_hash
from bylaw.errors import clipped
from bylaw.opening import open_regular
from bylaw.procedure.procedure import Procedure
from bylaw.reports.command_line import shown_command
from bylaw.values import Json
from bylaw.version import __version__

MAX_LISTED_INPUTS: Final = 100
"""The most inputs that are listed one by one. One digest covers all of them."""
_PIECE: Final = 1 << 20
_NAME: Final = 200
"""The longest name of a procedure, in characters. The hash names it exactly."""


@dataclass(frozen=True, slots=True)
class HashedFile:
    """A file that was read, with its digest; None if it cannot be read a second time."""

    path: str
    size: int | None
    sha256: str | None

    def to_dict(self) -> dict[str, Json]:
        """The file as JSON."""
        return {"path": self.path, "bytes": self.size, "sha256": self.sha256}


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a report."""

    command: tuple[str, ...] = ()
    """The command line without secrets; empty if there was none."""
    procedure: str | None = None
    procedure_file: HashedFile | None = None
    procedure_hash: str | None = None
    """The hash by which audit logs name the procedure: it does not depend on layout."""
    inputs: tuple[HashedFile, ...] = ()

    @property
    def inputs_hash(self) -> str | None:
        """One digest of all inputs: of the lines `DIGEST  PATH`; None if one has no digest."""
        if any(each.sha256 is None for each in self.inputs):
            return None
        lines = "".join(f"{each.sha256}  {each.path}\n" for each in self.inputs)
        return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()

    def to_dict(self) -> dict[str, Json]:
        """The origin as JSON."""
        file = self.procedure_file
        return {
            "bylaw": __version__,
            "command": list(self.command),
            "procedure": {
                "name": self.procedure,
                "hash": self.procedure_hash,
                "file": None if file is None else file.to_dict(),
            },
            "inputs": {
                "count": len(self.inputs),
                "sha256": self.inputs_hash,
                "files": [each.to_dict() for each in self.inputs[:MAX_LISTED_INPUTS]],
            },
        }

    def facts(self) -> dict[str, str]:
        """The origin in a few named texts, for formats that have only these."""
        found = {
            "bylaw version": __version__,
            "command": " ".join(self.command),
            "procedure": self.procedure,
            "procedure hash": self.procedure_hash,
            "inputs": str(len(self.inputs)) if self.inputs else None,
            "inputs hash": self.inputs_hash if self.inputs else None,
        }
        return {name: text for name, text in found.items() if text}


def provenance(
    command: Sequence[str] = (),
    *,
    procedure: Procedure | None = None,
    procedure_file: str | None = None,
    inputs: Iterable[str] = (),
) -> Provenance:
    """The origin of a report that this command makes of these files. The files are read."""
    return Provenance(
        tuple(shown_command(command)),
        None if procedure is None else clipped(procedure.name, _NAME),
        None if procedure_file is None else hashed_file(procedure_file),
        None if procedure is None else procedure.derived(procedure_hash),
        tuple(hashed_file(each) for each in inputs),
    )


def hashed_file(path: str) -> HashedFile:
    """The file with its digest, if it is a regular one that can be read."""
    try:
        if not Path(path).is_file():
            return HashedFile(path, None, None)
        with open_regular(path) as file:
            digest = hashlib.sha256()
            while piece := file.read(_PIECE):
                digest.update(piece)
            return HashedFile(path, file.tell(), digest.hexdigest())
    except (OSError, ValueError):  # standard input, an address, a name that no file can have
        return HashedFile(path, None, None)
