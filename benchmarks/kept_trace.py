"""The trace that a guard keeps: its memory, and its share of the time of a decision.

    python benchmarks/kept_trace.py [--calls 50000]

Each row is a fresh process: a guard with one rule, calls of two arguments, results of two fields.
The memory is what the process has gained by the end of the run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from typing import Final

import table

LIMITS: Final = ("0", "10_000", "None")
RUN: Final = """
import gc, sys, time
from bylaw import Call, Guard, Procedure

def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096

rules = [{"name": "verify-first", "rule": "G(refund -> O verify)"}]
procedure = Procedure.from_dict({"unlisted": "allow", "constraints": rules})
guard = Guard(procedure, max_trace=LIMIT)
memory, start = resident(), time.process_time()
for i in range(CALLS):
    (decision,) = guard.propose([Call("lookup", {"order": i, "note": f"order {i}"})])
    guard.record(decision, {"ok": True, "total": i})
taken = time.process_time() - start
print(resident() - memory, taken)
"""


def main() -> None:
    """Prints the table."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--calls", type=int, default=50_000)
    calls = options.parse_args().calls
    rows = []
    for limit in LIMITS:
        code = RUN.replace("LIMIT", limit).replace("CALLS", str(calls))
        done = subprocess.run([sys.executable, "-c", code], check=True, stdout=-1, text=True)
        memory, taken = map(float, done.stdout.split())
        times = f"{memory / calls:,.0f} B", table.duration(taken / calls)
        rows.append([limit.replace("_", ","), f"{memory / 1e6:,.1f} MB", *times])
    head = ("max_trace", "memory", "per call", "time per call")
    table.show(f"{calls:,} calls, decided and recorded", head, rows)


if __name__ == "__main__":
    main()
