"""Writes the runs in this folder: a simulated service desk, with good and bad agents.

    python examples/mining/simulate.py

A good agent looks an order up, cancels only what is pending and what the customer confirmed, and
refunds at most what was paid. A bad one skips one of these. No model was asked.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MISTAKES = ("status", "confirmation", "amount", "made-up order")


class Run:
    """One conversation at the desk."""

    def __init__(self, choose: random.Random, mistake: str | None) -> None:
        self.choose = choose
        self.mistake = mistake
        self.calls: list[dict[str, Any]] = []
        self.messages: list[dict[str, Any]] = []
        self.step = 0
        self.orders = [f"W{choose.randrange(10**6):06}" for _ in range(3)]

    def call(self, tool: str, arguments: dict[str, Any], result: Any) -> None:
        """A call in a turn of its own."""
        self.step += 1
        self.calls.append(
            {"step": self.step, "tool_name": tool, "arguments": arguments, "tool_result": result}
        )

    def user(self, text: str) -> None:
        """The customer says something."""
        self.step += 1
        self.messages.append(
            {"role": "user", "text": text, "before": len(self.calls), "step": self.step}
        )

    def play(self) -> dict[str, Any]:
        """The record of the run."""
        choose = self.choose
        mail = f"{choose.choice(('ada', 'bo', 'cy', 'di'))}{choose.randrange(100)}@example.org"
        self.user(f"Hello, I am {mail}.")
        self.call("find_customer", {"email": mail}, {"id": f"C{choose.randrange(10**4)}"})
        self.call("list_orders", {"email": mail}, {"orders": self.orders})
        if choose.random() < 0.4:
            self.call("search_help", {"query": choose.choice(("returns", "hours"))}, "see page 3")
        for order in choose.sample(self.orders, choose.randint(1, 2)):
            self.serve(order)
        if choose.random() < 0.3:
            self.call("send_survey", {"email": mail}, "sent")
        return {"tool_calls": self.calls, "messages": self.messages, "answer": "Done."}

    def serve(self, order: str) -> None:
        """Cancels an order or refunds part of it."""
        choose, paid = self.choose, self.choose.randrange(20, 200)
        if self.mistake == "made-up order":
            order = f"W{choose.randrange(10**6):06}"
        cancels = choose.random() < 0.5 or self.mistake in ("status", "confirmation")
        cancels = cancels and self.mistake != "amount"
        wrong = choose.choice(("delivered", "processed"))
        state = wrong if self.mistake == "status" or not cancels else "pending"
        self.user(f"Please take care of {order}.")
        self.call("get_order", {"order": order}, {"order": order, "status": state, "paid": paid})
        self.user("Not yet, wait." if self.mistake == "confirmation" else "Yes, please.")
        if cancels:
            self.call("cancel_order", {"order": order}, {"done": True})
        else:
            most = 2 * paid if self.mistake == "amount" else paid
            least = paid + 1 if self.mistake == "amount" else 1
            amount = choose.randint(least, most)
            self.call("refund", {"order": order, "amount": amount}, {"done": True})


def main() -> None:
    """Writes both files."""
    choose = random.Random(11)
    good = [Run(choose, None).play() for _ in range(80)]
    bad = [Run(choose, MISTAKES[n % len(MISTAKES)]).play() for n in range(60)]
    for name, runs in (("good", good), ("bad", bad)):
        text = "".join(json.dumps(run) + "\n" for run in runs)
        (HERE / f"{name}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
