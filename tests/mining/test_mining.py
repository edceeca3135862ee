"""Rules that runs were made by are found again, with their evidence; coincidences are not."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bylaw import Call, Procedure, Trace, verify_trace
from bylaw.mining.mine import FOLDS, MinedProcedure, mine
from bylaw.mining.procedure_file import to_yaml
from bylaw.mining.sampling import RunSample
from bylaw.trace.event import Message


class Desk:
    """Writes one run: an order is looked up, something is done, and other tools are called."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.events: list[Call | Message] = []
        self.step = 0
        self.id = f"N-{choose.randrange(10**6)}"

    def call(self, tool: str, result: Any = "done", **args: Any) -> None:
        """A call in a turn of its own."""
        self.step += 1
        noise = {"colour": self.choose.choice("abc"), "size": self.choose.randrange(100)}
        self.events.append(Call(tool, {**args, **noise}, result, self.step))

    def say(self, text: str) -> None:
        """The user says something."""
        self.step += 1
        self.events.append(Message("user", text, self.step))

    def other(self) -> None:
        """Some calls that mean nothing."""
        for _ in range(self.choose.randint(0, 3)):
            self.call(self.choose.choice(("ping", "log", "search", "wait")))

    def look(self, state: str = "pending", paid: int = 100) -> None:
        """The order is looked up."""
        self.call("get_order", {"id": self.id, "state": state, "paid": paid}, id=self.id)

    @property
    def trace(self) -> Trace:
        """The run."""
        return Trace(self.events)


def _state(desk: Desk, good: bool) -> None:
    desk.look(desk.choose.choice(("pending", "pending") if good else ("shipped", "closed")))
    desk.other()
    desk.call("cancel", id=desk.id)


def _source(desk: Desk, good: bool) -> None:
    desk.call("list_orders", {"orders": [{"id": desk.id}, {"id": "N-0"}]})
    desk.other()
    desk.call("cancel", id=desk.id if good else f"N-{desk.choose.randrange(10**6)}")


def _bound(desk: Desk, good: bool) -> None:
    desk.other()
    amount = desk.choose.randint(1, 250) if good else desk.choose.randint(251, 500)
    desk.call("refund", id=desk.id, amount=amount)


def _agreement(desk: Desk, good: bool) -> None:
    paid = desk.choose.randint(50, 150)
    desk.look(paid=paid)
    desk.other()
    amount = desk.choose.randint(1, paid) if good else desk.choose.randint(paid + 1, 2 * paid)
    desk.call("refund", id=desk.id, amount=amount)


def _confirmed(desk: Desk, good: bool) -> None:
    desk.say("Please cancel it.")
    desk.other()
    desk.say("Yes, go ahead." if good else "No, stop.")
    desk.call("cancel", id=desk.id)


def _per_key(desk: Desk, good: bool) -> None:
    desk.call("pay", id=desk.id)
    desk.other()
    desk.call("pay", id="N-7" if good else desk.id)


def _order(desk: Desk, good: bool) -> None:
    steps = ["verify", "refund"] if good else ["refund", "verify"]
    for tool in steps:
        desk.other()
        desk.call(tool)


def _total(desk: Desk, good: bool) -> None:
    for _ in range(4):
        desk.call("pay", amount=desk.choose.randint(10, 75 if good else 150))


MADE: dict[str, tuple[Callable[[Desk, bool], None], str]] = {
    "state": (
        _state,
        (
            "G(cancel -> let v = args.id, o = last(call(get_order, id = v, ok)).result: "
            'o.state = "pending")'
        ),
    ),
    "source": (
        _source,
        "G(cancel -> let v = args.id: earlier (call(list_orders, ok) & v in result.orders.id))",
    ),
    "bound": (_bound, "G(refund -> args.amount <= 250)"),
    "agreement": (
        _agreement,
        (
            "G(refund -> let v = args.id, o = last(call(get_order, id = v, ok)).result: "
            "args.amount <= o.paid)"
        ),
    ),
    "per key": (_per_key, "G(pay -> let v = args.id: length(sofar(call(pay, id = v))) <= 1)"),
    "precedence": (_order, "G(refund -> O verify)"),
}
"""A function that plays a run, for each rule."""


