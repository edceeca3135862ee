"""Procedures that were read and checked before, so that a new process need not do so again.

To read a procedure, and to find out whether its severities can be kept, takes longer than many
decisions. A command that runs for every event keeps the outcome in the folder of its state: the
formulas in their JSON form, for one content of the file and one state of the program.

The file is sealed with the key of the sessions. Whoever can forge it can forge their states just as
well, so it opens no new way past the gate. A file that is not sealed, is about something else, or
cannot be read is ignored: the procedure is then read from its own file.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from pathlib import Path
from typing import Any, Final

from bylaw.enforcement.promises import broken_promises
from bylaw.errors import BylawError, Diagnostic
from bylaw.procedure.failure import Failure
from bylaw.procedure.procedure import Constraint, Procedure
from bylaw.syntax.json_form import read_table
from bylaw.values import Json, canonical
from bylaw.version import __version__

_PROGRAM: Final = ("logic", "procedure", "regex", "semantics", "syntax", "vocabulary")
"""The packages that decide what becomes of a procedure file."""
_FIELDS: Final = ("name", "weight", "layer", "severity", "why", "fix", "rule", "events", "across")
"""The fields of a constraint, but for the formula."""
_SETTINGS: Final = ("name", "groups", "constants", "define")
_CHOICES: Final = ("unlisted", "order", "events", "finish")


def cached_procedure(path: Path, folder: Path, key: bytes) -> Procedure:
    """The procedure in a file: as it was kept in the folder, or else read, checked and kept."""
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return Procedure.load(path)  # it says what is wrong with the file
    about = f"{digest} {_program()}"
    file = folder / f"procedure-{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"
    found = _read(file, about, key)
    if found is not None:
        return found
    procedure = Procedure.load(path)
    if not (_depends_on_files(path) or procedure.derived(broken_promises)):
        content = _content(procedure, about)
        if _procedure_of(content).constraints == procedure.constraints:
            _write(file, canonical(content), key)
    return procedure


def _program() -> str:
    """The version, and the time of the latest change to the code: a checkout may be edited."""
    root = Path(__file__).parents[1]
    times = [
        entry.stat().st_mtime_ns
        for package in _PROGRAM
        for entry in os.scandir(root / package)
        if entry.name.endswith(".py")
    ]
    return f"{__version__} {max(times, default=0)}"


def _depends_on_files(path: Path) -> bool:
    """Are the tools of the procedure in a file of their own? Then its digest says too little."""
    from bylaw.procedure.document import read_document_file

    tools = read_document_file(path)[1].value.get("tools")
    return tools is not None and isinstance(tools.value, str)


# ── the file ──────────────────────────────────────────────────────────────────────────────


def _seal(content: str, key: bytes) -> str:
    # Sessions are sealed with the same key: no text is both a state and a procedure.
    return hmac.new(key, b"procedure\n" + content.encode(), "sha256").hexdigest()


def _write(file: Path, text: str, key: bytes) -> None:
    draft = file.with_name(f"{file.name}-{os.getpid()}-{os.urandom(4).hex()}")
    try:
        draft.touch(mode=0o600)
        draft.write_text(f"{_seal(text, key)}\n{text}", encoding="utf-8")
        draft.replace(file)
    except OSError:  # the next process reads the procedure again
        draft.unlink(missing_ok=True)


def _read(file: Path, about: str, key: bytes) -> Procedure | None:
    try:
        stated, _, text = file.read_text(encoding="utf-8").partition("\n")
    except (OSError, ValueError):
        return None
    if not hmac.compare_digest(stated.encode(), _seal(text, key).encode()):
        return None
    content = json.loads(text)
    if content["about"] != about:
        return None
    try:
        return _procedure_of(content)
    except BylawError:
        return None


# ── its content ───────────────────────────────────────────────────────────────────────────


def _content(procedure: Procedure, about: str) -> dict[str, Json]:
    from bylaw.syntax.json_writer import table_of

    failed = procedure.failed
    rules = procedure.constraints
    formulas = [rule.formula for rule in rules]
    written = procedure.to_dict()
    return {
        "about": about,
        "tools": written.get("tools"),
        "settings": {name: written.get(name) for name in _SETTINGS},
        "choices": {name: getattr(procedure, name) for name in _CHOICES},
        "failed": None if failed is None else failed.rule,
        "constraints": [[getattr(rule, name) for name in _FIELDS] for rule in rules],
        "formulas": table_of([*formulas, *([] if failed is None else [failed.formula])]),
    }


def _procedure_of(content: dict[str, Any]) -> Procedure:
    formulas = read_table(content["formulas"])
    rules = [dict(zip(_FIELDS, values, strict=True)) for values in content["constraints"]]
    failed = None if content["failed"] is None else Failure(formulas.pop(), content["failed"])
    procedure = Procedure(
        [
            Constraint(formula=formula, **rule)
            for formula, rule in zip(formulas, rules, strict=True)
        ],
        tools=content["tools"],
        failed=failed,
        **content["settings"],
        **content["choices"],
    )
    kept: tuple[Diagnostic, ...] = ()
    procedure.keep_derived(broken_promises, kept)
    return procedure
