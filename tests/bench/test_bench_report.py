"""The report: separate figures, and a page with every run."""

from __future__ import annotations

import gzip
import json
import re
import xml.etree.ElementTree as ET
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import chromium
import pytest

from bylaw import verify_trace
from bylaw.agents.simulated import simulated
from bylaw.bench.analysis import ANALYSES
from bylaw.bench.analysis.runs import FLOOR
from bylaw.bench.instance import instance
from bylaw.bench.jobs import jobs, script_for
from bylaw.bench.results import Results, RunRecord, read_results
from bylaw.bench.runner import BenchRunner
from bylaw.cli.main import main
from bylaw.procedure.procedure import LAYERS
from bylaw.reports.figures import FIGURES, Figure, standalone
from bylaw.reports.html.bench import SECTIONS, render_bench

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

MODELS = ("sim:careless", "sim:stubborn", FLOOR)
TEMPLATES = ("branch_selection", "fan_out_fan_in", "nested_loops")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real runs of simulated agents under all settings."""
    path: Path = tmp_path_factory.mktemp("bench") / "results.jsonl"
    chosen: dict[str, Any] = {"templates": TEMPLATES, "difficulties": (1, 2), "trials": 1}
    with Results(path) as written:
        for model in MODELS:
            wanted = jobs(model, ("baseline", "block-and-warn", "soft-block"), **chosen)
            BenchRunner(simulated(model.removeprefix("sim:"), script_for), written).run(wanted)
    return path


@pytest.fixture(scope="module")
def runs(results: Path) -> list[RunRecord]:
    return list(read_results(results))


@pytest.fixture(scope="module")
def html(runs: list[RunRecord]) -> str:
    return render_bench(runs)


def _judged(run: RunRecord) -> Any:
    task = instance(run["template"], run["difficulty"], run["seed"])
    return verify_trace(run["trace"], task.procedure)


# ── figures ──────────────────────────────────────────────────────────────────────────────────


WITHOUT_A_FIGURE = {"intervals", "guessable", "models", "pooled", "events"}
"""Tables about certainty and conditions, and those that repeat another one in another way."""


def test_every_table_has_a_figure_and_a_place_in_the_report() -> None:
    shown = {figure.shown_with or figure.table for figure in FIGURES}
    assert shown == set(ANALYSES) - WITHOUT_A_FIGURE
    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(ANALYSES)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_a_figure_stands_alone_and_says_who_is_simulated(
    figure: Figure, runs: Sequence[RunRecord]
) -> None:
    drawn = figure.svg(ANALYSES[figure.table](runs))
    assert drawn is not None
    root = ET.fromstring(standalone(drawn))
    texts = " ".join("".join(text.itertext()) for text in root.iter(f"{SVG}text"))
    assert "simulated agents, not models: sim:careless" in texts
    assert root.find(f"{SVG}style") is not None
    assert root.findtext(f"{SVG}title") == figure.title
    assert "http" not in standalone(drawn).replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_a_figure_without_data_is_not_drawn_or_says_so(
    figure: Figure, runs: Sequence[RunRecord]
) -> None:
    drawn = figure.svg(ANALYSES[figure.table](runs[:1]))
    assert drawn is None or ET.fromstring(drawn) is not None


def test_every_value_of_a_table_is_in_its_figure(runs: Sequence[RunRecord]) -> None:
    table = ANALYSES["layers"](runs)
    (figure,) = [figure for figure in FIGURES if figure.name == "layers"]
    root = ET.fromstring(figure.svg(table) or "")
    told = [title.text or "" for title in root.iter(f"{SVG}title")][1:]
    values = [cell for row in table.cells() for cell in row[-len(LAYERS) :]]
    assert [text.rpartition(": ")[2] for text in told] == values


def test_intervals_are_drawn_and_can_be_read(runs: Sequence[RunRecord]) -> None:
    table = ANALYSES["intervals"](runs)
    (figure,) = [figure for figure in FIGURES if figure.name == "overview"]
    root = ET.fromstring(figure.svg(table) or "")
    whiskers = [each for each in root.iter(f"{SVG}line") if each.get("class") == "whisker"]
    assert len(whiskers) == 2 * len(table.rows)
    told = [title.text or "" for title in root.iter(f"{SVG}title")][1:]
    around = table.rows[0][3]
    assert isinstance(around, tuple)
    low, high = around
    assert told[0].endswith(f"({low:.3f} to {high:.3f})")


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><b x="', "a & b", "x" * 200])
def test_names_are_only_ever_text(name: str, runs: Sequence[RunRecord]) -> None:
    renamed = [dict(run) | {"model": name} for run in runs if run["model"] != FLOOR]
    for figure in FIGURES:
        root = ET.fromstring(figure.svg(ANALYSES[figure.table](renamed)) or "<svg/>")
        assert not list(root.iter(f"{SVG}script"))
    page = render_bench(renamed[:3])
    assert "<script>alert" not in page
    assert '<b x="' not in page


# ── the command ──────────────────────────────────────────────────────────────────────────────


def _run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["bench", "report", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_the_command_prints_the_short_tables(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = _run(capsys, results)
    assert "Compliance and accuracy by model and setting" in printed
    assert "by template" not in printed
    assert "12 more tables: --table NAME, or -o report.html" in printed


def test_the_command_prints_the_tables_that_are_asked_for(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = _run(capsys, results, "--table", "templates", "--table", "loss")
    assert printed.startswith("Compliance (C) and accuracy (A) by template")
    assert "Share of the weighted loss" in printed
    everything = _run(capsys, results, "--table", "all")
    assert everything.count("simulated agents, not models") == len(ANALYSES)


def test_the_command_writes_tables_figures_and_the_page(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, tables, figures = (tmp_path / name for name in ("new/report.html", "csv", "svg"))
    printed = _run(capsys, results, "-o", page, "--csv", tables, "--figures", figures)
    assert printed.splitlines()[:2] == [
        f"wrote {len(ANALYSES)} tables to {tables}",
        f"wrote {len(FIGURES)} figures to {figures}",
    ]
    assert printed.splitlines()[2].startswith(f"wrote {page} (")
    assert {path.stem for path in tables.glob("*.csv")} == set(ANALYSES)
    assert {path.stem for path in figures.glob("*.svg")} == {figure.name for figure in FIGURES}
    assert "<title>Benchmark report</title>" in page.read_text(encoding="utf-8")


def test_json_has_all_tables(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = json.loads(_run(capsys, results, "--json"))
    assert list(tables) == list(ANALYSES)
    assert tables["templates"]["rows"][0].keys() >= {"model", "template", "compliance baseline"}


def test_a_page_that_cannot_be_written_is_an_error(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["bench", "report", str(results), "-o", str(tmp_path / "file" / "x.html")]) == 2
    assert "error[E403]: cannot write" in capsys.readouterr().err


# ── what the page holds ──────────────────────────────────────────────────────────────────────


def _data(html: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    return json.loads(found[1]) if found else None


def _blocks(html: str) -> list[Any]:
    packed = re.findall(r'<script type="text/plain" id="block-\d+">(.*?)</script>', html)
    return [json.loads(gzip.decompress(b64decode(block))) for block in packed]


def test_every_run_is_on_the_page_with_its_verdicts_and_its_refused_calls(
    html: str, runs: Sequence[RunRecord]
) -> None:
    data, blocks = _data(html), _blocks(html)
    fields = data["fields"]
    by_key = {run["key"]: run for run in runs}
    assert len(fields["model"]) == len(runs)
    for number, model in enumerate(fields["model"]):
        line = {name: values[number] for name, values in fields.items()}
        task = f"{line['template']}/D{line['difficulty']}/{line['seed']}/{line['trial']}"
        run = by_key.pop(f"{model} {line['setting']} {task}")
        block = blocks[line["block"]]
        shown = block["runs"][line["place"]]
        found = {
            rule[data["rule"].index("name")]: dict(zip(data["verdict"], verdict, strict=True))
            for rule, verdict in zip(
                block["rules"], block["judged"][shown["judged"]]["verdicts"], strict=True
            )
        }
        assert found == {
            result.name: {
                "verdict": result.outcome.value,
                "detail": result.detail,
                "calls": list(result.witness),
            }
            for result in _judged(run).constraints
        }
        assert [each["message"] for each in shown["refused"]] == [
            each["message"] for each in run["refused"]
        ]
        assert line["refused"] == len(run["refused"])
        assert "reason" not in shown
    assert not by_key


def test_a_run_that_was_judged_by_other_rules_says_so(runs: Sequence[RunRecord]) -> None:
    changed = dict(runs[0]) | {"violated": ["L9-01-gone"]}
    (block,) = _blocks(render_bench([changed]))
    assert "have changed since" in block["runs"][0]["reason"]


# ── in a browser ─────────────────────────────────────────────────────────────────────────────


@dataclass
class Report(chromium.Opened):
    """The report's page."""

    def choose(self, **chosen: str) -> None:
        """Sets filters."""
        for name, value in chosen.items():
            self.page.locator(f"select[name={name}]").select_option(value)

    def count(self) -> int:
        """The number of selected runs in the first tile."""
        return int(self.page.locator(".tile b").first.inner_text().replace(",", ""))

    def keys(self) -> list[str]:
        """The runs that are listed."""
        rows = self.page.locator("#list tbody tr").all()
        return [row.get_attribute("data-key") or "" for row in rows]

    def open(self, run: RunRecord) -> None:
        """Opens a run by its address."""
        self.page.evaluate("hash => { location.hash = hash }", urlencode({"run": run["key"]}))
        self.page.wait_for_selector(".viewer")

    def rule(self, name: str) -> Locator:
        """A rule of the run that is open."""
        return self.page.locator(f".rule[data-name='{name}']")

    def cards(self, mark: str) -> list[int]:
        """The calls that carry a mark, as indices."""
        found = self.page.locator(f".card.{mark}").all()
        return [int(card.get_attribute("data-index") or -1) for card in found]


