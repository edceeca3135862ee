"""The paper's Appendix on grounding: its table of edge cases, and its three example runs."""

from __future__ import annotations

import json

import pytest

from bylaw import Call, Trace
from bylaw.grounding import REFUSAL, Grounding
from bylaw.groundstudy.study import category, is_correct


def _read(path: str, content: str, **arguments: object) -> Call:
    """A call of read_file as in the study: the result is a JSON string with the text inside."""
    return Call("read_file", {"path": path, **arguments}, json.dumps({"content": content}))


def _listed(path: str, *names: str) -> Call:
    return Call("list_directory", {"path": path}, json.dumps({"entries": list(names)}))


# ── the table ─────────────────────────────────────────────────────────────────────────────

SOURCE = "import json\n\ndef request(method, url):\n    return send(method, url)\n"
READ = _read("src/requests/api.py", SOURCE)
TABLE = {
    "list_directory only, no read_file": (
        [_listed("src/requests", "api.py")],
        "It is defined in src/requests/api.py.",
        False,
        "ungrounded",
    ),
    "read_file called but final answer is empty": ([READ], "", False, "ungrounded"),
    "only builtin names after filtering": (
        [READ],
        "It imports `json` and `os`, and may raise ValueError from print().",
        True,
        "vacuous",
    ),
    "a path visible in list_directory but never read": (
        [_listed("src/requests", "api.py", "sessions.py"), READ],
        "It is defined in src/requests/sessions.py.",
        False,
        "ungrounded",
    ),
    "many unrelated chunks, then a symbol present in none": (
        [_read(f"src/part_{i}.py", f"def step_{i}(): ...") for i in range(8)],
        "The work is done by finish_everything().",
        False,
        "ungrounded",
    ),
}


@pytest.mark.parametrize("row", TABLE)
def test_edge_case(row: str) -> None:
    calls, answer, satisfied, verdict = TABLE[row]
    report = Grounding().check(Trace(calls, answer=answer))
    assert (report.satisfied, report.verdict) == (satisfied, verdict)


@pytest.mark.parametrize("row", TABLE)
def test_edge_case_by_definitions_only(row: str) -> None:
    calls, answer, satisfied, verdict = TABLE[row]
    report = Grounding(definitions_only=True).check(Trace(calls, answer=answer))
    assert (report.satisfied, report.verdict) == (satisfied, verdict)


SOURCE = "from helper import imported_name\n\n\nclass Session:\n    def send(self): used_name()\n"


@pytest.mark.parametrize(
    ("answer", "occurs", "defined"),
    [
        ("It is the class Session.", True, True),
        ("It is called sess_ion.", False, False),
        ("Session.send() does it.", True, True),
        ("It calls used_name().", True, False),
        ("It uses imported_name.", True, False),
        ("It is in src/pkg/session.py.", True, True),
        ("It is in session.py.", True, True),
        ("It is in src/pkg/other.py.", False, False),
        ("It is in ssion.py.", False, False),
    ],
)
def test_by_definitions_only_a_mere_occurrence_does_not_count(
    answer: str, occurs: bool, defined: bool
) -> None:
    read = Call("read_file", {"path": "src/pkg/session.py"}, json.dumps({"content": SOURCE}))
    trace = Trace([read], answer=answer)
    assert Grounding().check(trace).satisfied is occurs
    assert Grounding(definitions_only=True).check(trace).satisfied is defined


def test_a_refusal_passes_as_in_the_paper_but_is_vacuous() -> None:
    report = Grounding().check(Trace([READ], answer=REFUSAL))
    assert report.satisfied
    assert (report.verdict, report.reason) == ("vacuous", "The answer is a refusal.")


def test_a_refusal_without_evidence_is_vacuous_and_does_not_pass() -> None:
    """The paper's first row: without a read_file result nothing is grounded."""
    report = Grounding().check(Trace([_listed("src", "a.py")], answer=REFUSAL))
    assert (report.satisfied, report.verdict) == (False, "vacuous")


# ── the examples ──────────────────────────────────────────────────────────────────────────


def _category(trace: Trace, *truth: str) -> str:
    correct = is_correct(trace.answer or "", truth)
    return category(correct=correct, grounded=Grounding().check(trace).satisfied)


def test_example_a_correct_and_grounded() -> None:
    trace = Trace(
        [
            _listed("", "src", "tests"),
            _listed("src", "requests"),
            _listed("src/requests", "api.py", "sessions.py"),
            _listed("src/requests", "api.py", "sessions.py"),  # repeated, benign
            _read("src/requests/api.py", SOURCE),
            Call("final_answer", {"answer": "src/requests/api.py"}),
        ]
    )
    report = Grounding().check(trace)
    assert report.satisfied
    assert (report.grounded, len(report.entities)) == (4, 4)
    assert _category(trace, "src/requests/api.py") == "CG"


def test_example_b_no_read_file() -> None:
    trace = Trace(
        [
            _listed("", "lib", "ci"),
            _listed("lib", "matplotlib"),
            _listed("lib/matplotlib", "__init__.py"),
            Call("final_answer", {"answer": "lib/matplotlib/__init__.py"}),
        ]
    )
    report = Grounding().check(trace)
    assert not report.satisfied
    assert report.reason == "No tool that counts as evidence returned anything."
    assert _category(trace, "ci/schemas/vendor_schemas.py") == "IU"


def test_example_c_explored_the_wrong_location() -> None:
    """The paper prints the beginning and the end of the answer. What it leaves out is filled in
    here with as many names as its count says: 42 that were read, and 23 that were not."""
    seen = [f"handle_message_{i:02}" for i in range(42)]
    made_up = [f"guess_message_{i:02}" for i in range(23)]
    source = "class ChargePoint:\n" + "".join(f"    def {name}(self): ...\n" for name in seen)
    pages = [source[i * 300 : i * 300 + 300] for i in range(4)] + [source[1200:]]
    answer = (
        "The class `ChargePoint` is primarily defined in the file `ocpp/charge_point.py`. "
        "This is the base class containing all the core OCPP functionality. "
        f"It handles {', '.join(seen)}, and beside them {', '.join(made_up)}. "
        "Version-specific subclasses are found in `ocpp/v16/__init__.py`, "
        "`ocpp/v201/__init__.py`, and `ocpp/v21/__init__.py`."
    )
    subclass = "from ocpp.charge_point import ChargePoint as cp\n\nclass ChargePoint(cp): ...\n"
    trace = Trace(
        [
            _listed("", "ocpp", "examples"),
            _listed("ocpp", "charge_point.py", "v16", "v201", "v21"),
            *(_read("ocpp/charge_point.py", page, chunk=i) for i, page in enumerate(pages)),
            *(_read(f"ocpp/{version}/__init__.py", subclass) for version in ("v16", "v201", "v21")),
            Call("final_answer", {"answer": answer}),
        ]
    )
    report = Grounding().check(trace)
    assert not report.satisfied
    assert (report.grounded, len(report.entities)) == (53, 76)
    assert [entity.text for entity in report.ungrounded] == made_up
    assert _category(trace, "examples/v16/charge_point.py") == "IU"


def test_the_other_two_categories() -> None:
    assert category(correct=True, grounded=False) == "CU"
    assert category(correct=False, grounded=True) == "IG"
