"""A session as its store records it: its refusals, and the trace of its calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bylaw.values import Json

_REFUSED: Final = ("time", "tool", "arguments", "rules", "problem", "action", "message", "agent")


def summary(session: Mapping[str, Any]) -> dict[str, Any]:
    """A session in numbers, with its refusals: made, or only noted."""
    entries = session["entries"]
    kinds = ("refused", "observed")
    return {
        "session": session["name"],
        "run": session["run"],
        "procedure": session["procedure"],
        "observed": session["observed"],
        "started": session["started"],
        "latest": session["latest"],
        "calls": sum(entry["kind"] == "call" for entry in entries),
        "refused": [
            {field: entry[field] for field in _REFUSED}
            for entry in entries
            if entry["kind"] in kinds
        ],
    }


def session_record(session: Mapping[str, Any]) -> dict[str, Json]:
    """The trace record of a session: the calls that ran, in order, with their results."""
    results = {
        entry["decision"]: entry for entry in session["entries"] if entry["kind"] == "result"
    }
    calls: list[Json] = []
    answer: Json = None
    for entry in session["entries"]:
        if entry["kind"] == "answer":
            answer = entry["arguments"]["answer"]
        if entry["kind"] != "call":
            continue
        call: dict[str, Json] = {
            "step": entry["step"],
            "tool_name": entry["tool"],
            "arguments": entry["arguments"],
            "id": entry["id"],
            "agent": entry["agent"],
            "start": entry["time"],
        }
        if came := results.get(entry["decision"]):
            call["end"] = came["time"]
            failed = came["error"] is not None
            call["error" if failed else "tool_result"] = came["error" if failed else "result"]
        calls.append(call)
    record: dict[str, Json] = {"tool_calls": calls, "labels": {"session": session["name"]}}
    return record if answer is None else {**record, "answer": answer}
