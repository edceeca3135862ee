"""Every command that reads files, on files that were damaged after a command wrote them.

    python tests/fuzz/fuzz_commands.py FOLDER FIRST END

runs the mutants of these numbers in one process, whose memory is limited, and prints what came of
them as JSON. A run must end with one of the documented exit codes. One that cannot use its input
says so in a sentence. No run prints a control character.
"""

from __future__ import annotations

import io
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

sys.path.append(str(Path(__file__).parent.parent / "support"))
sys.path.append(str(Path(__file__).parent.parent / "trace"))

os.environ["BYLAW_TRACEBACK"] = "1"

import corpora
import same_run
from fuzz_corpus import PROCEDURES, TRACES
from fuzz_mutations import MUTATIONS, delete, duplicate, flip_bytes, insert, splice, truncate
from fuzz_watch import TookTooLong, deadline

from bylaw import AuditLog, Call, Guard, Procedure
from bylaw.audit.entry import FIRST, OWN_FIELDS, body_of, ending, hash_of
from bylaw.cli.main import main

KEY: Final = b"sixteen secret bytes or more"
SEED: Final = 20261116
SECONDS: Final = 60.0
MEGABYTES: Final = 1024
"""The memory that the runs of one process may take, beside what the program itself takes."""
LONGEST: Final = 200_000
BINARY: Final = (flip_bytes, flip_bytes, delete, insert, duplicate, truncate, splice)

RULES: Final = """\
bylaw: 1
name: desk
tools: [lookup, verify, refund, notify]
constraints:
  - {name: verified, rule: G(refund -> O verify), weight: 2, layer: L4}
  - {name: once, rule: 'CalledN(refund, <= 1)', severity: SOFT_BLOCK}
  - {name: looked, rule: 'forall i in args(refund, "id"): CalledWith(lookup, id = i)'}
"""
ONE_TASK: Final = "--template loop_termination --difficulty 1 --seed 42 --trials 1"

_ON_TRACES: Final = (
    "verify -p rules.yaml {}",
    "verify -p rules.yaml {} --json",
    "verify -p rules.yaml {} --repair",
    "verify -p rules.yaml {} --summary --jobs 1",
    "verify -p rules.yaml {} --jobs 1 --force --out out.jsonl --report out.html",
    "verify -p rules.yaml {} --jobs 1 --force --out out.parquet --json",
    "init {}",
    "init {} --json",
    "mine {} --force -o out.yaml --page out.html",
    "mine {} --json",
    "mine runs.jsonl --bad {} --json",
    "verify -p rules.yaml {} --format jsonl --format sarif=out.sarif --force",
    "verify -p rules.yaml {} --format junit=out.xml --force",
    "verify -p rules.yaml {} --format markdown",
    "explain verified -p rules.yaml {}",
    "explain verified -p rules.yaml {} --json",
    "view {} -p rules.yaml --force -o out.html",
    "replay -p rules.yaml {}",
    "replay -p rules.yaml {} --json",
    "ground check {}",
    "ground check {} --json --location --prompt-counts",
    "lint rules.yaml --traces {}",
    "diff rules.yaml other.yaml --jobs 1 --corpus {}",
    "diff rules.yaml other.yaml --jobs 1 --json --corpus {}",
)
_ON_PROCEDURES: Final = (
    "verify -p {} run.json",
    "verify -p {} run.json --json",
    "lint {} --json",
    "log check gate.jsonl --procedure {}",
    "diff {} rules.yaml",
    "replay -p {} run.json",
    "view run.json -p {} --force -o out.html",
)


@dataclass(frozen=True, slots=True)
class Kind:
    """Files of one kind, and the commands that read them."""

    samples: Sequence[tuple[str, bytes]]
    """The end of the name, and the content."""
    commands: Sequence[str]
    path: str = "damaged"
    """The folder of the file."""
    share: int = 1
    """The weight with which files of this kind are chosen."""


# ── what commands write ───────────────────────────────────────────────────────────────────


