"""Claude Code sessions: the lines of a session file, or of `--output-format stream-json`.

    {"type": "user", "sessionId": "…", "uuid": "…", "message": {"role": "user", "content": "Hi."}}
    {"type": "assistant", "sessionId": "…", "uuid": "…", "message": {"id": "msg_1",
     "role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", …}]}}
    {"type": "user", …, "message": {"role": "user", "content": [
     {"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": "…"}]}}

A message of the model takes several lines, one for each block, sometimes with results in between.
Lines with the same message id are one turn, at the place of the first. Resumed sessions repeat
lines; a repeated line counts once.

Lines of a subagent (sidechains) are left out unless there are no others: the call that started the
subagent has its report as result. Messages that the program itself adds (`isMeta`, and the summary
of a compacted conversation) are messages of the system. Summaries, snapshots and other lines that
are not messages are left out. Lines are read in order, and abandoned branches are kept: they
happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bylaw.trace.formats.anthropic_messages import BlockReader
from bylaw.trace.formats.conversation import scalars
from bylaw.trace.formats.format import Format, NotedTrace
from bylaw.values import kind_of

_SPEAKERS: Final = ("user", "assistant")
_SESSION: Final = ("sessionId", "session_id", "parentUuid")
_LABELS: Final = ("sessionId", "session_id", "version", "gitBranch")
_SIDE: Final = ("isSidechain", "parent_tool_use_id")
_BY_THE_PROGRAM: Final = ("isMeta", "isCompactSummary")


@dataclass(frozen=True, slots=True)
class _SessionMessage:
    """A message, its blocks if it has any, and the place where it begins."""

    message: Mapping[str, Any]
    blocks: list[tuple[Any, str]] | None
    where: str


class _SessionReader(BlockReader):
    def lines(self, lines: list[object]) -> None:
        """Reads the lines of a session; raises their mistakes."""
        for said in self.gathered(lines):
            self.details = self.details_of(said.message)
            if said.blocks is None:
                self.message(said.message, said.where)
            else:
                self.blocks(said.message, said.blocks, said.where)
        self.end()

    def gathered(self, lines: list[object]) -> list[_SessionMessage]:
        """The messages in the lines. Blocks of one message are put together."""
        alone = not any(_is_line(line) and not _is_side(line) for line in lines)
        gathered: list[_SessionMessage] = []
        begun: dict[str, list[tuple[Any, str]]] = {}  # the blocks of the model's messages, by id
        seen: set[str] = set()
        for index, line in enumerate(lines):
            where = f"lines[{index}]"
            if not isinstance(line, Mapping):
                self.complain(where, f"expected an object, found {kind_of(line)}")
                continue
            uuid = line.get("uuid")
            repeated = isinstance(uuid, str) and uuid in seen
            if line.get("type") not in _SPEAKERS or repeated or (_is_side(line) and not alone):
                continue
            if isinstance(uuid, str):
                seen.add(uuid)
            said = self.one(line, where)
            if said is None:
                continue
            id = said.message.get("id")
            if said.blocks is not None and isinstance(id, str):
                if id in begun:
                    begun[id] += said.blocks
                    continue
                begun[id] = said.blocks
            gathered.append(said)
        return gathered

    def one(self, line: Mapping[str, Any], where: str) -> _SessionMessage | None:
        """The message of one line."""
        where = f"{where}.message"
        message = line.get("message")
        if not isinstance(message, Mapping):
            self.complain(where, f"expected a message, found {kind_of(message)}")
            return None
        if any(line.get(key) for key in _BY_THE_PROGRAM):
            message = {**message, "role": "system"}
        if "timestamp" in line:
            message = {**message, "timestamp": line["timestamp"]}
        content = message.get("content")
        if not isinstance(content, list | tuple):
            return _SessionMessage(message, None, where)
        placed = [(block, f"{where}.content[{i}]") for i, block in enumerate(content)]
        return _SessionMessage(message, placed, where)


def _is_line(value: object) -> bool:
    """Is this a line of a session, with a message?"""
    return (
        isinstance(value, Mapping)
        and value.get("type") in _SPEAKERS
        and isinstance(value.get("message"), Mapping)
        and any(key in value for key in _SESSION)
    )


def _opens_session(value: object) -> bool:
    """Is this the first line of a session, with a message or not?"""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("type"), str)
        and any(key in value for key in (*_SESSION, "leafUuid", "messageId"))
    )


def _is_side(line: object) -> bool:
    """Is this a line of a subagent?"""
    return isinstance(line, Mapping) and any(line.get(key) for key in _SIDE)


def _detects(value: object) -> bool:
    return isinstance(value, list | tuple) and any(map(_is_line, value))


def _read(value: Any, name: str | None) -> NotedTrace:
    reader = _SessionReader()
    reader.lines(value)
    return reader.trace(name, scalars(next(filter(_is_line, value)), _LABELS))


CLAUDE_CODE: Final = Format(
    "Claude Code",
    "lines of a session",
    _detects,
    _read,
    opens_session=_opens_session,
)
