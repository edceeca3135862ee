"""Habits: the named ways in which a simulated agent deviates from its plan.

A habit defines the calls of a plan at which it can occur, and the resulting plan. Simulated agents
apply habits at random, at given rates; tests apply one at a chosen call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from bylaw.trace.event import Call
from bylaw.values import Json


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call that an agent intends to make."""

    call: Call
    given: bool = False
    """Do its arguments follow from the prompt alone?"""
    instead: Call | None = None
    """The call that the other side of a branch would make."""


Plan: TypeAlias = tuple[PlannedCall, ...]


@dataclass(frozen=True, slots=True)
class Habit:
    """One way to deviate from a plan."""

    name: str
    about: str
    sites: Callable[[Plan], Sequence[int]]
    """The calls at which it can occur."""
    apply: Callable[[Plan, int], Plan]


def _slipped(call: Call) -> Call:
    """The call with its last number off by one."""
    args = dict(call.args)
    key = list(args)[-1]
    args[key] = _off(args[key])
    return replace(call, args=args)


def _off(value: Json) -> Json:
    return [*value[:-1], value[-1] + 1] if isinstance(value, list) and value else value + 1


def _everywhere(plan: Plan) -> Sequence[int]:
    return range(len(plan))


def _slips_where(given: bool) -> Callable[[Plan], Sequence[int]]:
    return lambda plan: [i for i, each in enumerate(plan) if each.given is given and each.call.args]


def _slip(plan: Plan, i: int) -> Plan:
    return (*plan[:i], replace(plan[i], call=_slipped(plan[i].call)), *plan[i + 1 :])


def _misroute(plan: Plan, i: int) -> Plan:
    other = plan[i].instead
    assert other is not None, "only branches can be misrouted"
    return (*plan[:i], PlannedCall(other), *plan[i + 1 :])


HABITS: Final = {
    habit.name: habit
    for habit in (
        Habit(
            "skip",
            "leaves a call out",
            _everywhere,
            lambda plan, i: (*plan[:i], *plan[i + 1 :]),
        ),
        Habit(
            "swap",
            "makes two adjacent calls of different tools in the wrong order",
            lambda plan: [
                i for i in range(len(plan) - 1) if plan[i].call.tool != plan[i + 1].call.tool
            ],
            lambda plan, i: (*plan[:i], plan[i + 1], plan[i], *plan[i + 2 :]),
        ),
        Habit(
            "duplicate",
            "makes a call twice",
            _everywhere,
            lambda plan, i: (*plan[: i + 1], *plan[i:]),
        ),
        Habit(
            "misroute",
            "takes the wrong side of a branch",
            lambda plan: [i for i, each in enumerate(plan) if each.instead is not None],
            _misroute,
        ),
        Habit(
            "misread",
            "passes an argument that is not what the prompt says",
            _slips_where(given=True),
            _slip,
        ),
        Habit(
            "miscompute",
            "passes an argument that is not what a result says",
            _slips_where(given=False),
            _slip,
        ),
        Habit(
            "overrun",
            "goes one round too far",
            lambda plan: [len(plan) - 1] if plan else [],
            lambda plan, i: (*plan, PlannedCall(_slipped(plan[i].call))),
        ),
        Habit(
            "stop early",
            "answers before the procedure is done",
            lambda plan: range(len(plan) // 2, len(plan)),
            lambda plan, i: plan[:i],
        ),
    )
}