Open = Callable[..., Report]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium.launched("THE BENCHMARK REPORT")


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    yield from chromium.pages(Report, browser, tmp_path)


@pytest.fixture
def report(open_page: Open, html: str) -> Report:
    return open_page(html)


@pytest.mark.browser
def test_the_page_shows_every_table_and_figure(report: Report, runs: Sequence[RunRecord]) -> None:
    assert report.count() == len(runs)
    assert report.page.locator("figure svg").count() == len(FIGURES)
    assert report.page.locator("article details table").count() == len(ANALYSES)
    links = report.page.locator("nav a").all_inner_texts()
    assert links == [*SECTIONS, "Runs"]


@pytest.mark.browser
def test_simulated_agents_are_labelled_everywhere(report: Report) -> None:
    page = report.page
    assert "All agents in this report are simulated." in page.locator("header").inner_text()
    assert page.locator("select[name=model] option").all_inner_texts()[1:] == [
        f"{model} (simulated)" for model in MODELS
    ]
    names = page.locator("#table-overview tbody td:first-child").all_inner_texts()
    assert all(name.endswith("simulated") for name in names)
    assert all("simulated" in row for row in page.locator("#list tbody tr").all_inner_texts())


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "value", "fits"),
    [
        ("model", "sim:stubborn", lambda run: run["model"] == "sim:stubborn"),
        ("setting", "soft-block", lambda run: run["setting"] == "soft-block"),
        ("template", "nested_loops", lambda run: run["template"] == "nested_loops"),
        ("difficulty", "D2", lambda run: run["difficulty"] == 2),
        ("label", "FULL", lambda run: run["label"] == "FULL"),
        ("ending", "stopped", lambda run: run["ending"] == "stopped"),
        ("answer", "wrong", lambda run: not run["correct"]),
    ],
)
def test_a_filter_selects_its_runs(
    report: Report,
    runs: Sequence[RunRecord],
    name: str,
    value: str,
    fits: Callable[[RunRecord], bool],
) -> None:
    expected = {run["key"] for run in runs if fits(run)}
    report.choose(**{name: value})
    assert report.count() == len(expected) > 0
    assert set(report.keys()) == expected or len(expected) > 100
    assert report.fragment() == f"#{urlencode({name: value})}"


