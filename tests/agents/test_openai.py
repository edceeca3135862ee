"""Models behind an endpoint, against a real server that answers, stalls, drops and refuses."""

from __future__ import annotations

import base64
import importlib
import json
import logging
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

import pytest
from chat_server import (
    ChatServer,
    DripsHeaders,
    Drops,
    Redirects,
    Says,
    Script,
    Sends,
    Status,
    Step,
    Waits,
    echo,
    in_turn,
)

from bylaw.agents.protocol import Chat, ChatModel, Reply, ToolSpec
from bylaw.agents.redaction import redacted

if TYPE_CHECKING:
    from bylaw.agents.openai import OpenAIModel

KEY = "sk-very-secret"
QUICK: dict[str, Any] = {"backoff": 0.01, "timeout": 30.0, "tries": 4}
LOOKUP = ToolSpec("lookup", "Looks an order up.", {"order": {"type": "integer"}})

Connect: TypeAlias = Callable[..., "tuple[ChatServer, OpenAIModel]"]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx", reason="NOT TESTED: httpx is not installed")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def connect() -> Iterator[Connect]:
    """A server with a script, and a model that talks to it."""
    with ExitStack() as stack:

        def connected(
            script: Script = echo, *, per_second: int | None = None, **options: Any
        ) -> tuple[ChatServer, OpenAIModel]:
            from bylaw.agents.openai import OpenAIModel

            server = stack.enter_context(ChatServer(script, per_second))
            model = OpenAIModel("small", base_url=server.url, **{**QUICK, **options})
            return server, stack.enter_context(model)

        yield connected


def _saying(text: str, *tools: ToolSpec) -> Chat:
    return Chat(text, tools, [{"role": "user", "content": text}])


def _ask(model: ChatModel, text: str = "hello", *tools: ToolSpec) -> Reply:
    (reply,) = model.reply([_saying(text, *tools)])
    return reply


def _listed(name: str, arguments: Any, id: Any = "c7") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


# ── what is sent and what is read ─────────────────────────────────────────────────────────


def test_the_request(connect: Connect) -> None:
    server, model = connect(temperature=0.5, max_tokens=99, seed=3)
    _ask(model, "hello", LOOKUP)
    (request,) = server.seen
    assert request.path == "/v1/chat/completions"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "small",
        "temperature": 0.5,
        "max_tokens": 99,
        "seed": 3,
        "messages": [{"role": "user", "content": "hello"}],
        "tools": [LOOKUP.to_dict()],
    }


def test_settings_that_are_not_given_are_not_sent(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    server, model = connect(temperature=None)
    _ask(model)
    (request,) = server.seen
    assert request.body.keys() == {"model", "messages"}
    assert "Authorization" not in request.headers


def test_the_model_describes_itself(connect: Connect) -> None:
    server, model = connect(temperature=0.0, max_tokens=99)
    assert model.name == "openai:small"
    assert model.about == {
        "model": "small",
        "endpoint": server.url.removeprefix("http://").removesuffix("/v1"),
        "temperature": 0.0,
        "max_tokens": 99,
        "seed": None,
    }
    assert (model.width, model.batched) == (16, False)


def test_the_endpoint_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from bylaw.agents.openai import OpenAIModel

    with ChatServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
        with OpenAIModel("small", **QUICK) as model:
            assert _ask(model).text == "You said: hello"
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:8000")
    with pytest.raises(ValueError, match="must be like https://"):
        OpenAIModel("small")


def test_text_and_tokens(connect: Connect) -> None:
    usage = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
    _, model = connect(in_turn(Says("Seven.", usage=usage)))
    assert _ask(model) == Reply("Seven.", input_tokens=12, output_tokens=3)


def test_calls(connect: Connect) -> None:
    calls = [_listed("lookup", '{"order": 7}'), _listed("pay", '{"to": {"iban": "x"}}', id="c8")]
    _, model = connect(in_turn(Says(None, calls)))
    reply = _ask(model, "hello", LOOKUP)
    assert [(call.tool, call.args, call.id) for call in reply.calls] == [
        ("lookup", {"order": 7}, "c7"),
        ("pay", {"to": {"iban": "x"}}, "c8"),
    ]
    assert (reply.text, reply.malformed) == ("", ())


def test_a_turn_reads_back_as_it_was_sent(connect: Connect) -> None:
    server, model = connect(in_turn(Says("So:", [_listed("lookup", '{"order": 7}')])))
    conversation = _saying("hello", LOOKUP)
    (reply,) = model.reply([conversation])
    conversation.messages.append(reply.to_message())
    model.reply([conversation])
    assert server.seen[1].body["messages"][1] == {
        "role": "assistant",
        "content": "So:",
        "tool_calls": [_listed("lookup", '{"order": 7}')],
    }


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"order": 7', "the arguments of lookup are not JSON: the JSON ends"),
        ("{'order': 7}", "names and strings need double quotes"),
        ("", "the arguments of lookup are not JSON"),
        ("[7]", "must be an object, not [7]"),
        (7, "must be an object, not 7"),
    ],
)
def test_arguments_that_are_no_object(connect: Connect, arguments: Any, told: str) -> None:
    calls = [_listed("lookup", arguments), _listed("lookup", '{"order": 8}')]
    _, model = connect(in_turn(Says("", calls)))
    reply = _ask(model, "hello", LOOKUP)
    assert [call.args for call in reply.calls] == [{"order": 8}]
    (sentence,) = reply.malformed
    assert told in sentence