def prepare(folder: Path) -> None:
    """Writes the files that mutation starts from, with the commands that write such files."""
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    Path("rules.yaml").write_text(RULES)
    Path("other.yaml").write_text(RULES.replace("O verify", "O lookup"))
    Path("run.json").write_text(json.dumps(next(iter(corpora.records(1)))))
    corpora.jsonl(Path("runs.jsonl"), 40)
    Path("repository").mkdir(exist_ok=True)
    Path("repository/m.py").write_text(
        'def foo(a):\n    """Doc."""\n    return a\n\n\nclass B: ...\n'
    )
    _run(f"bench run sim:careless --template branch_selection {ONE_TASK} -o results.jsonl")
    _run("ground questions build -o questions.json --checkout mine=repository")
    _run("ground study sim:reader --questions questions.json -o study.jsonl")
    _run("train data build -o data")
    rows = Path("data/train.jsonl").read_bytes().splitlines(keepends=True)
    Path("examples.jsonl").write_bytes(b"".join(rows[:2]))
    Path("key").write_bytes(KEY)
    _write_log(Path("gate.jsonl"))
    _write_log(Path("sealed.jsonl"), KEY)
    Path("anchors.jsonl").write_text(_run("log anchor gate.jsonl"))
    _write_journal()


def _run(command: str) -> str:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as told:
        assert main(command.split()) in (0, 1), f"{command}: {told.getvalue()}"
    return out.getvalue()


def _write_log(path: Path, key: bytes | None = None) -> None:
    path.unlink(missing_ok=True)
    with AuditLog(path, key=key) as log:
        guard = Guard(Procedure.from_dict(_rules()), log=log)
        for tool in ("lookup", "verify", "refund", "refund"):
            decision, *_ = guard.propose([Call(tool, {"id": 7, "naïve": "\x1b[31m"})])
            if decision.action == "allow":
                guard.record(decision, {"ok": True})
        guard.finish(answer="done")


def _rules() -> dict[str, Any]:
    severe = {"name": "once", "rule": "CalledN(refund, <= 1)", "severity": "SOFT_BLOCK"}
    return {"bylaw": 1, "name": "desk", "constraints": [severe]}


def _write_journal() -> None:
    """An unfinished run: its journal, and the parts it counts."""
    from bylaw.batch.corpus import LocalEngine, score_corpus
    from bylaw.batch.input.chunks import Limits
    from bylaw.batch.input.files import find_files
    from bylaw.batch.output.results_file import ResultsFile

    class Unfinished(ResultsFile):
        def finish(self, *_: object) -> None:
            self.close()

    rules, corpus, limits = Procedure.load("rules.yaml"), find_files(["runs.jsonl"]), Limits()
    output = Unfinished("scores.jsonl", rules, corpus, limits, restart=True, seconds=0)
    score_corpus(rules, corpus, engine=LocalEngine(1), limits=limits, output=output)
    shutil.rmtree("unfinished", ignore_errors=True)
    shutil.move("scores.jsonl.parts", "unfinished")
    assert Path("unfinished/journal.json").exists()


