"""Models behind an OpenAI-compatible endpoint: `pip install 'bylaw[openai]'`.

    with OpenAIModel("gpt-4.1-mini", temperature=0.0) as model:
        (reply,) = model.reply([conversation])

- The endpoint is `base_url`, or else OPENAI_BASE_URL, or else OpenAI's own. The key is
  OPENAI_API_KEY; a local server may need none. The key appears in no name, message or failure.
- Transient failures are retried with exponential back-off: no connection, a dropped connection, a
  timeout, the statuses 408, 409, 429 and 5xx, and a malformed answer. Retry-After is respected.
  Other failures are not retried, and quote the server.
- Once an answer has arrived in full, its request is never sent again. `timeout` covers the whole
  request, however slowly the server sends, and the size of an answer is limited.
- A 429 delays all threads, as they share the server's limit. `requests_per_minute` stays below a
  known limit.
- `reply` does not raise, and is thread-safe.
"""

from __future__ import annotations

import json
import math
import os
import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, Self
from urllib.parse import urlsplit

from bylaw.agents.endpoint import Endpoint, LateAnswerError, UnreachableError, UnusableAnswerError
from bylaw.agents.parsing import MalformedCallError, call_from, parse_calls
from bylaw.agents.protocol import Chat, Reply
from bylaw.agents.redaction import WITHHELD, redacted, reveals
from bylaw.trace.event import Call
from bylaw.values import Json, decoded, read_json

_OPENAI: Final = "https://api.openai.com/v1"
_TRANSIENT: Final = frozenset({408, 409, 429, *range(500, 600)})
_OK, _REDIRECT, _TOO_MANY_REQUESTS = 200, 300, 429
_MESSAGE: Final = 4_096
"""The part of a server's message in which the key is looked for, in characters."""
_SECRET: Final = 16
"""Keys of this length are secret. Local servers take a word such as EMPTY, which answers use."""
_LONGEST_PAUSE: Final = 60.0
"""The longest back-off, in seconds. A server may ask for more."""


class OpenAIModel:
    """A chat model behind an endpoint.

    `timeout` limits one request, `patience` all tries for one turn, and `backoff` is the first
    pause, all in seconds. There are at most `tries` tries.
    """

    batched = False

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
        seed: int | None = None,
        width: int = 16,
        requests_per_minute: float | None = None,
        timeout: float = 120.0,
        patience: float = 600.0,
        tries: int = 8,
        backoff: float = 1.0,
    ) -> None:
        base = base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI
        url = urlsplit(base)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError(f"the base URL must be like {_OPENAI}")  # the URL may hold a password
        key = os.environ.get("OPENAI_API_KEY", "").strip()
        if not (key.isascii() and key.isprintable()):  # httpx would show the key in its error
            raise ValueError("OPENAI_API_KEY contains characters that are not allowed in a key")
        settings = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
        host = url.netloc.rpartition("@")[2]  # without user and password
        self.name = f"openai:{model}"
        self.about: dict[str, Json] = {"model": model, "endpoint": host, **settings}
        self.width = width
        self._fixed: Final = {
            "model": model,
            **{k: v for k, v in settings.items() if v is not None},
        }
        self._host: Final = host
        self._key: Final = key
        self._timeout: Final = timeout
        self._patience: Final = patience
        self._tries: Final = tries
        self._backoff: Final = backoff
        self._closed: Final = threading.Event()
        self._pace: Final = _Pace(requests_per_minute, self._closed)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._endpoint: Final = Endpoint(
            f"{base.rstrip('/')}/chat/completions", headers, keep_alive=width
        )

    def reply(self, conversations: Sequence[Chat]) -> list[Reply]:
        """The next turn of each conversation, in order."""
        if len(conversations) == 1:
            return [self._turn(conversations[0])]
        with ThreadPoolExecutor(max_workers=self.width) as pool:
            return list(pool.map(self._turn, conversations))

    def close(self) -> None:
        """Closes the connections; waiting requests give up."""
        self._closed.set()
        self._endpoint.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _turn(self, conversation: Chat) -> Reply:
        """Requests a turn, with retries."""
        body = self._body(conversation)
        self._pace.wait()
        deadline = time.monotonic() + self._patience
        tries, left, reason = 0, self._patience, "patience must be above 0"
        while left > 0:
            tries += 1
            try:
                return _reply(self._answer(body, min(self._timeout, left)), conversation)
            except _RequestFailed as failed:
                # The last try may have too little time for any answer, which is no reason.
                if tries == 1 or left >= self._timeout or not failed.late:
                    reason = failed.reason
                pause = max(failed.pause, self._next_pause(tries))
                last = tries >= self._tries or pause > deadline - time.monotonic()
                if last or not failed.transient or self._closed.is_set():
                    break
                if failed.rate_limited:
                    self._pace.hold(pause)
                else:
                    self._closed.wait(pause)
            left = deadline - time.monotonic() if self._pace.wait(deadline) else 0.0
        return self._failure(reason, tries)

    def _body(self, conversation: Chat) -> bytes:
        body = {**self._fixed, "messages": conversation.messages}
        if conversation.tools:  # servers refuse an empty list
            body["tools"] = [tool.to_dict() for tool in conversation.tools]
        return json.dumps(body).encode()

    def _answer(self, body: bytes, seconds: float) -> dict[str, Json]:
        """The answer to one request. Raises `_RequestFailed` if it contains no message."""
        try:
            response = self._endpoint.post(body, seconds)
        except UnreachableError as error:
            late = isinstance(error, LateAnswerError)
            raise _RequestFailed(str(error), transient=True, late=late) from None
        except UnusableAnswerError as error:
            raise _RequestFailed(str(error), transient=False) from None
        status, content = response.status, response.content
        if not _OK <= status < _REDIRECT:
            raise _RequestFailed(
                f"status {status}: {_server_message(content, self._key)}",
                transient=status in _TRANSIENT,
                rate_limited=status == _TOO_MANY_REQUESTS,
                pause=_asked_pause(response.headers.get("Retry-After", "")),
            )
        try:
            text = content.decode()
            answer = read_json(text)
        except ValueError as error:
            raise _RequestFailed(f"the answer is not JSON: {error}", transient=True) from None
        if len(self._key) >= _SECRET and reveals(text, self._key):
            raise _RequestFailed("the answer contained the key", transient=False)
        match answer:
            case {"choices": [{"message": dict()}, *_]}:
                return dict(answer)
        raise _RequestFailed(
            f"the answer has no choices: {_server_message(content, self._key)}", transient=True
        )

    def _next_pause(self, tries: int) -> float:
        longest = min(self._backoff * 2.0 ** min(tries - 1, 100), _LONGEST_PAUSE)
        return longest * random.uniform(0.5, 1.0)  # spreads the threads

    def _failure(self, reason: str, tries: int) -> Reply:
        said = f"{self._host}: {reason}" + (f" (after {tries} tries)" if tries > 1 else "")
        return Reply(failure=redacted(said, self._key))