@pytest.mark.browser
def test_filters_add_up_and_can_be_cleared(report: Report, runs: Sequence[RunRecord]) -> None:
    report.choose(model="sim:stubborn", setting="baseline", difficulty="D1")
    assert report.count() == len(TEMPLATES) * 2
    rows = report.page.locator("#table-overview tbody tr:visible").all_inner_texts()
    assert len(rows) == 1, "tables show what is selected"
    assert rows[0].startswith("sim:stubborn")
    faded = report.page.locator("#table-overview svg .mark[data-setting=soft-block]").first
    assert float(faded.evaluate("mark => getComputedStyle(mark).opacity")) < 0.5
    report.page.get_by_role("button", name="Clear").click()
    report.page.locator(".tile b").first.filter(has_text=str(len(runs))).wait_for()
    assert report.fragment() == ""


@pytest.mark.browser
def test_the_url_records_the_selection(open_page: Open, html: str) -> None:
    report = open_page(html, "#setting=soft-block&difficulty=D1&label=nonsense")
    assert report.count() == len(MODELS) * len(TEMPLATES) * 2


@pytest.mark.browser
def test_a_mark_of_a_figure_leads_to_its_runs(report: Report, runs: Sequence[RunRecord]) -> None:
    at = {"model": "sim:stubborn", "setting": "soft-block", "template": "nested_loops"}
    where = "".join(f"[data-{key}='{value}']" for key, value in at.items())
    report.page.locator(f"#table-templates .mark{where}").first.click()
    wanted = {run["key"] for run in runs if all(run[key] == value for key, value in at.items())}
    assert set(report.keys()) == wanted


