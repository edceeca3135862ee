"""W514: lint reports rules that no trace satisfies together."""

from __future__ import annotations

from bylaw import Procedure
from bylaw.codes import CODES
from bylaw.enforcement.joint.clash import find_clash
from bylaw.procedure.yaml_document import read_yaml_document


def _codes(example: str) -> list[str]:
    constraints = read_yaml_document(example).plain()
    return [
        finding.code for finding in find_clash(Procedure.from_dict({"constraints": constraints}))
    ]


def test_the_example_of_the_code() -> None:
    assert _codes(CODES["W514"].wrong) == ["W514"]
    assert _codes(CODES["W514"].right) == []


def test_pairs_have_a_code_of_their_own() -> None:
    once = {"name": "once", "rule": "CalledN(pay, = 1)"}
    twice = {"name": "twice", "rule": "CalledN(pay, >= 2)"}
    assert list(find_clash(Procedure.from_dict({"constraints": [once, twice]}))) == []


def test_rules_of_other_forms_are_found_too() -> None:
    rules = {"used": "Called(x)", "next": "G(x -> X y)", "never": "CalledN(y, = 0)", "also": "F z"}
    constraints = [{"name": name, "rule": rule} for name, rule in rules.items()]
    (finding,) = find_clash(Procedure.from_dict({"constraints": constraints}))
    assert finding.constraints == ("used", "next", "never")
