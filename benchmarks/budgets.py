"""Times that people or trainers wait for, each next to its budget.

    python benchmarks/budgets.py [--no-browser]

Rewards of a batch of rollouts, trace distances, the instances of the benchmark, hostile answers,
and large pages in headless Chromium (left out where there is none). Times in Python are processor
times, the best of three; a page's is the time until it is painted.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Final

import table

from bylaw import Call, Procedure, Trace, verify_trace
from bylaw.agents.habits import HABITS
from bylaw.bench.instance import instance, instances
from bylaw.bench.results import read_results
from bylaw.cli.main import main as bylaw
from bylaw.grounding import EntityClass, Grounding
from bylaw.reports.html.bench import render_bench
from bylaw.reports.html.viewer import render_trace
from bylaw.training.data.corpus import corpus
from bylaw.training.reward.distance import between, keys
from bylaw.training.reward.reward import Goals, Rollout

if TYPE_CHECKING:
    from playwright.sync_api import Page

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
RUNS: Final = ("a/", "a-", "_", "`", "1,111", "(", "http://", "import a ", "I could not a ")
"""Texts that make a careless pattern quadratic when they are repeated."""


def seconds(work: Callable[[], object]) -> float:
    """The least processor time of three."""
    taken = []
    for _ in range(3):
        begun = process_time()
        work()
        taken.append(process_time() - begun)
    return min(taken)


def rewards() -> Callable[[], object]:
    """A batch of 512 rollouts, each with three mistakes."""
    rng = random.Random(0)
    examples = corpus()
    goals = Goals(examples)
    names, batch = [], []
    for example in rng.choices(examples, k=512):
        plan = example.script.plan
        for habit in rng.choices(list(HABITS.values()), k=3):
            if sites := list(habit.sites(plan)):
                plan = habit.apply(plan, rng.choice(sites))
        calls = [Call(each.call.tool, each.call.args, "{}", at) for at, each in enumerate(plan)]
        names.append(example.name)
        batch.append(Rollout(calls, example.answer))
    return lambda: goals.rewards(names, batch)


def distances() -> Callable[[], object]:
    """Ten thousand rollouts, read once each, and a gold trace that was read before."""
    rng = random.Random(0)

    def trace() -> list[Call]:
        return [
            Call(f"tool_{rng.choice('abcd')}", {"i": rng.randrange(9), "j": [1, rng.randrange(9)]})
            for _ in range(8)
        ]

    gold, made = keys(trace()), [trace() for _ in range(10_000)]
    return lambda: [between(gold, keys(each)) for each in made]


def made_anew() -> int:
    """The 120 instances of the benchmark."""
    instance.cache_clear()
    return len(list(instances()))


def grounded(text: str) -> float:
    """The time for an answer and a file that are one long run; a second check would be cheaper."""
    trace = Trace([Call("read_file", {"path": "a.py"}, text)], answer=text)
    begun = process_time()
    Grounding(classes=tuple(EntityClass), location=True).check(trace)
    return process_time() - begun


# ── pages ─────────────────────────────────────────────────────────────────────────────────


def long_page() -> str:
    """The viewer's page of a trace of 5,000 calls."""
    calls = [Call("lookup", {"order": at, "note": "x" * (at % 60)}, at) for at in range(5_000)]
    calls[-100] = Call("refund", {"order": 1})
    rules = [
        {"name": "verify-first", "rule": "G(refund -> O verify)"},
        {"name": "looked-up", "rule": "Before(lookup, refund)"},
    ]
    return render_trace(verify_trace(Trace(calls), Procedure.from_dict({"constraints": rules})))


def wide_page() -> str:
    """The benchmark's page of 4,000 runs."""
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "runs.jsonl")
        command = ["bench", "run", "sim:careless", "--trials", "1", "--difficulty", "1"]
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            bylaw([*command, "-o", file])
        runs = list(read_results(file))
    return render_bench(
        [
            dict(run) | {"trial": trial, "key": f"{run['key'].rpartition('/')[0]}/{trial}"}
            for trial in range(4_000 // len(runs) + 1)
            for run in runs
        ][:4_000]
    )


_PAINTED: Final = "await new Promise((seen) => requestAnimationFrame(() => setTimeout(seen)));"
_CLICKED: Final = f"""async () => {{
    const start = performance.now();
    document.querySelector(".rule[data-name='looked-up'] .rule__name").click();
    {_PAINTED}
    return performance.now() - start;
}}"""
_CHOSEN: Final = f"""async () => {{
    const start = performance.now();
    const select = document.querySelector("select[name=setting]");
    select.value = "soft-block";
    select.dispatchEvent(new Event("change", {{ bubbles: true }}));
    {_PAINTED}
    return performance.now() - start;
}}"""


def opened(page: Page, html: str) -> float:
    """Seconds until the page is painted."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(html, encoding="utf-8")
        begun = perf_counter()
        page.goto(file.as_uri())
        page.evaluate(f"async () => {{ {_PAINTED} }}")
        return perf_counter() - begun


def pages() -> None:
    """Large pages in a browser."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        print("  NOT MEASURED: pages (needs playwright and chromium)")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page()
        budget("5,000 calls open", opened(page, long_page()), 3)
        budget("5,000 calls, a click on a rule", page.evaluate(_CLICKED) / 1000, 0.5)
        budget("4,000 runs open", opened(page, wide_page()), 2)
        budget("4,000 runs, another setting", page.evaluate(_CHOSEN) / 1000, 0.5)
        browser.close()


def budget(what: str, taken: float, most: float) -> None:
    """Prints a time next to the most that it should be."""
    table.target(what, taken, most, at_least=False, unit="s")


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--no-browser", action="store_true", help="leave the pages out")
    options = parser.parse_args()
    print("Budgets")
    budget("512 rewards", seconds(rewards()), 0.2)
    budget("10,000 trace distances", seconds(distances()), 1)
    budget("120 instances of the benchmark", seconds(made_anew), 2)
    slowest, run = max((grounded(run * 10_000), run) for run in RUNS)
    budget(f"an answer of 10,000 times {run!r}", slowest, 2)
    table.target("compared with half of it", slowest / grounded(run * 5_000), 3, at_least=False)
    if not options.no_browser:
        pages()


if __name__ == "__main__":
    main()
