"""Hook events of Claude Code, and what the gate answers."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hook_events import CODING, HookedSession, procedure, reason

from bylaw import Call, Procedure, UsageError
from bylaw.protocols.claude_code import is_refusal
from bylaw.protocols.hook_gate import HookGate

COMMIT = {"command": "git commit -m x"}
TESTS = {"command": "./run-tests"}
PUSH = {"command": "git push --force"}


@pytest.fixture
def session(tmp_path: Path) -> HookedSession:
    return HookedSession(tmp_path / "state").begins()


# ── turns ────────────────────────────────────────────────────────────────────────────────────


def test_evidence_counts_from_the_next_turn_on(session: HookedSession) -> None:
    assert not is_refusal(session.pre("1", **TESTS))
    session.post("1", **TESTS)
    assert is_refusal(session.pre("2", **COMMIT))  # proposed before the result was read
    session.ends_turn()
    assert not is_refusal(session.pre("3", **COMMIT))


def test_a_failed_test_is_no_evidence(session: HookedSession) -> None:
    session.pre("1", **TESTS)
    session.fails("1", **TESTS)
    session.ends_turn()
    assert is_refusal(session.pre("2", **COMMIT))


def test_a_call_that_claude_code_denied_is_no_evidence(session: HookedSession) -> None:
    session.pre("1", **TESTS)
    session.ends_turn()  # there was no PostToolUse
    assert is_refusal(session.pre("2", **COMMIT))


EVENTS = ("pre tests", "post tests", "pre commit", "pre other", "post other")


@pytest.mark.parametrize(
    "order",
    [
        order
        for order in permutations(EVENTS)
        if order.index("pre tests") < order.index("post tests")
        and order.index("pre other") < order.index("post other")
    ],
)
def test_hooks_of_a_turn_in_any_order(tmp_path: Path, order: tuple[str, ...]) -> None:
    session = HookedSession(tmp_path).begins()
    given = {"tests": TESTS, "commit": COMMIT, "other": {"command": "ls"}}
    answers = {}
    for event in order:
        kind, name = event.split()
        answers[event] = getattr(session, kind)(name, **given[name])
    assert is_refusal(answers["pre commit"])
    assert not is_refusal(answers["pre tests"])
    assert not is_refusal(answers["pre other"])
    session.ends_turn()
    assert session.runs("again", **COMMIT)


def test_a_subagent_is_gated_and_shares_the_run(session: HookedSession) -> None:
    assert is_refusal(session.pre("1", agent="a", **PUSH))
    session.pre("2", agent="a", **TESTS)
    session.post("2", **TESTS)
    session.sends("SubagentStop", agent_id="a", agent_type="helper", stop_hook_active=False)
    assert session.runs("3", **COMMIT)


# ── finishing ────────────────────────────────────────────────────────────────────────────────


def test_an_answer_is_held_back_until_the_obligations_are_met(session: HookedSession) -> None:
    held = session.stops()
    assert held["decision"] == "block"
    assert "Every change is in the changelog." in held["reason"]
    assert session.runs("1", "Write", file_path="CHANGELOG.md", content="x")
    assert session.stops() == {}
    assert session.runs("2", command="ls")  # another hook kept the agent from finishing
    session.sends("UserPromptSubmit", prompt="And now?")
    assert session.stops() == {}


def test_a_run_that_has_ended_stays_ended(session: HookedSession) -> None:
    answers = [session.pre(str(n), **PUSH) for n in range(3)]
    assert [each.get("continue", True) for each in answers] == [True, True, False]
    assert not session.runs("4", command="ls")
    assert session.sends("UserPromptSubmit", prompt="Again.")["decision"] == "block"
    assert session.stops() == {}
    session.sends("SessionStart", source="resume")
    assert not session.runs("5", command="ls")


# ── people ───────────────────────────────────────────────────────────────────────────────────

ASKS = procedure("G !deploy", "CalledN(deploy, <= 1)", severity="ASK")


def test_a_person_is_asked_by_claude_code(tmp_path: Path) -> None:
    session = HookedSession(tmp_path, ASKS).begins()
    asked = session.pre("1", "deploy")["hookSpecificOutput"]
    assert asked["permissionDecision"] == "ask"
    session.post("1", "deploy")
    session.ends_turn()
    assert session.pre("2", "deploy")["hookSpecificOutput"]["permissionDecision"] == "ask"


def test_a_call_that_a_person_may_still_approve_counts(tmp_path: Path) -> None:
    rules = [
        {"name": "asked", "rule": "G !deploy", "severity": "ASK"},
        {"name": "once", "rule": "CalledN(deploy, <= 1)"},
    ]
    session = HookedSession(tmp_path, Procedure.from_dict({"constraints": rules})).begins()
    session.pre("1", "deploy")
    assert is_refusal(session.pre("2", "deploy"))


# ── attacks and accidents ────────────────────────────────────────────────────────────────────


def test_a_call_that_another_hook_changed_is_judged_again(session: HookedSession) -> None:
    session.pre("1", command="ls")
    halted = session.post("1", **PUSH)
    assert halted["continue"] is False
    assert "Another hook changed a call" in halted["stopReason"]
    session.ends_turn()
    session.pre("2", command="ls")
    assert session.post("2", **TESTS) == {}  # changed, but to something that is allowed


@pytest.mark.parametrize("tool", ["final_answer", "bylaw-doctor"])
def test_reserved_names_are_no_tools(session: HookedSession, tool: str) -> None:
    assert is_refusal(session.pre("1", tool, answer="Done."))
    assert session.stops()["decision"] == "block"


def test_results_are_counted_once_and_only_for_calls_that_were_allowed(
    session: HookedSession,
) -> None:
    session.post("nobody-asked", **TESTS)
    session.pre("1", **TESTS)
    session.fails("1", **TESTS)
    session.post("1", **TESTS)
    session.ends_turn()
    assert is_refusal(session.pre("2", **COMMIT))


def _forgets(session: HookedSession) -> None:
    (session.folder / "sessions.sqlite").unlink()


def _empties(session: HookedSession) -> None:
    with sqlite3.connect(session.folder / "sessions.sqlite") as base:
        base.execute("delete from session")


def _forges(session: HookedSession) -> None:
    with sqlite3.connect(session.folder / "sessions.sqlite") as base:
        base.execute(
            """update session set state = replace(state, '"stopped":false', '"stopped":true')"""
        )


def _forges_a_turn(session: HookedSession) -> None:
    with sqlite3.connect(session.folder / "sessions.sqlite") as base:
        (state,) = base.execute("select state from session").fetchone()
        forged = state.replace('"speaker":null', '"speaker":"main"')
        assert forged != state
        base.execute("update session set state = ?", (forged,))


def _changes_the_key(session: HookedSession) -> None:
    (session.folder / "key").write_bytes(bytes(32))


def _garbles(session: HookedSession) -> None:
    (session.folder / "sessions.sqlite").write_bytes(b"not a database")


def _other_rules(session: HookedSession) -> None:
    session.rules = procedure("G !nothing")


def _other_setting(session: HookedSession) -> None:
    session.options = {"options": {"setting": "baseline"}}


@pytest.mark.parametrize(
    "harm",
    [
        _forgets,
        _empties,
        _forges,
        _forges_a_turn,
        _changes_the_key,
        _garbles,
        _other_rules,
        _other_setting,
    ],
)
def test_a_session_whose_record_was_harmed_is_refused(
    session: HookedSession, harm: Callable[[HookedSession], None]
) -> None:
    assert session.runs("1", **TESTS)
    session.closes()
    harm(session)
    with pytest.raises(UsageError):  # which the transports answer with a refusal
        session.pre("2", command="ls")


@pytest.mark.parametrize(
    "event",
    [
        {"tool_name": "Bash", "tool_input": "ls", "tool_use_id": "1"},
        {"tool_name": "Bash", "tool_input": {}},
        {"tool_name": ["Bash"], "tool_input": {}, "tool_use_id": "1"},
        {},
    ],
)
def test_events_that_name_no_call_are_refused(session: HookedSession, event: Any) -> None:
    with pytest.raises(UsageError):
        session.sends("PreToolUse", **event)


def test_hooks_that_run_at_the_same_time_are_decided_one_after_another(tmp_path: Path) -> None:
    rules = procedure("CalledN(deploy, <= 3)")
    session = HookedSession(tmp_path, rules).begins()
    answers: list[Any] = []
    threads = [
        threading.Thread(target=lambda n=n: answers.append(session.pre(str(n), "deploy")))
        for n in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(is_refusal, answers)) == [False, False, False, True, True]


def test_a_process_that_dies_has_changed_nothing(session: HookedSession) -> None:
    def dies(run: Any) -> None:
        run.propose(Call("Bash", COMMIT, id="x"))
        raise KeyboardInterrupt

    gate = HookGate(CODING, session.store)
    with pytest.raises(KeyboardInterrupt):
        gate.handle("claude-code s", dies)
    assert session.runs("1", **TESTS)


# ── observing ────────────────────────────────────────────────────────────────────────────────


def test_a_gate_that_observes_counts_what_ran(tmp_path: Path) -> None:
    rules = procedure("CalledN(deploy, <= 1)", "F report")
    session = HookedSession(tmp_path, rules, observe=True).begins()
    for n in range(5):
        assert session.runs(str(n), "deploy")
    assert session.stops() == {}
    (found,) = session.store.sessions()
    kinds = [entry["kind"] for entry in found["entries"]]
    assert kinds.count("call") == 5
    assert kinds.count("observed") == 5  # four deployments, and the answer


def test_reasons_name_the_rule_and_the_way_out(session: HookedSession) -> None:
    text = reason(session.pre("1", **COMMIT))
    assert "Only tested code is committed." in text
    assert "Run ./run-tests, read that it passed, then commit." in text
