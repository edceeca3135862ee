"""A procedure with a rule for each engine and each severity, and runs of it."""

from __future__ import annotations

import functools
from typing import Any

from bylaw import Call, Guard, Procedure, Trace, Vocabulary

NOON = 1_763_294_400.0
"""The time: it stands still, so that runs can be compared."""
FORBIDDEN = "forbidden"
"""No history lets a call of this tool pass."""

RULES = {
    "never": f"HARD_STOP: G !{FORBIDDEN}",
    "machine": "SOFT_BLOCK: G(refund -> O call(verify, ok))",
    "pending": "SOFT_BLOCK: G(lookup -> F call(verify, ok))",
    "window": "SOFT_BLOCK: WithinSteps(lookup, verify, 40)",
    "instances": "SOFT_BLOCK: InstanceBefore(lookup, 0, refund, 0)",
    "joint": "SOFT_BLOCK: CalledN(refund, <= 9)",
    "joint too": "SOFT_BLOCK: CalledWith(refund, amount = 9)",
    "sequence": "SOFT_BLOCK: InOrder(lookup, verify, refund)",
    "slices": 'TOLERATE: forall x in args(lookup, "id"): F call(verify, id = x)',
    "results": 'TOLERATE: forall x in results(verify, "ids[]"): !call(refund, id = x)',
    "registers": "SOFT_BLOCK: G(refund -> args.amount <= last(call(verify, ok)).result.most)",
    "evidence": "SOFT_BLOCK: G(refund -> let i = args.code: earlier (verify & text contains i))",
    "members": "TOLERATE: G(refund -> let i = args.id: earlier (verify & i in result.ids))",
    "once": "SOFT_BLOCK: G(close -> length(sofar(close)) <= 1)",
    "recent": "SOFT_BLOCK: G(refund -> O verify within 1 h)",
    "budget": "SOFT_BLOCK: G(refund -> sum(sofar(refund, 1 d).args.amount) <= 9000)",
    "deadline": "TOLERATE: G(lookup -> F verify within 1 h)",
    "local": "BLOCK_AND_WARN: G(refund -> args.amount < 50)",
    "history": "ASK: G(wire -> plausible(args.amount))",
}

LOOKUP = Call("lookup", {"id": 7})
VERIFY = Call("verify", {"id": 7})
VERIFIED = {"most": 500, "ids": [3, 4], "note": "K9 or K60 or K800"}
"""A result of `verify`."""


@functools.cache
def procedure() -> Procedure:
    vocabulary = Vocabulary()

    @vocabulary.predicate(false_is_final=True)
    def plausible(trace: Trace, at: int, metrics: Any, amount: Any) -> bool:
        return bool(amount < 100)

    constraints = []
    for name, text in RULES.items():
        severity, _, rule = text.partition(": ")
        constraints.append({"name": name, "rule": rule, "severity": severity})
    stated = {"unlisted": "allow", "order": "step", "constraints": constraints}
    return Procedure.from_dict(stated, vocabulary=vocabulary)


def new_guard(**options: Any) -> Guard:
    options = {"clock": lambda: NOON, **options}
    return Guard(procedure(), outstanding="hope", **options)


def refund(amount: int) -> Call:
    return Call("refund", {"amount": amount, "code": f"K{amount}", "id": 1})
