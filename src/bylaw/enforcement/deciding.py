"""Deciding a turn: its calls are judged in order, and the strongest severity acts on each.

A call is appended on trial, and the rules that it would break are found. An allowed call is kept;
a refused one has no further effect.

Each function sets `run.inside` before it changes the run; see `atomic`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bylaw.enforcement.admission import malformed_message
from bylaw.enforcement.asking import Question
from bylaw.enforcement.atomic import interruption
from bylaw.enforcement.decision import Action, Decision, Violation, refusal_message
from bylaw.enforcement.open_tools import open_tools
from bylaw.enforcement.turn import LatestTurn, Turn, at_step, call_key, handed_out
from bylaw.errors import Diagnostic, UsageError
from bylaw.frozen import replace
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call
from bylaw.trace.refusal import OPENING, Refusal
from bylaw.trace.refusal_mark import decision_id, marked, unmarked
from bylaw.trace.trace import Trace
from bylaw.values import Json

if TYPE_CHECKING:
    from bylaw.enforcement.judge import Trial
    from bylaw.enforcement.run import Run

_WEAKER_THAN_BLOCK: Final = ("allow", "warn", "ask")


def advance(run: Run, turn: Turn, *, asks: bool) -> Question | None:
    """Decides the remaining calls, up to the next one that needs a person's approval.

    Such a call gives a question only if `asks` is true; otherwise it is refused. If the turn
    waits, a call that is too early is left in `turn.waiting`; otherwise it is refused.
    """
    if turn.number < 0 and run.finished:
        help = "One guard is one run: make a new one."
        raise UsageError(Diagnostic("E413", "the run has finished", help))
    run.inside = "propose"
    _begin(run, turn)
    question = None
    while turn.todo and question is None:
        decided = _decide(run, turn, asks=asks)
        if isinstance(decided, Decision):
            turn.decide(decided if decided.action == "allow" else _identified(run, decided))
        elif decided is None:
            turn.wait()
        else:
            _put_on_record(run, turn)
            question = None if run.stopped else decided
    if question is None:
        _put_on_record(run, turn)
    run.inside = None  # if something is raised from here on, `abort` is called
    return question


def _begin(run: Run, turn: Turn) -> None:
    """Begins a turn, or resumes it after a question."""
    if turn.number < 0:
        if turn.continues and run.latest is not None:
            _join(run, turn, run.latest)
            return
        turn.warned, run.warned = run.warned, {}
        if run.journal.unresolved:
            turn.resolved = run.journal.resolve(list(turn.calls.values()))
        turn.spoke = run.speaking
    elif run.turn == turn.number + 1 and not run.speaking and _is_latest(run, turn):
        return
    # A new turn. Or others had turns while a person was asked: the rest comes after theirs.
    turn.number, run.turn = run.turn, run.turn + 1
    run.speaking = False
    run.latest = LatestTurn(turn.number, len(turn.calls), turn.warned, list(turn.resolved))


def _join(run: Run, turn: Turn, latest: LatestTurn) -> None:
    """Adds the calls to the latest turn: they share its step, and the warnings before it."""
    turn.join(latest.size)
    turn.number, turn.warned = latest.number, latest.warned
    calls = list(turn.calls.values())
    if latest.size == 0:
        latest.resolved = run.journal.resolve(calls)
    for event in latest.resolved:
        if event.resolution == "listened":  # so it seemed; now the agent may insist
            event.resolve(calls)
    latest.size += len(calls)


def _is_latest(run: Run, turn: Turn) -> bool:
    """Have rules across runs seen no other run since the calls of this turn?"""
    allowed = any(each.allowed and each.turn == turn.number for each in turn.decided.values())
    return not allowed or run.judge.is_latest(turn.number)


def _decide(run: Run, turn: Turn, *, asks: bool) -> Decision | Question | None:
    """Decides the next call, or asks about it; None if it waits for results of its turn."""
    place, judge = turn.todo[0], run.judge
    call = turn.calls[place]
    ends = call.tool == FINAL_ANSWER
    step = judge.answer_step if ends else turn.number
    start = run.now if run.has_clock else call.start
    if call.step != step or call.start != start:
        call = turn.calls[place] = at_step(call, step, start)
    if run.stopped or run.finished:
        ended = f"{call.tool}{OPENING}. The run has ended."
        how: Action = "stop" if run.stopped else "block"
        return Decision(handed_out(call), how, turn.number, place, message=ended)
    if turn.denied is not None:
        (question, why), turn.denied = turn.denied, None
        return _refuse(run, turn, question.call, question.violations, "block", denied=why)
    wrong = None if run.admission is None else run.admission.problem(call)
    if turn.oversized and place in turn.oversized:
        wrong = f"It could not be decided within the budget: {turn.oversized[place]}."
    if wrong:
        message = malformed_message(call, wrong)
        refused = handed_out(call)
        return Decision(refused, "block", turn.number, place, message=message, problem=wrong)
    before = (judge.save(), run.escalation.save()) if ends else None
    trial = judge.attempt(call, step)
    action = _action(run, turn, call, trial.violations) if trial.violations else "allow"
    if action == "allow":
        if before is not None:
            run.accept_answer(*before)
        return _allow(run, turn, call, trial)
    trial.take_back()
    if action is None:
        return None
    if action == "ask" and asks:
        return Question(call, trial.violations)
    return _refuse(run, turn, call, trial.violations, action)


def _action(run: Run, turn: Turn, call: Call, violations: Mapping[int, Violation]) -> Action | None:
    """The action on a call that breaks rules; None if it waits for results of its turn."""
    if turn.warned or run.approved:
        key = call_key(call)
        turn.excused |= turn.warned.pop(key, set())
        turn.approve(run.approved.get(key, ()))
    shown = [v for i, v in violations.items() if i not in turn.excused]
    broken = [violation for violation in shown if violation.kind != "early"]
    early = len(broken) < len(shown)
    if turn.waits and early and not broken:
        return None
    action = run.escalation.action(broken)
    return "block" if early and action in _WEAKER_THAN_BLOCK else action


def _identified(run: Run, refusal: Decision) -> Decision:
    """A refusal with its id, which its message is marked with."""
    id = decision_id(run.id, refusal.turn, refusal.index)
    return replace(refusal, id=id, message=marked(refusal.message, refusal.action, id))


def _allow(run: Run, turn: Turn, call: Call, trial: Trial) -> Decision:
    excused = turn.excused
    trial.keep({i: "overridden" if i in excused else "tolerated" for i in trial.violations})
    overridden: tuple[str, ...] = ()
    approved: tuple[str, ...] = ()
    tolerated: tuple[Violation, ...] = ()
    if trial.violations:
        overridden, approved, tolerated = _excuse(run, turn, call, trial.violations)
    if run.approved:  # an approval is for one call, whether or not that call needed it
        run.approved.pop(call_key(call), None)
    run.escalation.in_a_row = 0
    if call.tool != FINAL_ANSWER:
        run.recent.add(call.tool)
    number, place = turn.number, turn.todo[0]
    return Decision(
        handed_out(call),
        "allow",
        number,
        place,
        tolerated,
        overridden,
        position=run.judge.monitors.length - 1,
        id=decision_id(run.id, number, place),
        decided=trial.decided,
        approved=approved,
    )


def _excuse(
    run: Run, turn: Turn, call: Call, violations: Mapping[int, Violation]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Violation, ...]]:
    """Notes what a call breaks that runs.

    Returns the rules that it was let past, those of them that a person approved, and the others.
    """
    passed = [i for i in violations if i in turn.excused]
    tolerated = [v for i, v in violations.items() if i not in passed]
    for violation in tolerated:
        _note(run, turn, call, violation, "tolerate")
    for i in passed:  # if the agent insisted, the event of the warning records it
        if i in turn.approved:
            _note(run, turn, call, violations[i], "approve")
    names = {i: run.procedure.constraints[i].name for i in passed}
    approved = tuple([name for i, name in names.items() if i in turn.approved])
    return tuple(names.values()), approved, tuple(tolerated)


def _refuse(
    run: Run,
    turn: Turn,
    call: Call,
    violations: dict[int, Violation],
    action: Action,
    *,
    denied: str | None = None,
) -> Decision:
    if action == "warn":
        run.warned.setdefault(call_key(call), set()).update(violations)
    if action == "stop":
        run.stopped = True
    for violation in violations.values():
        noted = "early" if violation.kind == "early" else action
        _note(run, turn, call, violation, noted)
    # The agent does not see tolerated rules: one of layer L6 would reveal its values.
    enforced = {i: v for i, v in violations.items() if v.enforced}
    tools = frozenset().union(*(run.judge.named[i] for i in enforced))
    message = refusal_message(
        action,
        call.tool,
        tuple(enforced.values()),
        run.hints,
        run.recent.of(tools),
        open_tools(run.judge, call) if run.hints == "open" else None,
        denied=denied,
    )
    named = [v.constraint.name for v in enforced.values()] if run.hints != "none" else []
    return Decision(
        handed_out(call),
        action,
        turn.number,
        turn.todo[0],
        tuple(violations.values()),
        message=message,
        named=tuple(named),
    )


def _put_on_record(run: Run, turn: Turn) -> None:
    """Queues the new decisions of a turn for the log, and takes them into the run's record."""
    fresh, turn.unlogged = turn.unlogged, []
    if run.journal.has_log and fresh:
        decisions = [turn.decided[place] for place in fresh]
        number = run.journal.queue_decisions(decisions, _certificates(run, decisions))
        if number is None:
            _stop(run, turn, fresh)
        else:
            turn.queued = number, fresh
    _keep(run, turn, fresh)


