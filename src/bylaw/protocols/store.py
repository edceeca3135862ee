"""The sessions of a gate on disk: one SQLite file, one transaction per event.

A transaction holds the file's write lock from the moment a session is read until its new state is
written. So hooks that run at the same time, each in a process of its own, are decided one after
another, and a process that dies in between has changed nothing.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bylaw.errors import Diagnostic, UsageError
from bylaw.protocols.hooked_run import Observed
from bylaw.values import Json

WAIT: Final = 20.0
"""The seconds that an event waits for those before it."""
KEY_SIZE: Final = 32

_SCHEMA: Final = """
create table session (
    name text primary key, run text not null, version integer not null, state text not null,
    procedure text not null, observed integer not null, started real not null, latest real not null
);
create table entry (
    run text not null, number integer not null, time real not null, kind text not null,
    content text not null, primary key (run, number)
);
"""


class StoredSession:
    """A session while its event is handled. `save` writes its new state."""

    def __init__(self, base: sqlite3.Connection, name: str) -> None:
        self._base: Final = base
        self.name: Final = name
        found = base.execute("select version, state from session where name = ?", (name,))
        row = found.fetchone()
        self.version: int = 0 if row is None else row[0]
        """The number of times that it was saved."""
        self._text: Final[str | None] = None if row is None else row[1]

    @property
    def exists(self) -> bool:
        """Has the session begun?"""
        return self._text is not None

    @property
    def state(self) -> Json:
        """The state that was saved last."""
        return None if self._text is None else json.loads(self._text)

    def save(
        self, run: str, state: Json, happened: Sequence[Observed], procedure: str, *, observed: bool
    ) -> None:
        """Writes the new state, and what happened since the last one."""
        now = time.time()
        self.version += 1
        written = json.dumps(state, separators=(",", ":"))
        new = (self.name, run, self.version, written, procedure, observed, now, now)
        self._base.execute(
            "insert into session values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (name) do update set "
            "version = excluded.version, state = excluded.state, latest = excluded.latest",
            new,
        )
        latest = "select coalesce(max(number), -1) from entry where run = ?"  # by the key: quick
        first = self._base.execute(latest, (run,)).fetchone()[0] + 1
        self._base.executemany(
            "insert into entry values (?, ?, ?, ?, ?)",
            [
                (run, first + number, now, each.kind, json.dumps(dict(each.content)))
                for number, each in enumerate(happened)
            ],
        )


class SessionStore:
    """The sessions in a folder that only its owner can read."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self.file: Final = folder / "sessions.sqlite"
        self._base: sqlite3.Connection | None = None
        self._lock: Final = threading.Lock()

    def key(self) -> bytes:
        """The key that states are sealed with; made if there is none."""
        path = self.folder / "key"
        try:
            found = path.read_bytes()
        except FileNotFoundError:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = self.folder / f".key-{os.getpid()}-{os.urandom(4).hex()}"
            draft.touch(mode=0o600)
            draft.write_bytes(os.urandom(KEY_SIZE))
            try:
                os.link(draft, path)  # whoever comes first makes the key
            except FileExistsError:
                pass
            finally:
                draft.unlink()
            found = path.read_bytes()
        if len(found) != KEY_SIZE:
            raise _unusable(path, "it is not a key")
        return found

    @contextmanager
    def session(self, name: str) -> Iterator[StoredSession]:
        """One session, held for the time of one event. If anything is raised, nothing is kept."""
        with self._lock, self._errors_explained():
            base = self._opened()
            base.execute("begin immediate")
            try:
                yield StoredSession(base, name)
                base.execute("commit")
            except BaseException:
                base.execute("rollback")
                raise

    def _opened(self) -> sqlite3.Connection:
        """The open file. It stays open: closing it would write it to disk once more."""
        if self._base is None:
            if not self.file.exists():
                self._create()
            options: dict[str, Any] = {"isolation_level": None, "check_same_thread": False}
            self._base = sqlite3.connect(self.file, timeout=WAIT, **options)
            self._base.execute("pragma synchronous = normal")
        return self._base

    @contextmanager
    def _errors_explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise _unusable(self.file, str(error)) from None

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            if self._base is not None:
                self._base.close()
                self._base = None

    def _create(self) -> None:
        """Makes the file complete under another name first: others may look for it meanwhile."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self.folder / f".sessions-{os.getpid()}-{os.urandom(4).hex()}"
        draft.touch(mode=0o600)
        base = sqlite3.connect(draft, isolation_level=None)
        base.execute("pragma synchronous = off")  # nothing is lost yet if this is
        base.executescript(_SCHEMA)
        base.execute("pragma journal_mode = wal")
        base.close()
        try:
            os.link(draft, self.file)
        except FileExistsError:
            pass
        finally:
            draft.unlink()

    # ── reading ──────────────────────────────────────────────────────────────────────────

    def sessions(self) -> list[dict[str, Json]]:
        """All sessions, the latest first, each with its record."""
        if not self.file.exists():
            return []
        columns = "name, run, procedure, observed, started, latest"
        with self._lock, self._errors_explained():
            base = self._opened()
            rows = base.execute(f"select {columns} from session order by latest desc").fetchall()
            return [
                {
                    **dict(zip(columns.split(", "), row, strict=True)),
                    "observed": bool(row[3]),
                    "entries": _entries(base, row[1]),
                }
                for row in rows
            ]


def _entries(base: sqlite3.Connection, run: str) -> list[Json]:
    found = base.execute(
        "select time, kind, content from entry where run = ? order by number", (run,)
    )
    return [{"time": at, "kind": kind, **json.loads(content)} for at, kind, content in found]


def default_folder() -> Path:
    """The folder for the state of hooks: outside of any project that an agent works on."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "bylaw"


def _unusable(path: Path, reason: str) -> UsageError:
    help = "Check its permissions, or name another folder with --state."
    return UsageError(Diagnostic("E470", f"cannot use {path}: {reason}", help))
