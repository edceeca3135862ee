"""The report: ungrounded entities by class, with the nearest seen names."""

from __future__ import annotations

from bylaw import Call, Trace
from bylaw.grounding import Grounding, GroundingReport

SOURCE = "class HTTPAdapter:\n    def send(self, request): ...\n\ndef backoff_delay(n): ...\n"


def _report(answer: str | None, *, location: bool = False) -> GroundingReport:
    calls = [
        Call("read_file", {"path": "src/requests/adapters.py"}, SOURCE),
        Call("read_file", {"path": "src/requests/api.py"}, "from .adapters import HTTPAdapter\n"),
    ]
    return Grounding(location=location).check(Trace(calls, answer=answer))


def test_ungrounded_entities_by_class_with_the_nearest_seen() -> None:
    report = _report(
        "`HttpAdaptor` in `src/requests/adapter.py` calls backof_delay(), send() and xyzzy_plugh()."
    )
    assert report.reason == "5 of 8 entities were not seen."
    told = {
        kind: [(entity.text, report.nearest(entity.text)) for entity in entities]
        for kind, entities in report.by_class().items()
    }
    assert told == {
        "identifier": [("HttpAdaptor", "HTTPAdapter")],
        "file_path": [("src/requests/adapter.py", "src/requests/adapters.py")],
        "function_signature": [("backof_delay()", "backoff_delay"), ("xyzzy_plugh()", None)],
    }


def test_the_parts_of_a_path_that_was_not_seen_are_counted_and_not_listed() -> None:
    report = _report("See lib/other/thing.py.")
    assert [entity.text for entity in report.ungrounded] == [
        *("lib/other/thing.py", "lib", "other", "thing.py")
    ]
    assert [e.text for found in report.by_class().values() for e in found] == ["lib/other/thing.py"]


def test_misplaced_symbols() -> None:
    report = _report("`HTTPAdapter` is defined in `src/requests/api.py`.", location=True)
    assert report.verdict == "ungrounded"
    assert report.reason == "1 not defined where the answer says."
    assert list(map(str, report.misplaced)) == ["HTTPAdapter in src/requests/api.py"]


def test_a_bare_file_name_is_a_place() -> None:
    assert _report("`HTTPAdapter` is in `adapters.py`.", location=True).verdict == "grounded"
    assert _report("`HTTPAdapter` is in `api.py`.", location=True).verdict == "ungrounded"
    assert _report("adapters.HTTPAdapter() is in adapters.py", location=True).misplaced == ()


def test_no_answer() -> None:
    assert _report(None).reason == "There is no answer to check."
    assert _report(None).verdict == "ungrounded"


def test_as_json() -> None:
    assert _report("See `HttpAdaptor` in src/requests/api.py.").to_dict() == {
        "verdict": "ungrounded",
        "satisfied": False,
        "reason": "1 of 5 entities were not seen.",
        "entities": 5,
        "grounded": 4,
        "ungrounded": [{"class": "identifier", "text": "HttpAdaptor", "nearest": "HTTPAdapter"}],
        "misplaced": [],
        "files": ["src/requests/adapters.py", "src/requests/api.py"],
    }
