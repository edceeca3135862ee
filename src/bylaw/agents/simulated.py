"""Simulated agents: deterministic for a given seed, and marked as simulated in every result.

`Simulated` deviates from a plan by the habits of its profile. After a refusal it either insists, by
repeating the call, or complies: it returns to the plan and makes one call at a time from then on.
`ObedientRandom` has no plan at all.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from bylaw.agents.habits import HABITS, Plan, PlannedCall
from bylaw.agents.profiles import OBEDIENT_RANDOM, PROFILES, Profile
from bylaw.agents.protocol import Chat, Reply, ToolSpec
from bylaw.errors import Diagnostic, UsageError, did_you_mean
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call
from bylaw.values import Json, equal

PREFIX: Final = "sim:"
_NUMBERS: Final = re.compile(r"-?\d{1,9}")
PATIENCE: Final = 6
"""Refusals of a tool after which a random agent avoids it."""


@dataclass(frozen=True, slots=True)
class Script:
    """The plan and answer of an agent that makes no mistakes."""

    plan: Plan
    answer: int


@dataclass(slots=True)
class _AgentState:
    """The state of a simulated agent in one run."""

    rng: random.Random
    script: Script
    todo: list[PlannedCall]
    batch: int
    executed: list[Call] = field(default_factory=list)
    given_up: Counter[str] = field(default_factory=Counter)
    """Calls per tool that are refused although they are next in the plan."""
    proposed: tuple[Call, ...] = ()
    """The calls of the last turn."""
    complied: bool = False
    """Did the last turn return to the plan, after a refusal?"""
    messages_read: int = 0


class Simulated:
    """An agent with a plan and the habits of a profile."""

    batched = True
    width = 64

    def __init__(self, profile: Profile, script_of: Callable[[Chat], Script]) -> None:
        self.name = f"{PREFIX}{profile.name}"
        self.profile: Final = profile
        self.about: dict[str, Json] = {"simulated": True, "habits": profile.about}
        self._script_of: Final = script_of
        self._runs: dict[str, _AgentState] = {}

    def reply(self, conversations: Sequence[Chat]) -> list[Reply]:
        """The next turn of each conversation."""
        return [self._reply(each) for each in conversations]

    def _reply(self, conversation: Chat) -> Reply:
        run = self._run(conversation)
        refused = _read_outcomes(conversation, run)
        calls = self._repeated(run, refused) if refused else ()
        if not calls:
            calls = tuple(each.call for each in run.todo[: run.batch])
            del run.todo[: run.batch]
        if not calls:
            calls = (Call(FINAL_ANSWER, {"answer": _answer(run)}),)
        run.proposed = _with_ids(conversation, calls)
        return Reply(calls=run.proposed)

    def _run(self, conversation: Chat) -> _AgentState:
        run = self._runs.get(conversation.key)
        length = len(conversation.messages)
        if run is None or (run.proposed and length <= run.messages_read):  # restarted
            rng = random.Random(f"{self.profile.name} {conversation.seed}")
            script = self._script_of(conversation)
            todo = list(_with_deviations(script.plan, self.profile, rng))
            run = self._runs[conversation.key] = _AgentState(rng, script, todo, self.profile.batch)
            run.messages_read = length
        return run

    def _repeated(self, run: _AgentState, refused: Sequence[Call]) -> tuple[Call, ...]:
        """The refused calls, if the agent insists; otherwise none, and it returns to the plan."""
        if run.rng.random() >= self.profile.obedience:
            return tuple(refused)
        if run.complied:  # the plan itself is refused: skip that call
            run.given_up[refused[0].tool] += 1
        run.complied, run.batch = True, 1
        run.todo = _remaining(run)
        return ()


def _read_outcomes(conversation: Chat, run: _AgentState) -> list[Call]:
    """Reads the outcomes of the last turn's calls, and returns the refused ones."""
    outcomes = {
        message["tool_call_id"]: message["content"]
        for message in conversation.messages[run.messages_read :]
        if message["role"] == "tool"
    }
    run.messages_read = len(conversation.messages)
    refused = [call for call in run.proposed if _is_refusal(outcomes.get(call.id or "", ""))]
    done = [call for call in run.proposed if call not in refused]
    run.executed += done
    if done and not refused:
        run.complied = False
    return refused


