"""Claude Code sessions: the lines of a session file, or of `--output-format stream-json`.

    {"type": "user", "sessionId": "…", "uuid": "…", "message": {"role": "user", "content": "Hi."}}
    {"type": "assistant", "sessionId": "…", "uuid": "…", "message": {"id": "msg_1",
     "role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", …}]}}
    {"type": "user", …, "message": {"role": "user", "content": [
     {"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": "…"}]}}

One message of the model is spread over several lines, a block each, sometimes with results in
between: lines with the same message id are one turn, which stands where it began. A line that is
repeated, as resumed sessions do, counts once.

Lines of a subagent (sidechains) are left out, unless there are no others: the call that started
it has what it reported. What the program itself put into the conversation (`isMeta`, and the
summary of what was compacted) is a message of the system. Summaries, snapshots and other lines
that are no messages are left out. Lines are taken in their order; those of a branch that was
given up happened, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bylaw.trace.formats.anthropic_messages import BlockConversation
from bylaw.trace.formats.conversation import Reading
from bylaw.trace.formats.fields import scalars
from bylaw.values import kind_of

_SPEAKERS: Final = ("user", "assistant")
_SESSION: Final = ("sessionId", "session_id", "parentUuid")
_LABELS: Final = ("sessionId", "session_id", "version", "gitBranch")
_SIDE: Final = ("isSidechain", "parent_tool_use_id")
_BY_THE_PROGRAM: Final = ("isMeta", "isCompactSummary")


@dataclass(frozen=True, slots=True)
class _Said:
    """A message, with all its blocks if it has any, and where it begins."""

    message: Mapping[str, Any]
    blocks: list[tuple[Any, str]] | None
    where: str


class _Session(BlockConversation):
    def lines(self, lines: list[object]) -> None:
        """Takes in the lines of a session; raises what is wrong with them."""
        for said in self.gathered(lines):
            if said.blocks is None:
                self.message(said.message, said.where)
            else:
                self.blocks(said.message, said.blocks, said.where)
        self.end()

    def gathered(self, lines: list[object]) -> list[_Said]:
        """The messages that the lines hold, those in several lines put together."""
        alone = not any(is_line(line) and not _is_side(line) for line in lines)
        gathered: list[_Said] = []
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

    def one(self, line: Mapping[str, Any], where: str) -> _Said | None:
        """The message of one line."""
        where = f"{where}.message"
        message = line.get("message")
        if not isinstance(message, Mapping):
            self.complain(where, f"expected a message, found {kind_of(message)}")
            return None
        if any(line.get(key) for key in _BY_THE_PROGRAM):
            message = {**message, "role": "system"}
        content = message.get("content")
        if not isinstance(content, list | tuple):
            return _Said(message, None, where)
        placed = [(block, f"{where}.content[{i}]") for i, block in enumerate(content)]
        return _Said(message, placed, where)


def is_line(value: object) -> bool:
    """Is this a line of a session that holds a message?"""
    return (
        isinstance(value, Mapping)
        and value.get("type") in _SPEAKERS
        and isinstance(value.get("message"), Mapping)
        and any(key in value for key in _SESSION)
    )


def opens(value: object) -> bool:
    """Is this the first line of a session, be it a message or not?"""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("type"), str)
        and any(key in value for key in (*_SESSION, "leafUuid", "messageId"))
        and not any(key in value for key in ("messages", "tool_calls"))
    )


def _is_side(line: object) -> bool:
    """Is this a line of a subagent?"""
    return isinstance(line, Mapping) and any(line.get(key) for key in _SIDE)


def detects(value: object) -> bool:
    """Is there a line of a session among these?"""
    return isinstance(value, list | tuple) and any(map(is_line, value))


def read(value: Any, name: str | None = None) -> Reading:
    """The trace of a session."""
    session = _Session()
    session.lines(value)
    first = next(filter(is_line, value))
    return session.reading(name, scalars(first, _LABELS), {})
