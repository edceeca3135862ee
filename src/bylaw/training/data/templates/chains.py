"""Four templates of three or four calls: chains with a branch."""

from bylaw.bench.gold import Execution
from bylaw.bench.templates.template import Parameters, PromptText
from bylaw.training.data.templates.pattern import SEEDS, TaskPattern, b, c


def _bridge_text(p: Parameters) -> PromptText:
    return PromptText(
        [
            f"Call tool_a(i = {p['seed']}). Let v be its result.",
            (
                f"If v is greater than {p['t']}, call tool_b(i = v, j = {p['j']}); otherwise call "
                "tool_c(x = v). Let w be the result."
            ),
            "Call tool_c(x = w). Let y be its result.",
        ],
        answer="y",
    )


def _bridge(run: Execution, p: Parameters) -> int:
    v = run.at(1).call_given("tool_a", i=p["seed"])
    w = run.at(2).choose(v > p["t"], b(v, p["j"]), c(v))
    return run.at(3).call("tool_c", x=w)


def _chain_text(p: Parameters) -> PromptText:
    return PromptText(
        [
            f"Call tool_a(i = {p['seed']}). Let v be its result.",
            f"Call tool_b(i = v, j = {p['j']}). Let w be its result.",
            (
                f"If w is greater than {p['t']}, call tool_c(x = w); otherwise call "
                f"tool_b(i = w, j = {p['j']}). Let y be the result."
            ),
            "Call tool_c(x = y). Let z be its result.",
        ],
        answer="z",
    )


def _chain(run: Execution, p: Parameters) -> int:
    v = run.at(1).call_given("tool_a", i=p["seed"])
    w = run.at(2).call("tool_b", i=v, j=p["j"])
    y = run.at(3).choose(w > p["t"], c(w), b(w, p["j"]))
    return run.at(4).call("tool_c", x=y)


def _rebranch_text(p: Parameters) -> PromptText:
    return PromptText(
        [
            f"Call tool_a(i = {p['seed']}). Let v be its result.",
            "Call tool_c(x = v). Let w be its result.",
            (
                f"If w is greater than {p['t']}, call tool_b(i = w, j = {p['j']}); otherwise call "
                "tool_c(x = w). Let y be the result."
            ),
            f"Call tool_b(i = y, j = {p['j']}). Let z be its result.",
        ],
        answer="z",
    )


def _rebranch(run: Execution, p: Parameters) -> int:
    v = run.at(1).call_given("tool_a", i=p["seed"])
    w = run.at(2).call("tool_c", x=v)
    y = run.at(3).choose(w > p["t"], b(w, p["j"]), c(w))
    return run.at(4).call("tool_b", i=y, j=p["j"])


def _verify_text(p: Parameters) -> PromptText:
    return PromptText(
        [
            f"Call tool_a(i = {p['seed']}). Let v be its result.",
            (
                f"If v is greater than {p['t']}, call tool_c(x = v); otherwise call "
                f"tool_b(i = v, j = {p['j']}). Let w be the result."
            ),
            f"Verify it: call tool_b(i = w, j = {p['j']}). Let y be its result.",
            (
                f"If y is greater than {p['u']}, call tool_c(x = y); otherwise call "
                f"tool_b(i = y, j = {p['j']}). Let z be the result."
            ),
        ],
        answer="z",
    )


def _verify(run: Execution, p: Parameters) -> int:
    v = run.at(1).call_given("tool_a", i=p["seed"])
    w = run.at(2).choose(v > p["t"], c(v), b(v, p["j"]))
    y = run.at(3).call("tool_b", i=w, j=p["j"])
    return run.at(4).choose(y > p["u"], c(y), b(y, p["j"]))


PATTERNS = (
    TaskPattern(
        "three_call_branch_bridge",
        "a → branch(b | c) → c",
        {"seed": SEEDS, "j": range(2, 10), "t": range(2, 6)},
        _bridge_text,
        _bridge,
    ),
    TaskPattern(
        "chain_then_branch",
        "a → b → branch(c | b) → c",
        {"seed": SEEDS, "j": range(2, 10), "t": range(20, 51)},
        _chain_text,
        _chain,
    ),
    TaskPattern(
        "rebranch_after_c",
        "a → c → branch(b | c) → b",
        {"seed": SEEDS, "j": range(2, 10), "t": range(6, 20)},
        _rebranch_text,
        _rebranch,
    ),
    TaskPattern(
        "branch_verify_finalize",
        "a → branch(c | b) → verify b → branch(c | b)",
        {"seed": SEEDS, "j": range(2, 10), "t": range(2, 6), "u": range(20, 51)},
        _verify_text,
        _verify,
    ),
)
