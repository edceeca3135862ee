"""Walks through the source: the files, functions and depth that one piece of work passes through.

    python benchmarks/walks.py [--list] [--only refused|corpus]

A profiler records two walks, both with the ten rules of `gate_runs.py` (temporal, counting,
ordering, two on data):

- *refused proposal*: a guard, in the middle of a run, proposes a call that is refused. An earlier
  run has refused the same call, so nothing is explored for the first time.
- *corpus*: a few hundred traces of fifty calls as JSONL, in one process. First as the command
  (`bylaw verify --out --jobs 1`, from the arguments to the exit code: reading the procedure and
  printing the summary included), so that nothing it asks has been asked before. Then as the
  library function (`score_corpus`, from the list of paths to the summary, with a results file).

A file counts if it is below `src/bylaw` and a frame of one of its Python functions is entered.
Module bodies do not count, nor does anything that runs while a module is imported. Functions are
counted by qualified name; comprehensions and lambdas belong to the function they are written in.
The depth is the largest number of frames of such files on the stack, comprehensions included.
Constructors and comparisons that `dataclass` generates have no file and count nowhere; those that
classes with fields share (`frozen.py`) do not count either. The exit code is 1 if a walk passes
through more files than it may.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType
from typing import Final

import gate_runs
import table

import bylaw
from bylaw import Call, Guard, Trace

ROOT: Final = str(Path(bylaw.__file__).parent) + "/"
TRACES: Final = 300
LIMITS: Final = {"refused proposal": 15, "corpus, command": 40, "corpus, library": 30}
"""The largest number of files that each walk may pass through."""


@dataclass
class Walk:
    """The functions that were entered, by file, and the deepest stack."""

    functions: dict[str, set[str]] = field(default_factory=dict)
    depth: int = 0
    _now: int = 0
    _importing: int = 0

    def record(self, work: Callable[[], object]) -> Walk:
        """Runs the work under the profiler."""
        sys.setprofile(self._step)
        try:
            work()
        finally:
            sys.setprofile(None)
        return self

    def _step(self, frame: FrameType, event: str, _: object) -> None:
        if event not in ("call", "return"):
            return
        code, change = frame.f_code, 1 if event == "call" else -1
        if code.co_name == "<module>":
            self._importing += change
        elif (
            code.co_filename.startswith(ROOT)
            and code.co_filename != ROOT + "frozen.py"
            and not self._importing
        ):
            self._now += change
            if event == "call":
                self.depth = max(self.depth, self._now)
                name = code.co_qualname.partition(".<locals>.<")[0]
                file = code.co_filename.removeprefix(ROOT)
                self.functions.setdefault(file, set()).add(name)

    @property
    def count(self) -> int:
        """The number of functions."""
        return sum(map(len, self.functions.values()))


def refused_proposal() -> Walk:
    """The walk of a call that is refused."""
    procedure = gate_runs.procedure(10)
    for _ in range(2):
        guard = Guard(procedure)
        for call in (Call("read_0", {"id": 1, "size": 1}), Call("write_0", {"id": 1, "size": 1})):
            (decision,) = guard.propose([call])
            assert decision.allowed
            guard.record(decision, "done")
        walk, decisions = Walk(), []
        refused = Call("write_0", {"id": 2, "size": 1})  # nothing was read under this id
        walk.record(lambda: decisions.extend(guard.propose([refused])))  # noqa: B023 - called at once
        assert not decisions[0].allowed
    return walk


def corpus_walks() -> dict[str, Walk]:
    """The walks of a corpus: the library function, and the command."""
    from bylaw.batch.corpus import LocalEngine, score_corpus
    from bylaw.batch.input.chunks import Limits
    from bylaw.batch.input.files import find_files
    from bylaw.batch.output.results_file import ResultsFile
    from bylaw.cli.main import main as command

    procedure, random = gate_runs.procedure(10), Random(1)
    with tempfile.TemporaryDirectory() as folder:
        corpus, rules = Path(folder, "corpus.jsonl"), Path(folder, "rules.json")
        rules.write_text(json.dumps(procedure.to_dict()))
        with corpus.open("w") as file:
            for _ in range(TRACES):
                calls = [
                    Call(f"{tool}_0", {"id": random.randrange(9), "size": 150}, result="done")
                    for tool in random.choices(("read", "write", "close"), k=50)
                ]
                file.write(json.dumps(Trace(calls).to_record()) + "\n")

        def library() -> None:
            found = find_files([str(corpus)])
            limits = Limits()
            output = ResultsFile(str(Path(folder, "a.jsonl")), procedure, found, limits)
            summary = score_corpus(
                procedure, found, engine=LocalEngine(1), limits=limits, output=output
            )
            assert summary.traces == TRACES

        def cli() -> None:
            out = str(Path(folder, "b.jsonl"))
            arguments = ["verify", "-p", str(rules), str(corpus), "--out", out, "--jobs", "1"]
            with contextlib.redirect_stdout(io.StringIO()):
                code = command(arguments)
            assert code == 1, "some rules are violated"

        return {
            "corpus, command": Walk().record(cli),
            "corpus, library": Walk().record(library),
        }


def main() -> int:
    """Prints the walks; 1 if one of them passes through too many files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="also list the files")
    parser.add_argument("--only", choices=("refused", "corpus"), help="record one of the two")
    options = parser.parse_args()
    walks: dict[str, Walk] = {}
    if options.only != "corpus":
        walks["refused proposal"] = refused_proposal()
    if options.only != "refused":
        walks |= corpus_walks()
    rows = [
        [name, str(len(walk.functions)), str(walk.count), str(walk.depth)]
        for name, walk in walks.items()
    ]
    table.show("Walks through src/bylaw", ["walk", "files", "functions", "depth"], rows)
    files = {name: len(walk.functions) for name, walk in walks.items()}
    for name, count in files.items():
        table.target(name, count, LIMITS[name], at_least=False, unit="files")
    for name, walk in walks.items() if options.list else ():
        print(f"\n{name}")
        for file, functions in sorted(walk.functions.items()):
            print(f"  {len(functions):4}  {file}")
    return int(any(count > LIMITS[name] for name, count in files.items()))


if __name__ == "__main__":
    sys.exit(main())
