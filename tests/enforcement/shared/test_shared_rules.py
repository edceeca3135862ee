"""Shared rules: what they refuse to be made with, to restore and to go on with."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
from interrupts import Interrupt, chosen_lines, interrupted_at
from sessions import Clock, ListStore, guard_of, procedure

from bylaw import (
    Call,
    Constraint,
    Guard,
    Procedure,
    SharedRules,
    SpecError,
    StreamEntry,
    UsageError,
    parse,
)
from bylaw.enforcement.seal import seal
from bylaw.values import canonical

LIMIT = "G(refund -> sum(sofar(refund).args.amount) <= 500)"
LABELS = {"customer": "c7"}


def _refund(amount: int) -> list[Call]:
    return [Call("refund", {"amount": amount})]


def _action(guard: Guard, amount: int) -> str:
    return guard.propose(_refund(amount))[0].action


# ── making ───────────────────────────────────────────────────────────────────────────────────

PROCEDURE = procedure([LIMIT], across="customer")


@pytest.mark.parametrize(
    "labels",
    [
        *(None, {}, {"Customer": "c7"}),
        *({"customer": value} for value in (None, "", " \t", True, 1.5, ["c7"], {"id": 7})),
    ],
    ids=str,
)
def test_a_run_without_the_label_has_no_guard(labels: Any) -> None:
    with pytest.raises(UsageError, match="E422"):
        Guard(PROCEDURE, labels=labels, shared=SharedRules(PROCEDURE))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Guard(PROCEDURE, labels=LABELS), "their state is not given"),
        (lambda: _guard(SharedRules(procedure(["G !pay"], across="customer"))), "of another"),
        (lambda: _guard(SharedRules(PROCEDURE), setting="soft-block"), "of another"),
        (lambda: _guard(SharedRules(PROCEDURE, outstanding="hope")), "of another"),
        (lambda: Guard(PROCEDURE, labels=LABELS, shared={}), "shared cannot be"),  # type: ignore[arg-type]
        (lambda: SharedRules(procedure([LIMIT], across=None)), "no rule of the procedure"),
        (lambda: SharedRules(PROCEDURE, max_age=0), "max_age cannot be"),
        (lambda: SharedRules(PROCEDURE).drop(("customer", "c7")), "no store"),
    ],
)
def test_guards_and_shared_rules_must_fit(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


def _guard(shared: SharedRules, **more: Any) -> Guard:
    return Guard(PROCEDURE, labels=LABELS, shared=shared, **more)


@pytest.mark.parametrize(
    ("rule", "label", "message"),
    [
        ("Before(pay, final_answer)", "labels.customer", "cannot name 'final_answer'"),
        ("G(call -> answer contains args.id)", "labels.customer", "cannot read the answer"),
        ('forall x in metrics("a"): Called(b)', "labels.customer", "cannot read metrics"),
        ('G(pay -> labels.tier = "gold")', "labels.customer", "cannot read other labels"),
        ("G pay", "customer", "is not a label"),
        ("G pay", "labels.a.b", "is not a label"),
        ("G pay", "labels", "is not a label"),
        ("G pay", 7, "expected text"),
    ],
)
def test_a_rule_across_runs_reads_nothing_of_one_run(rule: str, label: Any, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Procedure.from_dict({"constraints": [{"name": "x", "rule": rule, "across": label}]})


def test_a_constraint_that_is_made_in_python_is_checked_too() -> None:
    with pytest.raises(SpecError, match="E217"):
        Constraint("x", parse("Before(pay, final_answer)"), across="customer")
    kept = Constraint("x", parse('G(pay -> labels.customer != "c0")'), across="customer")
    assert Procedure.from_dict(Procedure([kept]).to_dict()).constraints[0].across == "customer"


# ── attacks ──────────────────────────────────────────────────────────────────────────────────


def test_labels_that_change_during_a_run_change_nothing() -> None:
    labels, shared = {"customer": "c7"}, SharedRules(PROCEDURE)
    guard = Guard(PROCEDURE, labels=labels, shared=shared)
    assert _action(guard, 400) == "allow"
    labels["customer"] = "c8"
    assert _action(guard, 400) == "block"
    assert _action(_guard(shared), 101) == "block"


def test_a_refusal_names_the_call_of_another_run_that_it_waits_for() -> None:
    rules = procedure(["G(refund -> earlier call(verify, ok))"], across="customer")
    shared, clock = SharedRules(rules), Clock()
    first, second = guard_of(shared, clock), guard_of(shared, clock)
    (verify,) = first.propose([Call("verify")])
    (refused,) = second.propose(_refund(1))
    assert "the result of verify in another run is outstanding" in refused.message
    assert [each.run for each in shared.outstanding(LABELS)] == [first.run_id]
    (own,) = first.propose(_refund(1))
    assert "the result of verify is outstanding" in own.message
    first.record(verify, "yes")
    assert _action(second, 1) == "allow"


def test_a_clock_that_is_behind_does_not_reorder_runs() -> None:
    fast, slow, shared = Clock(), Clock(), SharedRules(PROCEDURE)
    fast.now += 3600
    times = []
    for clock in (fast, slow, fast, slow):
        times.append(guard_of(shared, clock).propose(_refund(1))[0].call.start or 0.0)
    assert times == sorted(set(times)), "each is later than the one before"


def test_results_that_never_arrive_take_up_bounded_memory() -> None:
    rules = procedure(["G(close -> earlier call(verify, id = 1, ok))"], across="customer")
    shared, clock = SharedRules(rules), Clock()
    guard = guard_of(shared, clock, max_trace=0)
    for number in range(500):
        guard.propose([Call("verify", {"id": 2 + number})])
    assert len(shared.outstanding(LABELS)) <= 129


# ── a store that fails, and interruptions ────────────────────────────────────────────────────


class _FailingStore(ListStore):
    """A store whose disk is full for a while."""

    full = False

    def append(self, entry: StreamEntry) -> None:
        if self.full:
            raise OSError("no space left on device")
        super().append(entry)


def test_without_the_store_nothing_is_allowed() -> None:
    store, clock = _FailingStore(), Clock()
    shared = SharedRules(PROCEDURE, store=store)
    first, second = guard_of(shared, clock), guard_of(shared, clock)
    assert _action(first, 300) == "allow"
    store.full = True
    with pytest.raises(OSError, match="no space left"):
        first.propose(_refund(100))
    store.full = False
    assert _action(second, 1) == "stop", "what was decided may be on disk or not"
    assert _action(guard_of(shared, clock), 1) == "stop"
    assert [each.passed for each in shared.standings(LABELS)] == [None]
    shared.drop(("customer", "c7"))
    assert _action(guard_of(shared, clock), 201) == "block"
    assert _action(second, 200) == "allow", "its own state was never in doubt"
    assert first.stopped


@pytest.mark.slow
@pytest.mark.parametrize("change", ["propose", "record", "say"])
def test_an_interrupted_change_leaves_the_streams_as_before_or_closes_them(change: str) -> None:
    rules = procedure([LIMIT, "G(refund -> O says(user))"], across="customer", events="all")

    def scene() -> tuple[SharedRules, Callable[[], Any]]:
        shared, clock = SharedRules(rules), Clock()
        guard = guard_of(shared, clock)
        guard.say("user", "please")
        (refund,) = guard.propose(_refund(300))
        changes: dict[str, Callable[[], Any]] = {
            "propose": lambda: guard.propose(_refund(100)),
            "record": lambda: guard.record(refund, "paid"),
            "say": lambda: guard.say("user", "thanks"),
        }
        return shared, changes[change]

    shared, act = scene()
    with interrupted_at(10**9) as lines:
        act()
    shared.keys(LABELS)
    for number in chosen_lines(lines, most=40):
        shared, act = scene()
        gc.collect()
        try:
            with interrupted_at(number):
                act()
        except Interrupt:
            pass
        other = guard_of(shared, Clock())
        assert _action(other, 201) in ("block", "stop"), f"{lines[number - 1]}: 300 were paid"


# ── saved states ─────────────────────────────────────────────────────────────────────────────

KEY = b"0123456789abcdef"


def _saved() -> tuple[SharedRules, Guard]:
    shared = SharedRules(PROCEDURE)
    guard = guard_of(shared, Clock())
    guard.propose(_refund(300))
    return shared, guard


def test_runs_and_what_they_share_are_saved_apart() -> None:
    shared, guard = _saved()
    (waiting,) = guard.awaiting
    state, run = shared.save(key=KEY), guard.save(key=KEY)
    again = SharedRules(PROCEDURE)
    other = guard_of(again, Clock())
    with pytest.raises(UsageError, match="restore them first"):
        other.restore(run, key=KEY)
    again.restore(state, key=KEY)
    other.restore(run, key=KEY)
    assert other.run_id == guard.run_id
    assert _action(other, 201) == "block"
    assert [each.call for each in other.awaiting] == [waiting.call]
    other.record(other.awaiting[0], "paid")
    assert again.outstanding(LABELS) == []


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (lambda s: {**s, "streams": []}, "changed after it was saved"),
        (lambda s: {**s, "bylaw": 2}, "another version"),
        (lambda s: _sealed({**s, "streams": []}), "without a key"),
        (lambda s: 7, "not one"),
    ],
)
def test_a_state_that_was_changed_is_not_restored(
    forge: Callable[[Any], Any], message: str
) -> None:
    shared, _ = _saved()
    state = shared.save(key=KEY)
    with pytest.raises(UsageError, match=message):
        shared.restore(forge(state), key=KEY)
    assert shared.save(key=KEY) == state


def _sealed(state: dict[str, Any]) -> dict[str, Any]:
    content = {k: v for k, v in state.items() if k != "seal"}
    return {**content, "seal": seal(canonical(content), None)}


def test_a_state_of_another_procedure_is_not_restored() -> None:
    shared, _ = _saved()
    other = SharedRules(procedure([LIMIT.replace("500", "900")], across="customer"))
    with pytest.raises(UsageError, match="of another procedure"):
        other.restore(shared.save())


def test_entries_with_a_gap_are_not_replayed() -> None:
    store = ListStore()
    guard = guard_of(SharedRules(PROCEDURE, store=store), Clock())
    for _ in range(3):
        guard.propose(_refund(1))
    del store.stored[1]
    with pytest.raises(UsageError, match="expected entry 1, found 2"):
        guard_of(SharedRules(PROCEDURE, store=store), Clock()).propose(_refund(1))


def test_a_snapshot_of_other_rules_is_not_used_and_a_forged_one_is_refused() -> None:
    store, key = ListStore(), ("customer", "c7")
    shared = SharedRules(PROCEDURE, store=store)
    assert _action(guard_of(shared, Clock()), 300) == "allow"
    stricter = procedure([LIMIT.replace("500", "400")], across="customer")
    store.snapshots = {key: shared.snapshot(key)}
    again = SharedRules(stricter, store=store)
    assert _action(guard_of(again, Clock()), 101) == "block", "all entries were replayed"
    strictest = SharedRules(procedure(["G !refund"], across="customer"), store=store)
    (standing,) = strictest.standings(LABELS)
    assert (standing.passed, standing.constraint.excused) == (False, "ran under other rules")
    forged: Any = shared.snapshot(key)
    forged["state"]["rules"]["monitors"]["verdicts"] = ["satisfied"]
    store.snapshots = {key: forged}
    with pytest.raises(UsageError, match="snapshot"):
        guard_of(SharedRules(PROCEDURE, store=store), Clock()).propose(_refund(1))


def test_results_may_arrive_after_the_run_has_finished() -> None:
    rules = procedure(["G(refund -> earlier call(verify, ok))"], across="customer")
    shared, clock = SharedRules(rules), Clock()
    first, second = guard_of(shared, clock), guard_of(shared, clock)
    (verify,) = first.propose([Call("verify")])
    first.finish("done")
    assert _action(second, 1) == "block"
    first.record(verify, "yes")
    assert _action(second, 1) == "allow"


def test_an_answer_that_is_withdrawn_takes_nothing_back_from_other_runs() -> None:
    rules = procedure([LIMIT, "G(refund -> O says(user))"], across="customer", events="all")
    store, clock = ListStore(), Clock()
    shared = SharedRules(rules, store=store)
    guard, other = guard_of(shared, clock), guard_of(shared, clock)
    guard.say("user", "please")
    (refund,) = guard.propose(_refund(300))
    assert guard.propose([Call("final_answer", {"answer": "done"})])[0].allowed
    saved, run = shared.save(), guard.save()
    guard.record(refund, "paid")
    guard.say("user", "wait")
    assert _action(other, 100) == "allow"
    before = len(store.stored)
    guard.withdraw()
    assert len(store.stored) == before, "what happened since is not stored twice"
    assert [_action(guard, 101), _action(guard, 100)] == ["block", "allow"]
    # The run as it was with the answer is restored, and continues in the same way.
    again = SharedRules(rules)
    again.restore(saved)
    resumed = guard_of(again, clock)
    resumed.restore(run)
    resumed.withdraw()
    assert [_action(resumed, 201), _action(resumed, 200)] == ["block", "allow"]