def test_calls_that_the_server_left_in_the_text(connect: Connect) -> None:
    text = 'So: <tool_call>{"name": "lookup", "arguments": {"order": 7}}</tool_call>'
    _, model = connect(in_turn(Says(text), Says("<tool_call>no</tool_call>")))
    reply = _ask(model, "hello", LOOKUP)
    assert [(call.tool, call.args, call.id) for call in reply.calls] == [
        ("lookup", {"order": 7}, "call_1_1")
    ]
    assert reply.text == "So:"
    assert len(_ask(model, "hello", LOOKUP).malformed) == 1


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        (Says(None), Reply()),
        (Says(7), Reply()),
        (Says([{"type": "text", "text": "a"}, {"type": "image"}, "?"]), Reply("a")),
        (Says("a", usage=[1]), Reply("a")),
        (Says("a", usage={"prompt_tokens": "12"}), Reply("a")),
        (Says("a", {"name": "lookup"}), Reply("a")),
        (
            Says("a", [None]),
            Reply("a", malformed=("A tool call cannot be read: it must be an object, not null.",)),
        ),
    ],
)
def test_odd_messages_are_read_as_far_as_they_go(
    connect: Connect, says: Says, expected: Reply
) -> None:
    _, model = connect(in_turn(says))
    assert _ask(model) == expected


def test_a_call_without_an_id_gets_one(connect: Connect) -> None:
    _, model = connect(in_turn(Says("", [_listed("lookup", "{}", id=None)] * 2)))
    assert [call.id for call in _ask(model).calls] == ["call_1_1", "call_1_2"]


def test_half_a_character_can_be_sent(connect: Connect) -> None:
    _, model = connect()
    assert _ask(model, "\ud83d").text == "You said: \ud83d"


# ── what is tried again ───────────────────────────────────────────────────────────────────

PASSING: list[Step] = [
    *(Status(code, "not now") for code in (408, 409, 429, 500, 502, 503, 529)),
    Status(429, "not now", retry_after="0.02"),
    Status(503, "not now", retry_after="soon"),
    Drops(midway=True),
    Drops(midway=False),
    Waits(9.0),
    Sends(b""),
    Sends(b"<html>busy</html>"),
    Sends(b'{"choices": ['),
    Sends(b'{"choices": []}'),
    Sends(b'{"choices": [{"message": null}]}'),
    Sends(b'{"error": {"message": "overloaded"}}'),
    Sends(b"\xff"),
]


def _timeout(step: Step) -> float:
    """Long enough for any answer that is sent at once, on a busy machine too."""
    return 1.5 if isinstance(step, Waits) else 30.0


