"""Trace files are read as a stream, and a damaged record never hides the others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bylaw import TraceError, read_trace, read_traces
from bylaw.trace.formats import LIST_FIELDS

GOOD = '{"tool_calls": [{"tool_name": "a"}]}'


def _read(path: Path, text: str | bytes) -> list[str]:
    """For each entry of the file, its tools or the code of its error."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found = []
    for entry in read_traces(path):
        if entry.trace is not None:
            found.append(" ".join(call.tool for call in entry.trace))
        else:
            assert entry.error is not None
            found.append(entry.error.diagnostics[0].code)
    return found


@pytest.mark.parametrize(
    ("name", "text", "entries"),
    [
        ("x.json", GOOD, ["a"]),
        ("x.json", json.dumps(json.loads(GOOD), indent=2), ["a"]),
        ("x.json", f"[{GOOD}, {GOOD}]", ["a", "a"]),
        ("x.json", f"{GOOD}\n{GOOD}\n", ["a", "a"]),
        ("x.jsonl", f"{GOOD}\n\n{GOOD}", ["a", "a"]),
        ("x.jsonl", f"{GOOD}\r\n{GOOD}\r\n", ["a", "a"]),
        ("x.json", "\ufeff" + GOOD, ["a"]),
        ("x.jsonl", f"{GOOD}\n{{oops\n{GOOD}\n[1]\n{GOOD}", ["a", "E315", "a", "E301", "a"]),
        ("x.jsonl", f'{{"tool_calls": [\n{GOOD}\n', ["E315", "a"]),
        ("x.txt", f'{{"tool_calls": [\n{GOOD}\n', ["E315", "a"]),
        ("x.txt", f'{{"tool_calls": [}}\n{GOOD}\n', ["E315", "a"]),
        ("x.json", '{"tool_calls": [\n{"tool_name": "a"}\n]}', ["a"]),
        ("x.json", '{"tool_calls": [\n{"tool_name": "a"}\n', ["E315"]),
        *[("x.json", f'{{"n": 1, "{key}": [\n{GOOD}\n]}}', ["a"]) for key in LIST_FIELDS],
        ("x.json", "", ["E311"]),
        ("x.json", "[]", ["E311"]),
        ("x.json", "  \n \n", ["E311"]),
        ("x.json", '{"tool_calls": [NaN]}', ["E315"]),
        ("x.json", '{"tool_calls": [], "x": 1e999}', ["E315"]),
        ("x.json", '{"tool_calls": [], "tool_calls": []}', ["E315"]),
        ("x.json", b'{"tool_calls": ["\xff"]}', ["E314"]),
        ("x.json", "[" * 100_000, ["E315"]),
        ("x.json", '{"tool_calls": ' + "[" * 100_000 + "]" * 100_000 + "}", ["E315"]),
        ("x.json", '{"tool_calls": [], "n": ' + "9" * 5_000 + "}", ["E315"]),
    ],
)
def test_file(name: str, text: str | bytes, entries: list[str], tmp_path: Path) -> None:
    assert _read(tmp_path / name, text) == entries


def test_a_missing_file_is_an_entry_too(tmp_path: Path) -> None:
    (entry,) = read_traces(tmp_path / "missing.json")
    assert entry.error is not None
    assert entry.error.diagnostics[0].code == "E310"


def test_an_error_names_file_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(f'{GOOD}\n{{"tool_calls": [1,}}\n')
    error = list(read_traces(path))[1].error
    assert error is not None
    assert str(error).startswith(f"{path}:2:19: error[E315]: not valid JSON")


def test_one_trace_is_asked_for_by_name(tmp_path: Path) -> None:
    (tmp_path / "two.jsonl").write_text(f"{GOOD}\n{GOOD}\n")
    with pytest.raises(TraceError, match="several records"):
        read_trace(tmp_path / "two.jsonl")


# The peak is read from the process itself: getrusage would count what its parent held.
_READ_AND_REPORT = """
import sys
from pathlib import Path
from bylaw import read_traces
calls = 0
for entry in read_traces(sys.argv[1]):
    calls += len(entry.trace) if entry.trace else 0
status = Path("/proc/self/status").read_text()
print(calls, int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""
_needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="MEMORY NOT MEASURED: needs Linux's /proc"
)


def _read_apart(path: Path) -> tuple[int, int]:
    """The number of calls in a file, and the peak memory in MiB of a process that reads it."""
    command = [sys.executable, "-c", _READ_AND_REPORT, str(path)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    calls, peak = map(int, output.split())
    return calls, peak


@_needs_proc
@pytest.mark.slow
def test_a_million_calls_are_read_in_the_memory_of_one_record(tmp_path: Path) -> None:
    call = {"tool_name": "search", "arguments": {"q": "x" * 50}, "tool_result": "y" * 50}
    line = json.dumps({"tool_calls": [call] * 50}) + "\n"
    (tmp_path / "one.jsonl").write_text(line)
    with (tmp_path / "many.jsonl").open("w") as file:
        file.writelines([line] * 20_000)
    _, small = _read_apart(tmp_path / "one.jsonl")
    calls, large = _read_apart(tmp_path / "many.jsonl")
    assert calls == 1_000_000
    assert large - small < 30, f"{large} MiB, {small} MiB for one record"


@_needs_proc
@pytest.mark.slow
def test_a_hundred_megabyte_line_is_skipped_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("w") as file:
        file.write(f'{GOOD}\n{{"tool_calls": [], "x": "')
        for _ in range(100):
            file.write("x" * 1_000_000)
        file.write(f'"}}\n{GOOD}\n')
    found = [
        entry.error.diagnostics[0].code if entry.error else "ok" for entry in read_traces(path)
    ]
    assert found == ["ok", "E313", "ok"]
    calls, peak = _read_apart(path)
    assert calls == 2
    assert peak < 150
