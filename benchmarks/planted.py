"""Procedures with known rules, and runs of them: for measuring what mining finds again.

A desk has tools that list, look up and act on things by their number, and others that take part
in no rule. Rules of all kinds are drawn at random. A random agent works behind a gate that
enforces them, so that its runs keep every rule; a bad run is one of an agent whose gate lacks one
of the rules, and breaks exactly this rule.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Final, TypeAlias

from bylaw import Call, Guard, Outcome, Procedure, Trace, verify_trace
from bylaw.mining.mine import events_of
from bylaw.mining.sites import YES

LISTING: Final = "list_orders"
LOOKUPS: Final = ("get_order", "get_account")
ACTIONS: Final = ("cancel", "refund", "ship", "charge")
OTHERS: Final = ("search", "notify", "log_note", "escalate", "check_stock", "ping")
TOOLS: Final = (LISTING, *LOOKUPS, *ACTIONS, *OTHERS)
STATES: Final = ("open", "paid", "shipped", "closed")
MODES: Final = ("fast", "slow", "manual", "auto")
TAGS: Final = ("x", "y", "z")
BEGUN: Final = 1_767_225_600
"""When runs begin: 2026-01-01, in seconds since 1970."""
FIRST_DAY: Final = date(2026, 1, 15)
LENGTH: Final = 12
"""The calls of a run, about."""
RARE: Final = 8
"""Of so many attempts at a run with these rules, one must succeed."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A rule that was planted."""

    kind: str
    rule: str


@dataclass(slots=True)
class Desk:
    """The orders that one run's tools know, with their state and limit."""

    orders: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def opened(cls, choose: random.Random) -> Desk:
        """A desk with a few orders."""
        numbers = [f"N-{choose.randrange(10**6):06}" for _ in range(4)]
        return cls(
            {
                number: {
                    "state": choose.choice(STATES),
                    "limit": choose.randrange(10, 400),
                    "colour": choose.choice(("red", "blue")),
                    "weight": choose.randrange(100),
                }
                for number in numbers
            }
        )


def _pick(choose: random.Random, *names: tuple[str, ...]) -> list[str]:
    """A different tool from each tuple."""
    while True:
        found = [choose.choice(each) for each in names]
        if len(set(found)) == len(found):
            return found


_PLAIN: Final = (*OTHERS, *ACTIONS)


def _pair(text: str, left: tuple[str, ...] = _PLAIN, right: tuple[str, ...] = OTHERS) -> Any:
    def made(choose: random.Random) -> str:
        a, b = _pick(choose, left, right)
        return text.format(a=a, b=b)

    return made


def _three(text: str) -> Callable[[random.Random], str]:
    def made(choose: random.Random) -> str:
        a, b, c = _pick(choose, _PLAIN, OTHERS, OTHERS)
        if c < b:
            b, c = c, b
        return text.format(a=a, b=b, c=c, n=choose.choice((2, 3)))

    return made


def _action(text: str) -> Callable[[random.Random], str]:
    def made(choose: random.Random) -> str:
        modes = choose.sample(MODES, 2)
        return text.format(
            a=choose.choice(ACTIONS),
            l=choose.choice(LOOKUPS),
            state=choose.choice(STATES),
            modes=", ".join(f'"{mode}"' for mode in sorted(modes)),
            amount=choose.choice((50, 100, 150, 200)),
            total=choose.choice((200, 250, 300, 400)),
            limit=choose.choice((50, 100, 150, 200)),
            n=choose.choice((1, 2)),
            day=choose.choice(("2026-03-01", "2026-03-15", "2026-04-01")),
            mode=choose.choice(MODES),
            tag=choose.choice(TAGS),
            window=choose.choice(("1 min", "10 min")),
        )

    return made


