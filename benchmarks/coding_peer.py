"""Bylaw's rules for coding agents beside those of agentltl-coding, on the same sixty runs.

    python -m venv peer && peer/bin/pip install agentltl-coding==0.2.6
    python benchmarks/coding_peer.py peer/bin/python

The peer is driven as its plugins drive it: one `Session` per hook, `pre` before a call and `post`
after it, with its packaged rules for the same subjects switched on. Both see the same calls in the
same order. A forbidden run is caught if one of its calls is refused or asked about; an allowed run
is wrongly stopped if one is refused, and a person is bothered if one is asked about.

Decisions are timed by the clock in a process that stays, and by processor time in new processes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

from coding_scenarios import SCENARIOS, calls_of

RULES = (
    "no-force-push",
    "ask-before-recursive-delete",
    "protect-secret-files",
    "no-env-dumps",
    "tests-before-push",
    "read-before-overwrite",
    "ask-before-installing",
    "ask-before-discarding-work",
)
"""The packaged rules of the peer for the subjects of the runs."""
FILES = ("a.py", ".env", ".env.example", "requirements.txt", "build/a.o", "src/app.py")
ROUNDS = 5
EVENT = {
    "hook_event_name": "PreToolUse",
    "session_id": "s",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "1",
}


def answers_of_bylaw(root: Path) -> tuple[list[str], list[float]]:
    """The strongest answer to each run, and the seconds of each decision."""
    from bylaw import Call, Guard, Procedure
    from bylaw.procedure.packaged import packaged_file

    text = packaged_file("coding").read_text(encoding="utf-8")
    file = root / "procedure.yaml"
    file.write_text(text.replace("ROOT: /workspace/", f"ROOT: {root}/"), encoding="utf-8")
    procedure = Procedure.load(file)
    answers, seconds = [], []
    for _, _, _, run in SCENARIOS:
        guard, found = Guard(procedure), "pass"
        for tool, args, works in calls_of(run, str(root)):
            start = time.perf_counter()
            (decision,) = guard.propose([Call(tool, args)])
            seconds.append(time.perf_counter() - start)
            if decision.action != "allow":
                found = "ask" if decision.action == "ask" else "refuse"
                break
            guard.record(decision, "done" if works else None, error=None if works else "failed")
        answers.append(found)
    return answers, seconds


def project_in(folder: Path) -> Path:
    """A project with a few files, and the peer's rules."""
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x\n", encoding="utf-8")
    use = "".join(f"  - {name}\n" for name in RULES)
    (folder / "AGENTLTL.yaml").write_text(f"use:\n{use}", encoding="utf-8")
    return folder


PEER = """
import json, sys, time
from agentltl_coding import Harness, Session, configure
root, runs = sys.argv[1], json.loads(sys.argv[2])
configure(Harness(name="bench", user_dir=root + "/home", state_dir=root + "/state"))
answers, seconds = [], []
for number, (root, run) in enumerate(runs):
    found = "pass"
    for at, (tool, args, works) in enumerate(run):
        start = time.perf_counter()
        verdict = Session(root, root, f"s{number}").pre(tool, args)
        seconds.append(time.perf_counter() - start)
        if verdict.action != "none":
            found = "ask" if verdict.action == "ask" else "refuse"
            break
        Session(root, root, f"s{number}").post(
            tool, args, f"c{number}-{at}", "done" if works else "failed", status=0 if works else 1)
    answers.append(found)
print(json.dumps([answers, seconds]))
"""


def answers_of_peer(python: str, root: Path) -> tuple[list[str], list[float]]:
    """The same for the peer, in an environment of its own."""
    runs = []
    for number, (_, _, _, run) in enumerate(SCENARIOS):
        project = project_in(root / f"peer-{number}")  # its rules remember a project's calls
        runs.append((str(project), calls_of(run, str(project))))
    done = subprocess.run(
        [python, "-c", PEER, str(root), json.dumps(runs)],
        capture_output=True,
        text=True,
        check=True,
    )
    answers, seconds = json.loads(done.stdout)
    return answers, seconds


PEER_COLD = """
import sys
from agentltl_coding import Harness, Session, configure
root = sys.argv[1]
configure(Harness(name="bench", user_dir=root + "/home", state_dir=root + "/state"))
Session(root, root, "cold").pre("Bash", {"command": "ls"})
"""


def hook_command(root: Path) -> list[str]:
    """The command that Claude Code runs for each event, in a session that has begun."""
    command = [sys.executable, "-P", "-m", "bylaw", "hook", "claude-code"]
    command += ["-p", str(root / "procedure.yaml"), "--state", str(root / "hooks")]
    start = {"hook_event_name": "SessionStart", "session_id": "s"}
    processor_time(command, json.dumps(start))
    return command


def processor_time(command: list[str], text: str = "") -> float:
    """The processor time in seconds of a new process that makes one decision, as a hook does."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, input=text.encode(), env=environment, check=True, capture_output=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def table(title: str, answers: list[str]) -> None:
    """Prints the counts by kind of run."""
    counts: Counter[tuple[bool, str, str]] = Counter(
        (forbidden, style, answer)
        for (forbidden, style, _, _), answer in zip(SCENARIOS, answers, strict=True)
    )
    for forbidden in (True, False):
        for style in ("plain", "evasive"):
            row = {a: counts[forbidden, style, a] for a in ("refuse", "ask", "pass")}
            kind = "forbidden" if forbidden else "allowed"
            print(
                f"{title:16} {kind:9} {style:8} refused {row['refuse']:2}  asked {row['ask']:2}  "
                f"passed {row['pass']:2}"
            )


def main() -> None:
    """Prints the tables, the runs on which an answer is wrong, and the times."""
    python = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        times: dict[str, list[float]] = {}
        for number in range(ROUNDS):
            root = project_in(Path(folder) / f"round-{number}")
            ours, seconds = answers_of_bylaw(root)
            times.setdefault("bylaw", []).append(median(seconds))
            theirs, seconds = answers_of_peer(python, root)
            times.setdefault("agentltl-coding", []).append(median(seconds))
            command = hook_command(root)
            for name, taken in (
                ("bylaw", processor_time(command, json.dumps(EVENT))),
                ("agentltl-coding", processor_time([python, "-c", PEER_COLD, str(root)])),
            ):
                times.setdefault(f"{name}, new process", []).append(taken)
    print(f"{len(SCENARIOS)} runs")
    table("bylaw", ours)
    table("agentltl-coding", theirs)
    for name, answers in (("bylaw", ours), ("agentltl-coding", theirs)):
        for (forbidden, style, subject, run), answer in zip(SCENARIOS, answers, strict=True):
            if (answer == "pass") is forbidden:
                wrong = "missed" if forbidden else f"wrongly {answer}ed".replace("eed", "ed")
                print(f"{name}: {wrong} ({style}, {subject}): {run!r}")
    best = {name: min(values) for name, values in times.items()}
    for name, fastest in best.items():
        print(f"{name:29} {fastest * 1000:7.2f} ms a decision, best of {ROUNDS} rounds")
    print(f"ratio, resident    {best['agentltl-coding'] / best['bylaw']:6.1f}")
    processes = best["agentltl-coding, new process"] / best["bylaw, new process"]
    print(f"ratio, new process {processes:6.1f}")


if __name__ == "__main__":
    main()