class _RequestFailed(Exception):
    """A request without a usable answer."""

    def __init__(
        self,
        reason: str,
        *,
        transient: bool,
        late: bool = False,
        rate_limited: bool = False,
        pause: float = 0.0,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.transient = transient
        """May a retry succeed?"""
        self.late = late
        """Did it take too long?"""
        self.rate_limited = rate_limited
        """Must all requests wait?"""
        self.pause = pause
        """The pause that the server asks for, in seconds."""


class _Pace:
    """Schedules the requests of all threads."""

    def __init__(self, requests_per_minute: float | None, closed: threading.Event) -> None:
        self._closed: Final = closed
        self._gap: Final = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._lock: Final = threading.Lock()
        self._free = 0.0
        """The earliest time of the next request."""
        self._held_until = 0.0
        self._held_for = 0.0
        """The end and the length of the last hold."""

    def hold(self, seconds: float) -> None:
        """Delays all requests; those that are waiting start over."""
        with self._lock:
            until = time.monotonic() + seconds
            if until > self._held_until:
                self._free = self._held_until = until
                self._held_for = seconds

    def wait(self, deadline: float = math.inf) -> bool:
        """Waits until a request may be sent. False if the deadline or closing comes first."""
        while True:
            with self._lock:
                now, held_until = time.monotonic(), self._held_until
                start = max(now, self._free)
                self._free = start + self._gap
                spread = self._held_for if start > now and not self._gap else 0.0
            if start > deadline:
                return False
            # If all requests followed a hold at once, they would run into the next.
            start += random.uniform(0.0, min(spread, (deadline - start) / 2))
            if self._closed.wait(start - now):
                return False
            if held_until == self._held_until:  # otherwise a hold began meanwhile
                return True


def _asked_pause(retry_after: str) -> float:
    """The seconds until a Retry-After header's time: it is a number, or a date."""
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(retry_after)
    except ValueError:
        return 0.0
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def _server_message(content: bytes, key: str) -> str:
    """The error message in a server's answer, without the key.

    The key is removed before the message is shortened: what is left of a key is no longer found.
    """
    text = content.decode(errors="replace")
    match decoded(text):
        case {"error": {"message": str(said)}} | {"error": str(said)}:
            text = said
        case {"message": str(said)} | {"detail": str(said)}:
            text = said
    text = " ".join(text.split())
    shown = redacted(text[:_MESSAGE], key)
    cut = len(text) > _MESSAGE and shown != text[:_MESSAGE]  # perhaps in the middle of the key
    return WITHHELD if cut else shown[:300]


def _reply(answer: dict[str, Json], conversation: Chat) -> Reply:
    message = answer["choices"][0]["message"]
    text = _text(message.get("content"))
    listed = message.get("tool_calls")
    prefix = f"call_{len(conversation.messages)}_"
    if isinstance(listed, list) and listed:
        calls, malformed = _listed_calls(listed, prefix)
    else:
        found = parse_calls(text, conversation.tools, prefix)
        text, calls, malformed = found.text, found.calls, found.malformed
    usage = answer.get("usage")
    tokens = usage if isinstance(usage, dict) else {}
    return Reply(
        text,
        calls,
        malformed,
        input_tokens=_count(tokens.get("prompt_tokens")),
        output_tokens=_count(tokens.get("completion_tokens")),
    )


def _listed_calls(listed: list[Json], prefix: str) -> tuple[tuple[Call, ...], tuple[str, ...]]:
    calls: list[Call] = []
    malformed: list[str] = []
    for number, item in enumerate(listed, 1):
        given = item.get("id") if isinstance(item, dict) else None
        try:
            calls.append(
                call_from(item, given if isinstance(given, str) and given else f"{prefix}{number}")
            )
        except MalformedCallError as error:
            malformed.append(str(error))
    return tuple(calls), tuple(malformed)


def _text(content: Json) -> str:
    """The text of a message, which some servers send in parts."""
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def _count(value: Json) -> int:
    return value if isinstance(value, int) else 0