@pytest.mark.parametrize("step", PASSING, ids=str)
def test_transient_failures_are_retried(connect: Connect, step: Step) -> None:
    server, model = connect(in_turn(step, Says("here")), timeout=_timeout(step))
    assert _ask(model) == Reply("here")
    assert len(server.seen) == 2


@pytest.mark.parametrize("step", [Status(429), Drops(), Waits(9.0), Sends(b"")], ids=str)
def test_there_is_a_last_try(connect: Connect, step: Step) -> None:
    server, model = connect(in_turn(step), tries=2, timeout=_timeout(step))
    reply = _ask(model)
    assert reply.failure is not None
    assert reply.failure.startswith("127.0.0.1:")
    assert reply.failure.endswith("(after 2 tries)")
    assert len(server.seen) == 2


@pytest.mark.parametrize("code", [301, 400, 401, 403, 404, 422])
def test_permanent_failures_are_not_retried(connect: Connect, code: int) -> None:
    server, model = connect(in_turn(Status(code, "no such model")))
    failure = _ask(model).failure
    assert failure is not None
    assert f"status {code}: no such model" in failure
    assert len(server.seen) == 1


def test_no_server() -> None:
    from bylaw.agents.openai import OpenAIModel

    with ChatServer() as server:
        url = server.url
    with OpenAIModel("small", base_url=url, **QUICK) as model:
        failure = _ask(model).failure
    assert failure is not None
    assert "refused" in failure
    assert "(after 4 tries)" in failure


def test_an_answer_that_trickles_in_is_late(connect: Connect) -> None:
    _, model = connect(in_turn(Sends(b" " * 1000, every=0.02)), timeout=0.1, tries=1)
    failure = _ask(model).failure
    assert failure is not None
    assert "no answer within" in failure, "it did not wait for the end"


def test_headers_that_trickle_in_are_late(connect: Connect) -> None:
    """Each byte arrives in time, the headers never do."""
    _, model = connect(in_turn(DripsHeaders(0.05), Says("here")), timeout=1.5)
    assert _ask(model).text == "here"


BOMB = zlib.compress(b" " * (200 << 20), wbits=31)
NESTED = zlib.compress(BOMB, wbits=31)


@pytest.mark.parametrize(
    ("content", "headers", "told"),
    [
        (BOMB, {"Content-Encoding": "gzip"}, "larger than 64 MiB"),
        (BOMB, {"Content-Encoding": "deflate"}, "larger than 64 MiB"),
        (BOMB, {"Content-Encoding": "br"}, "an encoding that was not asked for"),
        (NESTED, {"Content-Encoding": "gzip, gzip"}, "an encoding that was not asked for"),
        (NESTED, {"Content-Encoding": "gzip"}, "not JSON"),
        (BOMB, {"Content-Encoding": "gzip", "Transfer-Encoding": "chunked"}, "larger than 64 MiB"),
        (b" " * (65 << 20), {}, "larger than 64 MiB"),
        (b"plain", {"Content-Encoding": "gzip"}, "not compressed as it says"),
    ],
    ids=[
        *("a bomb", "a bomb called deflate", "another encoding", "two encodings"),
        *("a bomb in a bomb", "a bomb in chunks", "large", "not compressed"),
    ],
)
def test_an_unusable_answer_is_a_failure_in_bounded_memory(
    connect: Connect, content: bytes, headers: dict[str, str], told: str
) -> None:
    _, model = connect(in_turn(Sends(content, headers=headers)))
    tracemalloc.start()
    failure = _ask(model).failure
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert failure is not None
    assert told in failure
    assert peak < 250 << 20


def test_a_compressed_answer_is_read(connect: Connect) -> None:
    content = zlib.compress(Says("small").body(), wbits=31)
    _, model = connect(in_turn(Sends(content, headers={"Content-Encoding": "gzip"})))
    assert _ask(model).text == "small"


def test_a_slow_answer_in_time_is_waited_for(connect: Connect) -> None:
    server, model = connect(in_turn(Sends(Says("slow").body(), every=0.002)))
    assert _ask(model) == Reply("slow")
    assert len(server.seen) == 1


