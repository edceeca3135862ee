"""Scores and decisions in OpenTelemetry: the real SDK, and a collector on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from hostile_names import HOSTILE

from bylaw import Call, Guard, Procedure, Trace, Vocabulary, verify_trace

_MISSING = "NOT TESTED: opentelemetry-sdk and its OTLP exporter are missing"
sdk = pytest.importorskip("opentelemetry.sdk.trace", reason=_MISSING)
exporters = pytest.importorskip(
    "opentelemetry.exporter.otlp.proto.http.trace_exporter", reason=_MISSING
)

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: E402
    ExportTraceServiceRequest,
)
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402

from bylaw.telemetry import DecisionTelemetry, record_report  # noqa: E402

pytestmark = pytest.mark.frameworks  # the group `formats` installs the SDK

RULE = {"name": "verify-first", "rule": "G(refund -> O verify)", "severity": "SOFT_BLOCK"}
DESK = Procedure.from_dict({"name": "desk", "constraints": [RULE]})


class _Collector:
    """A stand-in for an OTLP collector: it keeps the spans that are posted to it."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = ExportTraceServiceRequest.FromString(body)
                for resource in request.resource_spans:
                    for scope in resource.scope_spans:
                        collector.spans.extend(scope.spans)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}/v1/traces"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[_Collector]:
    found = _Collector()
    yield found
    found.close()


@contextmanager
def _provider(collector: _Collector) -> Iterator[Any]:
    provider = sdk.TracerProvider()
    exporter = exporters.OTLPSpanExporter(endpoint=collector.endpoint, timeout=5)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider
    provider.shutdown()


def _plain(attributes: Sequence[Any]) -> dict[str, Any]:
    def value(given: Any) -> Any:
        kind = given.WhichOneof("value")
        if kind == "array_value":
            return [value(each) for each in given.array_value.values]
        return getattr(given, kind)

    return {each.key: value(each.value) for each in attributes}


def _events(span: Any, name: str) -> list[dict[str, Any]]:
    return [_plain(event.attributes) for event in span.events if event.name == name]


def _agent(guard: Guard) -> None:
    for calls in (["refund"], ["verify", "refund"]):
        for decision in guard.propose([Call(tool, {"id": 7}, id=f"c-{tool}") for tool in calls]):
            if decision.allowed:
                guard.record(decision, "done")


def test_decisions_and_scores_are_events_of_the_frameworks_span(collector: _Collector) -> None:
    with _provider(collector) as provider:
        framework = provider.get_tracer("framework")
        guard = Guard(DESK, listener=DecisionTelemetry(tracer_provider=provider), run_id="run-1")
        with framework.start_as_current_span("invoke_agent desk"):
            with framework.start_as_current_span("chat model"):
                _agent(guard)
            guard.finish("done")
    chat, agent = collector.spans
    assert (chat.name, agent.name) == ("chat model", "invoke_agent desk")
    decisions = _events(chat, "bylaw.decision")
    assert [each["bylaw.decision.action"] for each in decisions] == ["block", "allow", "allow"]
    assert [each["gen_ai.tool.name"] for each in decisions] == ["refund", "verify", "refund"]
    assert decisions[0]["bylaw.decision.rules"] == ["verify-first"]
    assert decisions[0]["gen_ai.tool.call.id"] == "c-refund"
    assert {each["bylaw.run.id"] for each in decisions} == {"run-1"}
    assert not any("gen_ai.tool.call.arguments" in each for each in decisions), "not by default"
    whole, rule = _events(agent, "gen_ai.evaluation.result")
    assert whole["gen_ai.evaluation.name"] == "desk"
    assert whole["gen_ai.evaluation.score.value"] == 1.0
    assert whole["gen_ai.evaluation.score.label"] == "FULL"
    assert rule["gen_ai.evaluation.name"] == "desk/verify-first"
    assert rule["gen_ai.evaluation.score.label"] == "pass"
    assert len(whole["bylaw.procedure.hash"]) == 64


