"""Recomputes the results of the form-only warm-up from the recorded runs.

    python benchmarks/form_only.py            does everything agree with the runs?
    python benchmarks/form_only.py --write    write the tables, the figure and the page's blocks

The runs and metrics in docs/results/fine-tuning/form-only are the input. The CSV files and the
figure there are made from them, and so are the tables on the page that are marked as blocks:
`<!-- form-only: NAME -->` … `<!-- end -->`.

Over several seeds, runs of the same task by models of the same seed are compared. The mean is that
over all runs, each seed with the same weight. Prompts are resampled with replacement, each with its
runs of all seeds: the seeds are fixed, so the intervals do not say how much seeds differ.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bylaw.reports.figures import curves_svg
from bylaw.tables import Cell, Table
from bylaw.training.run.eval_tables import gains_table, splits_table, tables
from bylaw.training.run.metrics import METRICS, curves, read_metrics

PAGE: Final = Path(__file__).parents[1] / "docs" / "results" / "fine-tuning.md"
FOLDER: Final = PAGE.with_suffix("") / "form-only"

FORM: Final = "form"
ANSWER: Final = "form + GRPO, answer alone"
COMBINED: Final = "form + GRPO"
COMPLIANCE: Final = "form + GRPO, compliance alone"
_FILE_NAMES: Final = {ANSWER: "answer-alone", COMBINED: "combined"}

RUNS: Final = {
    42: ("eval.jsonl.gz", "compliance/eval.jsonl.gz"),
    43: ("seed-43/eval.jsonl.gz",),
    44: ("seed-44/eval.jsonl.gz",),
}
"""The files with the runs of each seed."""
CURVES: Final = {
    "combined, seed 42": "both",
    "combined, seed 43": "seed-43/both",
    "combined, seed 44": "seed-44/both",
    "compliance alone, seed 42": "compliance",
    "answer alone, seed 42": "answer",
    "answer alone, seed 43": "seed-43/answer",
    "answer alone, seed 44": "seed-44/answer",
}
SETS: Final = {
    "unaugmented": "unaugmented",
    "augmented": "augmented",
    "unseen-pattern": "unseen patterns",
    "diverse-tool": "other tool names",
    "everything": "all four",
}
"""The sets, and their names on the page."""


@dataclass(frozen=True, slots=True)
class Study:
    """Models that are compared, the first being the baseline, over some seeds."""

    models: tuple[str, ...]
    seeds: tuple[int, ...] = (42,)

    def results(self) -> dict[str, list[dict[str, Any]]]:
        """The runs of each model; the trial of a run is its seed."""
        found = [
            run | {"trial": seed}
            for seed in self.seeds
            for file in RUNS[seed]
            for run in _read(FOLDER / file)
        ]
        return {name: [run for run in found if run["model"] == name] for name in self.models}


STUDIES: Final = {
    ".": Study((FORM, ANSWER, COMBINED)),
    "seed-43": Study((FORM, ANSWER, COMBINED), (43,)),
    "seed-44": Study((FORM, ANSWER, COMBINED), (44,)),
    "pooled": Study((FORM, ANSWER, COMBINED), (42, 43, 44)),
    "pooled-43-44": Study((FORM, ANSWER, COMBINED), (43, 44)),
    "compliance": Study((FORM, COMBINED, COMPLIANCE)),
}
"""The comparisons, by the folder of their tables."""


def files() -> Iterator[tuple[Path, str]]:
    """Every file that is made from the runs, with its content."""
    made = {name: tables(_flat(study.results())) for name, study in STUDIES.items()}
    made["production"] = tables(_read(FOLDER / "production.jsonl.gz"))[:2]
    for name, written in made.items():
        for table in written:
            yield FOLDER / name / f"{_file_name(table)}.csv", table.csv()
    shown = curves({name: read_metrics(FOLDER / at / METRICS) for name, at in CURVES.items()})
    yield FOLDER / "curves.csv", shown.csv()
    yield FOLDER / "curves.svg", curves_svg(shown) or ""
    yield PAGE, _with_blocks(PAGE.read_text(encoding="utf-8"))


def _read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _flat(by_model: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [run for runs in by_model.values() for run in runs]


def _file_name(table: Table) -> str:
    before, over, model = table.name.partition("-over-")
    return f"{before}{over}{_FILE_NAMES.get(model, model)}"


def _with_blocks(page: str) -> str:
    """The page with its blocks made anew."""
    blocks = {
        "seeds": _seeds(),
        "pooled": _gains(STUDIES["pooled"]),
        "pooled-43-44": _gains(STUDIES["pooled-43-44"]),
        "compliance": _compliance(),
    }

    def block(match: re.Match[str]) -> str:
        return f"{match[1]}\n\n{blocks.pop(match[2])}\n\n{match[3]}"

    made = re.sub(r"(<!-- form-only: ([\w-]+) -->).*?(<!-- end -->)", block, page, flags=re.S)
    if blocks:
        sys.exit(f"the page has no block {', '.join(blocks)}")
    return made


def _seeds() -> str:
    """Compliance and accuracy of each model, seed by seed."""
    models, rest = (FORM, ANSWER, COMBINED), ("answer alone", "combined")
    lines = [
        _header("set", "seed", "compliance: form", *rest, "accuracy: form", *rest),
        "| --- | --- " + "| ---: " * 6 + "|",
    ]
    by_seed = {seed: _cells(splits_table(Study(models, (seed,)).results())) for seed in RUNS}
    for name, shown in SETS.items():
        for seed, cells in by_seed.items():
            rows = [cells[name, model] for model in models]
            shares = [f"{row[0]:.3f}" for row in rows] + [f"{row[2]:.1%}" for row in rows]
            first = shown if seed == min(RUNS) else ""
            lines.append(f"| {first} | {seed} | {' | '.join(_spaced(shares))} |")
    return "\n".join(lines)


def _gains(study: Study) -> str:
    """The differences between models, with intervals; bold where zero is outside."""
    measure, points = "compliance", "points"
    lines = [
        _header(
            "set", f"combined over form: {measure}", points, f"over answer alone: {measure}", points
        ),
        "| --- " * 5 + "|",
    ]
    cells = _cells(gains_table(study.results()))
    for name, shown in SETS.items():
        changes = []
        for other in (FORM, ANSWER):
            row = cells[name, f"{COMBINED} over {other}"]
            changes += [_change(row[0], row[1], "+.3f"), _change(row[2], row[3], "+.1f")]
        lines.append(f"| {shown} | {' | '.join(changes)} |")
    return "\n".join(lines)


def _compliance() -> str:
    """Compliance as the only reward, over the warm-up."""
    name = "compliance alone"
    lines = [
        _header("set", "compliance: form", name, "difference", "accuracy: form", name, "points"),
        "| --- | ---: | ---: | --- | ---: | ---: | --- |",
    ]
    results = STUDIES["compliance"].results()
    levels, changes = _cells(splits_table(results)), _cells(gains_table(results))
    for each, shown in SETS.items():
        before, after = levels[each, FORM], levels[each, COMPLIANCE]
        change = changes[each, f"{COMPLIANCE} over {FORM}"]
        lines.append(
            f"| {shown} | {before[0]:.3f} | {after[0]:.3f} "
            f"| {_change(change[0], change[1], '+.3f')} "
            f"| {' | '.join(_spaced([f'{before[2]:.1%}', f'{after[2]:.1%}']))} "
            f"| {_change(change[2], change[3], '+.1f')} |"
        )
    return "\n".join(lines)


def _header(*names: str) -> str:
    return f"| {' | '.join(names)} |"


def _cells(table: Table) -> dict[tuple[Cell, Cell], Sequence[Any]]:
    """The values of each set and model: compliance, interval, accuracy, interval, calls."""
    return {(row[0], row[1]): row[3:] for row in table.rows}


def _change(value: float, interval: str, format: str) -> str:
    low, high = map(float, interval.strip("[]").split(","))
    number = f"**{value:{format}}**" if low > 0 or high < 0 else f"{value:{format}}"
    return f"{number} {interval}".replace("-", "−")


def _spaced(percents: Sequence[str]) -> list[str]:
    return [each.replace("%", " %") for each in percents]


def main() -> int:
    """Compares or writes the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the files")
    options = parser.parse_args()
    differing = []
    for path, content in files():
        if path.exists() and path.read_bytes().decode() == content:
            continue
        differing.append(path.relative_to(PAGE.parent))
        if options.write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode())
    for path in differing:
        print(f"{path}: {'written' if options.write else 'differs from what the runs give'}")
    if not differing:
        print("all tables, the figure and the page agree with the runs")
    return 1 if differing and not options.write else 0


if __name__ == "__main__":
    sys.exit(main())
