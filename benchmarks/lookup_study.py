"""Recomputes the results of training a model to look definitions up from the recorded runs.

    python benchmarks/lookup_study.py              does everything agree with the runs?
    python benchmarks/lookup_study.py --write      write the tables and the page's blocks
    python benchmarks/lookup_study.py --take DIR   take over the results of new runs

The compressed runs in docs/results/grounding/lookup are the input. They are the lines that
`bylaw ground study` wrote, without what the tools returned, which is in the repositories: calls and
verdicts are kept. `--take` makes them from whole results, such as base-free.jsonl, and checks the
verdicts. The CSV files are made from the runs, and so are the blocks `<!-- lookup: NAME -->` …
`<!-- end -->` of the page.

Intervals are 95 % bootstrap intervals. Repositories are resampled with replacement, each with its
questions: a model that copes with one file of a repository tends to cope with the others.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, Final, TypeAlias

from page_tables import page_table, percent, read_runs

from bylaw.bench.analysis.intervals import interval
from bylaw.bench.analysis.runs import grouped
from bylaw.grounding import Grounding
from bylaw.groundstudy.analysis import ANALYSES
from bylaw.groundstudy.analysis.runs import BOTH, is_vacuous, reads
from bylaw.groundstudy.prompts import PROMPTS
from bylaw.groundstudy.questions.questions import read_questions
from bylaw.groundstudy.repositories.pinned import BUCKETS
from bylaw.groundstudy.study import CATEGORIES, category
from bylaw.trace.trace import Trace
from bylaw.training.run.metrics import METRICS, read_metrics

PAGE: Final = Path(__file__).parents[1] / "docs" / "results" / "grounding.md"
FOLDER: Final = PAGE.with_suffix("") / "lookup"
MODELS: Final = {
    "base-free": "base, free",
    "base-constrained": "base, constrained",
    "sft-free": "trained, free",
    "sft-constrained": "trained, constrained",
}
"""The files of runs, and the names of their models in the tables."""
SIMULATED: Final = "simulated"
"""The file with the runs of simulated agents."""
Run: TypeAlias = Mapping[str, Any]


def runs() -> list[Run]:
    """All runs, with the models under the names of the tables."""
    return [
        {**run, "model": MODELS.get(file, run["model"])}
        for file in (*MODELS, SIMULATED)
        for run in read_runs(FOLDER / f"{file}.jsonl.gz")
    ]


def take(folder: Path) -> None:
    """Writes the compressed runs, with verdicts made anew from the whole traces."""
    for file in (*MODELS, SIMULATED):
        lines = (folder / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
        kept = sorted(map(_kept, map(json.loads, lines)), key=lambda run: str(run["key"]))
        text = "".join(f"{json.dumps(run, ensure_ascii=False)}\n" for run in kept)
        data = gzip.compress(text.encode(), mtime=0)
        (FOLDER / f"{file}.jsonl.gz").write_bytes(data)
        print(f"{file}: {len(kept)} runs, {len(data):,} bytes")


def _kept(run: Run) -> Run:
    """A run without the results of its calls."""
    trace = Trace.from_record(run["trace"], checked=True)
    report = Grounding().check(trace)
    assert run["grounding"]["satisfied"] == report.satisfied, run["key"]
    assert run["category"] == category(correct=run["correct"], grounded=report.satisfied)
    return {
        **{name: value for name, value in run.items() if name != "trace"},
        "located": Grounding(location=True).check(trace).satisfied,
        "defined": Grounding(definitions_only=True).check(trace).satisfied,
        "made": [[call.tool, dict(call.args), call.error] for call in trace.calls],
    }


def files() -> Iterator[tuple[Path, str]]:
    """Every file that is made from the runs, with its content."""
    made = runs()
    for analysis in ANALYSES.values():
        table = analysis(made)
        yield FOLDER / f"{table.name}.csv", table.csv()
    yield PAGE, _with_blocks(PAGE.read_text(encoding="utf-8"), made)


def _with_blocks(page: str, made: Sequence[Run]) -> str:
    blocks = {
        "data": _data(),
        "categories": _categories(made, list(MODELS.values())),
        "gains": _gains(made),
        "rules": _rules(made),
        "popularity": _popularity(made),
        "endings": _endings(made),
        "simulated": _categories(made, sorted({run["model"] for run in made} - {*MODELS.values()})),
    }

    def block(match: re.Match[str]) -> str:
        return f"{match[1]}\n\n{blocks.pop(match[2])}\n\n{match[3]}"

    written = re.sub(r"(<!-- lookup: ([\w-]+) -->).*?(<!-- end -->)", block, page, flags=re.S)
    if blocks:
        sys.exit(f"the page has no block {', '.join(blocks)}")
    return written


def _data() -> str:
    """The sets of questions, which share no repository, and the training."""
    trained, asked = (read_questions(FOLDER / f"{name}.json") for name in ("training", "questions"))
    shared = {each.name for each in trained.repositories} & {
        each.name for each in asked.repositories
    }
    if shared:
        sys.exit(f"trained on and asked about: {', '.join(sorted(shared))}")
    losses = [row["loss"] for row in read_metrics(FOLDER / METRICS)]
    rows = [
        ["to train on", str(len(trained.repositories)), str(len(trained.questions))],
        ["to measure", str(len(asked.repositories)), str(len(asked.questions))],
    ]
    last = fmean(losses[-10:])
    steps = f"{len(losses)} steps; the loss falls from {losses[0]:.2f} to {last:.3f} (last ten)."
    return f"{page_table(['', 'repositories', 'questions'], rows, numbers=' rr')}\n\n{steps}"


def _of(made: Sequence[Run], model: str, prompt: str) -> list[Run]:
    return [run for run in made if run["model"] == model and prompt in (run["prompt"], BOTH)]


def _by_repository(found: Sequence[Run], value: Callable[[Run], float]) -> list[list[float]]:
    groups = grouped(found, lambda run: str(run["repository"]))
    return [[value(run) for run in group] for group in groups.values()]


def _range(groups: Sequence[Sequence[float]]) -> str:
    low, high = (100 * each for each in interval(groups))
    return f"[{low:.1f}, {high:.1f}]".replace("-", "−")


def _is_cg(run: Run) -> float:
    return float(run["category"] == "CG")


def _categories(made: Sequence[Run], models: Sequence[str]) -> str:
    """The categories of each model under each prompt."""
    rows = []
    for model in models:
        for prompt in (*PROMPTS, BOTH):
            found = _of(made, model, prompt)
            shares = [fmean(run["category"] == each for run in found) for each in CATEGORIES]
            rows.append(
                [
                    model if prompt == PROMPTS[0] else "",
                    *(prompt, str(len(found)), percent(shares[0])),
                    _range(_by_repository(found, _is_cg)),
                    *map(percent, shares[1:]),
                    percent(fmean(map(is_vacuous, found))),
                    f"{reads(found):.1f}",
                ]
            )
    names = ("model", "prompt", "runs", "CG", "95 %", *CATEGORIES[1:], "claims nothing", "reads")
    return page_table(names, rows, numbers="  rr rrrrr")


def _gains(made: Sequence[Run]) -> str:
    """Trained over base, question by question."""
    rows = []
    for decoding in ("free", "constrained"):
        for prompt in (*PROMPTS, BOTH):
            before = {_task(run): run for run in _of(made, f"base, {decoding}", prompt)}
            pairs = [
                {"repository": run["repository"], "before": before[_task(run)], "after": run}
                for run in _of(made, f"trained, {decoding}", prompt)
            ]
            cells = []
            for measure in (_is_cg, _is_correct):
                groups = _by_repository(pairs, partial(_change, measure))
                change = 100 * fmean(each for group in groups for each in group)
                cells.append(f"**{change:+.1f}** {_range(groups)}".replace("-", "−"))
            rows.append([decoding if prompt == PROMPTS[0] else "", prompt, *cells])
    return page_table(["decoding", "prompt", "CG, points", "correct, points"], rows)


def _change(measure: Callable[[Run], float], pair: Run) -> float:
    return measure(pair["after"]) - measure(pair["before"])


def _is_correct(run: Run) -> float:
    return float(run["correct"])


def _task(run: Run) -> tuple[str, ...]:
    return run["repository"], run["symbol"], run["prompt"]


def _rules(made: Sequence[Run]) -> str:
    """Correct answers, grounded by our rule, by the paper's, and with the place."""
    rows = []
    for model in MODELS.values():
        found = _of(made, model, BOTH)
        correct = [run for run in found if run["correct"]]
        shares = [fmean(map(bool, (run["correct"] for run in found))), fmean(map(_is_cg, found))]
        shares += [
            sum(run[rule] for run in correct) / len(found) for rule in ("defined", "located")
        ]
        rows.append([model, *map(percent, shares)])
    names = ("model", "correct", "and grounded", "and by definitions only", "and located")
    return page_table(names, rows, numbers=" rrrr")


