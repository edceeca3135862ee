"""Recomputes the results of the form-only warm-up from the recorded runs.

    python benchmarks/form_only.py            does everything agree with the runs?
    python benchmarks/form_only.py --write    write the tables, the figure and the page's blocks

The runs and metrics in docs/results/fine-tuning/form-only are the input (`behind_gate` has those
of the benchmark). The CSV files and the
figure there are made from them, and so are the tables on the page that are marked as blocks:
`<!-- form-only: NAME -->` … `<!-- end -->`.

Over several seeds, runs of the same task by models of the same seed are compared. The mean is that
over all runs, each seed with the same weight. Prompts are resampled with replacement, each with its
runs of all seeds: the seeds are fixed, so the intervals do not say how much seeds differ.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import behind_gate
from page_tables import change, measured, page_table, percent, read_runs

from bylaw.reports.figures import curves_svg
from bylaw.tables import Table
from bylaw.training.run.eval_tables import gains_table, splits_table, tables
from bylaw.training.run.metrics import METRICS, curves, read_metrics

PAGE: Final = Path(__file__).parents[1] / "docs" / "results" / "fine-tuning.md"
FOLDER: Final = PAGE.with_suffix("") / "form-only"

FORM: Final = "form"
ANSWER: Final = "form + GRPO, answer alone"
COMBINED: Final = "form + GRPO"
COMPLIANCE: Final = "form + GRPO, compliance alone"
EARLY_ANSWER: Final = "form + GRPO, answer alone, 10 steps"
EARLY_COMBINED: Final = "form + GRPO, 7 steps"
_FILE_NAMES: Final = {
    ANSWER: "answer-alone",
    EARLY_ANSWER: "answer-alone",
    COMBINED: "combined",
}

RUNS: Final = {
    42: ("eval.jsonl.gz", "compliance/eval.jsonl.gz"),
    43: ("seed-43/eval.jsonl.gz",),
    44: ("seed-44/eval.jsonl.gz",),
}
"""The files with the runs of each seed."""
CURVES: Final = {
    "combined, seed 42": ("both",),
    "combined, seed 43": ("seed-43/both",),
    "combined, seed 44": ("seed-44/both",),
    "compliance alone, seed 42": ("compliance",),
    "answer alone, seed 42": ("answer",),
    "answer alone, seed 43": ("seed-43/answer", "seed-43/answer/continued"),
    "answer alone, seed 44": ("seed-44/answer", "seed-44/answer/continued"),
}
"""The folders with the metrics of each run."""
CONTINUED: Final = 10
"""The step from whose adapter a second folder continues."""
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
            for run in read_runs(FOLDER / file)
        ]
        return {name: [run for run in found if run["model"] == name] for name in self.models}


STUDIES: Final = {
    ".": Study((FORM, ANSWER, COMBINED)),
    "seed-43": Study((FORM, ANSWER, COMBINED), (43,)),
    "seed-44": Study((FORM, ANSWER, COMBINED), (44,)),
    "pooled": Study((FORM, ANSWER, COMBINED), (42, 43, 44)),
    "early": Study((FORM, EARLY_ANSWER, EARLY_COMBINED), (43, 44)),
    "later": Study((EARLY_COMBINED, COMBINED), (43, 44)),
    "compliance": Study((FORM, COMBINED, COMPLIANCE)),
}
"""The comparisons, by the folder of their tables."""


def files() -> Iterator[tuple[Path, str]]:
    """Every file that is made from the runs, with its content."""
    made = {name: tables(_flat(study.results())) for name, study in STUDIES.items()}
    made |= behind_gate.tables_of(FOLDER)
    for name, written in made.items():
        for table in written:
            yield FOLDER / name / f"{_file_name(table)}.csv", table.csv()
    shown = curves({name: _metrics(*folders) for name, folders in CURVES.items()})
    yield FOLDER / "curves.csv", shown.csv()
    yield FOLDER / "curves.svg", curves_svg(shown) or ""
    yield PAGE, _with_blocks(PAGE.read_text(encoding="utf-8"))


def _metrics(folder: str, *continued: str) -> list[dict[str, Any]]:
    """The metrics of a run, and of the one that continues it."""
    rows = read_metrics(FOLDER / folder / METRICS)
    for each in continued:
        later = [row for row in read_metrics(FOLDER / each / METRICS) if row["step"] > 0]
        rows = [row for row in rows if row["step"] <= CONTINUED]
        rows += [
            row | {"step": row["step"] + CONTINUED, "after": row["after"] + CONTINUED}
            for row in later
        ]
    return rows


def _flat(by_model: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [run for runs in by_model.values() for run in runs]


def _file_name(table: Table) -> str:
    before, over, model = table.name.partition("-over-")
    return f"{before}{over}{_FILE_NAMES.get(model, model)}"


def _with_blocks(page: str) -> str:
    """The page with its blocks made anew."""
    blocks = {
        "seeds": _seeds(),
        "pooled": _gains(STUDIES["pooled"], "combined over form", "over answer alone"),
        "early": _gains(STUDIES["early"], "combined over form", "over answer alone"),
        "later": _gains(STUDIES["later"], "33 steps over 7"),
        "compliance": _compliance(),
        **behind_gate.blocks_of(FOLDER),
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
    by_seed = {seed: measured(splits_table(Study(models, (seed,)).results())) for seed in RUNS}
    rows = []
    for name, shown in SETS.items():
        for seed, cells in by_seed.items():
            found = [cells[name, model] for model in models]
            shares = [f"{each[0]:.3f}" for each in found] + [percent(each[2]) for each in found]
            rows.append([shown if seed == min(RUNS) else "", str(seed), *shares])
    names = ("set", "seed", "compliance: form", *rest, "accuracy: form", *rest)
    return page_table(names, rows, numbers="  rrrrrr")


def _gains(study: Study, *comparisons: str) -> str:
    """The differences between the last model and each of the others, with intervals."""
    *others, last = study.models
    cells = measured(gains_table(study.results()))
    rows = []
    for name, shown in SETS.items():
        found = [cells[name, f"{last} over {other}"] for other in others]
        changes = [
            text
            for each in found
            for text in (change(each[0], each[1], "+.3f"), change(each[2], each[3], "+.1f"))
        ]
        rows.append([shown, *changes])
    names = [text for each in comparisons for text in (f"{each}: compliance", "points")]
    return page_table(["set", *names], rows)


def _compliance() -> str:
    """Compliance as the only reward, over the warm-up."""
    name = "compliance alone"
    results = STUDIES["compliance"].results()
    levels, changes = measured(splits_table(results)), measured(gains_table(results))
    rows = []
    for each, shown in SETS.items():
        before, after = levels[each, FORM], levels[each, COMPLIANCE]
        gain = changes[each, f"{COMPLIANCE} over {FORM}"]
        rows.append(
            [
                shown,
                *(f"{before[0]:.3f}", f"{after[0]:.3f}", change(gain[0], gain[1], "+.3f")),
                *(percent(before[2]), percent(after[2]), change(gain[2], gain[3], "+.1f")),
            ]
        )
    names = ("set", "compliance: form", name, "difference", "accuracy: form", name, "points")
    return page_table(names, rows, numbers=" rr rr ")


def main() -> int:
    """Compares or writes the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the files")
    options = parser.parse_args()
    differing = []
    stale = set(FOLDER.rglob("*.csv"))
    for path, content in files():
        stale.discard(path)
        if path.exists() and path.read_bytes().decode() == content:
            continue
        differing.append(path.relative_to(PAGE.parent))
        if options.write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode())
    for path in differing:
        print(f"{path}: {'written' if options.write else 'differs from what the runs give'}")
    for path in sorted(stale):
        print(f"{path.relative_to(PAGE.parent)}: made from no runs; delete it")
    if not differing and not stale:
        print("all tables, the figure and the page agree with the runs")
    return 1 if stale or (differing and not options.write) else 0


if __name__ == "__main__":
    sys.exit(main())
