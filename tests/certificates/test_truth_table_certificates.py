"""The truth tables, by certificates: an operator, a predicate and a function that the checker does
not know has rows here that are not proved.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from forging import case_of, lies, procedure_of
from notation import Row, all_rows

import bylaw_check
from bylaw import Procedure, parse, read_traces, to_json

OUTCOMES = {"yes": "satisfied", "no": "violated", "vacuous": "vacuous"}
EXAMPLES = Path(__file__).parents[2] / "examples"
ROWS = list(all_rows())
BEYOND = ("length(@)", "Nowhere", "shell(", "sh(")
"""A path, a time zone and shell commands: named as not checked, as are numbers that a text writes
in another way than the value that it is said to mention."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.place} {row.formula} on {row.trace}")
def test_every_row_is_proved(row: Row) -> None:
    formula = parse(row.formula)
    procedure = procedure_of(formula, cast(Any, row.order), cast(Any, row.events))
    case = case_of(procedure, row.subject())
    assert case.certificate["rules"][0]["outcome"] == OUTCOMES[row.value]
    why = case.rejected()
    named = [each for each in BEYOND if each in f"{row.formula} {row.trace}"]
    assert why is None or named or "'mentions', of" in why
    rules = bylaw_check.Rules({})
    if "sh(" in row.formula or "shell(" in row.formula:
        with pytest.raises(bylaw_check.NotChecked, match="which only Bylaw parses"):
            rules.root(row.formula)
    else:
        assert rules.root(row.formula) == rules.root(to_json(formula))


@pytest.mark.parametrize("example", ["refund-desk", "retail", "budgets", "paper-listing"])
def test_every_rule_of_the_examples_is_proved_and_lies_about_it_are_not(example: str) -> None:
    folder, random, told = EXAMPLES / example, Random(7), Counter[str]()
    procedure = Procedure.load(folder / "procedure.yaml")
    for path in sorted(folder.glob("*.json*")):
        for entry in islice(read_traces(path), 6):
            case = case_of(procedure, entry.required())
            assert case.rejected() is None
            document = bylaw_check.Yaml((folder / "procedure.yaml").read_text()).document()
            rules = bylaw_check.Procedure(document)
            assert bylaw_check.check(case.certificate, case.record, rules) == []
            for what, lie in lies(case, random):
                assert lie.rejected() is not None, what
                told[what] += 1
    assert len(told) > 10