def test_content_is_added_if_it_is_asked_for(collector: _Collector) -> None:
    with _provider(collector) as provider:
        guard = Guard(DESK, listener=DecisionTelemetry(content=True, tracer_provider=provider))
        with provider.get_tracer("framework").start_as_current_span("chat model"):
            _agent(guard)
    (chat,) = collector.spans
    first = _events(chat, "bylaw.decision")[0]
    assert first["gen_ai.tool.call.arguments"] == '{"id": 7}'
    assert "verify-first" in first["bylaw.decision.message"]


def test_guardrail_spans_are_children_of_the_frameworks_span(collector: _Collector) -> None:
    with _provider(collector) as provider:
        listener = DecisionTelemetry(guardrail_spans=True, tracer_provider=provider)
        with provider.get_tracer("framework").start_as_current_span("chat model"):
            _agent(Guard(DESK, listener=listener))
    *guardrails, chat = collector.spans
    assert [each.name for each in guardrails] == ["run_guardrail desk"] * 3
    assert {each.parent_span_id for each in guardrails} == {chat.span_id}
    assert _plain(guardrails[0].attributes)["gen_ai.operation.name"] == "run_guardrail"
    (finding,) = _events(guardrails[0], "gen_ai.security.finding")
    assert finding == {"gen_ai.security.policy.rule.id": "verify-first"}
    assert not _events(chat, "bylaw.decision")


def test_a_score_after_the_spans_have_ended_is_in_their_trace(collector: _Collector) -> None:
    with _provider(collector) as provider:
        guard = Guard(DESK, listener=DecisionTelemetry(tracer_provider=provider))
        with provider.get_tracer("framework").start_as_current_span("chat model"):
            _agent(guard)
        guard.finish()
    chat, evaluation = collector.spans
    assert evaluation.name == "evaluate procedure"
    assert evaluation.trace_id == chat.trace_id
    assert evaluation.parent_span_id == chat.span_id
    assert len(_events(evaluation, "gen_ai.evaluation.result")) == 2


def test_a_finished_trace_is_reported_with_reasons(collector: _Collector) -> None:
    report = verify_trace(Trace([Call("refund")]), DESK)
    with _provider(collector) as provider:
        with provider.get_tracer("framework").start_as_current_span("evaluation"):
            record_report(report)
        record_report(report, tracer_provider=provider)
    assert [each.name for each in collector.spans] == ["evaluation", "evaluate procedure"]
    for span in collector.spans:
        whole, rule = _events(span, "gen_ai.evaluation.result")
        assert whole["gen_ai.evaluation.score.value"] == 0.0
        assert rule["gen_ai.evaluation.score.label"] == "violated"
        assert rule["gen_ai.evaluation.explanation"].startswith('Call #1 is "refund", but')


def test_an_undecided_rule_has_no_value(collector: _Collector) -> None:
    vocabulary = Vocabulary()

    @vocabulary.predicate
    def broken(trace: Trace, at: int, metrics: object) -> bool:
        raise RuntimeError("no")

    rules = {"constraints": [{"name": "r", "rule": "G broken()"}]}
    report = verify_trace(Trace([Call("a")]), Procedure.from_dict(rules, vocabulary=vocabulary))
    assert report.score is None
    with _provider(collector) as provider:
        record_report(report, tracer_provider=provider)
    for event in _events(collector.spans[0], "gen_ai.evaluation.result"):
        assert "gen_ai.evaluation.score.value" not in event


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_names_arrive_as_attributes(collector: _Collector, text: str) -> None:
    rule = {"name": text, "rule": "G(refund -> O verify)"}
    procedure = Procedure.from_dict({"name": text, "constraints": [rule]})
    with _provider(collector) as provider:
        guard = Guard(
            procedure,
            listener=DecisionTelemetry(content=True, tracer_provider=provider),
            unenforceable="score",
        )
        with provider.get_tracer("framework").start_as_current_span("chat model"):
            guard.propose([Call("refund", {"x": text}), Call(text)])
            guard.finish()
    (span,) = collector.spans
    assert len(_events(span, "bylaw.decision")) == 2
    assert len(_events(span, "gen_ai.evaluation.result")) == 2
    assert span.ByteSize() < 100_000
