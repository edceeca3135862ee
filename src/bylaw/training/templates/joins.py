"""Four templates of four to six calls: results that come together, and a second branch."""

from bylaw.bench.gold import Execution
from bylaw.training.templates.pattern import SEEDS, Parameters, Pattern, Text, b, branch, c


def _join_text(p: Parameters) -> Text:
    return Text(
        [
            f"Call tool_a(i = {p['seed']}) and let v be its result.",
            f"Call tool_b(i = v, j = {p['j']}) and let w be its result.",
            "Call tool_c(x = v) and let y be its result.",
            "Join them: call tool_b(i = w, j = y) and let z be its result.",
            (
                f"If z is greater than {p['t']}, call tool_c(x = z), otherwise call "
                f"tool_b(i = z, j = {p['j']}); let r be that result."
            ),
        ],
        answer="r",
    )


def _join(run: Execution, p: Parameters) -> int:
    v = run.call_given("tool_a", i=p["seed"])
    run.sentence = 1
    w = run.call("tool_b", i=v, j=p["j"])
    run.sentence = 2
    y = run.call("tool_c", x=v)
    run.sentence = 3
    z = run.call("tool_b", i=w, j=y)
    run.sentence = 4
    return branch(run, z > p["t"], c(z), b(z, p["j"]))


def _dual_text(p: Parameters) -> Text:
    return Text(
        [
            f"Call tool_a(i = {p['seed']}) and let v be its result.",
            (
                f"Left: if v is greater than {p['t']}, call tool_c(x = v), otherwise call "
                f"tool_b(i = v, j = {p['j']}); let g be that result."
            ),
            (
                f"Right: if v is greater than {p['u']}, call tool_b(i = v, j = {p['k']}), "
                "otherwise call tool_c(x = v); let h be that result."
            ),
            "Merge them: call tool_b(i = g, j = h) and let y be its result.",
        ],
        answer="y",
    )


def _dual(run: Execution, p: Parameters) -> int:
    v = run.call_given("tool_a", i=p["seed"])
    run.sentence = 1
    left = branch(run, v > p["t"], c(v), b(v, p["j"]))
    run.sentence = 2
    right = branch(run, v > p["u"], b(v, p["k"]), c(v))
    run.sentence = 3
    return run.call("tool_b", i=left, j=right)


def _loop_text(p: Parameters) -> Text:
    return Text(
        [
            f"Call tool_a(i = {p['seed']}) and let v be its result.",
            "Call tool_b(i = v, j = 1) and tool_b(i = v, j = 2); let g and h be their results.",
            "Bring them together: call tool_b(i = g, j = h) and let w be its result.",
            (
                f"If w is greater than {p['t']}, call tool_c(x = w), otherwise call "
                f"tool_b(i = w, j = {p['j']}); let y be that result."
            ),
        ],
        answer="y",
    )


def _loop(run: Execution, p: Parameters) -> int:
    v = run.call_given("tool_a", i=p["seed"])
    run.sentence = 1
    first, second = (run.call("tool_b", i=v, j=j) for j in (1, 2))
    run.sentence = 2
    w = run.call("tool_b", i=first, j=second)
    run.sentence = 3
    return branch(run, w > p["t"], c(w), b(w, p["j"]))


def _double_text(p: Parameters) -> Text:
    return Text(
        [
            f"Call tool_a(i = {p['seed']}) and let v be its result.",
            f"Call tool_b(i = v, j = {p['j']}) and let w be its result.",
            (
                f"If w is greater than {p['t']}, call tool_c(x = w), otherwise call "
                f"tool_b(i = w, j = {p['j']}); let x be that result."
            ),
            f"Call tool_b(i = x, j = {p['j']}) and let y be its result.",
            (
                f"If y is greater than {p['u']}, call tool_c(x = y), otherwise call "
                f"tool_b(i = y, j = {p['j']}); let z be that result."
            ),
            "Call tool_c(x = z) and let r be its result.",
        ],
        answer="r",
    )


def _double(run: Execution, p: Parameters) -> int:
    v = run.call_given("tool_a", i=p["seed"])
    run.sentence = 1
    w = run.call("tool_b", i=v, j=p["j"])
    run.sentence = 2
    x = branch(run, w > p["t"], c(w), b(w, p["j"]))
    run.sentence = 3
    y = run.call("tool_b", i=x, j=p["j"])
    run.sentence = 4
    z = branch(run, y > p["u"], c(y), b(y, p["j"]))
    run.sentence = 5
    return run.call("tool_c", x=z)


PATTERNS = (
    Pattern(
        "join_then_branch",
        "a → b and c, both from a → join b → branch(c | b)",
        {"seed": SEEDS, "j": range(2, 10), "t": range(20, 51)},
        _join_text,
        _join,
    ),
    Pattern(
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
    Pattern(
        "loop2_then_branch",
        "a → b(v, 1), b(v, 2) → aggregate b → branch(c | b)",
        {"seed": SEEDS, "j": range(2, 10), "t": range(20, 51)},
        _loop_text,
        _loop,
    ),
    Pattern(
        "six_call_double_rebranch",
        "a → b → branch(c | b) → b → branch(c | b) → c",
        {"seed": SEEDS, "j": range(2, 10), "t": range(20, 51), "u": range(20, 51)},
        _double_text,
        _double,
    ),
)
