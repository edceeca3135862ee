"""The memory of a run: one guard with one rule, over a thousand to a million calls.

    nice python benchmarks/memory.py [--calls 1000000] [--kind NAME …]

Each kind of rule has a process of its own. The memory is what the process holds (Linux: the
resident set) after so many calls, less what it held after the first hundred. Every call has an
identifier that no call had before, which is the worst case for rules that tell values apart.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

import table

from bylaw import Call, Guard, Procedure, Trace, Vocabulary
from bylaw.values import Json

STEPS: Final = (1_000, 10_000, 100_000, 1_000_000)
WARM: Final = 100
"""The calls before the first measurement: tables that all runs share are filled."""


class Kind(NamedTuple):
    """A kind of rule."""

    rule: str
    most: int = STEPS[-1]
    """The longest run that is measured: rules that read the whole trace take ever longer."""
    pause: float = 1.0
    """The seconds between two calls, by the guard's clock."""


KINDS: Final = {
    "no rule on these calls": Kind("G !drop"),
    "machine": Kind("G(write -> O read)"),
    "machine, results": Kind("G(write -> O call(read, ok))"),
    "count to 3": Kind("CalledN(read, >= 3)"),
    "count to 2,000,000": Kind("CalledN(read, <= 2000000)"),
    "last": Kind("G(write -> last(call(read, ok)).result.open = true)"),
    "sofar, one tally": Kind("G(read -> sum(sofar(read).args.size) <= 1000000000000)"),
    "sofar, per value": Kind(
        "G(read -> let i = args.id: length(sofar(call(read, id = i))) <= 5)",
    ),
    "let, per value": Kind("G(write -> let i = args.id: earlier call(read, id = i, ok))"),
    "last, per value": Kind(
        "G(write -> let i = args.id: last(call(read, id = i)).result.open = true)"
    ),
    "forall, arguments": Kind(
        'forall x in args(read, "id"): G(call(write, id = x) -> O call(check, id = x))'
    ),
    "forall, results": Kind('forall x in results(read, "id"): G !call(drop, id = x)'),
    "text contains": Kind("G(write -> let i = args.id: earlier (read & text contains i))"),
    "window of an hour, 3,600 calls": Kind("G(read -> sum(sofar(read, 1 h).args.size) >= 0)"),
    "window of an hour, 36,000 calls": Kind(
        "G(read -> sum(sofar(read, 1 h).args.size) >= 0)", pause=0.1
    ),
    "window of an hour, per value": Kind(
        "G(read -> let i = args.id: length(sofar(call(read, id = i), 1 h)) <= 1)"
    ),
    "evidence of an hour, per value": Kind(
        "G(write -> let i = args.id: earlier call(read, id = i, ok) within 1 h)"
    ),
    "deadline, per value": Kind("G(read -> let i = args.id: F call(read, id = i) within 1 h)"),
    "registered predicate": Kind("G(write -> known())", most=10_000),
}


def resident() -> int:
    """The bytes that this process holds in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def procedure(rule: str) -> Procedure:
    """The rule as a procedure, with a predicate that reads the trace."""
    vocabulary = Vocabulary()

    @vocabulary.predicate(false_is_final=True)
    def known(trace: Trace, at: int, metrics: Json) -> bool:
        return True

    stated = {"unlisted": "allow", "constraints": [{"name": "rule", "rule": rule}]}
    return Procedure.from_dict(stated, vocabulary=vocabulary)


def measured(kind: Kind, most: int) -> list[int]:
    """The bytes after each number of calls, up to a limit."""
    now = 1_763_294_400.0
    guard = Guard(procedure(kind.rule), clock=lambda: now)
    found, before = [], 0
    for number in range(min(most, kind.most)):
        now += kind.pause
        if number == WARM:
            gc.collect()
            before = resident()
        id = f"item-{number}"
        (decision,) = guard.propose([Call("read", {"id": id, "size": number})])
        assert decision.allowed, decision.message
        guard.record(decision, {"id": id, "open": True})
        if number + 1 in STEPS:
            gc.collect()
            found.append(resident() - before)
    return found


def shown(size: int) -> str:
    """A number of bytes as people read it."""
    if size < 100_000:
        return "< 0.1 MB"
    return f"{size / 1e6:,.1f} MB"


def main() -> None:
    """Measures each kind in a process of its own, and prints a row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=STEPS[-1], help="the longest run")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this kind")
    parser.add_argument("--measure", choices=KINDS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measured(KINDS[given.measure], given.calls)))
        return
    rows = []
    for name in given.kind or KINDS:
        command = [sys.executable, __file__, "--measure", name, "--calls", str(given.calls)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        sizes = json.loads(done.stdout)
        print(name, sizes, file=sys.stderr, flush=True)
        per_call = sizes[-1] / STEPS[len(sizes) - 1]
        cells = [*map(shown, sizes), *[""] * (len(STEPS) - len(sizes))]
        rows.append((name, *cells, f"{per_call:,.0f}" if per_call >= 1 else "< 1"))
    head = ("kind of rule", *(f"{step:,}" for step in STEPS), "bytes per call")
    table.show("Memory of a run after so many calls", head, rows)


if __name__ == "__main__":
    main()
