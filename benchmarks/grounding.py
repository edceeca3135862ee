"""The cost of judging an answer: a thousand traces, and a second answer over the same evidence.

    python benchmarks/grounding.py [--quick]

Each trace reads twenty files of five hundred lines: Python's own library, cut into pages, each with
a line of its own on top, so that no content comes twice and nothing is found in the cache. Answers
name a path, a method with its class, a function and two identifiers; every other answer also names
one of each that nothing shows. Times are those of the processor, whatever else the machine does.
"""

from __future__ import annotations

import argparse
import ast
import random
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import process_time
from typing import Final

import table

from bylaw import Call, Trace
from bylaw.grounding import Grounding
from bylaw.values import write_json

READS: Final = 20
LINES: Final = 500


def library() -> list[tuple[str, str, list[str]]]:
    """Pages of the standard library: a path, five hundred lines, the methods that they define.

    Many pages begin or end inside a definition, and do not parse; no answer is about those.
    """
    found = []
    root = Path(sysconfig.get_path("stdlib"))
    for file in sorted(root.glob("*.py")):
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        for start in range(0, len(lines) - LINES + 1, LINES):
            page = "".join(lines[start : start + LINES])
            found.append((f"lib/{file.stem}_{start}.py", page, _methods(page)))
    return found


def _methods(page: str) -> list[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(page)
    except SyntaxError:
        return []
    return [
        f"{outer.name}.{inner.name}"
        for outer in tree.body
        if isinstance(outer, ast.ClassDef)
        for inner in outer.body
        if isinstance(inner, ast.FunctionDef)
    ]


def traces(count: int) -> Iterator[tuple[Trace, Trace]]:
    """The given number of traces, each with another answer over the same evidence."""
    rng = random.Random(7)
    pages = library()
    whole = [page for page in pages if page[2]]
    torn = [page for page in pages if not page[2]]
    for number in range(count):
        read = rng.sample(whole, READS // 2) + rng.sample(torn, READS // 2)
        calls = [
            Call(
                "read_file",
                {"path": path},
                write_json({"content": f"# run {number}, page {index}\n{page}"}),
            )
            for index, (path, page, _) in enumerate(read)
        ]
        about = rng.sample(read[: READS // 2], 2)
        first, second = (answer(rng, *page, invents=rng.random() < 0.5) for page in about)
        yield Trace(calls, answer=first), Trace(calls, answer=second)


def answer(rng: random.Random, path: str, page: str, methods: list[str], *, invents: bool) -> str:
    """An answer about a page, which may also name what is not there."""
    method = rng.choice(methods)
    name = method.partition(".")[2]
    told = (
        f"`{method}()` is defined in `{path}`. It is called as {name}(), on the class "
        f"`{method.partition('.')[0]}`, like `{rng.choice(methods)}`."
    )
    if not invents:
        return told
    return f"{told} See also `lib/invented.py`, InventedClass.made_up() and another_invention."


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the traces")
    count = 100 if parser.parse_args().quick else 1_000
    grounding = Grounding()
    firsts, seconds, verdicts = [], [], []
    for first, second in traces(count):
        begun = process_time()
        verdicts.append(grounding.check(first).verdict)
        between = process_time()
        grounding.check(second)
        firsts.append(between - begun)
        seconds.append(process_time() - between)
    rows = [
        (f"first answers ({count:,} traces)", *map(table.duration, (median(firsts), sum(firsts)))),
        ("second answers", *map(table.duration, (median(seconds), sum(seconds)))),
    ]
    table.show(f"Answers over {READS} reads of {LINES} lines", ("", "median", "in all"), rows)
    shares = ", ".join(f"{verdicts.count(each)} {each}" for each in sorted(set(verdicts)))
    print(f"  verdicts: {shares}\n")
    table.target("1,000 traces", sum(firsts) * 1_000 / count, 30, at_least=False, unit="s")
    ratio = sum(firsts) / sum(seconds)
    table.target("first answer over second", ratio, 10, at_least=True)


if __name__ == "__main__":
    main()
