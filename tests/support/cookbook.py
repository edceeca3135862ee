"""The recipes of the cookbook, and the runs that show each rule.

`examples/cookbook/recipes.yaml` says how a run is written.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bylaw import Call, Message, Procedure, Trace
from bylaw.trace.event import Role

FILE = Path(__file__).parents[2] / "examples" / "cookbook" / "recipes.yaml"

_MONDAY = 1_794_787_200  # 2026-11-16, midnight in UTC
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_EVENT = re.compile(
    r"(?P<same_turn>\| )?"
    r"(?:(?:(?P<day>[A-Z][a-z]{2}) )?(?P<hour>\d\d):(?P<minute>\d\d) )?"
    r"(?:\[(?P<agent>\w+)\] )?"
    r"(?:(?P<usage>\{[^}]*\}) )?"
    r"(?:(?P<role>user|assistant|answer): (?P<text>.*)"
    r"|(?P<call>\w+\(.*\))(?: -> (?P<result>.*)| !(?P<error>.*))?)"
)


@dataclass(frozen=True)
class CookbookRule:
    """A rule, the need that it serves, and a run either way."""

    section: str
    need: str
    rule: str
    keeps: list[str]
    breaks: list[str]
    note: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
    """Further fields of the procedure that the rule needs."""

    @property
    def procedure(self) -> Procedure:
        """A procedure of this rule alone."""
        return Procedure.from_dict(
            {"constraints": [{"name": "rule", "rule": self.rule}], **self.fields}
        )


def cookbook() -> Iterator[CookbookRule]:
    """The rules, in the order of the page."""
    for part in yaml.safe_load(FILE.read_text(encoding="utf-8")):
        for recipe in part["recipes"]:
            yield CookbookRule(section=part["section"], **recipe)


def written_run(lines: Sequence[str]) -> Trace:
    """The trace that these lines write."""
    events: list[Call | Message] = []
    answer = None
    step = -1
    for line in lines:
        found = _EVENT.fullmatch(line)
        assert found, f"this line is no event: {line}"
        step += not found["same_turn"]
        about: dict[str, Any] = {
            "step": step,
            "start": _time(found),
            "agent": found["agent"],
            "usage": json.loads(found["usage"]) if found["usage"] else None,
        }
        if found["role"] == "answer":
            answer = found["text"]
        elif found["role"]:
            role: Role = "user" if found["role"] == "user" else "assistant"
            events.append(Message(role, found["text"], **about))
        else:
            events.append(_call(found, about))
    return Trace(events, answer=answer)


def _time(found: re.Match[str]) -> float | None:
    if found["hour"] is None:
        return None
    days = _DAYS.index(found["day"] or "Mon")
    return _MONDAY + 86_400 * days + 3_600 * int(found["hour"]) + 60 * int(found["minute"])


def _call(found: re.Match[str], about: dict[str, Any]) -> Call:
    tree = ast.parse(found["call"], mode="eval").body
    assert isinstance(tree, ast.Call)
    assert isinstance(tree.func, ast.Name)
    args = {str(each.arg): ast.literal_eval(each.value) for each in tree.keywords}
    outcome: dict[str, Any] = {"error": found["error"]} if found["error"] else {}
    if found["result"]:
        outcome["result"] = json.loads(found["result"])
    return Call(tree.func.id, args, **outcome, **about)
