"""The cost of an adapter: the time that it takes per model turn, without the framework's own.

    python benchmarks/adapters.py [--quick] [ADAPTER…]

A scripted model makes one call per turn, with the ten rules of `gate_runs.py`. Where the functions
by which an adapter hangs in its framework can be timed, they are, less the time of the framework's
functions that they call; elsewhere, a run with the gate is compared with one whose hooks are idle,
or which has none. What is left is reading the turn, deciding it, and recording the result. The time
is that of the processor, and the least of all rounds: other programs can only add to it. Making a
guard, and saving it at the end, is the cost of a run. Frameworks that are not installed are left
out, with a note.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Final

import adapter_runs
import table
from adapter_costs import CALLS, PROCEDURE, TOOLS, TURNS, Costs, Run

from bylaw import Call, Guard

TARGET: Final = 0.2
"""The cost of a turn, in milliseconds."""


# ── loops ────────────────────────────────────────────────────────────────────────────────────


def guard_alone() -> Run:
    """The part of the cost that no adapter can save: the decision, and the result."""

    def run(costs: Costs) -> None:
        guard = costs.timed(lambda: Guard(PROCEDURE), per_run=True)()

        def decide(call: Call) -> None:
            (decision,) = guard.propose([call])
            guard.record(decision, "done")

        turn = costs.timed(decide)
        for call in CALLS:
            turn(call)

    return run


def openai_turn() -> Run:
    """A loop around chat messages."""

    def run(costs: Costs) -> None:
        guard = costs.timed(lambda: Guard(PROCEDURE), per_run=True)()
        turn = costs.timed(guard.openai_turn)
        for number, call in enumerate(CALLS):
            function = {"name": call.tool, "arguments": json.dumps(dict(call.args))}
            asked = {"id": f"c{number}", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [asked]}
            (reply,) = turn(message, TOOLS)
            assert reply["content"] == "done"

    return run


def anthropic_turn() -> Run:
    """The same with Anthropic's messages."""

    def run(costs: Costs) -> None:
        guard = costs.timed(lambda: Guard(PROCEDURE), per_run=True)()
        turn = costs.timed(guard.anthropic_turn)
        for number, call in enumerate(CALLS):
            use = {"type": "tool_use", "id": f"c{number}", "name": call.tool}
            message = {"role": "assistant", "content": [use | {"input": dict(call.args)}]}
            (reply,) = turn(message, TOOLS)
            assert reply["content"][0]["content"] == "done"

    return run


ADAPTERS: Final[dict[str, tuple[str, Callable[[], Run]]]] = {
    "guard alone": ("bylaw", guard_alone),
    "openai_turn": ("bylaw", openai_turn),
    "anthropic_turn": ("bylaw", anthropic_turn),
    "langchain": ("langchain", adapter_runs.langchain),
    "openai_agents": ("agents", adapter_runs.openai_agents),
    "pydantic_ai": ("pydantic_ai", adapter_runs.pydantic_ai),
    "fastmcp": ("fastmcp", adapter_runs.fastmcp),
    "google_adk": ("google.adk", adapter_runs.google_adk),
    "strands": ("strands", adapter_runs.strands),
    "agent_framework": ("agent_framework", adapter_runs.agent_framework),
    "inspect": ("inspect_ai", adapter_runs.inspect),
    "smolagents": ("smolagents", adapter_runs.smolagents),
}
"""By name: the package that is needed, and what makes a run."""


def measured(run: Run, rounds: int) -> tuple[float, float]:
    """The cost of a turn and of a run, in milliseconds: the least, as other programs only add."""
    run(Costs())  # what is made once is made now
    made = [Costs() for _ in range(rounds)]
    for costs in made:
        run(costs)
    gated, without = min(c.per_turn for c in made), min(c.without for c in made)
    return (gated - without) / TURNS * 1000, min(c.per_run for c in made) * 1000


def main() -> int:
    """Prints the cost of each adapter; 1 if one is above the target."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("adapters", nargs="*", help=f"of {', '.join(ADAPTERS)}")
    options = parser.parse_args()
    rows, worst = [], 0.0
    for name in options.adapters or ADAPTERS:
        package, make = ADAPTERS[name]
        if find_spec(package.partition(".")[0]) is None or find_spec(package) is None:
            print(f"NOT MEASURED: {package} is not installed")
            continue
        turn, run = measured(make(), rounds=5 if options.quick else 30)
        worst = max(worst, turn)
        rows.append([name, f"{turn:.3f}", f"{run:.2f}"])
    table.show("The cost of adapters", ["adapter", "a turn, ms", "a run, ms"], rows)
    table.target("a turn, at most", worst, TARGET, at_least=False, unit="ms")
    return int(worst > TARGET)


if __name__ == "__main__":
    sys.exit(main())