def _certificates(run: Run, decisions: Sequence[Decision]) -> list[list[Json]]:
    """The certificates of each decision, for the log: of refusals, and only if they are wanted."""
    ran = run.kept.trace() if run.certifies else None
    if ran is None:
        return [[] for _ in decisions]
    from bylaw.certificates.refusals import refusal_certificates  # slow to import, rarely wanted

    found = []
    for decision in decisions:
        call = replace(decision.call, step=decision.turn)
        doomed = [each.constraint for each in decision.violations if each.kind == "doomed"]
        refused = not decision.allowed and call.tool != FINAL_ANSWER
        found.append(refusal_certificates(run.procedure, ran, call, doomed) if refused else [])
        if decision.allowed and call.tool != FINAL_ANSWER:
            events = [*ran.events, decision.call]
            ran = Trace(events, labels=ran.labels, metrics=ran.metrics)
    return found


def _keep(run: Run, turn: Turn, places: Sequence[int]) -> None:
    for place in places:
        decision, call = turn.decided[place], turn.calls[place]
        if decision.action in ("allow", "ask"):
            run.issued.add(decision, call)
        if decision.action == "allow":
            run.kept.allow((decision.turn, place), call, decision.call.step or 0)
        else:
            run.kept.refuse(_refusal(decision, call))


