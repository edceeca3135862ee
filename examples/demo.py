"""`make demo`: a procedure, a good and a bad trace, and the verdict explained."""

from __future__ import annotations

import contextlib
import os
import shlex
from pathlib import Path

from bylaw.cli.main import main


def show(command: str) -> None:
    """Runs a command as a person would type it."""
    print(f"$ {command}")
    main(shlex.split(command)[1:])
    print()


if __name__ == "__main__":
    os.chdir(Path(__file__).parent / "refund-desk")
    print("A procedure, examples/refund-desk/procedure.yaml:\n")
    print(Path("procedure.yaml").read_text(encoding="utf-8"))
    show("bylaw verify --procedure procedure.yaml good.json")
    show("bylaw verify --procedure procedure.yaml bad.json")
    show("bylaw explain verify-first --procedure procedure.yaml bad.json")
    with contextlib.suppress(FileNotFoundError):
        Path("bad.html").unlink()
    show("bylaw view bad.json --procedure procedure.yaml --output bad.html")
    print("Open examples/refund-desk/bad.html in a browser and click a rule.")