_LAST: Final = "let v = args.id, o = last(call({l}, id = v, ok)).result:"
KINDS: Final[dict[str, Callable[[random.Random], str]]] = {
    "precedence": _pair("G({a} -> O {b})"),
    "response": _pair("G({a} -> F {b})"),
    "not after": _pair("G({b} -> !F {a})"),
    "together": _pair("F {a} -> F {b}"),
    "apart": _pair("!(F {a} & F {b})", OTHERS),
    "alternate precedence": _pair("G({a} -> Y(!{a} S {b}))"),
    "alternate response": _pair("G({a} -> X(!{a} U {b}))"),
    "chain precedence": _pair("G({a} -> Y {b})"),
    "chain response": _pair("G({a} -> X {b})"),
    "never": _pair("!F {b}"),
    "called": _pair("F {b}"),
    "count": _action("CalledN({a}, <= {n})"),
    "any before": _three("G({a} -> O {{{b}, {c}}})"),
    "any after": _three("G({a} -> F {{{b}, {c}}})"),
    "group count": _three("CalledN({{{a}, {b}}}, <= {n})"),
    "per key": _action("G({a} -> let v = args.id: length(sofar(call({a}, id = v))) <= 1)"),
    "lookup": _action("G({a} -> let v = args.id: earlier call({l}, id = v, ok))"),
    "source": _action(
        f"G({{a}} -> let v = args.id: earlier (call({LISTING}, ok) & v in result.ids))"
    ),
    "state": _action(f'G({{a}} -> {_LAST} o.state = "{{state}}")'),
    "state bound": _action(f"G({{a}} -> {_LAST} o.limit >= {{limit}})"),
    "agreement": _action(f"G({{a}} -> {_LAST} args.amount <= o.limit)"),
    "value": _action("G({a} -> args.mode in [{modes}])"),
    "bound": _action("G({a} -> args.amount <= {amount})"),
    "date bound": _action('G({a} -> args.day <= "{day}")'),
    "combination": _action('G({a} -> !(args.mode = "{mode}" & args.tag = "{tag}"))'),
    "total": _action("G({a} -> sum(sofar({a}).args.amount) <= {total})"),
    "total per key": _action(
        "G({a} -> let v = args.id: sum(sofar(call({a}, id = v)).args.amount) <= {total})"
    ),
    "rate": _action("G({a} -> length(sofar({a}, {window})) <= {n})"),
    "window total": _action("G({a} -> sum(sofar({a}, {window}).args.amount) <= {total})"),
    "recent": _pair("G({a} -> O {b} within 10 min)"),
    "deadline": _pair("G({a} -> F {b} within 10 min)"),
    "said": _action("G({a} -> let v = args.id: earlier (says(user) & text contains v))"),
    "confirmed": _action(
        f"G({{a}} -> last(says(user)).text ~ /{YES.replace('{', '{{').replace('}', '}}')}/)"
    ),
    "follow-up": _action("G({a} -> let v = args.id: F call(notify, id = v))"),
    "done before": _pair(
        "G({a} -> let v = args.id: length(sofar(call({b}, id = v))) = 0)", ACTIONS, ACTIONS
    ),
}
"""A rule of each kind, drawn at random."""
CONTROL_FLOW: Final = frozenset(list(KINDS)[: list(KINDS).index("count") + 1])


Case: TypeAlias = tuple[list[Planted], list[Trace], list[Trace]]
"""Rules, good runs and bad runs."""


