"""Behaviour specific to the Claude Agent SDK: permissions, other tools, and hooks that fail."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from typing import Any

import pytest
from desk import Script, answer, pay
from driver import TASK, Setup
from scenarios import SMALL, rules

from bylaw.errors import UsageError
from bylaw.trace.event import Call

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _needed() -> None:
    missing = "NOT TESTED: claude-agent-sdk is not installed"
    pytest.importorskip("claude_agent_sdk", reason=missing)


def _asked(script: Script, reply: Any, severity: str = "ASK") -> tuple[list[Call], list[str]]:
    """The calls that ran in a session with a `can_use_tool`, and what the model was shown."""
    from claude_agent_sdk import query
    from claude_agent_sdk_driver import NAMES, GuardedDesk
    from claude_api import served

    setup = Setup(rules(SMALL, severity), {TASK: script})
    desk = GuardedDesk(setup)

    async def prompts() -> AsyncIterator[Any]:
        yield {"type": "user", "message": {"role": "user", "content": TASK}}

    async def can_use_tool(name: str, input: Any, context: Any) -> Any:
        return reply(input)

    async def work() -> None:
        with tempfile.TemporaryDirectory() as home, served(desk.respond) as address:
            more = {"can_use_tool": can_use_tool, "disallowed_tools": ["Bash"]}
            options = desk.options(TASK, address, home, **more)
            options.allowed_tools = [name for name in NAMES if not name.endswith("pay")]
            async for _ in query(prompt=prompts(), options=options):
                pass

    asyncio.run(work())
    return setup.desk.ran, setup.turns.shown[TASK]


def test_a_call_that_needs_approval_is_put_to_can_use_tool() -> None:
    from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny

    ran, _ = _asked([[pay(50)], [answer()]], lambda _: PermissionResultAllow())
    assert ran == [pay(50)]
    ran, shown = _asked([[pay(50)], [answer()]], lambda _: PermissionResultDeny(message="no"))
    assert ran == []
    assert "did not approve it" in shown[1]


def test_an_input_that_can_use_tool_changes_is_decided_again() -> None:
    from claude_agent_sdk import PermissionResultAllow

    def tenfold(input: Any) -> Any:
        return PermissionResultAllow(updated_input={"amount": input["amount"] * 10})

    ran, shown = _asked([[pay(5)], [pay(0)], [answer()]], tenfold, "SOFT_BLOCK")
    assert ran == [pay(0)]
    assert "pay: Not executed." in shown[1]


def test_a_gate_that_fails_refuses() -> None:
    """Claude Code lets calls run whose hooks fail."""
    from bylaw.adapters.claude_agent_sdk import _closed

    async def broken(*_: Any) -> Any:
        raise KeyError("session_id")

    said = asyncio.run(_closed(broken, "PreToolUse")({}, None, None))
    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert said["continue_"] is False


def test_a_call_that_the_gate_has_not_seen_is_not_permitted() -> None:
    from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny

    from bylaw.adapters.claude_agent_sdk import SessionGate

    async def yes(*_: Any) -> Any:
        return PermissionResultAllow()

    context: Any = type("Context", (), {"tool_use_id": "t"})()
    permission = SessionGate(rules(SMALL))._permission(yes)
    said = asyncio.run(permission("Bash", {"command": "ls"}, context))
    assert isinstance(said, PermissionResultDeny)


def test_hooks_of_others_are_kept_and_time_is_not_short() -> None:
    from claude_agent_sdk import ClaudeAgentOptions, HookMatcher

    from bylaw.adapters.claude_agent_sdk import SessionGate

    theirs = HookMatcher(matcher="Bash", hooks=[])
    options = ClaudeAgentOptions(hooks={"PreToolUse": [theirs]})
    made = SessionGate(rules(SMALL)).options(options)
    assert made.hooks["PreToolUse"][0] is theirs
    assert made.hooks["PreToolUse"][1].timeout == 86_400
    assert options.hooks == {"PreToolUse": [theirs]}, "the options that were given stay as they are"


def test_a_session_that_is_not_known_has_no_report() -> None:
    from bylaw.adapters.claude_agent_sdk import SessionGate

    with pytest.raises(UsageError, match="not in memory"):
        SessionGate(rules(SMALL)).report("x")
