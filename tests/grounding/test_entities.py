"""Entities found in answers, class by class."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bylaw import BylawError, Call, Trace
from bylaw.grounding import CODE, REFUSAL, EntityClass, Grounding
from bylaw.grounding.entities.claims import is_refusal
from bylaw.grounding.entities.extraction import entities_in, entity_class_of, mentions_of
from bylaw.grounding.predicate import entity_classes

ALL = tuple(EntityClass)


def _found(answer: str, *classes: str) -> list[str]:
    named = entity_classes(classes) if classes else CODE
    return [entity.text for entity in entities_in(mentions_of(answer, named))]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("See src/requests/api.py.", ["src/requests/api.py", "src", "requests", "api.py"]),
        ("`C:\\code\\a.py`", ["C:/code/a.py", "code", "a.py"]),
        ("Session.send(request) and helper()", ["Session.send()", "helper()"]),
        ("the class ChargePoint and MAX_DELAY", ["ChargePoint", "MAX_DELAY"]),
        ("`request` and `Session`, but not request", ["request", "Session"]),
        ("self.send(x) sets `self.sent`", ["send()", "sent"]),
        ("PDFs and APIs over HTTP, IDs, URLs", []),
        ("std::vector<int> and lex::Parser::parse()", ["lex::Parser::parse()"]),
        (
            "tests/test_a.py::TestA::test_b",
            ["tests/test_a.py", "TestA::test_b", "tests", "test_a.py"],
        ),
        ("read at 3 p.m. by console.log(x), printf(y); ___", []),
        ("see https://docs.python.org/3/library/index.html", []),
        ("twice: foo_bar, foo_bar and Foo_bar", ["foo_bar", "Foo_bar"]),
        ("```\nclass Session:\n    x = 1\n```", ["Session"]),
        ("", []),
    ],
)
def test_code(answer: str, expected: list[str]) -> None:
    assert _found(answer) == expected


@pytest.mark.parametrize(
    ("kind", "answer", "expected"),
    [
        (
            "number",
            "1. It waits 3.5 s, then 0x10 ms; v2.32.3, 10:15 and utf8",
            ["3.5 s", "0x10 ms"],
        ),
        ("number", "between 300-400 and -5", ["300", "400", "-5"]),
        ("number", "2 files of 1,024 bytes", ["2", "1,024 bytes"]),
        ("money", "$1,200.50, 30 EUR, €5 and US$3; not 7", ["$1,200.50", "30 EUR", "€5", "US$3"]),
        ("date", "May 3rd, 2024; 2024-05-03T10:00; 3 June; 5/3/2024; may 3", None),
        ("id", "order #W12, ORD-1234, mia_li_3668, W1234567; not #include, Mia, utf8", None),
        ("quoted", 'It says "not found" and “in use”, `"code"`, "x"', None),
    ],
)
def test_values(kind: str, answer: str, expected: list[str] | None) -> None:
    more = {
        "date": ["May 3rd, 2024", "2024-05-03", "3 June", "5/3/2024"],
        "id": ["#W12", "ORD-1234", "mia_li_3668", "W1234567"],
        "quoted": ['"not found"', '"in use"', '"code"'],
    }
    assert _found(answer, kind) == (more[kind] if expected is None else expected)


def test_classes_do_not_take_each_other_apart() -> None:
    answer = 'You paid $50 for "order W1234567" on 2024-05-03; see api.v1_key in 2 days.'
    found = {entity.text: entity.kind for entity in mentions_of(answer, ALL)}
    assert found == {
        "$50": "money",
        '"order W1234567"': "quoted",
        "W1234567": "id",
        "2024-05-03": "date",
        "api.v1_key": "identifier",
        "2 days": "number",
    }


@given(st.text(alphabet=st.sampled_from('aZé_. /\\()`"*#$€1,-:\n?4Май'), max_size=60))
def test_any_text_can_be_read_and_read_again(text: str) -> None:
    """Rules pass entities on as texts: what one is must not depend on where it stood."""
    for entity in mentions_of(text, ALL):
        assert entity.text
        assert isinstance(entity_class_of(entity.text), EntityClass)
        if entity.kind in ("money", "date", "number", "quoted", "function_signature"):
            assert entity_class_of(entity.text) is entity.kind
    Grounding(classes=ALL, location=True).check(Trace([], answer=text))


def test_an_unknown_class_is_an_error() -> None:
    with pytest.raises(BylawError, match=r"unknown entity class 'colour'[\s\S]*file_path"):
        entity_classes(["colour"])


@pytest.mark.parametrize(
    "answer",
    [REFUSAL, f'"{REFUSAL}"', f"**{REFUSAL}**\n", "I don’t know – not found in the source I read"],
)
def test_the_refusal_in_any_dress(answer: str) -> None:
    assert is_refusal(answer)


def test_the_refusal_and_more_is_none() -> None:
    assert not is_refusal(f"{REFUSAL} But see a.py.")
    assert not is_refusal("I don't know.")


RUNS = (
    *("a", "a.", "a/", "a-", "a+", "_", "A", ".", "/", "\\", "`", "``a ", "*", "1,111", "0-", "("),
    *("class ", "typedef ", "http://", "import a ", "\n", '"aaa', "I could not a ", "May ", "a1-"),
)


@pytest.mark.parametrize("run", RUNS)
def test_long_runs_are_checked(run: str) -> None:
    """No answer and no file can keep the check busy: were a pattern quadratic, this would hang."""
    text = run * 10_000
    for path in ("a.py", "a.cpp", "a.js"):
        trace = Trace([Call("read_file", {"path": path}, text)], answer=text)
        Grounding(classes=ALL, location=True).check(trace)
