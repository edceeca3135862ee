"""Simulated agents: deterministic by the run's seed, and labelled as simulated in every result.

`Simulated` departs from a plan by the habits of its profile. After a refusal it either insists, by
making the same call again, or listens: it goes back to the plan, and from there on makes one call
at a time. `ObedientRandom` has no plan at all.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from bylaw.agents.habits import HABITS, Plan, Planned
from bylaw.agents.profiles import OBEDIENT_RANDOM, PROFILES, Profile
from bylaw.agents.protocol import Conversation, Reply, ToolSpec
from bylaw.errors import Diagnostic, UsageError, did_you_mean
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call
from bylaw.values import Json, equal

PREFIX: Final = "sim:"
_NUMBERS: Final = re.compile(r"-?\d{1,9}")
PATIENCE: Final = 6
"""How often a random agent tries a tool before it leaves it alone."""


@dataclass(frozen=True, slots=True)
class Script:
    """What an agent that makes no mistakes would do."""

    plan: Plan
    answer: int


@dataclass(slots=True)
class _Run:
    """Where a simulated agent stands in one run."""

    rng: random.Random
    script: Script
    todo: list[Planned]
    batch: int
    made: list[Call] = field(default_factory=list)
    """What was executed."""
    given_up: Counter[str] = field(default_factory=Counter)
    """Calls that stay refused although they are next in the plan."""
    asked: tuple[Call, ...] = ()
    """What was proposed last."""
    mended: bool = False
    """Was it the next call of the plan, after a refusal?"""
    heard: int = 0
    """How much of the conversation has been read."""


class Simulated:
    """An agent with a plan, and the habits of a profile."""

    batched = True
    width = 64

    def __init__(self, profile: Profile, script_of: Callable[[Conversation], Script]) -> None:
        self.name = f"{PREFIX}{profile.name}"
        self.profile: Final = profile
        self.about: dict[str, Json] = {"simulated": True, "habits": profile.about}
        self._script_of: Final = script_of
        self._runs: dict[str, _Run] = {}

    def reply(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """The next turn of each conversation."""
        return [self._reply(each) for each in conversations]

    def _reply(self, conversation: Conversation) -> Reply:
        run = self._run(conversation)
        refused = _heard(conversation, run)
        calls = self._after(run, refused) if refused else ()
        if not calls:
            calls = tuple(each.call for each in run.todo[: run.batch])
            del run.todo[: run.batch]
        if not calls:
            calls = (Call(FINAL_ANSWER, {"answer": _answer(run)}),)
        run.asked = _with_ids(conversation, calls)
        return Reply(calls=run.asked)

    def _run(self, conversation: Conversation) -> _Run:
        run = self._runs.get(conversation.key)
        if run is None or (run.asked and len(conversation.messages) <= run.heard):  # begun anew
            rng = random.Random(f"{self.profile.name} {conversation.seed}")
            script = self._script_of(conversation)
            todo = list(_departed(script.plan, self.profile, rng))
            run = self._runs[conversation.key] = _Run(rng, script, todo, self.profile.batch)
            run.heard = len(conversation.messages)
        return run

    def _after(self, run: _Run, refused: Sequence[Call]) -> tuple[Call, ...]:
        """What to do about refusals: the same calls again, or nothing but to go on."""
        if run.rng.random() >= self.profile.listens:
            return tuple(refused)
        if run.mended:  # the plan itself is refused: go on behind that call
            run.given_up[refused[0].tool] += 1
        run.mended, run.batch = True, 1
        run.todo = _left(run)
        return ()


def _heard(conversation: Conversation, run: _Run) -> list[Call]:
    """Reads what came of the calls that were proposed last; those that were refused."""
    outcomes = {
        message["tool_call_id"]: message["content"]
        for message in conversation.messages[run.heard :]
        if message["role"] == "tool"
    }
    run.heard = len(conversation.messages)
    refused = [call for call in run.asked if _is_refusal(outcomes.get(call.id or "", ""))]
    done = [call for call in run.asked if call not in refused]
    run.made += done
    if done and not refused:
        run.mended = False
    return refused


def _is_refusal(content: str) -> bool:
    return content.startswith("{") and bool(json.loads(content).keys() & {"violation_type"})


def _departed(plan: Plan, profile: Profile, rng: random.Random) -> Plan:
    """The plan as the habits leave it."""
    for name, rate in profile.rates.items():
        habit = HABITS[name]
        sites = list(habit.sites(plan))
        if name == "stop early":
            struck = [rng.choice(sites)] if sites and rng.random() < rate else []
        else:
            struck = [site for site in sites if rng.random() < rate]
        for site in reversed(struck):
            if site in habit.sites(plan):  # an earlier strike may have taken the place away
                plan = habit.strike(plan, site)
    return plan


def _left(run: _Run) -> list[Planned]:
    """What is left of the plan; a call that was made wrongly stands for the next of its tool."""
    left = list(run.script.plan)
    wrong = Counter(run.given_up)
    for call in run.made:
        right = next((each for each in left if _same(each.call, call)), None)
        if right is not None:
            left.remove(right)
        else:
            wrong[call.tool] += 1
    for planned in list(left):
        if wrong[planned.call.tool] > 0:
            wrong[planned.call.tool] -= 1
            left.remove(planned)
    return left


def _same(one: Call, other: Call) -> bool:
    return one.tool == other.tool and equal(dict(one.args), dict(other.args))


def _answer(run: _Run) -> int:
    """The right answer, if everything was done right; else one that is off."""
    wanted = [planned.call for planned in run.script.plan]
    right = len(wanted) == len(run.made) and all(map(_same, wanted, run.made))
    return run.script.answer + (not right)


def _with_ids(conversation: Conversation, calls: Sequence[Call]) -> tuple[Call, ...]:
    turn = len(conversation.messages)
    return tuple(
        Call(call.tool, call.args, id=f"call-{turn}-{index}") for index, call in enumerate(calls)
    )


class ObedientRandom:
    """Calls a random tool with random numbers that it has seen, and never twice what was refused.

    A tool that was refused several times is left alone until a call has been executed. Once all
    are, or the budget is used up, it answers with the latest number.
    """

    batched = True
    width = 64

    def __init__(self) -> None:
        self.name = f"{PREFIX}{OBEDIENT_RANDOM}"
        habits = "knows nothing and only follows refusals"
        self.about: dict[str, Json] = {"simulated": True, "habits": habits}

    def reply(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """The next turn of each conversation."""
        return [self._reply(each) for each in conversations]

    def _reply(self, conversation: Conversation) -> Reply:
        rng = random.Random(f"{conversation.seed} {len(conversation.messages)}")
        refused = _refused_since(conversation)
        seen = _seen(conversation)
        times = Counter(call.tool for call in refused)
        for tool in rng.sample(conversation.tools, len(conversation.tools)):
            if tool.name == FINAL_ANSWER or times[tool.name] >= PATIENCE:
                continue
            tried = [call.args for call in refused if call.tool == tool.name]
            arguments = [_arguments(tool, seen, rng) for _ in range(PATIENCE)]
            untried = [each for each in arguments if each not in tried]
            if untried:
                return Reply(calls=_with_ids(conversation, [Call(tool.name, untried[0])]))
        call = Call(FINAL_ANSWER, {"answer": seen[-1]})
        return Reply(calls=_with_ids(conversation, [call]))


def _refused_since(conversation: Conversation) -> list[Call]:
    """The calls that were refused since the latest one that was executed."""
    outcomes: dict[str, str] = {}
    refused: list[Call] = []
    for message in reversed(conversation.messages):
        if message["role"] == "tool":
            outcomes[message["tool_call_id"]] = message["content"]
        for asked in message.get("tool_calls", ()):
            if not _did_not_run(outcomes[asked["id"]]):
                return refused
            function = asked["function"]
            refused.append(Call(function["name"], function["arguments"]))
    return refused


def _did_not_run(content: str) -> bool:
    return '"error"' in content


def _seen(conversation: Conversation) -> list[int]:
    """The numbers of the task and of the latest result."""
    texts = [conversation.messages[1]["content"], conversation.messages[-1]["content"]]
    return [int(number) for text in texts for number in _NUMBERS.findall(text)] or [0]


def _arguments(tool: ToolSpec, seen: Sequence[int], rng: random.Random) -> dict[str, Json]:
    return {
        name: rng.choices(seen, k=3) if schema.get("type") == "array" else rng.choice(seen)
        for name, schema in tool.parameters.items()
    }


def simulated(name: str, script_of: Callable[[Conversation], Script]) -> Simulated | ObedientRandom:
    """The simulated agent of this name."""
    if name == OBEDIENT_RANDOM:
        return ObedientRandom()
    if name not in PROFILES:
        known = [*PROFILES, OBEDIENT_RANDOM]
        help = did_you_mean(name, known) or f"They are: {', '.join(known)}."
        raise UsageError(Diagnostic("E420", f"there is no simulated agent '{name}'", help))
    return Simulated(PROFILES[name], script_of)
