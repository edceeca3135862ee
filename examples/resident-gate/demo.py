"""`make serve-demo`: a resident gate, and agents to watch in the browser.

The agents are scripts. Some forget to verify, some ask for too much, and all of them wait for a
person where one is needed: approve or deny their calls on the page.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from bylaw import Call, Decision, GateError, RemoteGuard

HERE = Path(__file__).parent
CUSTOMERS = ["ada", "bob", "cleo", "dev", "eve"]
PATIENCE = 60.0
"""The time that an agent waits for a person, in seconds."""


class Agent(threading.Thread):
    """One agent after the other: each handles a customer's request in a run of its own."""

    def __init__(self, address: str, token: str, seed: int, pause: float, ends: float) -> None:
        super().__init__(daemon=True)
        self._gate = address, token
        self._chance = random.Random(seed)
        self._pause, self._ends = pause, ends

    def run(self) -> None:
        """Handles requests until the time is over or the gate is gone."""
        try:
            while time.monotonic() < self._ends:
                self._handle(self._chance.choice(CUSTOMERS))
        except GateError:
            return

    def _handle(self, customer: str) -> None:
        with RemoteGuard(*self._gate, labels={"customer": customer}) as guard:
            amount = self._chance.choice([20, 35, 60, 150, 400])
            calls = [Call("look_up", {"customer": customer})]
            calls += [Call("verify", {"customer": customer})] * (self._chance.random() < 0.8)
            calls += [Call("refund", {"amount": amount})]
            calls += [Call("tell", {"text": f"{amount} are on their way."})]
            for call in calls:
                self._do(guard, call)
                self._think()
            guard.finish("Done.")

    def _do(self, guard: RemoteGuard, call: Call) -> None:
        (decision,) = guard.propose([call])
        if decision.action == "ask" and guard.answer(decision, wait=self._patience) == "approved":
            (decision,) = guard.propose([call])
        if decision.allowed:
            self._think()
            guard.record(decision, {"ok": True})
        elif self._needs_verifying(decision):
            self._do(guard, Call("verify"))
            self._do(guard, call)

    @property
    def _patience(self) -> float:
        return max(0.0, min(PATIENCE, self._ends - time.monotonic()))

    def _needs_verifying(self, decision: Decision) -> bool:
        return decision.named == ("verify-first",)

    def _think(self) -> None:
        time.sleep(self._chance.uniform(0.2, 1.8) * self._pause)


def main() -> None:
    """Starts a gate and some agents, and stops them after a while or at Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600.0, help="how long it runs")
    parser.add_argument("--agents", type=int, default=6)
    parser.add_argument("--pause", type=float, default=1.0, help="how slowly the agents work")
    parser.add_argument("--port", default="8700")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        gate = subprocess.Popen(
            [
                *(sys.executable, "-m", "bylaw.cli.main", "serve", "--json"),
                *("-p", str(HERE / "procedure.yaml"), "--store", f"sqlite:{folder}/gate.db"),
                *("--port", options.port, "--give-up", "120"),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert gate.stdout is not None
        try:
            line = gate.stdout.readline()
            if not line:
                sys.exit("The gate did not start: is port 8700 taken? Try --port 0.")
            told = json.loads(line)
            print(f"Open {told['address']}/#token={told['person_token']}")
            print("Approve or deny what the agents ask. Ctrl-C stops the demo.", flush=True)
            ends = time.monotonic() + options.seconds
            agents = [
                Agent(told["address"], told["agent_token"], n, options.pause, ends)
                for n in range(options.agents)
            ]
            for agent in agents:
                agent.start()
            for agent in agents:
                agent.join()
            print("The agents have stopped.")
        except KeyboardInterrupt:
            print()
        finally:
            gate.terminate()
            gate.wait(30)
            gate.stdout.close()


if __name__ == "__main__":
    main()
