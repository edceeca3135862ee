"""Four templates of four to six calls that join results or branch twice."""

from bylaw.bench.gold import Execution
from bylaw.bench.templates.template import Parameters, PromptText
from bylaw.training.data.templates.pattern import (
    SEEDS,
    TaskPattern,
    apart,
    b,
    c,
    looped,
)


def _join_text(p: Parameters) -> PromptText:
    return PromptText(
        [
            f"Call tool_a(i = {p['seed']}). Let v be its result.",
            f"Call tool_b(i = v, j = {p['j']}). Let w be its result.",
            "Call tool_c(x = v). Let y be its result.",
            "Join them: call tool_b(i = w, j = y). Let z be its result.",
            (
                f"If z is greater than {p['t']}, call tool_c(x = z); otherwise call "
                f"tool_b(i = z, j = {p['j']}). Let r be the result."
            ),
        ],
        answer="r",
    )


def _join(run: Execution, p: Parameters) -> int:
    v = run.at(1).call_given("tool_a", i=p["seed"])
    w = run.at(2).call("tool_b", i=v, j=p["j"])
    y = run.at(3).call("tool_c", x=v)
    z = run.at(4).call("tool_b", i=w, j=y)
    return run.at(5).choose(z > p["t"], c(z), b(z, p["j"]))


def _dual_text(p: Parameters) -> PromptText:
    return PromptText(
        [
            f"Call tool_a(i = {p['seed']}). Let v be its result.",
            (
                f"Left: if v is greater than {p['t']}, call tool_c(x = v); otherwise call "
                f"tool_b(i = v, j = {p['j']}). Let g be the result."
            ),
            (
                f"Right: if v is greater than {p['u']}, call tool_b(i = v, j = {p['k']}); "
                "otherwise call tool_c(x = v). Let h be the result."
            ),
            "Merge them: call tool_b(i = g, j = h). Let y be its result.",
        ],
        answer="y",
    )


def _dual(run: Execution, p: Parameters) -> int:
    v = run.at(1).call_given("tool_a", i=p["seed"])
    left = run.at(2).choose(v > p["t"], c(v), b(v, p["j"]))
    right = run.at(3).choose(v > p["u"], b(v, p["k"]), c(v))
    return run.at(4).call("tool_b", i=left, j=right)


def _loop_text(p: Parameters) -> PromptText:
    body = "call tool_b(i = v, j = j). Let g and h be the results."
    return PromptText(
        [
            f"Call tool_a(i = {p['seed']}). Let v be its result.",
            *looped(p, 2, "each j from 1 to 2", body),
            "Bring them together: call tool_b(i = g, j = h). Let w be its result.",
            (
                f"If w is greater than {p['t']}, call tool_c(x = w); otherwise call "
                f"tool_b(i = w, j = {p['j']}). Let y be the result."
            ),
        ],
        answer="y",
    )


def _loop(run: Execution, p: Parameters) -> int:
    v = run.at(1).call_given("tool_a", i=p["seed"])
    run.step = 2
    rounds = run.each("j", (1, 2), body=2 + apart(p))
    first, second = (run.call("tool_b", i=v, j=j) for j in rounds)
    run.step += 1
    w = run.call("tool_b", i=first, j=second)
    run.step += 1
    return run.choose(w > p["t"], c(w), b(w, p["j"]))


def _double_text(p: Parameters) -> PromptText:
    return PromptText(
        [
            f"Call tool_a(i = {p['seed']}). Let v be its result.",
            f"Call tool_b(i = v, j = {p['j']}). Let w be its result.",
            (
                f"If w is greater than {p['t']}, call tool_c(x = w); otherwise call "
                f"tool_b(i = w, j = {p['j']}). Let x be the result."
            ),
            f"Call tool_b(i = x, j = {p['j']}). Let y be its result.",
            (
                f"If y is greater than {p['u']}, call tool_c(x = y); otherwise call "
                f"tool_b(i = y, j = {p['j']}). Let z be the result."
            ),
            "Call tool_c(x = z). Let r be its result.",
        ],
        answer="r",
    )


def _double(run: Execution, p: Parameters) -> int:
    v = run.at(1).call_given("tool_a", i=p["seed"])
    w = run.at(2).call("tool_b", i=v, j=p["j"])
    x = run.at(3).choose(w > p["t"], c(w), b(w, p["j"]))
    y = run.at(4).call("tool_b", i=x, j=p["j"])
    z = run.at(5).choose(y > p["u"], c(y), b(y, p["j"]))
    return run.at(6).call("tool_c", x=z)


PATTERNS = (
    TaskPattern(
        "join_then_branch",
        "a → b and c, both from a → join b → branch(c | b)",
        {"seed": SEEDS, "j": range(2, 10), "t": range(20, 51)},
        _join_text,
        _join,
    ),
    TaskPattern(
        "dual_branch_merge",
        "a → left branch(c | b), right branch(b | c), both from a → merge b",
        # With u < t and j < k the two branches never make the same call.
        {
            "seed": SEEDS,
            "j": range(2, 6),
            "k": range(6, 10),
            "t": range(4, 7),
            "u": range(1, 4),
        },
        _dual_text,
        _dual,
    ),
    TaskPattern(
        "loop2_then_branch",
        "a → b(v, 1), b(v, 2) → aggregate b → branch(c | b)",
        {"seed": SEEDS, "j": range(2, 10), "t": range(20, 51)},
        _loop_text,
        _loop,
    ),
    TaskPattern(
        "six_call_double_rebranch",
        "a → b → branch(c | b) → b → branch(c | b) → c",
        {"seed": SEEDS, "j": range(2, 10), "t": range(20, 51), "u": range(20, 51)},
        _double_text,
        _double,
    ),
)
