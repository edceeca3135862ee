"""`bylaw verify --certificate`: writes the certificate of one report, and its record if need be."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bylaw.certificates.certificate import CertifiedFile, certificate
from bylaw.cli.outputs import errors_explained, write_file, write_output
from bylaw.errors import Diagnostic, UsageError
from bylaw.names import FINAL_ANSWER
from bylaw.scoring.verify import Report
from bylaw.trace.formats import RECORD, format_of
from bylaw.trace.refusal_mark import MARK
from bylaw.trace.trace import Trace
from bylaw.values import Json, JsonError, read_json, write_json

CERTIFICATE_MARK: Final = '{"certificate": '
"""The beginning of a certificate."""


def write_certificate(options: argparse.Namespace, report: Report, trace: Trace) -> Path | None:
    """Writes the certificate that `--certificate` names, and perhaps the record beside it.

    The checker reads records of Bylaw's own format, complete with steps. Of any other trace, such a
    record is written, and the certificate is about it. Returns its path.
    """
    output = Path(options.certificate)
    source, exported = _plain_record(options.traces), None
    if source is None:
        exported = output.with_name(f"{output.stem}.trace.json")
        record = {**trace.to_record(), "refusals": trace.to_record().get("refusals", [])}
        source = CertifiedFile(exported.name, f"{write_json(record)}\n".encode())
        _write_record(exported, source.content, force=options.force)
    procedure = Path(options.procedure)
    read = CertifiedFile(procedure.name, procedure.read_bytes())
    found = certificate(report, trace, source, read)
    command = ["bylaw", "verify", "--certificate", options.certificate, "-p", options.procedure]
    found["command"] = shlex.join([*command, *options.traces])
    if exported is not None:
        found["trace"]["exported_from"] = report.trace.name
    write_output(options, "certificate", f"{json.dumps(found)}\n")
    return exported


def certifies_one_trace(reason: str) -> UsageError:
    """The error for certificates of several traces."""
    message = f"--certificate is for one trace, and {reason}"
    return UsageError(Diagnostic("E402", message, "Give a file with one record."))


def _plain_record(traces: list[str]) -> CertifiedFile | None:
    """The file of the trace, if the checker can read it as it is."""
    if len(traces) != 1 or not Path(traces[0]).is_file():
        return None
    content = Path(traces[0]).read_bytes()
    try:
        value = read_json(content.decode())
    except (UnicodeDecodeError, JsonError):
        return None
    return CertifiedFile(Path(traces[0]).name, content) if _is_plain(value) else None


def _is_plain(value: Json) -> bool:
    """Is this a record that lists its refusals, has all steps or none, and no answer as a call?"""
    if not isinstance(value, Mapping) or format_of(value) is not RECORD:
        return False
    calls, messages = value["tool_calls"], value.get("messages") or []
    steps = [each.get("step") for each in (*calls, *messages)]
    complete = None not in steps or (not messages and steps.count(None) == len(steps))
    listed = "refusals" in value or MARK not in write_json(value)
    return complete and listed and all(call["tool_name"] != FINAL_ANSWER for call in calls)


def _write_record(path: Path, content: bytes, *, force: bool) -> None:
    with errors_explained(path):
        taken = path.exists() and path.read_bytes() != content
    if taken and not force:
        message = f"{path} exists already, and the record of the trace would be written there"
        raise UsageError(Diagnostic("E403", message, "Name another certificate, or add --force."))
    write_file(path, content.decode())
