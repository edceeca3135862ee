"""bash itself as an oracle: it runs a script where every program only logs its words."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

BASH = shutil.which("bash")
STUB = '#!{bash}\nprintf \'%s\\0\' "${{0##*/}}" "$@" $\'\\1\' >> "$BYLAW_WORDS"\n'
WRAPPERS = ("env", "nohup", "nice", "timeout", "xargs", "setsid", "stdbuf")
"""Programs that are run as they are, because they only run others."""


class BashOracle:
    """A folder with stubs. Scripts must name no absolute path."""

    def __init__(self, folder: Path, programs: Iterable[str]) -> None:
        assert BASH is not None
        self.words = folder / "words"
        self.work = folder / "work"
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        for name in programs:
            stub = self.bin / name
            stub.write_text(STUB.format(bash=BASH), encoding="utf-8")
            stub.chmod(0o755)
        for name in (*WRAPPERS, "bash", "sh"):
            if found := shutil.which(name):
                (self.bin / name).symlink_to(BASH if name == "sh" else found)

    def run(self, script: str) -> tuple[list[list[str]], bool]:
        """The words of each program that was run, and whether nothing kept bash from running more.

        A program that does not exist keeps it from nothing.
        """
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        (self.work / "f").write_text("a b\n", encoding="utf-8")
        self.words.write_bytes(b"")
        done = subprocess.run(
            [str(BASH), "--norc", "--noprofile", "-c", script],
            cwd=self.work,
            env={
                "PATH": str(self.bin),
                "BYLAW_WORDS": str(self.words),
                "HOME": "/nowhere",
                "LC_ALL": "C.UTF-8",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=False,
        )
        errors = [e for e in done.stderr.splitlines() if not e.endswith(b"command not found")]
        text = os.fsdecode(self.words.read_bytes())
        return [call.split("\0")[:-1] for call in text.split("\1\0")[:-1]], not errors
