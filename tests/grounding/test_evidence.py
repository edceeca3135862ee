"""Evidence: the forms in which tools return files, pages and failures."""

from __future__ import annotations

import json

import pytest

from bylaw import Call, Message, Trace
from bylaw.grounding import Grounding
from bylaw.grounding.evidence.evidence import Evidence
from bylaw.grounding.matching import was_seen
from bylaw.values import Json

SOURCE = "class Retry:\n    def backoff_delay(self, attempt):\n        return 2 ** attempt\n"
PATH = "src/retry.py"


def _evidence(*calls: Call) -> Evidence:
    return Grounding().evidence(Trace(calls))


FORMS: dict[str, Json] = {
    "the text": SOURCE,
    "an object with the text": {"content": SOURCE},
    "the same as a string": json.dumps({"content": SOURCE}),
    "with the path": json.dumps({"path": PATH, "text": SOURCE, "truncated": False}),
    "files by path": json.dumps({PATH: SOURCE}),
    "files by path, each an object": {PATH: {"content": SOURCE, "lines": 3}},
    "a list of parts": [{"type": "text", "text": SOURCE}],
    "a string in quotes": repr({"content": SOURCE}),
    "a string that was cut off": json.dumps({"content": SOURCE})[:-20],
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_in_any_form(form: str) -> None:
    evidence = _evidence(Call("read_file", {"path": PATH}, FORMS[form]))
    assert list(evidence.files) == [PATH]
    assert was_seen(PATH, evidence)
    assert was_seen("Retry.backoff_delay()", evidence)
    assert not was_seen("ndef", evidence)


FAILURES: dict[str, Call] = {
    "by the record": Call("read_file", {"path": PATH}, "x", error="gone"),
    "by an object": Call("read_file", {"path": PATH}, {"error": "no such file"}),
    "by its words": Call("read_file", {"path": PATH}, "FileNotFoundError: src/retry.py"),
    "by a word": Call("read_file", {"path": PATH}, "Error: src/retry.py does not exist"),
    "without a result": Call("read_file", {"path": PATH}),
}


@pytest.mark.parametrize("sign", FAILURES)
def test_a_read_that_failed_is_no_evidence(sign: str) -> None:
    assert not _evidence(FAILURES[sign])


def test_a_file_about_errors_is_a_file() -> None:
    text = "error_codes = {}\n\ndef report_error(): ...\n"
    assert was_seen("report_error()", _evidence(Call("read_file", {"path": "a.py"}, text)))


def test_one_line_about_an_error_is_a_file() -> None:
    text = "ClientError = requests_error_base\n"
    assert was_seen("requests_error_base", _evidence(Call("read_file", {"path": "a.py"}, text)))


@pytest.mark.parametrize("name", ["path", "file_path", "file", "filename"])
def test_the_path_may_have_other_names(name: str) -> None:
    assert list(_evidence(Call("read_file", {name: "./a\\b.py"}, "x = 1")).files) == ["a/b.py"]


def test_a_json_file_is_its_own_text() -> None:
    evidence = _evidence(Call("read_file", {"path": "order.json"}, '{"order_key": "abc"}'))
    assert was_seen("order_key", evidence)
    assert was_seen("order.json", evidence)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "my_pkg", "source": "src/index.ts", "main_entry": "run_server"}',
        '{"path": "lib", "text": "x", "main_entry": "run_server"}',
        '[{"text": "x", "main_entry": "run_server"}]',
        '{"path": "lib/http.py", "text": "main_entry run_server"}',
    ],
)
def test_a_json_file_may_look_like_the_result_of_a_tool(text: str) -> None:
    evidence = _evidence(Call("read_file", {"path": "package.json"}, text))
    assert list(evidence.files) == ["package.json"]
    assert was_seen("main_entry", evidence)
    assert was_seen("run_server", evidence)


@pytest.mark.parametrize(
    "fields",
    [
        {"path": "./package.json", "total": 30},
        {"truncated": False},
        {"offset": 0},
        {"total": 30},
    ],
)
def test_a_json_file_may_be_wrapped(fields: dict[str, Json]) -> None:
    result = json.dumps({"content": '{"a": 1,\n"main_entry": "x\\ny"}', **fields})
    evidence = _evidence(Call("read_file", {"path": "package.json"}, result))
    assert evidence.files["package.json"].text == '{"a": 1,\n"main_entry": "x\\ny"}'