def _stop(run: Run, turn: Turn, places: Sequence[int]) -> None:
    """Turns decisions that are not on record into stops; the run ends."""
    run.stopped = True
    why = f"{OPENING}: {run.journal.unlogged}. The run ends here."
    for place in places:
        unsafe = turn.decided[place]
        message = unsafe.call.tool + why
        stopped = replace(unsafe, action="stop", message=message, position=None)
        turn.decided[place] = _identified(run, stopped)


def stop_unlogged(run: Run, turn: Turn, places: Sequence[int]) -> None:
    """Takes back decisions that did not reach the log's disk, and refuses the rest of the turn."""
    unsafe = [turn.decided[place] for place in places]
    allowed = [(each.turn, each.index) for each in unsafe if each.allowed]
    run.kept.forget(allowed, [each.id for each in unsafe if not each.allowed])
    for each in unsafe:
        if each.position is not None:
            run.judge.disown(each.position)
        if run.issued.awaits(each):
            run.issued.settle(each)
        if each.allowed and each.call.tool == FINAL_ANSWER:
            run.kept.withdraw()
    _stop(run, turn, places)
    _keep(run, turn, places)
    if turn.todo:
        advance(run, turn, asks=False)


def _refusal(decision: Decision, call: Call) -> Refusal:
    """A refused call as the trace has it: in the step of its turn."""
    assert decision.action != "allow", "it was refused"
    call = call if call.step == decision.turn else at_step(call, decision.turn, call.start)
    return Refusal(call, decision.action, unmarked(decision.message), decision.id)


# ── turns that are broken off ────────────────────────────────────────────────────────────────


def _note(run: Run, turn: Turn, call: Call, violation: Violation, action: str) -> None:
    """Adds an event for one rule, of now by the run's clock if it has one."""
    now = run.now if run.has_clock else None
    run.journal.note(turn.number, call, violation, action, now)


def refuse_rest(run: Run, turn: Turn) -> None:
    """Refuses the remaining calls of a turn, because a change of the run was interrupted."""
    why = interruption(run.interrupted or "propose")
    turn.todo.extend(turn.waiting)
    turn.waiting.clear()
    while turn.todo:
        place = turn.todo[0]
        call = turn.calls[place]
        ended = f"{call.tool}{OPENING}. The run has ended: {why}."
        refused = Decision(handed_out(call), "stop", run.turn, place, message=ended)
        turn.decide(_identified(run, refused))


def abort(run: Run, turn: Turn) -> None:
    """Takes a turn back whose decisions will reach nobody; if that is impossible, the run ends.

    The calls that it allowed will not run, but the rules have seen them, and refusals have been
    counted. If nothing was decided, but others had turns while a person was asked, it counts as a
    turn without calls.
    """
    run.kept.forget((each.turn, each.index) for each in turn.latest)
    if run.inside is not None or turn.number < 0:
        return  # it was interrupted in the middle of a decision, or before the first
    run.inside = "propose"
    if turn.decided:
        calls = [[each.turn, each.index] for each in turn.latest]
        run.log({"kind": "broken off", "turn": turn.number, "calls": calls})
        for each in turn.latest:
            if each.position is not None:
                run.judge.disown(each.position)
        return
    if run.turn == turn.number + 1 and not turn.joined:
        run.latest = None
        run.turn, run.speaking, run.warned = turn.number, turn.spoke, turn.warned
        run.journal.reopen(turn.resolved)
    run.inside = None
