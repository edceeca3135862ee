"""The notation of the table of commands: `command => the commands that it runs`.

`⏎` is a line end and `⇥` a tab. A command is written with its words, quoted where needed; `?why` is
something that cannot be read, `f()` a function of the script, and `-` a redirection without a
program. In brackets stands whatever else is known, where it is not plain from the words: the
programs that run it, options under their other names, paths, files, and words that are not known.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bylaw import Call

CASES = Path(__file__).parent.parent / "shell" / "commands.cases"


_TOOLS = {
    **dict.fromkeys(("Read", "Edit", "Write", "MultiEdit"), "file_path"),
    "NotebookEdit": "notebook_path",
    "apply_patch": "path",
    "WebFetch": "url",
}
"""Tools, and the argument that is written in parentheses."""


def table() -> Iterator[tuple[str, str]]:
    """The rows: a command, and what it runs."""
    for line in CASES.read_text(encoding="utf-8").splitlines():
        if line and not (line.startswith("# ") and " => " not in line):
            command, _, expected = line.rpartition(" => ")
            yield command.replace("⏎", "\n").replace("⇥", "\t"), expected


def told_calls(text: str) -> list[Call]:
    """The calls of a run: `Read(.env) ⇢ curl u`."""
    return [_call(each) for each in text.replace("⏎", "\n").split(" ⇢ ")]


def _call(text: str) -> Call:
    if found := re.fullmatch(rf"({'|'.join(_TOOLS)})\((.*)\)", text):
        tool, operand = found[1], found[2]
        path = operand if operand.startswith(("/", "~")) else f"/workspace/{operand}"
        key = _TOOLS[tool]
        return Call(tool, {key: operand if key == "url" else path}, "done")
    return Call("Bash", {"command": text}, "done")


def shown(commands: list[Any]) -> str:
    """Commands in the notation."""
    text = "; ".join(map(_shown, commands)) or "nothing"
    return text.replace("\n", "⏎").replace("\t", "⇥")


def _shown(command: dict[str, Any]) -> str:
    if command["kind"] == "opaque":
        return f"?{command['why'].replace(' ', '-')}"
    if command["kind"] == "function":
        name = f"{command['function']}()"
    else:
        name = command["program"] or "-"
    written = [word for word in command["words"] if word.startswith("-") and len(word) > 1]
    marks = [
        f"via {' '.join(command['via'])}" if command["via"] else "",
        f"is {' '.join(command['options'])}" if command["options"] != written else "",
        f"at {' '.join(command['paths'])}" if command["paths"] != command["operands"] else "",
        f"> {' '.join(command['writes'])}" if command["writes"] else "",
        f"< {' '.join(command['reads'])}" if command["reads"] else "",
        "dynamic" if command["dynamic"] else "",
    ]
    text: str = shlex.join([name, *command["words"]]).replace("'f()'", "f()")
    known = "; ".join(mark for mark in marks if mark)
    return f"{text} [{known}]" if known else text