def test_pauses_grow(connect: Connect) -> None:
    server, model = connect(in_turn(Status(500)), tries=5, backoff=0.02)
    _ask(model)
    times = [request.at for request in server.seen]
    pauses = [after - before for before, after in pairwise(times)]
    assert all(
        pause >= least for pause, least in zip(pauses, (0.01, 0.02, 0.04, 0.08), strict=True)
    )


def test_time_runs_out_before_the_tries_do(connect: Connect) -> None:
    server, model = connect(in_turn(Status(500, "broken")), tries=1000, patience=0.3)
    failure = _ask(model).failure
    assert failure is not None
    assert "broken" in failure
    assert 2 < len(server.seen) < 1000


def test_a_last_try_that_is_cut_short_does_not_hide_the_reason(connect: Connect) -> None:
    server, model = connect(in_turn(Status(500, "broken"), Waits(9.0)), patience=1.5)
    failure = _ask(model).failure
    assert failure is not None
    assert "broken (after 2 tries)" in failure
    assert len(server.seen) == 2


def test_time_runs_out_during_an_answer(connect: Connect) -> None:
    _, model = connect(in_turn(Waits(9.0)), patience=0.3)
    failure = _ask(model).failure
    assert failure is not None
    assert "no answer within 0.3 s" in failure


# ── how the server's limits are kept ──────────────────────────────────────────────────────


def test_retry_after_in_seconds(connect: Connect) -> None:
    server, model = connect(in_turn(Status(503, retry_after="0.3"), Says("here")))
    assert _ask(model) == Reply("here")
    first, second = (request.at for request in server.seen)
    assert second - first >= 0.3


def test_retry_after_as_a_date(connect: Connect) -> None:
    def script(_text: str, before: int) -> Step:
        when = format_datetime(datetime.now(UTC) + timedelta(seconds=1.5), usegmt=True)
        return Says("here") if before else Status(503, retry_after=when)

    server, model = connect(script)
    assert _ask(model) == Reply("here")
    first, second = (request.at for request in server.seen)
    assert second - first >= 0.4  # dates have no fractions of seconds


@pytest.mark.parametrize("code", [429, 503])
@pytest.mark.parametrize("retry_after", ["3600", "inf", "Fri, 31 Dec 2299 23:59:59 GMT"])
def test_a_wait_beyond_patience_is_a_failure_at_once(
    connect: Connect, code: int, retry_after: str
) -> None:
    server, model = connect(in_turn(Status(code, "come back later", retry_after)))
    failure = _ask(model).failure
    assert failure is not None
    assert "come back later" in failure
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "retry_after",
    ["", "-1", "nan", "soon", "Fri, 31 Dec 1999 23:59:59 GMT", "Fri, 31 Dec 1999 23:59:59 -0000"],
)
def test_a_wait_that_asks_nothing_is_none(connect: Connect, retry_after: str) -> None:
    _, model = connect(in_turn(Status(429, "", retry_after), Says("here")))
    assert _ask(model) == Reply("here")


def test_too_many_requests_on_one_thread_hold_back_the_others(connect: Connect) -> None:
    def script(text: str, before: int) -> Step:
        return Status(429, retry_after="1.5") if text == "first" and not before else Says(text)

    server, model = connect(script)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(_ask, model, "first")
        while not server.seen:
            time.sleep(0.01)
        time.sleep(1.0)  # the refusal arrives
        others = [pool.submit(_ask, model, f"other {number}") for number in range(3)]
        assert first.result().text == "first"
        assert all(other.result().failure is None for other in others)
    refused = server.seen[0].at
    assert all(request.at - refused >= 1.5 for request in server.seen[1:])


def test_a_hold_delays_waiting_requests_too(connect: Connect) -> None:
    arrived = count()

    def script(_text: str, _before: int) -> Step:
        return Says() if next(arrived) else Status(429, retry_after="0.5")

    server, model = connect(script, requests_per_minute=300)
    replies = model.reply([_saying(f"number {number}") for number in range(3)])
    assert all(reply.failure is None for reply in replies)
    assert all(request.at - server.seen[0].at >= 0.5 for request in server.seen[1:])