def metrics() -> bytes:
    terms = {"reward": 0.5, "compliance": 0.5, "answer": 0.5, "closeness": 0.5}
    rows = [
        {"phase": phase, "step": step, "after": step, "rollouts": 8, "seconds": 1.0, **terms}
        for step in (1, 2, 3)
        for phase in ("train", "evaluation")
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def evaluations() -> bytes:
    names = ("unaugmented/chain_then_branch/01", "production/nested_loops/D1/42")
    rows = [
        {
            "bylaw": 1,
            "key": f"{model} {name}",
            "model": model,
            "name": name,
            "split": name.split("/")[0],
            "template": name.split("/")[1],
            "trial": 0,
            "compliance": 0.5,
            "correct": True,
            "calls": 4,
            "messages": [{"content": "You are an agent."}, {"content": name}],
            "conditions": {"seed": 42, "setting": "baseline", "adapter": model},
        }
        for model in ("base", "tuned")
        for name in names
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def kinds() -> dict[str, Kind]:
    """All kinds of files that commands read, from a folder that was prepared."""
    texts = [(suffix, text.encode()) for suffix, text in TRACES]
    foreign = [
        (".json", json.dumps(value).encode())
        for name, value in vars(same_run).items()
        if name.isupper() and isinstance(value, dict | list)
    ]
    jsonl = ("".join(f"{line}\n" for line in corpora.lines(5))).encode()
    packed = [
        (suffix, corpora.packed(f"runs{suffix}", jsonl)) for suffix in (".jsonl.gz", ".jsonl.zst")
    ]
    results = Path("results.jsonl").read_bytes().splitlines(keepends=True)
    report = "bench report {} --force"
    log = Path("gate.jsonl").read_bytes()
    on_logs = (
        "log check {}",
        "log check {} --json",
        "log check {} --procedure rules.yaml",
        "log show {}",
        "log show {} --json",
        "log anchor {}",
        "log export {}",
        "verify -p rules.yaml {}",
        "verify -p rules.yaml {} --json",
        "verify -p rules.yaml run.json --log {}",
        "view {} -p rules.yaml --force -o out.html",
    )
    journal = Path("unfinished/journal.json").read_bytes()
    parts = [(".part", each.read_bytes()) for each in Path("unfinished").glob("*.part")]
    resume = ("verify -p rules.yaml runs.jsonl --jobs 1 --out scores.jsonl",)
    return {
        "traces": Kind([*texts, *foreign], _ON_TRACES, share=6),
        "compressed traces": Kind(packed, _ON_TRACES, share=2),
        "tables": Kind(list(_tables()), _ON_TRACES, share=6),
        "procedures": Kind(
            [(suffix, text.encode()) for suffix, text in PROCEDURES], _ON_PROCEDURES, share=3
        ),
        "logs": Kind([(".jsonl", log)], on_logs, share=4),
        "forged logs": Kind([(".jsonl", _contents(log))], on_logs, share=4),
        "sealed logs": Kind(
            [(".jsonl", Path("sealed.jsonl").read_bytes())],
            ("log check {} --key key", "log show {} --key key", "log anchor {} --key key"),
        ),
        "anchors": Kind(
            [(".jsonl", Path("anchors.jsonl").read_bytes())],
            ("log check gate.jsonl --anchor {}", "log check gate.jsonl --json --anchor {}"),
        ),
        "results": Kind(
            [(".jsonl", b"".join(results[:3])), (".jsonl", b"".join(results[3:]))],
            (
                "bench report {}",
                "bench report {} --table all",
                "bench report {} --json",
                f"{report} -o out.html",
                f"{report} --csv tables --figures figures",
                f"bench run sim:careless {ONE_TASK} --setting baseline -o {{}}",
                "verify -p rules.yaml {} --summary --jobs 1",
            ),
            share=12,
        ),
        "study results": Kind(
            [(".jsonl", Path("study.jsonl").read_bytes())],
            (
                "ground study -o {}",
                "ground study -o {} --table all",
                "ground study -o {} --json",
                "ground study sim:reader --questions questions.json --seeds 1 -o {}",
                "bench report {}",
            ),
            share=4,
        ),
        "questions": Kind(
            [(".json", Path("questions.json").read_bytes())],
            (
                "ground questions check {}",
                "ground study sim:reader --seeds 1 -o out.study.jsonl --questions {}",
            ),
            share=2,
        ),
        "examples": Kind(
            [(".jsonl", Path("examples.jsonl").read_bytes())],
            (
                "train data inspect {} 1",
                "train data inspect {} 2 --json",
                "train sft no-model -o out.warm --data {}",
                "train sft no-model -o out.warm --teach notes --data {}",
                "train grpo no-model -o out.grpo --prompts 2 --data {}",
            ),
            share=3,
        ),
        "evaluations": Kind(
            [(".jsonl", evaluations())],
            (
                "train eval --tables -o {}",
                "train eval --tables --json -o {}",
                "train eval --tables --force --csv tables -o {}",
                "train eval no-model -o {}",
                "bench report {}",
            ),
            share=3,
        ),
        "metrics": Kind(
            [("", metrics())],
            (
                "train curves trained",
                "train curves trained --json",
                "train curves one=trained --force -o out.svg --csv out.csv",
            ),
            "trained/metrics.jsonl",
            share=2,
        ),
        "journals": Kind([("", journal)], resume, "scores.jsonl.parts/journal.json", share=3),
        "parts": Kind(
            [("", each) for _, each in parts], resume, "scores.jsonl.parts/000000.part", share=1
        ),
    }


def _contents(log: bytes) -> bytes:
    """The entries of a log without the fields that the log itself adds, a line each."""
    return b"".join(
        json.dumps({k: v for k, v in json.loads(line).items() if k not in OWN_FIELDS}).encode()
        + b"\n"
        for line in log.splitlines()
    )


def chained(contents: bytes) -> bytes:
    """A log whose chain is right, whatever its entries say: a line of JSON for each."""
    lines, prev = b"", FIRST
    for number, line in enumerate(contents.splitlines()):
        try:
            body = body_of(json.loads(line), number, prev, 0)
        except (ValueError, TypeError, AttributeError, RecursionError):
            return lines + line  # no entry can say that
        prev = hash_of(body)
        lines += body + ending(prev, "")
    return lines


def _tables() -> Iterator[tuple[str, bytes]]:
    """Parquet and Arrow: fields as columns, and whole records as text."""
    rows = list(corpora.records(5))
    whole = [{"record": json.dumps(row)} for row in rows]
    flat = [{"tool_calls": json.dumps(row["tool_calls"]), "answer": "é done"} for row in rows]
    for suffix in (".parquet", ".arrow", ".arrows", ".feather"):
        for number, content in enumerate((rows, whole, flat)):
            path = corpora.table(Path(f"table{number}{suffix}"), content)
            yield suffix, path.read_bytes()


# ── damage ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class DamagedFile:
    """A mutant and what is run on it."""

    kind: str
    number: int
    name: str
    content: bytes
    command: str
    made_by: tuple[str, ...]


def damaged(all_kinds: dict[str, Kind], number: int) -> DamagedFile:
    """The mutant of this number: the same one in every run."""
    choose = random.Random(f"{SEED}/{number}")
    name = choose.choices(list(all_kinds), [each.share for each in all_kinds.values()])[0]
    kind = all_kinds[name]
    suffix, content = choose.choice(kind.samples)
    binary = name in ("tables", "compressed traces", "parts")
    made_by = []
    for _ in range(choose.choice((1, 1, 1, 1, 1, 1, 2, 2, 3, 5))):
        mutation = choose.choice(BINARY if binary else MUTATIONS)
        content = mutation(choose, content, choose.choice(kind.samples)[1])[:LONGEST]
        made_by.append(mutation.__name__)
    if name == "forged logs":
        content = chained(content)
    path = f"{kind.path}{suffix}"
    return DamagedFile(name, number, path, content, choose.choice(kind.commands), tuple(made_by))


def lay_out(mutant: DamagedFile) -> None:
    """Puts the mutant where its command finds it."""
    if mutant.kind in ("journals", "parts"):
        shutil.rmtree("scores.jsonl.parts", ignore_errors=True)
        shutil.copytree("unfinished", "scores.jsonl.parts")
    Path(mutant.name).parent.mkdir(exist_ok=True)
    Path(mutant.name).write_bytes(mutant.content)


# ── running ───────────────────────────────────────────────────────────────────────────────


RAW: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that a terminal obeys, or that cannot be encoded."""


def run(mutant: DamagedFile) -> tuple[int | None, list[str]]:
    """Runs the command on the mutant: its exit code, and what is wrong with what it did."""
    arguments = [word.replace("{}", mutant.name) for word in mutant.command.split()]
    lay_out(mutant)
    out, err = io.StringIO(), io.StringIO()
    try:
        with deadline(SECONDS), redirect_stdout(out), redirect_stderr(err):
            code = main(arguments)
    except (Exception, SystemExit, TookTooLong) as error:
        return None, [f"{type(error).__name__} in {_place(error)}: {error!s:.160}"]
    return code, list(problems(arguments, code, out.getvalue(), err.getvalue()))


def problems(arguments: Sequence[str], code: int, out: str, err: str) -> Iterator[str]:
    """The faults of a run's end and of its output."""
    if code not in (0, 1, 2):
        yield f"exit code {code}"
    if "Traceback" in err or "E499" in err or "out of memory" in err:
        yield f"told: {err[-300:]}"
    if code == 2 and not (out + err).strip():
        yield "nothing was said"
    for text in (out, err):
        if raw := RAW.search(text):
            yield f"a raw {raw[0]!r}"
    if "--json" in arguments and out and not _is_json(out):
        yield "what is printed is not JSON"


def _is_json(text: str) -> bool:
    """Is it one JSON text, or one a line?"""
    for texts in ([text], text.splitlines()):
        try:
            for each in texts:
                json.loads(each)
        except ValueError:
            continue
        return True
    return False


def _place(error: BaseException) -> str:
    frames = [each for each in traceback.extract_tb(error.__traceback__) if "/bylaw/" in each[0]]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"


def limit_memory() -> None:
    """Limits what this process may take from now on."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + (MEGABYTES << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def run_here(folder: Path, numbers: range) -> None:
    """Runs these mutants in this process, and prints a line for each."""
    os.chdir(folder)
    sys.modules["torch"] = None  # type: ignore[assignment]  # files are read, no model is loaded
    all_kinds = kinds()
    for kind in all_kinds.values():  # everything is imported before memory is limited
        suffix, content = kind.samples[0]
        for command in kind.commands:
            run(DamagedFile("sound", -1, f"{kind.path}{suffix}", content, command, ()))
    limit_memory()
    for number in numbers:
        mutant = damaged(all_kinds, number)
        code, wrong = run(mutant)
        about = f"{number}: bylaw {mutant.command} ({', '.join(mutant.made_by)})" if wrong else ""
        print(json.dumps([mutant.kind, code, wrong, about]), flush=True)


# ── in processes of their own ─────────────────────────────────────────────────────────────

CHUNK: Final = 2_000
"""The number of mutants for one process."""


@dataclass(slots=True)
class Findings:
    """The results of the runs."""

    runs: int = 0
    codes: dict[str, Counter[str]] = field(default_factory=dict)
    """The number of times that each exit code was seen, by kind of file."""
    failures: dict[str, list[str]] = field(default_factory=dict)
    """The failures, and the runs that show them."""

    def add(self, kind: str, code: int | None, wrong: list[str], about: str) -> None:
        self.runs += 1
        self.codes.setdefault(kind, Counter())[f"{code}"] += 1
        for each in wrong:
            self.failures.setdefault(f"{kind}: {each}", []).append(about)


def run_all(folder: Path, numbers: range) -> Findings:
    """Runs these mutants in other processes. One that dies is a finding, and the rest follows."""
    if not Path(folder, "rules.yaml").exists():
        prepare(folder)
    found, at = Findings(), numbers.start
    while at < numbers.stop:
        end = min(numbers.stop, at + CHUNK)
        here = [sys.executable, __file__, "--here", str(folder), str(at), str(end)]
        with subprocess.Popen(here, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                found.add(*json.loads(line))
                at += 1
        if process.returncode:
            assert process.returncode < 0, "the fuzzer itself failed"
            found.add("any", None, [f"died of signal {-process.returncode}"], f"{at}")
            at += 1
    return found


def main_program() -> None:
    """`FOLDER FIRST END`: prints the findings as JSON."""
    *here, folder, first, end = sys.argv[1:]
    numbers = range(int(first), int(end))
    if here:
        run_here(Path(folder), numbers)
    else:
        found = run_all(Path(folder).resolve(), numbers)
        shown = {"runs": found.runs, "codes": found.codes, "failures": found.failures}
        json.dump(shown, sys.stdout, indent=1)


if __name__ == "__main__":
    main_program()
