"""The traces that a marker names, as parameters of a test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bylaw.batch.input.chunks import Limits, records
from bylaw.batch.input.files import find_files
from bylaw.errors import Diagnostic, UsageError
from bylaw.procedure.procedure import Procedure
from bylaw.trace.files import Entry
from bylaw.vocabulary.registry import EMPTY


def marked_entries(traces: str | Path | Sequence[str | Path], folder: Path) -> list[Entry]:
    """The records that the patterns stand for. A pattern that matches nothing is an error."""
    patterns = [traces] if isinstance(traces, str | Path) else list(traces)
    found = find_files([str(folder / each) for each in patterns])
    missing = [file.problem for file in found if file.problem is not None]
    if missing or not found:
        none = Diagnostic("E310", "the marker names no traces", 'For example: traces="runs/*.json"')
        raise UsageError(missing or none)
    return list(records(found, Limits()))


def entry_id(entry: Entry, folder: Path) -> str:
    """The record's name, from the folder of the test on."""
    return entry.name.removeprefix(f"{folder}/")


def marked_procedure(arguments: Sequence[Any], options: dict[str, Any], folder: Path) -> Procedure:
    """The procedure that a marker names, by the path of its file or as an object."""
    unknown = options.keys() - {"procedure", "traces", "vocabulary"}
    given = [*arguments, *([options["procedure"]] if "procedure" in options else [])]
    if len(given) != 1 or unknown:
        message = "the marker takes one procedure, `traces` and `vocabulary`"
        help = '@pytest.mark.bylaw("procedure.yaml", traces="runs/*.jsonl")'
        raise UsageError(Diagnostic("E414", message, help))
    if isinstance(given[0], Procedure):
        return given[0]
    return Procedure.load(folder / given[0], vocabulary=options.get("vocabulary", EMPTY))
