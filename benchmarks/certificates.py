"""Certificates: their size, the time to check them beside `verify`, and recorded runs.

    python benchmarks/certificates.py            sizes and times
    python benchmarks/certificates.py FOLDER     every rule of the examples on the runs in a folder

Both programs start from the bytes of a trace and of a procedure. `verify` loads the procedure and
scores the trace; the checker reads both again, the text of the rules included, and the certificate.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Final

import airline
from table import duration, show, target, times

import bylaw_check
from bylaw import Call, Procedure, Trace, read_traces, verify_trace
from bylaw.certificates.certificate import CertifiedFile, certificate
from bylaw.values import read_json, write_json

EXAMPLES: Final = Path(__file__).parent.parent / "examples"
RUNS: Final = {
    "airline": "tau-bench/airline-*.json",
    "retail": "tau-bench/retail-*.json",
    "assistant": "agent*/*.jsonl",
}
"""The recorded runs that an example is about."""


def certified(trace: Trace, source: Path) -> tuple[bytes, bytes]:
    """A certificate and the record that it is about."""
    record = write_json({**trace.to_record(), "refusals": []}).encode()
    content = CertifiedFile("record", record), CertifiedFile(source.name, source.read_bytes())
    found = certificate(verify_trace(trace, Procedure.load(source)), trace, *content)
    return json.dumps(found).encode(), record


# ── times ─────────────────────────────────────────────────────────────────────────────────


def quickest(work: Callable[[], object], tries: int = 5) -> float:
    """The shortest of several times."""

    def once() -> float:
        start = perf_counter()
        work()
        return perf_counter() - start

    return min(once() for _ in range(tries))


def workloads() -> Iterator[tuple[str, Trace, Path]]:
    """Traces of several sizes, and the procedures for them."""
    desk = EXAMPLES / "refund-desk"
    order = [Call("lookup", {"id": 1}, {"paid": 20}), Call("verify", {"id": 1}, True)]
    long = [*order, Call("refund", {"amount": 20}), Call("notify")] * 2_500
    for events in (10, 1_000, 10_000):
        yield f"refund desk, {events:,} calls", Trace(long[:events]), desk / "procedure.yaml"
    for events in (50, 200, 1_000):
        session = Trace(islice(airline.session(), events))
        yield f"airline, {events:,} events", session, airline.PROCEDURE


def measure() -> None:
    """Prints sizes and times, within one process and as commands."""
    rows, ratios = [], []
    for name, trace, source in workloads():
        written, record = certified(trace, source)

        def verify(record: bytes = record, source: Path = source) -> object:
            return verify_trace(
                Trace.from_record(read_json(record.decode())), Procedure.load(source)
            )

        def check(contents: tuple[bytes, ...] = (written, record, source.read_bytes())) -> object:
            return bylaw_check.check_files(list(contents), False)

        verifying, checking = quickest(verify), quickest(check)
        ratios.append(checking / verifying)
        size = f"{len(written) / len(record):.2f} ×"
        rows.append((name, size, duration(verifying), duration(checking), times(ratios[-1])))
    head = ("", "certificate / trace", "verify", "check", "check / verify")
    show("Within one process, procedure and trace read each time", head, rows)
    target("checking beside verify, at most", max(ratios), 2, at_least=False)
    as_commands()


def as_commands() -> None:
    """Prints the times of the commands, start-up included."""
    rows = []
    bin_folder = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder:
        for name, trace, source in workloads():
            written, record = certified(trace, source)
            files = [Path(folder) / each for each in ("c.json", "trace.json")]
            for path, content in zip(files, (written, record), strict=True):
                path.write_bytes(content)
            paths = [str(each) for each in (*files, source)]
            verify = [str(bin_folder / "bylaw"), "verify", "--json", "-p", paths[2], paths[1]]
            check = [str(bin_folder / "bylaw-check"), *paths]

            def run(command: list[str]) -> object:
                return subprocess.run(command, capture_output=True, check=False)

            seconds = [quickest(lambda c=c: run(c), 3) for c in (verify, check)]  # type: ignore[misc]  # a default
            rows.append((name, *map(duration, seconds), times(seconds[1] / seconds[0])))
    show("As commands", ("", "bylaw verify", "bylaw-check", "ratio"), rows)


# ── recorded runs ─────────────────────────────────────────────────────────────────────────


def recorded(folder: Path) -> int:
    """Certifies and checks every recorded run; returns the number that was rejected."""
    rows, rejected, reasons = [], 0, Counter[str]()
    for example, pattern in RUNS.items():
        source, found = EXAMPLES / example / "procedure.yaml", Counter[str]()
        for path in sorted(folder.glob(pattern)):
            for entry in read_traces(path):
                if entry.trace is None:
                    found["unusable"] += 1
                    continue
                written, record = certified(entry.trace, source)
                rules = len(json.loads(written)["rules"])
                try:
                    open_claims = bylaw_check.check_files(
                        [written, record, source.read_bytes()], False
                    )
                except bylaw_check.Wrong as error:
                    print(f"  rejected: {entry.name}: {error}")
                    found["rejected"] += 1
                    continue
                found["runs"] += 1
                found["not checked"] += len(open_claims)
                found["proved"] += rules - len(open_claims)
                reasons.update(open_claims)
        rejected += found["rejected"]
        kinds = ("runs", "proved", "not checked", "rejected", "unusable")
        rows.append((example, *(f"{found[kind]:,}" for kind in kinds)))
    for claim, number in reasons.items():
        print(f"  not checked in {number} runs: {claim}")
    show("Recorded runs", ("", "runs", "proved", "not checked", "rejected", "unusable"), rows)
    return rejected


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit(recorded(Path(sys.argv[1])))
    measure()
