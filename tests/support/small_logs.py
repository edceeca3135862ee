"""Small logs of one gate, with and without keys, and what can be done to their bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from bylaw import AuditLog, Call, Guard, Procedure
from bylaw.audit.entry import body_of, ending, hash_of, read_entry
from bylaw.audit.seal import SEAL_DIGITS, SealingKey

KEY: Final = b"a key of some secret bytes"
OTHER_KEY: Final = b"the key of somebody else"
RULE: Final = {"name": "few", "rule": "CalledN(pay, <= 2)", "severity": "SOFT_BLOCK"}
PROCEDURE: Final = Procedure.from_dict({"name": "desk", "constraints": [RULE]})


def write_log(path: Path, key: bytes | None = None, *, run: str = "run", calls: int = 3) -> bytes:
    """Writes the log of a short run: opened, started, so many decisions, closed."""
    with AuditLog(path, durable=False, key=key, clock=lambda: 1763305200.25) as log:
        guard = Guard(PROCEDURE, log=log, run_id=run)
        for number in range(calls):
            guard.propose([Call("pay", {"n": number, "to": "Zoë [\\"})])
    return path.read_bytes()


def lines_of(log: bytes) -> list[bytes]:
    return log.splitlines(keepends=True)


def rewritten(
    lines: list[bytes],
    at: int,
    edit: Callable[[dict[str, Any]], None],
    key: SealingKey | None = None,
) -> list[bytes]:
    """The lines with an entry edited, and all hashes from there on made right again.

    Without a key, seals are left as they were.
    """
    made = lines[:at]
    _, head = _last(made)
    for number, line in enumerate(lines[at:], start=at):
        fields = json.loads(line)
        seal = fields.get("seal", "")
        content = {k: v for k, v in fields.items() if k not in _OWN}
        if number == at:
            edit(content)
        digits = len(seal) if key is None else SEAL_DIGITS[key.method]
        body = body_of(content, number, head, digits)
        head = hash_of(body)
        made.append(body + ending(head, seal if key is None else key.seal(head)))
    return made


_OWN: Final = ("entry", "prev", "size", "hash", "seal")


def _last(lines: list[bytes]) -> tuple[int, str]:
    head = "0" * 64
    for number, line in enumerate(lines):
        head = read_entry(line, number, head).hash
    return len(lines), head