def _is_refusal(content: str) -> bool:
    return content.startswith("{") and bool(json.loads(content).keys() & {"violation_type"})


def _with_deviations(plan: Plan, profile: Profile, rng: random.Random) -> Plan:
    """The plan after the profile's habits were applied."""
    for name, rate in profile.rates.items():
        habit = HABITS[name]
        sites = list(habit.sites(plan))
        if name == "stop early":
            chosen = [rng.choice(sites)] if sites and rng.random() < rate else []
        else:
            chosen = [site for site in sites if rng.random() < rate]
        for site in reversed(chosen):
            if site in habit.sites(plan):  # an earlier deviation may have removed the call
                plan = habit.apply(plan, site)
    return plan


def _remaining(run: _AgentState) -> list[PlannedCall]:
    """The rest of the plan; a wrong call counts as the next one of its tool."""
    left = list(run.script.plan)
    wrong = Counter(run.given_up)
    for call in run.executed:
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


def _answer(run: _AgentState) -> int:
    """The right answer if all calls were right, else a wrong one."""
    wanted = [planned.call for planned in run.script.plan]
    right = len(wanted) == len(run.executed) and all(map(_same, wanted, run.executed))
    return run.script.answer + (not right)


def _with_ids(conversation: Chat, calls: Sequence[Call]) -> tuple[Call, ...]:
    turn = len(conversation.messages)
    return tuple(
        Call(call.tool, call.args, id=f"call-{turn}-{index}") for index, call in enumerate(calls)
    )


class ObedientRandom:
    """Calls a random tool with random numbers that it has seen, and repeats no refused call.

    It avoids a tool that was refused several times until a call has been executed. Once it avoids
    all of them, or the budget is used up, it answers with the latest number.
    """

    batched = True
    width = 64

    def __init__(self) -> None:
        self.name = f"{PREFIX}{OBEDIENT_RANDOM}"
        habits = "has no plan and only obeys refusals"
        self.about: dict[str, Json] = {"simulated": True, "habits": habits}

    def reply(self, conversations: Sequence[Chat]) -> list[Reply]:
        """The next turn of each conversation."""
        return [self._reply(each) for each in conversations]

    def _reply(self, conversation: Chat) -> Reply:
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


def _refused_since(conversation: Chat) -> list[Call]:
    """The calls that were refused since the latest executed one."""
    outcomes: dict[str, str] = {}
    refused: list[Call] = []
    for message in reversed(conversation.messages):
        if message["role"] == "tool":
            outcomes[message["tool_call_id"]] = message["content"]
        for asked in message.get("tool_calls", ()):
            if not _is_error(outcomes[asked["id"]]):
                return refused
            function = asked["function"]
            refused.append(Call(function["name"], function["arguments"]))
    return refused


def _is_error(content: str) -> bool:
    return '"error"' in content


def _seen(conversation: Chat) -> list[int]:
    """The numbers in the task and in the latest result."""
    texts = [conversation.messages[1]["content"], conversation.messages[-1]["content"]]
    return [int(number) for text in texts for number in _NUMBERS.findall(text)] or [0]


def _arguments(tool: ToolSpec, seen: Sequence[int], rng: random.Random) -> dict[str, Json]:
    return {
        name: rng.choices(seen, k=3) if schema.get("type") == "array" else rng.choice(seen)
        for name, schema in tool.parameters.items()
    }


def simulated(name: str, script_of: Callable[[Chat], Script]) -> Simulated | ObedientRandom:
    """The simulated agent of this name."""
    if name == OBEDIENT_RANDOM:
        return ObedientRandom()
    if name not in PROFILES:
        known = [*PROFILES, OBEDIENT_RANDOM]
        help = did_you_mean(name, known) or f"They are: {', '.join(known)}."
        raise UsageError(Diagnostic("E420", f"there is no simulated agent '{name}'", help))
    return Simulated(PROFILES[name], script_of)
