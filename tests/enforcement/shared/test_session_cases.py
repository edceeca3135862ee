"""Runs that share rules, as a table: each turn of each run with its decisions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from gate_notation import play
from sessions import Clock

from bylaw import Decision, Guard, Procedure, SharedRules, across_results, verify_trace

CASES = Path(__file__).with_name("sessions.cases")
_RULE = re.compile(r"(?P<name>[\w-]+) (?P<severity>[A-Z_]+)(?P<alone> alone)?: (?P<rule>.+)")
_TURN = re.compile(r"(?P<run>[A-Z]) (?P<value>\S+) >(?P<turn>.*)\|(?P<expected>.*)")
_CHANGE = re.compile(r"(?P<run>[A-Z]) ! (?P<change>\w+)")
_OF_GUARDS = ("unenforceable",)


@dataclass
class SharedScenario:
    """One scenario of the table."""

    title: str
    options: dict[str, Any] = field(default_factory=dict)
    rules: list[dict[str, Any]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Plays the scenario; offline, the traces of its runs have the same outcomes."""
        own = {k: v for k, v in self.options.items() if k not in ("max_age", *_OF_GUARDS)}
        rules = Procedure.from_dict({"constraints": self.rules, **own})
        age = self.options.get("max_age")
        shared = SharedRules(rules, max_age=None if age is None else float(age))
        clock, guards = Clock(), dict[str, Guard]()
        decisions: dict[str, list[Decision]] = {}
        more = {k: self.options[k] for k in _OF_GUARDS if k in self.options}
        for line in self.lines:
            if found := _TURN.fullmatch(line):
                run, value = found["run"], found["value"]
                if run not in guards:
                    label = json.loads(value) if value[0] in '"0123456789' else value
                    labels = {"customer": label}
                    guards[run] = Guard(rules, labels=labels, shared=shared, clock=clock, **more)
                decisions[run], said = play(guards[run], found["turn"])
                assert said == found["expected"].split(), f"{self.title}: {line}"
            elif found := _CHANGE.fullmatch(line):
                self._change(guards[found["run"]], decisions[found["run"]], found["change"])
            elif line.startswith("clock "):
                clock.now += float(line.removeprefix("clock "))
            else:
                labels = {"customer": line.removeprefix("operator abandons ")}
                for call in shared.outstanding(labels):
                    shared.abandon(call)
        self._check_offline(rules, shared, list(guards.values()))

    def _change(self, guard: Guard, decisions: list[Decision], change: str) -> None:
        if change == "finish":
            guard.finish()
        for decision in decisions if change != "finish" else ():
            if change == "abandon":
                guard.abandon(decision)
            else:
                guard.approve(decision)

    def _check_offline(self, rules: Procedure, shared: SharedRules, guards: list[Guard]) -> None:
        reports = [guard.report or guard.finish() for guard in guards]
        traces = [report.trace for report in reports]
        for report in reports:
            scored = verify_trace(report.trace, rules)
            live = [each.passed for each in report.constraints]
            assert [each.passed for each in scored.constraints] == live, self.title
            assert scored.score == report.score, self.title
        for each in across_results(reversed(traces), rules):
            (live_now,) = (
                s for s in shared.standings({"customer": each.value}) if s.name == each.name
            )
            assert each.passed == live_now.passed, f"{self.title}: {each.title}"


def _scenarios() -> Iterator[SharedScenario]:
    scenario: SharedScenario | None = None
    for line in CASES.read_text().splitlines():
        if line.startswith("=="):
            if scenario is not None:
                yield scenario
            scenario = SharedScenario(line.removeprefix("==").strip())
        elif line.startswith("@") and scenario is not None:
            name, value = line[1:].split()
            scenario.options[name] = value
        elif line and not line.startswith("#") and scenario is not None:
            if found := _RULE.fullmatch(line):
                across = {} if found["alone"] else {"across": "labels.customer"}
                rule = {name: found[name] for name in ("name", "severity", "rule")}
                scenario.rules.append(rule | across)
            else:
                scenario.lines.append(line.strip())
    assert scenario is not None, "there are scenarios"
    yield scenario


@pytest.mark.parametrize("scenario", list(_scenarios()), ids=lambda each: each.title)
def test_scenario(scenario: SharedScenario) -> None:
    scenario.check()
