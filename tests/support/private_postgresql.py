"""A PostgreSQL cluster of a test's own: in a temporary folder, on a Unix socket, for no other user.

PostgreSQL refuses to run as root, so that root starts it as `postgres`, or as `nobody`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


def programs() -> Path | None:
    """The folder of PostgreSQL's programs, the newest version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: p.parts[-3])
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


class PrivateCluster:
    """A running cluster."""

    def __init__(self, folder: Path, bin: Path) -> None:
        self.folder = folder
        self._bin = bin
        self._user = None if os.getuid() else _other_user()
        self._databases = 0
        if self._user is not None:
            os.chown(folder, self._user.pw_uid, self._user.pw_gid)
        self._run("initdb", "-D", f"{folder}/data", "-U", "bylaw", "-A", "trust", "--no-sync")
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        user, group = (None, None) if self._user is None else self._user[2:4]
        done = subprocess.run(
            [self._bin / program, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            cwd="/",
            user=user,
            group=group,
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr or done.stdout}")

    def start(self) -> None:
        settings = f"-k {self.folder} -c listen_addresses='' -c max_connections=200"
        log = f"{self.folder}/log"
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-o", settings, "-l", log, "-w", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "-w", "stop")

    @property
    def socket(self) -> Path:
        return self.folder / ".s.PGSQL.5432"

    def database(self) -> str:
        """The address of a new database."""
        import psycopg

        self._databases += 1
        name = f"t{self._databases}_{time.monotonic_ns()}"
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self._address(name)

    def _address(self, database: str) -> str:
        return f"postgresql://bylaw@/{database}?host={self.folder}"


def _other_user() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("there is no user but root")


def cluster() -> Iterator[PrivateCluster]:
    """A cluster for the tests of a session; they are skipped where there is no PostgreSQL."""
    found = programs()
    if found is None:
        pytest.skip("POSTGRESQL IS NOT TESTED: its programs are not installed (apt: postgresql)")
    pytest.importorskip("psycopg", reason="POSTGRESQL IS NOT TESTED: psycopg is not installed")
    folder = Path(tempfile.mkdtemp(prefix="bylaw-pg-"))
    try:
        made = PrivateCluster(folder, found)
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
