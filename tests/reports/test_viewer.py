"""The viewer's page holds everything it shows, and nothing that a trace says can break it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from refund_desk import GUARDED, GUARDED_PROCEDURE, PROCEDURE, RUN, long_run, report

from bylaw import (
    Call,
    Message,
    Procedure,
    Refusal,
    Report,
    Trace,
    Vocabulary,
    explain,
    verify_trace,
)
from bylaw.reports.html.page import embedded
from bylaw.reports.html.viewer import MAX_EXPLAINED, render_trace, trace_data

HOSTILE = [
    "</script><script>alert(1)</script>",
    "</SCRIPT >",
    "<!-- <script>",
    "]]>",
    "line\u2028and\u2029paragraph",
    "half a pair \ud800",
    "\udc00\ud800 the wrong way round",
    "a whole pair 😀, as two halves \ud83d\ude00",
    "${data} $data $$ {{data}} %s \\u003c",
    "\x00\x07\x7f\r\n\t",
    '"><img src=x onerror=alert(1)>',
]


class Elements(HTMLParser):
    """Collects the elements of a page, and the text of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.inside: str | None = None
        self.title = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = None

    def handle_data(self, data: str) -> None:
        if self.inside == "script":
            self.scripts[-1] += data
        elif self.inside == "title":
            self.title += data


def data_of(page: str) -> dict[str, Any]:
    """The data that a page carries."""
    value = json.loads(Elements(page).scripts[0])
    assert isinstance(value, dict)
    return value


def shown(report: Report) -> dict[str, Any]:
    """The viewer's data, with the explanations that the page has."""
    return data_of(render_trace(report))


