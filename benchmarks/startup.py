"""Start-up: the processor time until a procedure of thirty rules is loaded.

    python benchmarks/startup.py [--processes 21]

Each figure is the median over fresh processes, user and system time together, exit included.
Bytecode is compiled beforehand. The last table lists the modules that took longest to import,
by `-X importtime`, without the modules that they import in turn.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import Final

import table

RULES: Final = (
    *(
        "G(refund -> O verify)",
        "F lookup",
        "!pay U verify",
        "G(fail -> X retry)",
        "F close -> H !x",
    ),
    *("G(open -> F close)", "(a | b) S c", "G(a -> WX !a)", "a R (b | c)", "true -> !(p & q) W r"),
    *("Called(lookup)", "CalledN(pay, <= 2)", "Before(verify, refund)", "After(close, open)"),
    *("InOrder(lookup, verify, pay)", "CalledWith(pay, amount = 5)", "AllBefore([a, b], c)"),
    *("CalledExactly(pay, amount = 5)", 'CalledWithResult(get, "open")', "WithinSteps(a, b, 3)"),
    *("G(pay -> args.amount <= 100)", 'G(pay -> last(get).result.status = "open")'),
    *("G(get -> let i = args.id: earlier call(list, id = i))", "G(call(pay, amount > 5) -> O ok)"),
    *('forall x in args(pay, "items[].id"): CalledWith(check, id = x)', "G(send -> args.to ~ /@/)"),
    *("G(count(x in args.items: x.price > 5) < 3)", "G(pay -> length(args.note) > 0)"),
    *("G(book -> args.total = args.price * args.seats)", "G(says(user) -> text != null)"),
)
BUDGET: Final = 120
"""Milliseconds over the bare interpreter."""
TOP: Final = 12


def processor_seconds(code: str, *options: str) -> tuple[float, str]:
    """User and system time of a process that runs the code, and what it writes to stderr."""
    before = getrusage(RUSAGE_CHILDREN)
    command = [sys.executable, *options, "-c", code]
    done = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)
    after = getrusage(RUSAGE_CHILDREN)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return user + system, done.stderr


def slowest(code: str, processes: int) -> list[tuple[str, float]]:
    """The modules that take longest to import, and for how many milliseconds."""
    taken: dict[str, list[int]] = defaultdict(list)
    for _ in range(processes):
        for line in processor_seconds(code, "-X", "importtime")[1].splitlines():
            own, _, name = line.removeprefix("import time:").split("|")
            if own.strip().isdigit():
                taken[name.strip()].append(int(own))
    medians = {name: median(own) / 1000 for name, own in taken.items()}
    return sorted(medians.items(), key=lambda each: -each[1])[:TOP]


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=21)
    processes = parser.parse_args().processes
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rules.yaml")
        lines = (f"  - {{name: r{i}, rule: '{rule}'}}" for i, rule in enumerate(RULES))
        path.write_text("\n".join(("name: startup", "constraints:", *lines, "")), "utf-8")
        imports = "from bylaw import Guard, Procedure"
        loads = f"{imports}; Procedure.load({str(path)!r})"
        codes = {"bare interpreter": "pass", "import": imports, "import and load": loads}
        processor_seconds(loads)  # compiles what has changed
        runs: dict[str, list[float]] = {name: [] for name in codes}
        for _ in range(processes):  # in turns: the machine may have other work
            for name, code in codes.items():
                runs[name].append(processor_seconds(code)[0])
        bare = median(runs["bare interpreter"])
        rows = [
            [name, f"{median(each) * 1000:.0f}", f"{(median(each) - bare) * 1000:.0f}"]
            for name, each in runs.items()
        ]
        table.show("Processor time", ["process", "ms", "over bare"], rows)
        last = median(runs["import and load"]) - bare
        table.target("import and load", last * 1000, BUDGET, at_least=False, unit="ms")
        modules = slowest(loads, max(5, processes // 3))
        rows = [[name, f"{own:.1f}"] for name, own in modules]
        table.show("Slowest imports", ["module", "ms"], rows)


if __name__ == "__main__":
    main()