def test_no_request_waits_beyond_patience(connect: Connect) -> None:
    def script(text: str, before: int) -> Step:
        early = Status(503, "broken", retry_after="2.5")
        return Says() if before else early if text == "early" else Status(429, retry_after="2.0")

    # Early would try again after 2.5 seconds. The hold that late meets ends after 3.2.
    server, model = connect(script, patience=3.0)
    with ThreadPoolExecutor() as pool:
        early = pool.submit(_ask, model, "early")
        time.sleep(1.2)
        late = pool.submit(_ask, model, "late")
        failure = early.result().failure
        assert failure is not None
        assert "broken" in failure
        assert late.result() == Reply()
    assert [request.text for request in server.seen] == ["early", "late", "late"]


def test_requests_per_minute(connect: Connect) -> None:
    server, model = connect(requests_per_minute=1200)
    model.reply([_saying(f"number {number}") for number in range(8)])
    times = sorted(request.at for request in server.seen)
    assert times[-1] - times[0] >= 0.25  # seven gaps of 0.05, less what threads are late


def test_a_server_with_a_rate_limit(connect: Connect) -> None:
    server, model = connect(per_second=40, tries=20, backoff=0.05)
    texts = [f"number {number}" for number in range(50)]
    replies = model.reply([_saying(text) for text in texts])
    assert [reply.text for reply in replies] == [f"You said: {text}" for text in texts]
    assert sorted(server.answered) == sorted(texts)


# ── many at once ──────────────────────────────────────────────────────────────────────────


def test_each_conversation_gets_its_own_answer_exactly_once(connect: Connect) -> None:
    faults: list[Step] = [
        Status(429, "not now"),
        Status(500),
        Drops(midway=True),
        Drops(midway=False),
        Sends(b"{"),
        Waits(9.0),
    ]

    def script(text: str, before: int) -> Step:
        number = int(text.rsplit(" ", 1)[1])
        if before < number % 3:
            return faults[(number + before) % len(faults)]
        arguments = json.dumps({"order": number})
        return Says(f"about {number}", [_listed("lookup", arguments, id=f"c{number}")])

    server, model = connect(script, tries=6, timeout=4.0)
    texts = [f"order {number}" for number in range(50)]
    with ThreadPoolExecutor(max_workers=16) as pool:
        replies = list(pool.map(lambda text: _ask(model, text, LOOKUP), texts))
    for number, reply in enumerate(replies):
        assert reply.failure is None
        assert reply.text == f"about {number}"
        assert [(call.args, call.id) for call in reply.calls] == [({"order": number}, f"c{number}")]
    assert sorted(server.answered) == sorted(texts)
    asked = [request.text for request in server.seen]
    assert {text: asked.count(text) for text in texts} == {
        text: number % 3 + 1 for number, text in enumerate(texts)
    }


def test_conversations_given_together_are_answered_in_their_order(connect: Connect) -> None:
    _, model = connect()
    texts = [f"number {number}" for number in range(20)]
    replies = model.reply([_saying(text) for text in texts])
    assert [reply.text for reply in replies] == [f"You said: {text}" for text in texts]
    assert model.reply([]) == []


# ── secrets and installation ──────────────────────────────────────────────────────────────


