"""Any value is read as a trace, or refused as none."""

from __future__ import annotations

import json

from bylaw import Trace, TraceError
from bylaw.trace.formats import read


def check_read_or_refused(value: object) -> None:
    """Checks that what is read survives as a record, and that nothing else is raised."""
    try:
        reading = read(value)
    except TraceError:
        return
    record = json.loads(json.dumps(reading.trace.to_record()))
    assert Trace.from_record(record) == reading.trace
    assert {note.code for note in reading.notes} <= {"W520", "W521"}