def _runs(make: Callable[[Desk, bool], None], good: bool, count: int, seed: int) -> list[Trace]:
    choose = random.Random(seed)
    found = []
    for _ in range(count):
        desk = Desk(choose)
        desk.other()
        make(desk, good)
        desk.other()
        found.append(desk.trace)
    return found


def _mined(make: Callable[[Desk, bool], None], good: int = 60, bad: int = 40) -> MinedProcedure:
    return mine(_runs(make, True, good, 1), _runs(make, False, bad, 2))


@pytest.mark.parametrize("kind", MADE)
def test_a_rule_is_found_again(kind: str) -> None:
    make, rule = MADE[kind]
    mined = _mined(make)
    assert [each.rule for each in mined.rules] == [rule]
    (found,) = mined.rules
    assert (found.kind, found.certain, mined.explained) == (kind, True, 40)
    assert (found.evidence.good_broken, found.evidence.bad_broken) == (0, 40)
    assert found.evidence.held_out == FOLDS
    assert found.evidence.counterexample


def test_wrong_labels_do_not_hide_a_rule() -> None:
    good, bad = _runs(_state, True, 57, 1), _runs(_state, False, 38, 2)
    wrong_good, wrong_bad = _runs(_state, False, 3, 3), _runs(_state, True, 2, 4)
    mined = mine([*good, *wrong_good], [*bad, *wrong_bad])
    assert [each.rule for each in mined.rules] == [MADE["state"][1]]


def test_without_bad_runs_what_always_happens_is_found() -> None:
    mined = mine(_runs(_state, True, 80, 1))
    rules = [each.rule for each in mined.rules if each.certain]
    assert "G(cancel -> let v = args.id: earlier call(get_order, id = v, ok))" in rules
    assert not [rule for rule in rules if "colour" in rule or "size" in rule or "ping" in rule]


def test_runs_without_a_rule_give_none() -> None:
    def nothing(desk: Desk, good: bool) -> None:
        desk.call("pay", id=desk.id, amount=desk.choose.randint(1, 500))
        desk.other()
        desk.look()

    assert _mined(nothing, 100, 100).rules == ()


def test_the_file_is_a_procedure_that_the_good_runs_keep(tmp_path: Path) -> None:
    mined = _mined(_confirmed)
    path = tmp_path / "procedure.yaml"
    path.write_text(to_yaml(mined), encoding="utf-8")
    procedure = Procedure.load(path)
    assert [rule.name for rule in procedure.constraints] == ["cancel-confirmed"]
    assert verify_trace(_runs(_confirmed, True, 1, 9)[0], procedure).label == "FULL"
    assert verify_trace(_runs(_confirmed, False, 1, 9)[0], procedure).label == "NONE"


def test_tools_that_obey_the_same_rule_share_it() -> None:
    def either(desk: Desk, good: bool) -> None:
        desk.look()
        desk.call(desk.choose.choice(("cancel", "ship", "refund")), id=desk.id)

    rules = [each.rule for each in mine(_runs(either, True, 90, 1)).rules if each.certain]
    assert [rule for rule in rules if "{" in rule and "earlier call(get_order, id = v, ok)" in rule]


def test_names_are_different_and_fit_a_file() -> None:
    mined = mine(_runs(_state, True, 60, 1))
    names = [each.name for each in mined.rules]
    assert len(set(names)) == len(names)
    assert json.loads(json.dumps([each.to_dict() for each in mined.rules]))


def test_a_large_corpus_is_sampled() -> None:
    sample = RunSample(max_calls=200)
    for trace in _runs(_state, True, 300, 1):
        sample.add(trace, good=True)
    kept = sample.runs(good=True)
    assert sample.seen == 300
    assert 10 < len(kept) < 100
    assert sum(len(trace.calls) for trace in kept) <= 200


def test_the_same_runs_give_the_same_rules_in_every_process() -> None:
    code = (
        "import json, sys; sys.path[:0] = json.loads(sys.argv[1]); import test_mining as t; "
        "print([each.rule for each in t.mine(t._runs(t._agreement, True, 60, 1)).rules])"
    )
    found = set()
    for seed in ("1", "2", "3"):
        command = [sys.executable, "-c", code, json.dumps([str(Path(__file__).parent), *sys.path])]
        env = {**os.environ, "PYTHONHASHSEED": seed}
        found.add(subprocess.run(command, env=env, check=True, capture_output=True).stdout)
    assert len(found) == 1
