"""Time and memory of mining a large corpus: a million calls of twenty tools, in JSON lines."""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Final

import table

TOOLS: Final = [f"tool_{number:02}" for number in range(20)]
LENGTH: Final = 12
MEGABYTE: Final = 1024
SECONDS: Final = 60


def write_corpus(path: Path, calls: int) -> int:
    """Writes runs with so many calls; the number of bytes."""
    choose = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for _ in range(calls // LENGTH):
            ids = [f"N-{choose.randrange(10**7)}" for _ in range(3)]
            events = []
            for step in range(LENGTH):
                tool = choose.choice(TOOLS)
                given = {
                    "id": choose.choice(ids),
                    "amount": choose.randrange(100),
                    "note": "x" * 20,
                }
                shown = {"id": ids[0], "state": choose.choice(("open", "paid")), "limit": 5}
                events.append(
                    {"step": step, "tool_name": tool, "arguments": given, "tool_result": shown}
                )
            file.write(json.dumps({"tool_calls": events}) + "\n")
    return path.stat().st_size


def large_corpus(calls: int) -> None:
    """Prints the time and the memory of `bylaw mine` on so many calls."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "runs.jsonl"
        size = write_corpus(corpus, calls)
        command = [sys.executable, "-m", "bylaw", "mine", str(corpus)]
        begun = perf_counter()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*command, "-o", str(Path(folder) / "p.yaml")], check=True)
        seconds = perf_counter() - begun
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    row = (f"{calls:,}", f"{size / 1e6:,.0f} MB", f"{seconds:.0f} s", f"{processor:.0f} s")
    memory = f"{after.ru_maxrss / MEGABYTE:,.0f} MiB"
    table.show(
        "Mining a corpus", ("calls", "size", "wall", "processor", "memory"), [(*row, memory)]
    )
    table.target("processor time", processor, SECONDS, at_least=False, unit="s")
    table.target("memory", after.ru_maxrss / MEGABYTE / 1024, 1, at_least=False, unit="GiB")