def items(data: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [item for step in data["steps"] for item in step["items"] if item["kind"] == kind]


def rule(data: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [rule for rule in data["rules"] if rule["name"] == name]
    assert isinstance(found, dict)
    return found


# ── what is shown ────────────────────────────────────────────────────────────────────────────


def test_the_header_shows_the_trace_and_the_score() -> None:
    data = shown(report())
    assert (data["procedure"], data["trace"]) == ("refund-desk", "run.json")
    assert data["labels"] == [["model", "small"], ["seed", "7"]]
    assert data["score"] == pytest.approx(3 / 7)
    assert (data["label"], data["reason"]) == ("PARTIAL", None)
    assert data["details"] == "2 of 5 constraints violated: verify-first, one-refund."
    assert data["counts"] == {"satisfied": 2, "vacuous": 1, "violated": 2, "error": 0}


def test_layers_carry_their_titles_and_pass_rates() -> None:
    assert shown(report())["layers"] == [
        {"name": "L3", "title": "sequence ordering", "passed": 2, "total": 2, "undecided": 0},
        {"name": "L4", "title": "pair and instance ordering"}
        | {"passed": 0, "total": 1, "undecided": 0},
        {"name": "L5", "title": "call counts", "passed": 0, "total": 1, "undecided": 0},
    ]


def test_events_are_grouped_by_step_and_the_answer_comes_last() -> None:
    steps = shown(report())["steps"]
    assert [[item["kind"] for item in step["items"]] for step in steps] == [
        ["message"],
        ["message"],
        ["message", "call", "call"],
        ["call"],
        ["call"],
        ["call"],
        ["answer"],
    ]
    assert [step["step"] for step in steps] == [0, 1, 2, 3, 4, 5, None]
    assert steps[-1]["items"] == [{"kind": "answer", "index": 5, "text": "You get 40 back."}]


def test_calls_are_numbered_as_explanations_number_them() -> None:
    calls = items(shown(report()), "call")
    assert [(call["index"], call["tool"]) for call in calls] == list(
        enumerate(call.tool for call in RUN.calls)
    )


def test_values_are_text_that_keeps_every_digit() -> None:
    first, second, third, fourth, fifth = items(shown(report()), "call")
    assert first["args"] == [["order", "12345678901234567890"]]
    assert first["result"] == {"json": '{"total": 40.0}'}, "a text that is JSON counts as JSON"
    assert (second["status"], second["error"]) == ("failed", "TimeoutError")
    assert third["result"] == {"text": "done"}
    assert "result" not in fourth
    assert fifth["result"] == {"json": "null"}, "null is a result"


def test_values_that_json_lacks_are_shown() -> None:
    odd = Trace([Call("lookup", {"at": float("nan"), "set": {1}}, result=object)])
    (call,) = items(shown(report(odd)), "call")
    assert call["args"] == [["at", "NaN"], ["set", '"{1}"']]
    assert "class" in call["result"]["json"]


def test_agent_id_and_duration_are_shown_where_recorded() -> None:
    call = Call("lookup", agent="a", id="c1", start=1.0, end=3.5)
    (item,) = items(shown(report(Trace([call]))), "call")
    assert (item["agent"], item["id"], item["seconds"]) == ("a", "c1", 2.5)


def test_times_are_shown_since_the_beginning_of_the_run() -> None:
    noon = 1_763_294_400.0
    starts = (noon, noon + 59.6, noon + 3723, noon + 2 * 86400 + 61, None, 1e18)
    trace = Trace([Call("lookup", start=start) for start in starts], answer="x", answered=noon)
    *steps, answer = shown(report(trace))["steps"]
    since = [step["items"][0].get("since") for step in steps]
    assert since == ["+0:00", "+1:00", "+1:02:03", "+2 d 0:01:01", None, None]
    assert answer["items"][0]["started"] == "2025-11-16 12:00:00 UTC"


def test_the_procedures_tools_come_first_so_that_their_colours_stay() -> None:
    other = Trace([Call("aardvark"), Call("refund")])
    assert shown(report(other))["tools"] == [*sorted(PROCEDURE.tools or ()), "aardvark"]


def test_rules_carry_what_their_author_wrote() -> None:
    found = rule(shown(report()), "verify-first")
    assert found["rule"] == "G(refund -> O verify)"
    assert (found["verdict"], found["layer"], found["weight"]) == ("violated", "L4", 3)
    assert found["severity"] == "SOFT_BLOCK"
    assert found["why"] == "Money moves only for a known customer."
    assert found["fix"] == "Call verify first."
    assert found["detail"] in {result.detail for result in report().violated}


def test_rules_point_to_the_calls_that_explain_them() -> None:
    data = shown(report())
    for name in ("verify-first", "one-refund", "looked-up", "tell-of-deletion", "answers"):
        found, why = rule(data, name), explain(RUN, PROCEDURE, name)
        assert (found["calls"], found["absence"]) == ([*why.calls], [*why.absence])
        assert (found["explained"], found["minimal"]) == (True, why.minimal)
    assert rule(data, "answers")["calls"] == [len(RUN.calls)], "the answer"


def test_rules_point_to_the_messages_that_explain_them() -> None:
    rules = [{"name": "at-once", "rule": "G(a -> X b)"}, {"name": "quiet", "rule": "G !says(user)"}]
    procedure = Procedure.from_dict({"events": "all", "constraints": rules})
    run = Trace([Call("a"), Message("user", "wait"), Call("b")])
    data = shown(verify_trace(run, procedure))
    found = [(each["messages"], each["other_messages"]) for each in data["rules"]]
    assert found == [([], [1]), ([1], [])]


def test_given_explanations_are_used_and_missing_ones_fall_back_to_the_witness() -> None:
    given = {"one-refund": explain(RUN, PROCEDURE, "one-refund")}
    data = trace_data(report(), given)
    assert rule(data, "one-refund")["explained"] is True
    found = rule(data, "verify-first")
    witness = next(r.witness for r in report().constraints if r.name == "verify-first")
    assert (found["explained"], found["calls"], found["absence"]) == (False, [*witness], [])


def test_very_long_traces_are_shown_without_explanations() -> None:
    data = shown(report(long_run(MAX_EXPLAINED + 1)))
    assert not any(rule["explained"] for rule in data["rules"])
    assert all(rule["explained"] for rule in shown(report(long_run(MAX_EXPLAINED)))["rules"])


def test_refused_calls_are_shown_in_their_places_with_rules_and_reasons() -> None:
    data = shown(verify_trace(GUARDED.trace, GUARDED_PROCEDURE))
    kinds = [[item["kind"] for item in step["items"]] for step in data["steps"]]
    assert kinds == [["message"], ["refused", "call"], ["refused"], ["call", "call"], ["answer"]]
    first, second = items(data, "refused")
    assert (first["number"], first["tool"], first["action"]) == (0, "refund", "block")
    assert first["args"] == [["amount", "5"]]
    assert first["reasons"] == [
        [
            "verify-first",
            "this call would break it for good. Money moves only for a known customer.",
        ]
    ]
    unknown = "There is no tool 'pay'. The tools are: verify, refund."
    assert second["reasons"] == [[None, unknown]]
    assert rule(data, "verify-first")["refused"] == [0]
    assert rule(data, "small")["refused"] == []
    assert "pay" in data["tools"]


def test_refused_calls_after_the_last_event_are_shown() -> None:
    refusal = Refusal(Call("refund", step=7), "stop", "", None, 9)
    data = shown(report(Trace([Call("lookup")], refusals=[refusal])))
    assert [step["step"] for step in data["steps"]] == [0, 7]
    assert items(data, "refused")[0]["reasons"] == []


def test_every_occurrence_of_a_violation_is_shown() -> None:
    data = shown(verify_trace(GUARDED.trace, GUARDED_PROCEDURE))
    found = rule(data, "small")["occurrences"]
    assert [each["call"] for each in found] == [1, 2]
    assert all(f"all #{each['call'] + 1}" in each["detail"] for each in found)
    assert rule(data, "verify-first")["occurrences"] == []


def test_pages_of_many_traces_leave_occurrences_out() -> None:
    data = trace_data(verify_trace(GUARDED.trace, GUARDED_PROCEDURE), {}, detailed=False)
    assert [each["occurrences"] for each in data["rules"]] == [[], []]


def test_violated_rules_have_repairs() -> None:
    repairs = {rule["name"]: rule["repair"] for rule in shown(report())["rules"]}
    assert repairs == {
        "looked-up": [],
        "verify-first": ["Insert verify {} before call #3 (refund)."],
        "one-refund": ["Delete call #5 (refund)."],
        "tell-of-deletion": [],
        "answers": [],
    }


def test_rules_without_a_repair_and_long_traces() -> None:
    procedure = Procedure.from_dict({"bylaw": 1, "constraints": [{"name": "r", "rule": "false"}]})
    assert rule(shown(verify_trace(RUN, procedure)), "r")["repair"] == []
    data = shown(report(long_run(MAX_EXPLAINED + 1)))
    assert not any(rule["repair"] for rule in data["rules"])


def test_a_repair_shows_arguments_that_are_no_json() -> None:
    rules = [{"name": "r", "rule": "F call(pay, amount = 5)"}]
    procedure = Procedure.from_dict({"bylaw": 1, "constraints": rules})
    odd = Trace([Call("pay", {"amount": {1}, "to": "half a pair \ud800"})])
    (sentence,) = rule(shown(verify_trace(odd, procedure)), "r")["repair"]
    assert sentence.startswith('Replace call #1: pay {"amount": 5, "to": "half')
    assert sentence.count('"amount"') == 2


def test_an_undecided_rule_leaves_no_score_and_a_reason() -> None:
    vocabulary = Vocabulary()

    @vocabulary.predicate
    def paid_twice(trace: Trace, at: int, metrics: object) -> bool:
        """Two calls pay the same invoice."""
        raise KeyError("invoice")

    rules = [{"name": "no-double", "rule": "G !paid_twice()"}]
    procedure = Procedure.from_dict({"bylaw": 1, "constraints": rules}, vocabulary=vocabulary)
    data = shown(verify_trace(RUN, procedure))
    assert (data["score"], data["label"]) == (None, None)
    assert "KeyError" in data["reason"]
    assert data["counts"]["error"] == 1
    assert rule(data, "no-double")["explained"] is False


def test_an_empty_trace_has_no_steps() -> None:
    data = shown(report(Trace()))
    assert data["steps"] == []
    assert data["trace"] is None
    assert all(rule["calls"] == rule["absence"] == [] for rule in data["rules"])


def test_an_answer_alone_is_an_answer_at_index_zero() -> None:
    assert items(shown(report(Trace(answer="hm"))), "answer")[0]["index"] == 0


# ── how it is embedded ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_no_text_can_end_the_element_it_stands_in(text: str) -> None:
    assert json.loads(embedded({text: [text]})) == json.loads(json.dumps({text: [text]}))
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff]", embedded({text: [text]}))


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_hostile_texts_arrive_as_they_are_and_leave_the_page_whole(text: str) -> None:
    hostile = Trace(
        [Call(text, {text: text}, result=text, error=text, id=text, agent=text)],
        answer=text,
        name=text,
        labels={text: text},
    )
    page = render_trace(report(hostile))
    page.encode()
    plain, elements = Elements(render_trace(report())), Elements(page)
    assert [tag for tag, _ in elements.found] == [tag for tag, _ in plain.found]
    assert elements.scripts[1:] == plain.scripts[1:], "only the data differs"
    (call,) = items(data_of(page), "call")
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert call["tool"] == call["error"] == call["result"]["text"] == whole
    assert call["args"] == [[whole, json.dumps(whole, ensure_ascii=False)]]


def test_the_title_is_escaped_and_can_be_written() -> None:
    title = Elements(render_trace(report(Trace(name="</title><b>\ud800")))).title
    assert title == "</title><b>\ufffd · refund-desk"


def test_the_page_loads_nothing() -> None:
    page = render_trace(report())
    for tag, attributes in Elements(page).found:
        assert tag not in {"img", "iframe", "object", "embed", "base"}
        assert "src" not in attributes
        assert attributes.get("href", "data:,") == "data:,"
        assert not any(name.startswith("on") for name in attributes)
    assert "http:" not in page
    assert "https:" not in page
    assert not re.search(r"@import|url\(|\bfetch\(|XMLHttpRequest|WebSocket|\bimport\(", page)


def test_the_policy_allows_the_pages_own_scripts_and_no_others() -> None:
    found = Elements(render_trace(report())).found
    (policy,) = [a["content"] or "" for tag, a in found if a.get("http-equiv") and tag == "meta"]
    scripts = [a for tag, a in found if tag == "script" and "type" not in a]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert policy.split("script-src")[1].count("'sha256-") == len(scripts)


def test_the_same_report_makes_the_same_page() -> None:
    assert render_trace(report()) == render_trace(report())
