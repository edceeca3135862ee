"""`make demo`: a procedure, a good and a bad trace, the verdict explained, and a call stopped."""

from __future__ import annotations

import contextlib
import os
import shlex
from pathlib import Path

from bylaw import Call, Procedure
from bylaw.cli.main import main
from bylaw.enforcement.guard import Guard


def show(command: str) -> None:
    """Runs a command as a person would type it."""
    print(f"$ {command}")
    main(shlex.split(command)[1:])
    print()


def gate() -> None:
    """The same procedure at work: a call is refused before it runs."""
    guard = Guard(Procedure.load("procedure.yaml"))
    for call in (Call("refund", {"amount": 20}), Call("verify"), Call("refund", {"amount": 20})):
        (decision,) = guard.propose([call])
        print(f"> {call.tool} {dict(call.args) or ''}")
        print(f"{decision.action}{': ' + decision.message if decision.message else ''}\n")
        if decision.allowed:
            guard.record(decision, "done")
    print(f"score {guard.finish().score:.2f}: the customer was not told.\n")


if __name__ == "__main__":
    os.chdir(Path(__file__).parent / "refund-desk")
    print("A procedure, examples/refund-desk/procedure.yaml:\n")
    print(Path("procedure.yaml").read_text(encoding="utf-8"))
    show("bylaw verify --procedure procedure.yaml good.json")
    show("bylaw verify --procedure procedure.yaml bad.json")
    show("bylaw explain verify-first --procedure procedure.yaml bad.json")
    print("The procedure as a gate, while an agent acts:\n")
    gate()
    with contextlib.suppress(FileNotFoundError):
        Path("bad.html").unlink()
    show("bylaw view bad.json --procedure procedure.yaml --output bad.html")
    print("Open examples/refund-desk/bad.html in a browser and click a rule.")
