"""A small refund desk: one procedure and one run of it that breaks two rules."""

from __future__ import annotations

from bylaw import Call, Guard, GuardReport, Message, Procedure, Report, Trace, verify_trace

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


# ── a run at a gate ───────────────────────────────────────────────────────────────────────────

_WHY = "Money moves only for a known customer."
GUARDED_PROCEDURE = Procedure.from_dict(
    {
        "tools": ["verify", "refund"],
        "constraints": [
            {"name": "verify-first", "rule": "G(refund -> O verify)", "why": _WHY},
            {"name": "small", "rule": "G(refund -> args.amount < 10)", "severity": "TOLERATE"},
        ],
    }
)


def _guarded() -> GuardReport:
    """A refund is refused; another tool is unknown; two refunds of one turn are too large."""
    guard = Guard(GUARDED_PROCEDURE, run_id="r")
    guard.say("user", "Refund me.")
    for calls in (
        [Call("refund", {"amount": 5}), Call("verify")],
        [Call("pay")],
        [Call("refund", {"amount": 20}), Call("refund", {"amount": 30})],
    ):
        for decision in guard.propose(calls):
            if decision.allowed:
                guard.record(decision, "done")
    return guard.finish("Done.")


GUARDED = _guarded()
