"""A small refund desk: one procedure and one run of it that breaks two rules."""

from __future__ import annotations

from bylaw import Call, Message, Procedure, Report, Trace, verify_trace

PROCEDURE = Procedure.from_dict(
    {
        "bylaw": 1,
        "name": "refund-desk",
        "tools": ["lookup", "verify", "refund", "notify", "delete"],
        "constraints": [
            {"name": "looked-up", "rule": "Before(lookup, refund)", "layer": "L3"},
            {
                "name": "verify-first",
                "rule": "G(refund -> O verify)",
                "weight": 3,
                "layer": "L4",
                "why": "Money moves only for a known customer.",
                "fix": "Call verify first.",
            },
            {"name": "one-refund", "rule": "CalledN(refund, <= 1)", "layer": "L5"},
            {"name": "tell-of-deletion", "rule": "G(delete -> F notify)", "layer": "L3"},
            {"name": "answers", "rule": "F final_answer"},
        ],
    }
)

RUN = Trace(
    [
        Message("system", "You work at the refund desk."),
        Message("user", "My kettle broke."),
        Message("assistant", "Let me see."),
        Call("lookup", {"order": 12345678901234567890}, result='{"total": 40.0}', step=2),
        Call("lookup", {"order": 2}, error="TimeoutError", step=2),
        Call("refund", {"order": 1, "amount": 40.0}, result="done", step=3),
        Call("verify", {"customer": "ada"}, step=4),
        Call("refund", {"order": 1, "amount": 40.0}, result=None, step=5),
    ],
    answer="You get 40 back.",
    name="run.json",
    labels={"model": "small", "seed": 7},
)


def report(trace: Trace = RUN) -> Report:
    """The verdicts of the procedure on a trace."""
    return verify_trace(trace, PROCEDURE)


def long_run(calls: int) -> Trace:
    """Many lookups, and near the end a refund without a verification."""
    events = [
        Call("lookup", {"order": number, "note": "x" * (number % 60)}, result={"total": number})
        for number in range(calls)
    ]
    events[-100] = Call("refund", {"order": 1})
    return Trace(events, name="long.json")