def test_the_key_is_shown_nowhere(connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    _, model = connect(in_turn(Status(401, f"the key {KEY} is not valid"), Sends(KEY.encode())))
    for _ in range(2):
        failure = _ask(model).failure
        assert failure is not None
        assert KEY not in failure
    assert KEY not in caplog.text
    assert KEY not in repr((model, model.name, model.about))


def _in_middle_of_base64(key: str) -> str:
    return base64.b64encode(f"Bearer {key}".encode()).decode()


ECHOES: dict[str, Callable[[str], str]] = {
    "plain": str,
    "upper case": str.upper,
    "in a URL": lambda key: quote(f"?key={key}", safe=""),
    "every byte in a URL": lambda key: "".join(f"%{byte:02X}" for byte in key.encode()),
    "JSON in JSON": lambda key: json.dumps(json.dumps(key)),
    "JSON escapes": lambda key: "".join(f"\\u{ord(c):04X}" for c in key),
    "HTML": lambda key: "".join(f"&#{ord(c)};" for c in key),
    "HTML, hexadecimal": lambda key: "".join(f"&#x{ord(c):x};" for c in key),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "in the middle of base64": _in_middle_of_base64,
    "URL-safe base64": lambda key: base64.urlsafe_b64encode(f"a:{key}".encode()).decode(),
    "hexadecimal": lambda key: key.encode().hex().upper(),
    "escaped bytes": lambda key: "".join(f"\\x{byte:02x}" for byte in key.encode()),
    "URL in URL": lambda key: quote(quote(key, safe=""), safe=""),
    "broken into lines": lambda key: "\n".join(key),
    "backwards": lambda key: key[::-1],
}


@pytest.mark.parametrize("key", ['sk-ab/c+d=9%f&<"x">Z_0', "sk-proj-0123456789abcdef"])
@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_no_encoding_of_the_key_is_shown(echo: Callable[[str], str], key: str) -> None:
    text = f"the key {echo(key)} is not valid"
    shown = redacted(text, key)
    assert echo(key).lower() not in shown.lower()
    assert "[" in shown


LONG_KEY = "sk-proj-0123456789abcdef"


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_no_server_gets_the_key_into_an_error_a_log_or_an_answer(
    connect: Connect,
    echo: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Answers end up in results files and traces."""
    monkeypatch.setenv("OPENAI_API_KEY", LONG_KEY)
    caplog.set_level(logging.DEBUG)
    echoed = echo(LONG_KEY)
    steps = (
        Status(401, f"the key {echoed} is not valid"),
        Sends(json.dumps({"error": echoed}).encode()),
        Sends(echoed.encode()),
        Says(f"Your key is {echoed}."),
        Says(calls=[{"function": {"name": "lookup", "arguments": json.dumps({"q": echoed})}}]),
    )
    _, model = connect(in_turn(*steps), tries=1)
    for _ in steps:
        reply = _ask(model)
        assert reply.failure is not None
        assert echoed.lower() not in f"{reply}".lower()
        assert LONG_KEY not in f"{reply}"
    assert LONG_KEY not in caplog.text


@pytest.mark.parametrize("before", [*range(260, 301, 4), *range(4_060, 4_100, 4)])
def test_a_message_is_not_cut_in_the_middle_of_the_key(
    connect: Connect, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", LONG_KEY)
    _, model = connect(in_turn(Status(400, "x" * before + LONG_KEY + "y" * 9_000)))
    failure = _ask(model).failure
    assert failure is not None
    assert LONG_KEY[:6] not in failure


def test_a_short_word_as_key_may_be_in_an_answer(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    _, model = connect(in_turn(Says("the list is empty")))
    assert _ask(model).text == "the list is empty"


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_the_key_does_not_follow_a_redirect(connect: Connect, code: int) -> None:
    elsewhere, _ = connect(in_turn(Says("caught")))
    redirect = Redirects(code, f"{elsewhere.url}/chat/completions")
    _, model = connect(in_turn(redirect))
    failure = _ask(model).failure
    assert failure is not None
    assert f"status {code}" in failure
    assert not elsewhere.seen


def test_a_text_without_the_key_is_shown_as_it_is() -> None:
    text = "status 400: 100 % of \\u0041 &amp; c2stYWI= is not valid"
    assert redacted(text, "sk-proj-0123456789abcdef") == text
    assert redacted(text, "") == text


def test_a_key_that_cannot_be_one_is_refused_without_showing_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from bylaw.agents.openai import OpenAIModel

    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n{KEY}")
    with pytest.raises(ValueError, match="OPENAI_API_KEY") as refusal:
        OpenAIModel("small")
    assert KEY not in str(refusal.value)


def test_without_httpx_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    for module in ("bylaw.agents.openai", "bylaw.agents.endpoint"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'bylaw\[openai\]'"):
        importlib.import_module("bylaw.agents.openai")


def test_closing_ends_waiting_requests(connect: Connect) -> None:
    _, model = connect(lambda *_: 503, tries=100, backoff=50.0, patience=3000.0)
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(_ask, model)
        with pytest.raises(TimeoutError):
            asked.result(0.3)
        model.close()
        assert asked.result(10).failure is not None
