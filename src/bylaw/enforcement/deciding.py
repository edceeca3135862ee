"""How a turn is decided, call by call.

A call is taken in on trial, the rules that it newly dooms are found, and the strongest of their
severities acts. A refused call leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from bylaw.enforcement.answer import PendingAnswer
from bylaw.enforcement.asking import Question
from bylaw.enforcement.decision import Action, Decision, Violation
from bylaw.enforcement.hints import message
from bylaw.enforcement.judge import Trial
from bylaw.enforcement.run import Run
from bylaw.enforcement.severity import Escalation, blocks, strongest
from bylaw.enforcement.still_open import still_open
from bylaw.enforcement.turn import Turn, exactly
from bylaw.errors import Diagnostic, UsageError
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call


def advance(run: Run, turn: Turn, *, asks: bool) -> Question | None:
    """Decides the calls that are left, up to one that a person must be asked about.

    `asks` says whether there is one to ask.
    """
    _begin(run, turn)
    while len(turn.decisions) < len(turn.calls):
        decided = _decide(run, turn, asks=asks)
        if isinstance(decided, Decision):
            turn.decide(decided)
            continue
        run.put_on_record(turn)
        if not run.stopped:
            return decided
    run.put_on_record(turn)
    return None


def _begin(run: Run, turn: Turn) -> None:
    """Begins a turn, or goes on with it."""
    if turn.number < 0:
        if run.finished:
            help = "One guard is one run: make a new one."
            raise UsageError(Diagnostic("E413", "the run has finished", help))
        turn.pointers, run.pointers = run.pointers, {}
        run.journal.resolve(turn.calls)
    elif run.turn == turn.number + 1 and not run.speaking:
        return
    # A new turn; or others had theirs while a person was asked, and what is left comes after.
    turn.number, run.turn = run.turn, run.turn + 1
    turn.occupied, run.speaking = run.speaking, False


def _decide(run: Run, turn: Turn, *, asks: bool) -> Decision | Question:
    proposed, index = turn.calls[len(turn.decisions)], len(turn.decisions)
    if run.stopped or run.finished:
        told = f"{proposed.tool}: Not executed. The run has ended."
        action: Action = "stop" if run.stopped else "block"
        return Decision(proposed, action, turn.number, index, message=told)
    if turn.denied is not None:
        (question, why), turn.denied = turn.denied, None
        refused = question.call, question.violations
        return _refused(run, turn, *refused, "block", denied=why)
    alone = proposed.tool == FINAL_ANSWER and turn.occupied  # it has a step of its own
    step = turn.number + alone
    call = Call(proposed.tool, proposed.args, step=step, id=proposed.id, agent=proposed.agent)
    ends = call.tool == FINAL_ANSWER
    before = (run.judge.save(), run.escalation.save()) if ends else None
    trial = run.judge.attempt(call, step)
    violations = trial.violations
    if violations:
        same = exactly(call)
        turn.waived |= turn.pointers.pop(same, set())
        turn.approve(run.approved.get(same, set()))
    against = [v for i, v in violations.items() if i not in turn.waived]
    action = _action(against, run.escalation)
    if action == "allow":
        if before is not None:
            run.finished = True
            run.answer = PendingAnswer(*before, run.judge.monitors.length - 1)
        return _allowed(run, turn, call, trial)
    trial.take_back()
    if action == "ask" and asks:
        return Question(call, violations)
    return _refused(run, turn, call, violations, action)


def _action(against: Sequence[Violation], escalation: Escalation) -> Action:
    if not against:
        return "allow"
    match strongest(violation.severity for violation in against):
        case "HARD_STOP":
            return "stop"
        case "SOFT_BLOCK":
            names = [v.constraint.name for v in against if v.severity == "SOFT_BLOCK"]
            return "stop" if escalation.block(names) else "block"
        case "ASK":
            return "ask"
        case "BLOCK_AND_WARN":
            return "warn"
        case _:
            return "allow"


def _allowed(run: Run, turn: Turn, call: Call, trial: Trial) -> Decision:
    violations = trial.violations
    passed = [i for i in violations if i in turn.waived]
    tolerated = [v for i, v in violations.items() if i not in passed]
    for i in violations:
        run.judge.retired.setdefault(i, "overridden" if i in passed else "tolerated")
    if run.approved:  # an approval is for one call, whether that needed it or not
        run.approved.pop(exactly(call), None)
    for violation in tolerated:
        run.journal.note(turn.number, call, violation, "tolerate")
    for i in passed:  # that the agent insisted, the warning's own event says
        if i in turn.approved:
            run.journal.note(turn.number, call, violations[i], "approve")
    run.escalation.allow()
    turn.occupied = True
    if call.tool != FINAL_ANSWER:
        run.recent.note(call.tool)
    return Decision(
        call,
        "allow",
        turn.number,
        len(turn.decisions),
        tuple(tolerated),
        tuple(run.procedure.constraints[i].name for i in passed),
        position=run.judge.monitors.length - 1,
    )


def _refused(
    run: Run,
    turn: Turn,
    call: Call,
    violations: dict[int, Violation],
    action: Action,
    *,
    denied: str | None = None,
) -> Decision:
    if action == "warn":
        run.pointers.setdefault(exactly(call), set()).update(violations)
    if action == "stop":
        run.stopped = True
    for violation in violations.values():
        run.journal.note(turn.number, call, violation, action)
    # What is tolerated is not told: a rule of layer L6 would hand its values over.
    enforced = {i: v for i, v in violations.items() if blocks(v.severity)}
    tools = frozenset().union(*(run.judge.named[i] for i in enforced))
    told = message(
        action,
        call.tool,
        tuple(enforced.values()),
        run.hints,
        run.recent.of(tools),
        still_open(run.judge, call) if run.hints == "open" else None,
        denied=denied,
    )
    named = [v.constraint.name for v in enforced.values()] if run.hints != "none" else []
    return Decision(
        call,
        action,
        turn.number,
        len(turn.decisions),
        tuple(violations.values()),
        message=told,
        named=tuple(named),
    )
