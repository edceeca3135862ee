"""A resident gate: it decides as a guard does, whoever crashes, and keeps runs apart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest
from stores import KINDS, NewAddress, cluster, new_address

from bylaw import BylawError, Call, Guard, Procedure
from bylaw.serve import resident_run
from bylaw.serve.operations import OPERATIONS
from bylaw.serve.resident import ResidentGate
from bylaw.serve.tickets import Principal
from bylaw.store.addresses import open_store
from bylaw.store.memory import MemoryStore
from bylaw.store.store import Append, GateStore, store_failed

__all__ = ["cluster", "new_address"]

DESK, OTHER, ADA = Principal("desk"), Principal("other"), Principal("ada", person=True)
PROCEDURE = Procedure.from_dict(
    {
        "name": "desk",
        "events": "all",
        "constraints": [
            {"name": "verify-first", "rule": "G(refund -> O call(verify, ok))"},
            {"name": "once", "rule": "G(refund -> length(sofar(refund)) <= 2)"},
            {
                "name": "large",
                "rule": "G(call(refund) -> args.amount <= 100)",
                "severity": "ASK",
            },
            {"name": "told", "rule": "F tell"},
        ],
    }
)


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


NewGate: TypeAlias = Callable[..., ResidentGate]


@pytest.fixture
def new_gate() -> Iterator[NewGate]:
    made: list[ResidentGate] = []

    def gate(store: GateStore, **options: Any) -> ResidentGate:
        options.setdefault("clock", Clock())
        made.append(ResidentGate(options.pop("procedure", PROCEDURE), store, **options))
        return made[-1]

    yield gate
    for each in made:
        each.close()


def propose(gate: ResidentGate, run: str, *calls: Any, key: str | None = None) -> list[Any]:
    """Proposes one turn; a call is a tool, or a tool with arguments."""
    pairs = [(each, {}) if isinstance(each, str) else each for each in calls]
    given = {"calls": [{"tool": tool, "arguments": args} for tool, args in pairs]}
    decisions: list[Any] = gate.perform(DESK, run, "propose", given, key=key)["decisions"]
    return decisions


def record(gate: ResidentGate, run: str, decision: Any, result: Any = "done") -> None:
    gate.perform(DESK, run, "record", {"decision": decision["id"], "result": result})


def actions(decisions: list[Any]) -> list[str]:
    return [each["action"] for each in decisions]


# ── decisions ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_from_its_opening_to_its_report(
    kind: str, new_address: NewAddress, new_gate: NewGate
) -> None:
    gate = new_gate(open_store(new_address(kind)))
    run = gate.open(DESK, {"labels": {"customer": "c1"}})
    assert actions(propose(gate, run, ("refund", {"amount": 5}))) == ["block"]
    (verify,) = propose(gate, run, "verify")
    record(gate, run, verify)
    (asked,) = propose(gate, run, ("refund", {"amount": 500}))
    assert asked["action"] == "ask"
    gate.perform(ADA, run, "approve", {"decision": asked["id"]})
    (refund,) = propose(gate, run, ("refund", {"amount": 500}))
    assert (refund["action"], refund["approved"]) == ("allow", ["large"])
    state = gate.perform(DESK, run, "state")
    assert [each["id"] for each in state["awaiting"]] == [refund["id"]]
    assert state["answered"] == {asked["id"]: "approved"}
    report = gate.perform(DESK, run, "finish", {"answer": "Done."})["report"]
    assert report["compliance_score"] == 0.5
    assert gate.perform(ADA, run, "trace")["trace"]["answer"] == "Done."
    (row,) = gate.store.rows()
    assert (row.run, row.principal, row.closed) == (run, "desk", True)


def test_decisions_are_those_of_a_guard(new_gate: NewGate) -> None:
    gate, clock = new_gate(MemoryStore()), Clock()
    run = gate.open(DESK, trusted="k")
    guard = Guard(PROCEDURE, run_id=run, clock=clock)
    for turn in ([Call("refund", {"amount": 5}), Call("verify")], [Call("refund", {"amount": 5})]):
        ours = propose(gate, run, *[(call.tool, dict(call.args)) for call in turn])
        theirs = guard.propose(turn)
        shown = [(d.action, d.id, d.message, d.position) for d in theirs]
        assert [(d["action"], d["id"], d["message"], d["position"]) for d in ours] == shown
        for one, other in zip(ours, theirs, strict=True):
            if other.allowed:
                record(gate, run, one)
                guard.record(other, "done")


def test_a_denied_call_stays_refused_and_can_be_asked_about_again(new_gate: NewGate) -> None:
    gate = new_gate(MemoryStore())
    run = gate.open(DESK)
    (verify,) = propose(gate, run, "verify")
    record(gate, run, verify)
    (asked,) = propose(gate, run, ("refund", {"amount": 500}))
    gate.perform(ADA, run, "deny", {"decision": asked["id"]})
    assert gate.perform(DESK, run, "state")["answered"] == {asked["id"]: "denied"}
    assert actions(propose(gate, run, ("refund", {"amount": 500}))) == ["ask"]
    with pytest.raises(BylawError, match="E413"):
        gate.perform(ADA, run, "approve", {"decision": asked["id"]})


# ── recovery ─────────────────────────────────────────────────────────────────────────────────


def scripted(gate_of: Callable[[], ResidentGate], turns: int) -> list[Any]:
    """A fixed conversation with a gate, which `gate_of` may replace before every request."""
    run = gate_of().open(DESK, {"labels": {"n": 1}}, trusted="session")
    said: list[Any] = []
    outstanding: list[Any] = []
    for turn in range(turns):
        if turn % 5 == 3:
            gate_of().perform(DESK, run, "say", {"role": "user", "text": f"hello {turn}"})
        amount = 500 if turn % 7 == 4 else 5
        calls = [("verify", {}), ("refund", {"amount": amount, "n": turn % 3})]
        decided = propose(gate_of(), run, *calls[: 1 + turn % 2], key=f"turn-{turn}")
        said.append(decided)
        for each in decided:
            if each["action"] == "ask" and turn % 2:
                gate_of().perform(ADA, run, "approve", {"decision": each["id"]})
            if each["action"] == "allow":
                outstanding.append(each)
        if turn % 3 and outstanding:
            record(gate_of(), run, outstanding.pop(0), {"ok": turn % 4 != 0})
    said.append(gate_of().perform(DESK, run, "state"))
    said.append(gate_of().perform(DESK, run, "finish", {"answer": "Done."}))
    said.append(gate_of().perform(DESK, run, "trace"))
    return said


def undisturbed(new_gate: NewGate) -> list[Any]:
    """The same conversation with one gate."""
    clock = Clock()
    gate = new_gate(MemoryStore(), clock=clock)

    def gate_of() -> ResidentGate:
        clock.now += 1
        return gate

    return scripted(gate_of, 40)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("every", [1, 7])
def test_a_gate_replaced_at_any_moment_decides_as_if_nothing_had_happened(
    kind: str,
    every: int,
    new_address: NewAddress,
    new_gate: NewGate,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resident_run, "SNAPSHOT_EVERY", 9)
    expected = undisturbed(new_gate)
    store, clock, asked = open_store(new_address(kind)), Clock(), 0
    current = new_gate(store, clock=clock, workers=1)

    def gate_of() -> ResidentGate:
        nonlocal current, asked
        asked, clock.now = asked + 1, clock.now + 1
        if asked % every == 0:  # the old one is left to itself, as a process that was killed
            current = new_gate(store, clock=clock, workers=1)
        return current

    assert scripted(gate_of, 40) == expected


def test_replicas_that_take_turns_decide_as_one(new_gate: NewGate) -> None:
    clock, store = Clock(), MemoryStore()
    replicas = [new_gate(store, clock=clock) for _ in range(3)]

    def gate_of() -> ResidentGate:
        clock.now += 1
        return replicas[int(clock.now) * 7 % 3]

    assert scripted(gate_of, 40) == undisturbed(new_gate)


def test_of_two_replicas_at_the_same_time_each_knows_of_the_other(new_gate: NewGate) -> None:
    """At most two refunds: five threads at three replicas get two, in whatever order."""
    store = MemoryStore()
    replicas = [new_gate(store) for _ in range(3)]
    run = replicas[0].open(DESK)
    (verify,) = propose(replicas[0], run, "verify")
    record(replicas[0], run, verify)
    allowed: list[Any] = []

    def refund(number: int) -> None:
        for gate in (replicas[number % 3], replicas[(number + 1) % 3]):
            decided = propose(gate, run, ("refund", {"amount": 5}))
            allowed.extend(each for each in decided if each["action"] == "allow")

    threads = [threading.Thread(target=refund, args=(n,)) for n in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(allowed) == 2
    assert sum(gate.metrics.conflicts for gate in replicas) > 0


def test_idle_runs_leave_memory_and_come_back(new_gate: NewGate) -> None:
    gate = new_gate(MemoryStore(), max_live=4, workers=2)
    runs = [gate.open(DESK) for _ in range(20)]
    verified = [propose(gate, run, "verify")[0] for run in runs]
    assert gate.gauges()["resident_runs"][1] <= 4
    for run, decision in zip(runs, verified, strict=True):
        record(gate, run, decision)
        assert actions(propose(gate, run, ("refund", {"amount": 5}))) == ["allow"]


# ── repeated requests ────────────────────────────────────────────────────────────────────────


def test_a_repeated_request_is_performed_once_also_after_a_crash(new_gate: NewGate) -> None:
    store = MemoryStore()
    gate = new_gate(store)
    run = gate.open(DESK)
    first = propose(gate, run, "verify", key="a")
    assert propose(gate, run, "verify", key="a") == first
    assert propose(new_gate(store), run, "verify", key="a") == first
    assert len(store.read(f"run/{run}")) == 2
    with pytest.raises(BylawError, match="E456"):
        propose(gate, run, "tell", key="a")
    assert gate.open(DESK, trusted="s") == gate.open(DESK, trusted="s")
    labels = {"labels": {"customer": "c1"}}
    assert gate.open(DESK, labels, trusted="t") == gate.open(DESK, trusted="t")
    with pytest.raises(BylawError, match="E456"):
        gate.open(DESK, {"labels": {"customer": "c2"}}, trusted="t")
    assert gate.open(DESK) != gate.open(DESK)


# ── who may ──────────────────────────────────────────────────────────────────────────────────

FORBIDDEN = [
    (OTHER, "state", "E454"),
    (OTHER, "propose", "E454"),
    (OTHER, "approve", "E454"),
    (DESK, "approve", "E455"),
    (DESK, "deny", "E455"),
    (ADA, "propose", "E455"),
    (ADA, "finish", "E455"),
    (ADA, "record", "E455"),
]


@pytest.mark.parametrize(("principal", "operation", "code"), FORBIDDEN)
def test_others_cannot(principal: Principal, operation: str, code: str, new_gate: NewGate) -> None:
    gate = new_gate(MemoryStore())
    run = gate.open(DESK)
    given: dict[str, Any] = {"propose": {"calls": []}, "state": {}, "finish": {}}
    with pytest.raises(BylawError, match=code):
        gate.perform(principal, run, operation, given.get(operation, {"decision": "x"}))


def test_a_key_of_one_principal_finds_no_run_of_another(new_gate: NewGate) -> None:
    gate = new_gate(MemoryStore())
    assert gate.open(DESK, trusted="session") != gate.open(OTHER, trusted="session")
    with pytest.raises(BylawError, match="E454"):
        gate.perform(DESK, "0" * 32, "state")


WRONG: list[tuple[str, Any]] = [
    ("propose", {}),
    ("propose", {"calls": "verify"}),
    ("propose", {"calls": ["verify"]}),
    ("propose", {"calls": [{"tool": 5}]}),
    ("propose", {"calls": [{"tool": "verify", "args": {}}]}),
    ("propose", {"calls": [{"tool": "verify", "arguments": []}]}),
    ("propose", {"calls": [{}] * 300}),
    ("propose", {"calls": [], "run": "x"}),
    ("record", {"decision": "x"}),
    ("record", {"result": 5}),
    ("say", {"role": "tool", "text": "x"}),
    ("say", {"role": "user"}),
    ("finish", {"answer": 5}),
    ("withdraw", {}),
    ("no such", {}),
]


@pytest.mark.parametrize(("operation", "given"), WRONG)
def test_what_cannot_be_used_changes_nothing(operation: str, given: Any, new_gate: NewGate) -> None:
    gate = new_gate(MemoryStore())
    run = gate.open(DESK)
    (verify,) = propose(gate, run, "verify")
    before = gate.perform(DESK, run, "state")
    with pytest.raises(BylawError, match="E41"):
        gate.perform(DESK, run, operation, given)
    assert gate.perform(DESK, run, "state") == before
    record(gate, run, verify)


# ── a store that fails, or lies ──────────────────────────────────────────────────────────────


class Failing(MemoryStore):
    """A store that fails when it is told to: before or after it has committed."""

    failing: str | None = None

    def append(self, appends: Any) -> list[bool]:
        if self.failing == "before":
            raise store_failed("the disk is full")
        done = super().append(appends)
        if self.failing == "after":
            raise store_failed("the connection is lost")
        return done


def test_an_error_that_nobody_expects_of_a_store_stops_no_worker(
    new_gate: NewGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore()
    gate = new_gate(store, workers=1)
    run = gate.open(DESK)
    with monkeypatch.context() as patch:
        patch.setattr(store, "append", lambda appends: 1 / 0)
        with pytest.raises(BylawError, match="E457"):
            propose(gate, run, "verify")
    assert actions(propose(gate, run, "verify")) == ["allow"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_nothing_is_allowed_while_the_store_fails(when: str, new_gate: NewGate) -> None:
    store = Failing()
    gate = new_gate(store)
    run = gate.open(DESK)
    store.failing = when
    with pytest.raises(BylawError, match="E450"):
        propose(gate, run, "verify", key="a")
    store.failing = None
    (verify,) = propose(gate, run, "verify", key="a")
    state = gate.perform(DESK, run, "state")
    assert [each["id"] for each in state["awaiting"]] == [verify["id"]]
    assert state["operations"] == 1


def test_what_was_allowed_and_never_reported_is_outstanding(new_gate: NewGate) -> None:
    store = Failing()
    gate = new_gate(store)
    run = gate.open(DESK)
    store.failing = "after"  # committed, and the answer is lost
    with pytest.raises(BylawError, match="E450"):
        propose(gate, run, "verify")
    store.failing = None
    (refund,) = propose(gate, run, ("refund", {"amount": 5}))
    assert refund["action"] == "block"
    assert "outstanding" in refund["message"]


def tampered(store: MemoryStore, run: str) -> Iterator[str]:
    """Changes of the stored entries of a run, one after the other, each taken back."""
    stream = store._streams[f"run/{run}"]
    good = list(stream)
    for name, bad in {
        "an entry is edited": [*good[:-1], good[-1].replace("refund", "verify")],
        "an entry is missing": [*good[:1], *good[2:]],
        "entries are swapped": [good[0], good[2], good[1], *good[3:]],
        "an entry is repeated": [*good, good[-1]],
        "the seal is cut off": [*good[:-1], good[-1].partition(" ")[2]],
        "it is no text of ours": [*good[:-1], "?"],
    }.items():
        stream[:] = bad
        yield name
        stream[:] = good


@pytest.mark.parametrize("key", [None, b"sixteen bytes!!!"])
def test_a_run_whose_entries_were_changed_is_not_resumed(
    key: bytes | None, new_gate: NewGate
) -> None:
    store = MemoryStore()
    gate = new_gate(store, key=key)
    run = gate.open(DESK)
    propose(gate, run, "verify")
    propose(gate, run, ("refund", {"amount": 5}))
    for what in tampered(store, run):
        with pytest.raises(BylawError, match="E452"):
            propose(new_gate(store, key=key), run, "verify")
        assert what
    assert propose(new_gate(store, key=key), run, "verify")


def test_another_key_or_another_procedure_resumes_nothing(new_gate: NewGate) -> None:
    store = MemoryStore()
    run = new_gate(store, key=b"sixteen bytes!!!").open(DESK)
    for other in (None, b"another sixteen!"):
        with pytest.raises(BylawError, match="E452"):
            new_gate(store, key=other).perform(DESK, run, "state")
    weaker = Procedure.from_dict({"constraints": [{"name": "n", "rule": "F tell"}]})
    with pytest.raises(BylawError, match="E453"):
        new_gate(store, key=b"sixteen bytes!!!", procedure=weaker).perform(DESK, run, "state")


def test_an_entry_that_would_be_decided_differently_now_is_not_resumed(
    new_gate: NewGate,
) -> None:
    """As after an upgrade that judges otherwise: here, a forged digest under a known key."""
    store = MemoryStore()
    gate = new_gate(store)
    run = gate.open(DESK)
    stream = store._streams[f"run/{run}"]
    live = resident_run.ResidentRun.reopened(run, stream[0], PROCEDURE, gate.sealer)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resident_run, "digest", lambda value: "0" * 16)
        entry = live.perform(OPERATIONS["propose"], {"calls": []}, 5_000.0, None)[1]
    assert store.append([Append(((f"run/{run}", 1, entry),))]) == [True]
    with pytest.raises(BylawError, match="decided differently"):
        new_gate(store).perform(DESK, run, "state")


def test_a_mistake_of_ours_refuses_and_leaves_the_run_usable(
    new_gate: NewGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = new_gate(MemoryStore())
    run = gate.open(DESK)
    with monkeypatch.context() as patch:
        patch.setattr(resident_run.ResidentRun, "issue", lambda *_: 1 / 0)
        with pytest.raises(BylawError, match="E457"):
            propose(gate, run, "verify")
    assert gate.perform(DESK, run, "state")["awaiting"] == []
    assert actions(propose(gate, run, "verify")) == ["allow"]


def test_a_gate_that_is_closed_refuses(new_gate: NewGate) -> None:
    gate = new_gate(MemoryStore())
    run = gate.open(DESK)
    gate.close()
    with pytest.raises(BylawError, match="E450"):
        propose(gate, run, "verify")
