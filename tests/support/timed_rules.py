"""Rules about time, agents and usage, on the events of `timed_traces`."""

from __future__ import annotations

WINDOWS = (
    "G(b -> O a within 10 s)",
    "G(b -> earlier a within 10 s)",
    "G(b -> O call(a, ok) within 10 s)",
    "G(b -> earlier call(a, ok) within 0 s)",
    "G(b -> let i = args.i: O call(a, i = i) within 5 s)",
    "G(b -> let i = args.i: earlier call(a, i = i, ok) within 5 s)",
    "G(b -> let i = args.i: earlier (a & result.i = i) within 5 s)",
    "G(b -> let i = args.i: earlier (a & args.i >= i) within 5 s)",
    "G(!(b & O a within 3 s))",
    "G(b -> !(earlier call(a, ok) within 3 s))",
    "G(length(sofar(a, 10 s)) <= 2)",
    "G(b -> length(sofar(call(a, ok), 10 s)) >= 1)",
    "G(b -> let i = args.i: length(sofar(call(a, i = i), 5 s)) <= 1)",
    "G(sum(sofar(a, 10 s).args.i) <= 3)",
    "G(b -> sum(sofar(call(a, ok), 20 s).args.i) <= 2)",
    "G(sum(sofar(call, 20 s).usage.tokens) <= 20)",
    "G(max(sofar(a, 5 s).result.i) <= 1)",
    "G(b -> min(sofar(call(a, ok), 5 s).args.i) = 0)",
    "G(length(unique(sofar(a, 10 s).agent)) <= 1)",
    "G(c -> length(unique(sofar(call({a, b}, ok), 20 s).agent)) >= 2)",
    "G(call & duration > 1 -> O a within 3 s)",
    "G(sum(sofar(call).duration) <= 5)",
    "G(b -> last(a).start >= start - 5)",
    "G(b -> let w = agent: earlier (a & agent != w))",
)
"""About the past: an event and those before it decide them."""

DEADLINES = (
    "G(a -> F b within 10 s)",
    "G(a -> later b within 10 s)",
    "G(a -> F a within 0 s)",
    "G(a -> later {a, b} within 5 s)",
    "G(a -> let i = args.i: F call(b, i = i) within 10 s)",
    "G(a -> let i = args.i: later call(b, i = i) within 10 s)",
    "G(let i = args.i: a & i = 1 -> F (b & args.i = i) within 7 s)",
    "G(a -> let i = args.i: F call(b, i = i, ok) within 10 s)",
    "G(call(a, ok) -> F b within 10 s)",
    "G(call(a, ok) -> let i = result.i: F call(b, i = i, ok) within 10 s)",
    "G(a -> let i = args.i: F (b & result.i = i) within 10 s)",
    "G(a -> let i = result.i: F call(b, i = i) within 10 s)",
    "G(a & args.i > 0 -> F {b, c} within 3 s)",
)
"""Something must happen in time."""

RESPONSES = (
    "G(a -> let i = args.i: F call(b, i = i))",
    "G(a -> let i = args.i: later call(b, i = i))",
    "G(a -> let i = args.i: F call(b, i = i, ok))",
    "G(let i = args.i: a & i = 1 -> F (b & args.i = i))",
    "G(call(a, ok) -> let i = result.i: F call(b, i = i, ok))",
    "G(call(a, ok) -> let i = result.i: later (b & result.i = i))",
    "G(a -> let i = result.i: F call(b, i = i))",
    "G(a & args.i > 0 -> let i = args.i: F (b & result.i = i))",
)
"""Something with the same value must happen at any later time."""

OTHERS = (
    "F b within 3 s",
    "later b within 0.3 s",
    "G(a -> (F b within 3 s) & !(F c within 1 s))",
    "G(a -> F (b -> F c within 1 s) within 5 s)",
    "G(H !b | O (a -> b) within 2 s)",
    "G(b -> O a within 0.3 s)",
    "G(b -> !(O (O a within 0.1 s) within 0.2 s))",
    "(!b) U (a & O c within 3 s)",
    "Y O a within 1 s",
    "forall x in [0, 1]: G(call(b, i = x) -> O call(a, i = x) within 3 s)",
    'forall x in args(a, "i"): F (call(b, i = x) & O a within 1 s)',
    "G(call -> exists x in sofar(call(a, ok), 5 s).args.i: x = args.i)",
    'G(b -> count(x in sofar(a, 5 s): x.agent = "x") <= 1)',
    "G(length(sofar(call, 0 s)) <= 2)",
    "G(b -> sofar(a, 10 s)[0].start <= start)",
    "G(b -> sofar(a)[-1].agent = agent)",
    'G(b -> let e = last(a): e.usage.tokens > 3 -> e.agent = "x")',
    "G(b -> last(call(a, ok)).agent != agent)",
    "G(b -> last(a).end <= start)",
    "G(end >= start)",
    "G(duration <= 1 | call(a, failed))",
    "G(usage.tokens <= 7)",
    "G(call -> sum(sofar(call).usage.tokens) <= 20)",
    "G(length(sofar(call).usage) <= 4)",
    "G(length(sofar(call, 3 s).agent) <= 2)",
    'G(hour(start, "Europe/Berlin") = 1)',
    'G(a -> weekday(start, "UTC") <= 5 & date(start, "America/New_York") >= "1970-01-01")',
    'G(a -> date(last(b).start, "UTC") = date(start, "UTC"))',
    "Before(a, final_answer) & F (final_answer & O a within 3 s)",
    "F (a & F final_answer within 3 s)",
)
"""Rules that are followed in other ways, or not at all."""