def planted_case(seed: int, runs: int, kinds: frozenset[str] | None = None) -> Case | None:
    """Rules, good runs and bad runs, half of so many each; None if no three rules go together."""
    choose = random.Random(seed)
    rules = planted_rules(choose, kinds)
    while len(rules) >= 3:
        good = good_runs(rules, runs // 2, choose)
        bad = None if good is None else bad_runs(rules, runs // 2, choose)
        if good is not None and bad is not None:
            return rules, good, bad
        rules = rules[:-1]
    return None


def planted_rules(choose: random.Random, kinds: frozenset[str] | None = None) -> list[Planted]:
    """Three to eight rules of different kinds that an agent can keep, and break one by one."""
    names = [name for name in KINDS if kinds is None or name in kinds]
    wanted = choose.randint(3, min(8, len(names)))
    rules: list[Planted] = []
    for kind in choose.sample(names, min(len(names), 3 * wanted)):
        more = [*rules, Planted(kind, KINDS[kind](choose))]
        if _is_feasible(more, choose):
            rules = more
        if len(rules) == wanted:
            break
    return rules


def _is_feasible(rules: list[Planted], choose: random.Random) -> bool:
    few = good_runs(rules, 12, choose)
    return few is not None and bad_runs(rules, 3 * len(rules), choose) is not None


def procedure_of(rules: list[Planted]) -> Procedure:
    """The rules as a procedure that a gate enforces."""
    if not rules:
        return _ANYTHING
    constraints = [
        {
            "name": f"r{number}",
            "rule": each.rule,
            "severity": "SOFT_BLOCK",
            "events": events_of(each.rule),
        }
        for number, each in enumerate(rules)
    ]
    about: dict[str, Any] = {"bylaw": 1, "name": "planted", "finish": "met"}
    return Procedure.from_dict({**about, "unlisted": "allow", "constraints": constraints})


def random_call(choose: random.Random, desk: Desk, tool: str) -> Call:
    """A call of this tool with arguments at random."""
    noise = {"tag": choose.choice(TAGS), "size": choose.randrange(1000)}
    if tool == LISTING:
        return Call(tool, noise)
    numbered = {"id": choose.choice(list(desk.orders)), **noise}
    if tool in ACTIONS:
        day = (FIRST_DAY + timedelta(days=choose.randrange(120))).isoformat()
        amount, mode = choose.randrange(1, 300), choose.choice(MODES)
        return Call(tool, {**numbered, "amount": amount, "mode": mode, "day": day})
    return Call(tool, numbered if tool in LOOKUPS or tool == "notify" else noise)


def result_of(choose: random.Random, desk: Desk, call: Call) -> Any:
    """The result that the tool returns."""
    if call.tool == LISTING:
        ids = list(desk.orders)
        return {"ids": choose.sample(ids, choose.randint(2, len(ids))), "page": 1}
    if call.tool in LOOKUPS:
        number = str(call.args["id"])
        return {"id": number, **desk.orders[number]}
    return {"done": True, "code": choose.randrange(1000)}


def random_run(
    choose: random.Random, enforced: Procedure, named: frozenset[str] = frozenset()
) -> Trace | None:
    """A run of a random agent behind a gate; None if it cannot finish.

    It calls the tools that rules name more often than others.
    """
    desk = Desk.opened(choose)
    now = [float(BEGUN)]
    limit: dict[str, Any] = {"soft_block_limit": 10**6, "unenforceable": "score"}
    guard = Guard(enforced, clock=lambda: now[0], **limit)
    length = choose.randint(LENGTH - 4, LENGTH + 6)
    weights = [choose.choice((0.3, 1, 2)) * (3 if tool in named else 1) for tool in TOOLS]
    ran = 0
    for _ in range(5 * length):
        if ran >= length and choose.random() < 0.3 and _finished(guard):
            return guard.finish().trace
        now[0] += round(choose.choice((5, 40, 300)) * choose.uniform(0.5, 2), 1)
        if choose.random() < 0.25:
            about = f"It is {choose.choice(list(desk.orders))}."
            words = ("Yes, please.", "yes", "No, wait.", "Tell me more.", about, about)
            guard.say("user", choose.choice(words))
            continue
        tool = choose.choices(TOOLS, weights)[0]
        (decision,) = guard.propose([random_call(choose, desk, tool)])
        if guard.stopped:
            return None
        if decision.allowed:
            guard.record(decision, result_of(choose, desk, decision.call))
            ran += 1
    return None


_ANYTHING: Final = Procedure.from_dict(
    {"unlisted": "allow", "events": "all", "constraints": [{"name": "any", "rule": "true"}]}
)


def _finished(guard: Guard) -> bool:
    """Ends the run if every obligation is met."""
    (decision,) = guard.propose([Call("final_answer", {"answer": "done"})])
    return decision.allowed


def good_runs(rules: list[Planted], count: int, choose: random.Random) -> list[Trace] | None:
    """Runs that keep every rule; None if the rules leave an agent too little to do."""
    judged = procedure_of(rules)
    found = _runs(judged, judged, None, count, choose)
    return None if found is None or _is_rare(judged, found) else found


def _is_rare(judged: Procedure, runs: list[Trace]) -> bool:
    """Does a rule come into play in so few runs that it leaves no trace in them?"""
    reports = [verify_trace(trace, judged) for trace in runs]
    vacuous = [
        sum(report.constraints[n].outcome is Outcome.VACUOUS for report in reports)
        for n in range(len(judged.constraints))
    ]
    return any(number > 0.8 * len(runs) for number in vacuous)


def _runs(
    enforced: Procedure,
    kept: Procedure,
    broken: Procedure | None,
    count: int,
    choose: random.Random,
) -> list[Trace] | None:
    """Runs behind a gate that keep all of some rules, and break another one if it is given."""
    found: list[Trace] = []
    procedures = [enforced, kept, *([broken] if broken else [])]
    text = " ".join(rule.rule for each in procedures for rule in each.constraints)
    named = frozenset(tool for tool in TOOLS if tool in text)
    for attempt in range(20 + count * RARE):
        if len(found) == count:
            break
        if attempt > 20 and len(found) < attempt / RARE:
            return None
        trace = random_run(choose, enforced, named)
        if trace is None or (broken and verify_trace(trace, broken).label == "FULL"):
            continue
        if verify_trace(trace, kept).label == "FULL":
            found.append(trace)
    return found if len(found) == count else None


_WEAKER: Final = {
    r"G\((\w+) -> let v = args.id, o = last\(call\((\w+), .*": (
        "G({0} -> let v = args.id: earlier call({1}, id = v, ok))"
    ),
    r"G\((\w+) -> let v = args.id: earlier \(call\((\w+), ok\) & .*": "G({0} -> O {1})",
    r"G\((\w+) -> ([OF]) (\w+) within .*": "G({0} -> {1} {2})",
    r"G\((\w+) -> .*sum\(sofar\(.*args\.(\w+)\) <= (\d+)\)": "G({0} -> args.{1} <= {2})",
}
"""Rules, and simpler ones that they imply: that there is such a call at all, or that no single
amount exceeds the total."""


def _weaker(broken: Planted) -> list[Planted]:
    """The simpler rule, which is kept: else runs that break the rule would break this one, too."""
    for pattern, weaker in _WEAKER.items():
        if found := re.fullmatch(pattern, broken.rule):
            return [Planted("weaker", weaker.format(*found.groups()))]
    return []


def bad_runs(rules: list[Planted], count: int, choose: random.Random) -> list[Trace] | None:
    """Runs that break exactly one rule each, about as many for each rule."""
    found: list[Trace] = []
    for number, broken in enumerate(rules):
        others = [each for each in rules if each is not broken]
        share = count * (number + 1) // len(rules) - count * number // len(rules)
        kept = procedure_of(others)
        enforced = procedure_of([*others, *_weaker(broken)])
        some = _runs(enforced, kept, procedure_of([broken]), share, choose)
        if some is None:
            return None
        found += some
    return found


def mislabelled(
    good: list[Trace], bad: list[Trace], noise: float, choose: random.Random
) -> tuple[list[Trace], list[Trace]]:
    """Both lists, with this share of the labels swapped."""
    pairs = [(trace, True) for trace in good] + [(trace, False) for trace in bad]
    flipped = [(trace, label != (choose.random() < noise)) for trace, label in pairs]
    return [t for t, label in flipped if label], [t for t, label in flipped if not label]


def random_traces(count: int, choose: random.Random) -> Iterator[Trace]:
    """Runs of an agent that no gate holds back, to compare rules on."""
    while count:
        trace = random_run(choose, _ANYTHING)
        if trace is not None:
            count -= 1
            yield trace