def _popularity(made: Sequence[Run]) -> str:
    """CG by the popularity of the repository, constrained."""
    rows = []
    for bucket in BUCKETS:
        for prompt in PROMPTS:
            cells = []
            for model in ("base, constrained", "trained, constrained"):
                found = [run for run in _of(made, model, prompt) if run["bucket"] == bucket]
                cells += [percent(fmean(map(_is_cg, found))), percent(_correct(found))]
            rows.append([bucket if prompt == PROMPTS[0] else "", prompt, str(len(found)), *cells])
    names = ("bucket", "prompt", "runs", "base: CG", "correct", "trained: CG", "correct")
    return page_table(names, rows, numbers="  rrrrr")


def _correct(found: Sequence[Run]) -> float:
    return fmean(map(_is_correct, found))


def _endings(made: Sequence[Run]) -> str:
    """The endings of the runs of the trained model, constrained."""
    rows = []
    for prompt in PROMPTS:
        found = _of(made, "trained, constrained", prompt)
        refused = [run for run in found if is_vacuous(run) and run["ending"] == "answered"]
        other = [
            run
            for run in found
            if run["ending"] == "answered" and not run["correct"] and not is_vacuous(run)
        ]
        groups = ([run for run in found if run["correct"]], refused, other)
        cut = len(found) - sum(map(len, groups))
        opened = sum(_opened(run) for run in found if not run["correct"])
        unfound = sum(re.search(r"\bnot\b", run["answer"]) is not None for run in other)
        shares = [percent(len(group) / len(found)) for group in (*groups, range(cut))]
        rows.append([prompt, *shares[:3], percent(unfound / len(found)), shares[3], str(opened)])
    names = ("prompt", "correct", "refusal", "other answer", "of it: not found", "no answer")
    return page_table([*names, "right file read, not correct"], rows, numbers=" rrrrrr")


def _opened(run: Run) -> bool:
    """Did the run read the right file, or a part of it?"""
    return any(
        tool == "read_file" and arguments.get("path") in run["truth"] and error is None
        for tool, arguments, error in run["made"]
    )


def main() -> int:
    """Compares or writes the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the files")
    parser.add_argument("--take", metavar="DIR", type=Path, help="take over new results")
    options = parser.parse_args()
    if options.take:
        take(options.take)
        return 0
    differing = []
    stale = set(FOLDER.glob("*.csv"))
    for path, content in files():
        stale.discard(path)
        if path.exists() and path.read_bytes().decode() == content:
            continue
        differing.append(path.relative_to(PAGE.parent))
        if options.write:
            path.write_bytes(content.encode())
    for path in differing:
        print(f"{path}: {'written' if options.write else 'differs from what the runs give'}")
    for path in sorted(stale):
        print(f"{path.relative_to(PAGE.parent)}: made from no runs; delete it")
    if not differing and not stale:
        print("all tables and the page agree with the runs")
    return 1 if stale or (differing and not options.write) else 0


if __name__ == "__main__":
    sys.exit(main())