def test_files_by_path_are_those_that_were_asked_for() -> None:
    table = {"lib/http.py": "sha256-abc"}
    for result in (table, json.dumps(table)):
        assert list(_evidence(Call("read_file", {"path": "a/sums.json"}, result)).files) == [
            "a/sums.json"
        ]
        for given in ({}, {"path": "lib"}, {"path": "/repo/lib/http.py"}, {"path": "http.py"}):
            assert list(_evidence(Call("read_file", given, result)).files) == ["lib/http.py"]


def test_pages_are_joined_however_they_are_counted() -> None:
    cut = SOURCE.index("delay")
    for name, behind in (("offset", cut), ("start_line", 2), ("page", 1), ("chunk", 1)):
        pages = [
            Call("read_file", {"path": PATH, name: behind}, SOURCE[cut:]),
            Call("read_file", {"path": PATH, name: 0}, SOURCE[:cut]),
            Call("read_file", {"path": PATH, name: behind}, SOURCE[cut:]),  # read twice
        ]
        assert was_seen("Retry.backoff_delay()", _evidence(*pages)), name
        assert not was_seen("Retry.backoff_delay()", _evidence(pages[1])), name


@pytest.mark.parametrize(
    ("name", "behind"), [("offset", 24000), ("start_line", 90), ("page", 2), ("chunk", 2)]
)
def test_pages_that_are_no_neighbours_are_not_joined(name: str, behind: int) -> None:
    """A page between the two was never read: what stands at its edges is not one name."""
    pages = [
        Call("read_file", {"path": "a.py", name: 0}, "x = 1\ndef retry_pol"),
        Call("read_file", {"path": "a.py", name: behind}, "icing(): ...\n"),
    ]
    for order in (pages, pages[::-1]):
        evidence = _evidence(*order)
        assert not was_seen("retry_policing()", evidence)
        assert "retry_policing" not in evidence.files["a.py"].definitions


def test_offsets_may_count_bytes_or_characters() -> None:
    before = "wörter = 'ÄÖÜ'\r\ndef retry_pol"
    for behind in (len(before), len(before.encode())):
        pages = [
            Call("read_file", {"path": "a.py", "offset": 0}, before.replace("\r", "")),
            Call("read_file", {"path": "a.py", "offset": behind}, "icing(): ...\n"),
        ]
        assert was_seen("retry_policing()", _evidence(*pages))


def test_which_tools_count_is_a_setting() -> None:
    calls = [
        Call("read_file", {"path": PATH}, SOURCE),
        Call("get_order", {"id": 7}, {"order_key": "abc"}),
        Call("get_user", {"id": 7}, {"user_key": "abc"}),
        Call("list_directory", {"path": "src"}, ["other_file.py"]),
    ]
    names = ["backoff_delay", "order_key", "user_key", "other_file"]
    for tools, expected in (
        (("read_file",), ["backoff_delay"]),
        (("get_*",), ["order_key", "user_key"]),
        (("get_user", "read_file"), ["backoff_delay", "user_key"]),
        (("*",), names),
    ):
        evidence = Evidence.of(Trace(calls).events, tools)
        assert [name for name in names if was_seen(name, evidence)] == expected


def test_a_search_shows_the_files_that_it_names() -> None:
    """Figure 1 of the paper: the folder where a search begins is not a file that was read."""
    found = Call("grep", {"pattern": "x", "path": "lib"}, "lib/http/client.py:41: sleep(pause(n))")
    evidence = Evidence.of([found], ("grep",))
    assert [was_seen(text, evidence) for text in ("lib/http/client.py", "pause()", "lib/a.py")] == [
        True,
        True,
        False,
    ]


def test_the_prompt_counts_if_it_is_said_to() -> None:
    trace = Trace([Message("user", "What is user_key?")], answer="`user_key` is a key.")
    assert Grounding().check(trace).verdict == "ungrounded"
    assert Grounding(prompt_counts=True).check(trace).verdict == "grounded"


def test_the_same_contents_are_indexed_once() -> None:
    """A second answer over the same evidence, also in another trace, finds everything prepared."""
    result = json.dumps({"content": SOURCE})
    first = _evidence(Call("read_file", {"path": PATH}, result))
    second = _evidence(Call("read_file", {"path": f"./{PATH}"}, str(result)), Call("other"))
    assert first.files[PATH] is second.files[PATH]
    assert first.files[PATH] is not _evidence(Call("read_file", {"path": PATH}, "x")).files[PATH]
