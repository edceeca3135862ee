"""Citations: the files in which answers locate symbols."""

from __future__ import annotations

import pytest

from bylaw import Call, Message, Trace
from bylaw.grounding import Grounding
from bylaw.grounding.citations import citations_of
from bylaw.grounding.entities.claims import places_asked


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("`Session` is defined in `a.py`.", ["Session in a.py"]),
        ("`get` and `put` live in a.py", ["get in a.py", "put in a.py"]),
        ("a.py defines `Session` and send().", ["Session in a.py", "send() in a.py"]),
        ("src/a.py: `Session`", ["Session in src/a.py"]),
        ("`Session` (a.py)", ["Session in a.py"]),
        ("tests/test_a.py::TestA", ["TestA in tests/test_a.py"]),
        ("See `Session`. The file is a.py.", []),
        ("`foo_bar` in a.py calls `bar_baz` in b.py", ["foo_bar in a.py", "bar_baz in b.py"]),
        ("`Session` in a.py uses `Adapter`", ["Session in a.py"]),
        ("a.py imports `Session`", []),
        ("`Session` imported from a.py", []),
        ("`Session` is not defined in a.py.", []),
        ("I could not find `Session` in a.py.", []),
        ("- `Session`: a.py\n- `Adapter`: b.py", ["Session in a.py", "Adapter in b.py"]),
    ],
)
def test_pairs(answer: str, expected: list[str]) -> None:
    assert [str(each) for each in citations_of(answer, [])] == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("In the `flask` repository, where is the `Blueprint` defined?", ["Blueprint"]),
        ("where is the function print_progress defined?", ["print_progress"]),
        ("Which file is Session.send() implemented in?", ["Session.send"]),
        ("Where is the retry logic implemented?", []),
        ("How does `Blueprint` work?", []),
    ],
)
def test_symbols_whose_location_is_asked_for(question: str, expected: list[str]) -> None:
    assert places_asked(Trace([Message("user", question)])) == expected


def test_a_path_alone_answers_the_question() -> None:
    def misplaced(source: str) -> list[str]:
        trace = Trace(
            [
                Message("user", "In the `flask` repository, where is the `Blueprint` defined?"),
                Call("read_file", {"path": "src/flask/app.py"}, source),
            ],
            answer="src/flask/app.py",
        )
        return [str(each) for each in Grounding(location=True).check(trace).misplaced]

    assert misplaced("class Blueprint: ...") == []
    assert misplaced("from .blueprints import Blueprint") == ["Blueprint in src/flask/app.py"]
