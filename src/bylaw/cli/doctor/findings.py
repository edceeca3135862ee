"""The findings of a doctor, printed."""

from __future__ import annotations

import json
from collections.abc import Sequence

from bylaw.cli.main import exit_code
from bylaw.protocols.claude_doctor import GateCheck
from bylaw.terminal import coloured, in_line


def show(findings: Sequence[GateCheck], *, as_json: bool) -> int:
    """Prints what was found out. The exit code is 1 if the gate does not stand."""
    if as_json:
        print(json.dumps([each.to_dict() for each in findings]))
    for each in () if as_json else findings:
        mark = coloured("ok   ", "green") if each.ok else coloured("FAILS", "red")
        print(f"{mark} {in_line(each.about)}{in_line(f': {each.detail}') if each.detail else ''}")
    return exit_code(violated=not all(each.ok for each in findings))