@pytest.mark.browser
def test_the_list_can_be_sorted(report: Report, runs: Sequence[RunRecord]) -> None:
    for order in (min, max):
        report.page.get_by_role("columnheader", name="refused").get_by_role("button").click()
        first = report.page.locator("#list tbody tr").first.get_attribute("data-key")
        (run,) = [run for run in runs if run["key"] == first]
        assert len(run["refused"]) == order(len(each["refused"]) for each in runs)


@pytest.mark.browser
def test_a_run_opens_and_closes_again(report: Report, runs: Sequence[RunRecord]) -> None:
    report.choose(model="sim:careless")
    keys = report.keys()
    report.page.locator("#list tbody tr").nth(1).click()
    report.page.wait_for_selector(".viewer")
    (run,) = [run for run in runs if run["key"] == keys[1]]
    assert report.page.locator(".card--call").count() == run["calls"]
    assert "sim:careless (simulated)" in report.page.locator(".head").inner_text()
    report.page.get_by_role("button", name="Next run").click()
    report.page.wait_for_selector(".opened__place:has-text('3 of')")
    report.page.get_by_role("button", name="Back to all runs").click()
    assert report.page.locator("#list").is_visible()
    assert report.keys() == keys, "the selection stays"
    report.page.go_back()
    report.page.wait_for_selector(".viewer")


@pytest.mark.browser
def test_a_violated_rule_leads_to_its_calls(report: Report, runs: Sequence[RunRecord]) -> None:
    seen: dict[str, RunRecord] = {}
    for run in runs:
        for result in _judged(run).violated:
            if result.witness:
                seen.setdefault(result.constraint.layer or "", run)
    assert len(seen) >= 4, "rules of many kinds"
    for layer, run in seen.items():
        report.open(run)
        broken = [r for r in _judged(run).violated if r.constraint.layer == layer and r.witness]
        report.rule(broken[-1].name).locator(".rule__name").click()
        if report.cards("is-deciding") == []:  # it was selected already
            report.rule(broken[-1].name).locator(".rule__name").click()
        assert report.cards("is-deciding") == list(broken[-1].witness)
        assert report.page.locator(".card.is-deciding").first.is_visible()
        assert broken[-1].detail.split("`")[0] in report.rule(broken[-1].name).inner_text()


