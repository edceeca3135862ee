"""Rules mined from successful runs of real agents, tried on runs of another model.

    python benchmarks/mining_real.py FOLDER

FOLDER has results of τ-bench: `retail-*.json` and `airline-*.json`, each of one model. Rules are
mined from the successful runs of one file, or from all of its runs with their labels, and the
score of the mined procedure is compared with the reward of the runs in the other file: the
probability that a successful run has a higher score than a failed one (AUC; 0.5 says nothing).
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles

import table
import yaml

from bylaw import Procedure, Trace, read_traces, verify_trace
from bylaw.mining.mine import mine
from bylaw.mining.procedure_file import to_yaml

SAMPLES = 500
"""For the interval: the runs are drawn again so often."""


def traces_of(path: Path) -> list[tuple[Trace, bool]]:
    """The runs of a file, and whether each succeeded."""
    found = [entry.trace for entry in read_traces(path) if entry.trace is not None]
    return [(trace, trace.labels.get("reward") == 1) for trace in found if trace.calls]


def area(scores: Sequence[tuple[float, bool]]) -> float:
    """The probability that a successful run scores higher than a failed one."""
    good = [score for score, success in scores if success]
    bad = [score for score, success in scores if not success]
    wins = sum((g > b) + 0.5 * (g == b) for g in good for b in bad)
    return wins / max(1, len(good) * len(bad))


def interval(scores: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    """The interval of 95 % of the area, by drawing runs again."""
    choose = random.Random(0)
    found = [area(choose.choices(scores, k=len(scores))) for _ in range(SAMPLES)]
    cut = quantiles(found, n=40)
    return cut[0], cut[-1]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rules", action="store_true", help="print the mined procedures")
    options = parser.parse_args()
    rows = []
    for domain in ("retail", "airline"):
        files = {path.stem: traces_of(path) for path in options.folder.glob(f"{domain}-*.json")}
        for learned, runs in files.items():
            good = [trace for trace, success in runs if success]
            bad = [trace for trace, success in runs if not success]
            for kind, failed in (("successes", []), ("all, labelled", bad)):
                mined = mine(good, failed, name=learned)
                text = to_yaml(mined)
                if options.rules:
                    print(text)
                procedure = Procedure.from_dict(yaml.safe_load(text))
                for other, tried in files.items():
                    if other == learned:
                        continue
                    scores = [(verify_trace(t, procedure).score or 0.0, ok) for t, ok in tried]
                    low, high = interval(scores)
                    certain = sum(each.certain for each in mined.rules)
                    cells = (f"{len(good)} + {len(failed)}", f"{certain}", other)
                    rows.append(
                        (learned, kind, *cells, f"{area(scores):.2f}", f"{low:.2f}–{high:.2f}")
                    )
    head = ("mined from", "runs", "good + bad", "rules", "tried on", "AUC", "95 %")
    table.show("Does a mined procedure predict reward?", head, rows)


if __name__ == "__main__":
    main()
