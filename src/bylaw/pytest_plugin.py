"""The pytest plugin: the fixture and the marker `bylaw`, and a section of the summary.

    @pytest.mark.bylaw("procedure.yaml", traces="runs/*.jsonl")
    def test_recorded_runs(bylaw):
        bylaw.check()

Every run of pytest loads this file, whether or not it uses the plugin, so it imports nothing of
Bylaw until a test does.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from bylaw.scoring.verify import Report
    from bylaw.testing.procedure_check import ProcedureCheck

_MARKER: Final = "bylaw"
_HELP: Final = (
    "bylaw(procedure, traces=None, vocabulary=None): check runs against a procedure; paths are "
    "relative to the test's file, and a test with `traces` runs once for each record"
)


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker."""
    config.addinivalue_line("markers", _HELP)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes one test of each record that a marker names."""
    marker = metafunc.definition.get_closest_marker(_MARKER)
    if marker is None or marker.kwargs.get("traces") is None:
        return
    if _MARKER not in metafunc.fixturenames:
        name = metafunc.function.__name__
        pytest.fail(f"{name} needs the fixture: def {name}(bylaw)", pytrace=False)
    from bylaw.errors import BylawError
    from bylaw.testing.marked_traces import entry_id, marked_entries

    folder = metafunc.definition.path.parent
    try:
        entries = marked_entries(marker.kwargs["traces"], folder)
    except BylawError as error:
        pytest.fail(error.render(), pytrace=False)
    ids = [entry_id(entry, folder) for entry in entries]
    metafunc.parametrize(_MARKER, entries, indirect=True, ids=ids)


@pytest.fixture
def bylaw(request: pytest.FixtureRequest) -> ProcedureCheck:
    """Guards or records an agent under test, and asserts on the rules of a procedure."""
    from bylaw.errors import BylawError
    from bylaw.testing.marked_traces import marked_procedure
    from bylaw.testing.procedure_check import ProcedureCheck

    def note(report: Report) -> None:
        request.node.user_properties.append((_MARKER, _result(report)))

    marker, procedure = request.node.get_closest_marker(_MARKER), None
    folder = request.path.parent
    if marker is not None:
        try:
            procedure = marked_procedure(marker.args, marker.kwargs, folder)
        except BylawError as error:
            pytest.fail(error.render(), pytrace=False)
    entry = getattr(request, "param", None)
    return ProcedureCheck(procedure, entry=entry, folder=folder, note=note)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Checks the runs of a test that has passed and has not checked them itself."""
    result = yield
    check = getattr(item, "funcargs", {}).get(_MARKER)
    if check is not None and hasattr(check, "check_rest"):
        try:
            check.check_rest()
        except AssertionError as error:
            pytest.fail(str(error), pytrace=False)  # no line of the test raised it
    return result


# ── the summary ──────────────────────────────────────────────────────────────────────────────


def _result(report: Report) -> str:
    """A report in a few words that can be sent to another process."""
    outcomes = {each.name: each.outcome.value for each in report.constraints}
    return json.dumps({"procedure": report.procedure.name, "outcomes": outcomes})


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Counts for each rule in how many runs it was put to the test, and violated."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    runs = 0
    for found in map(json.loads, _results(terminalreporter)):
        runs += 1
        rules = counts.setdefault(found["procedure"], {})
        for name, outcome in found["outcomes"].items():
            rules.setdefault(name, Counter())[outcome] += 1
    if not runs:
        return
    terminalreporter.section("bylaw")
    for procedure, rules in counts.items():
        width = min(60, max(map(len, rules)))
        terminalreporter.write_line(f"{_plain(procedure)}: {'rule':<{width}}  in play  violated")
        for name, outcomes in rules.items():
            in_play = outcomes.total() - outcomes["vacuous"]
            row = f"{_plain(name)[:width]:<{width}}  {in_play:>7}  {outcomes['violated']:>8}"
            note = "" if in_play else "  never put to the test"
            terminalreporter.write_line(f"{'':<{len(_plain(procedure)) + 2}}{row}{note}")


def _results(terminalreporter: Any) -> Iterator[str]:
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                yield from (value for name, value in report.user_properties if name == _MARKER)


def _plain(name: str) -> str:
    from bylaw.terminal import in_line

    return in_line(name)[:60]