@pytest.mark.browser
def test_a_rule_whose_call_never_came_marks_the_calls_that_did(
    report: Report, runs: Sequence[RunRecord]
) -> None:
    run, missing = next(
        (run, result)
        for run in runs
        for result in _judged(run).violated
        if run["calls"] and not result.witness
    )
    report.open(run)
    report.page.keyboard.press("Escape")
    report.rule(missing.name).locator(".rule__name").click()
    assert report.cards("is-absent") == list(range(run["calls"]))


@pytest.mark.browser
def test_refused_calls_are_shown_apart_and_lead_to_their_rules(
    report: Report, runs: Sequence[RunRecord]
) -> None:
    run = next(run for run in runs if len(run["refused"]) > 1 and run["ending"] == "stopped")
    report.open(run)
    refused = report.page.locator(".refused")
    assert refused.count() == len(run["refused"])
    assert report.page.locator(".card--call").count() == run["calls"], "they are not among these"
    last = run["refused"][-1]
    text = refused.last.inner_text()
    assert text.startswith(last["tool"])
    assert "the run was stopped" in text
    rule = last["constraints"][0]
    refused.last.get_by_role("button", name=rule).click()
    assert "is-selected" in (report.rule(rule).get_attribute("class") or "")
    expected = [n for n, each in enumerate(run["refused"]) if rule in each["constraints"]]
    lit = report.page.locator(".refused.is-deciding").all()
    assert [int(card.get_attribute("data-number") or -1) for card in lit] == expected
    refused.last.locator("summary").click()
    assert last["message"].splitlines()[0] in refused.last.inner_text()


@pytest.mark.browser
def test_a_call_that_was_insisted_on_is_marked(report: Report, runs: Sequence[RunRecord]) -> None:
    run = next(run for run in runs if "overridden" in run["excused"].values())
    report.open(run)
    marked = report.page.locator(".card[data-status=insisted]")
    assert marked.count() > 0
    assert "insisted on" in marked.first.inner_text()
    given_up = next(name for name, why in run["excused"].items() if why == "overridden")
    assert "overridden" in report.rule(given_up).locator(".rule__facts").inner_text()


@pytest.mark.browser
def test_an_address_opens_a_run_and_a_rule(
    open_page: Open, html: str, runs: Sequence[RunRecord]
) -> None:
    run = next(run for run in runs if len(run["violated"]) > 2)
    rule = run["violated"][2]
    report = open_page(html, "#" + urlencode({"run": run["key"], "rule": rule}))
    report.page.wait_for_selector(f".rule.is-selected[data-name='{rule}']")
    assert report.page.locator("#report").is_hidden()


@pytest.mark.browser
@pytest.mark.parametrize("size", [chromium.WIDE, (900, 700), chromium.NARROW], ids=str)
def test_nothing_sticks_out_sideways(open_page: Open, html: str, size: tuple[int, int]) -> None:
    report = open_page(html, size=size)
    wide = report.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]


@pytest.mark.browser
def test_on_paper_everything_is_open(report: Report) -> None:
    closed = report.page.locator("main details:not([open])")
    assert closed.count() > 0
    report.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert closed.count() == 0
    report.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert closed.count() > 0


@pytest.mark.browser
def test_four_thousand_runs_are_shown_by_the_hundred(
    open_page: Open, runs: Sequence[RunRecord]
) -> None:
    many = [
        dict(run) | {"trial": trial, "key": f"{run['key'].rpartition('/')[0]}/{trial}"}
        for trial in range(4_000 // len(runs) + 1)
        for run in runs
    ][:4_000]
    page = render_bench(many)
    assert len(page) < 15_000_000
    report = open_page(page)
    assert report.count() == 4_000
    assert len(report.keys()) == 100
    report.page.get_by_role("button", name="Show 100 more of 3,900").click()
    assert len(report.keys()) == 200


def test_a_run_counts_once_however_often_it_is_given(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "report", str(results)]) == 0
    once = capsys.readouterr().out
    assert main(["bench", "report", str(results), str(results)]) == 0
    assert capsys.readouterr().out == once
    runs = list(read_results(results))
    runs[0]["conditions"]["hints"] = "none"
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps(runs[0]) + "\n", encoding="utf-8")
    assert main(["bench", "report", str(results), str(other)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "was made under two different conditions" in said
