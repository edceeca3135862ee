"""Fine-tunes a small model by warm-up and GRPO, and measures it before, after one, and after both.

    python benchmarks/finetune.py MODEL -o OUT [--seed 43] [--minutes 9] [--work DIR]

MODEL is a folder or a GGUF file. Each phase is a command of `bylaw`, which is printed; what a
phase makes is in OUT as soon as it exists. Give the command again to resume: phases that are done
are skipped, training resumes from its checkpoint, and recorded runs are not made again. With
--minutes, no phase begins after that time, and training stops in time.

The phases are eval-base, warm-up, grpo, eval-warm-up and eval-grpo. `--skip eval-base` leaves one
out, and may be repeated. To compare rewards from one warm-up, give its adapter to the other runs:

    python benchmarks/finetune.py MODEL -o both --warm-up "--teach form …"
    python benchmarks/finetune.py MODEL -o answer --adapter both/warm/adapter --grpo "…"

A rehearsal runs every phase in small, on a processor, with a model of two layers:

    PYTHONPATH=src python tests/support/tiny_learner.py tiny
    python benchmarks/finetune.py tiny -o rehearsal --rehearsal

In OUT: eval.jsonl (every run of each model), tables.txt and tables/, warm/ and grpo/ (adapters,
metrics, curves.svg), transcripts.md (the same tasks by each model), phases.json (seconds of each
phase, those of interrupted attempts included).
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import os
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when the library is, which is soon

from bylaw.bench.results import read_results
from bylaw.cli.main import main as bylaw
from bylaw.cli.train.grpo import STOPPED
from bylaw.training.run.eval_tables import tables

PHASES: Final = ("eval-base", "warm-up", "grpo", "eval-warm-up", "eval-grpo")
MODELS: Final = ("base", "warm-up", "warm-up + GRPO")
ADAPTER: Final = "--targets q_proj,k_proj,v_proj,o_proj --rank 32 --alpha 64"
"""Attention alone: what a model knows of numbers lies elsewhere; transcripts would spoil it."""
WARM_UP: Final = "--teach notes --examples 60 --epochs 4 --batch 6 --learning-rate 2e-4"
"""Enough to write notes on tasks of another kind, too; more, and the model only knows those."""
GRPO: Final = (
    "--rollouts batched --prompts 30 --batch 240 --micro-batch-size 12 --no-checkpointing "
    "--save-every 5 --learning-rate 1e-4 --beta 0.02"
)
"""Few changes of the weights, each computed from many rollouts: those of a prompt often do not
differ once a model is warmed up, and with changes from 60 of them the reward fell."""
TINY: Final = {
    "warm_up": "--examples 4 --epochs 1 --batch 2",
    "grpo": (
        "--rollouts batched --examples 4 --generations 4 --prompts 2 --batch 8 "
        "--micro-batch-size 4 --max-completion-tokens 400 --turn-tokens 48 --width 8 --held-out 4"
    ),
    "eval": "--examples 2 --width 16 --turn-tokens 48",
}
"""Sizes for a rehearsal with a model of two layers."""
RESERVE: Final = 60.0
"""Seconds that training leaves for a last round of rollouts, and to write everything."""
HEARTBEAT: Final = 5.0
"""Seconds between records of the time that a phase has taken: it may be killed at any moment."""


class Run:
    """The phases of one output folder."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.out: Final = Path(options.output)
        self.out.mkdir(parents=True, exist_ok=True)
        self.options: Final = options
        self.begun: Final = time.monotonic()
        self.skipped: Final = {*options.skip, *(["warm-up"] if options.adapter else [])}
        self.log: Final = self.out / "phases.json"
        self.phases: Final[dict[str, Any]] = (
            json.loads(self.log.read_text(encoding="utf-8")) if self.log.exists() else {}
        )

    @property
    def left(self) -> float:
        """Seconds until no phase may begin."""
        return float(self.options.minutes * 60 - (time.monotonic() - self.begun))

    def commands(self) -> Iterator[tuple[str, list[str]]]:
        """The phases in their order, each as a command."""
        base, out = str(self._unpacked()), self.out
        precision = ["--precision", self.options.precision]
        warm = ["--adapter", self.options.adapter or str(out / "warm" / "adapter")]
        tuned = ["--adapter", str(out / "grpo" / "adapter")]
        given = {
            name: shlex.split(getattr(self.options, name)) for name in ("warm_up", "grpo", "eval")
        }
        seed = ["--seed", str(self.options.seed)]
        evaluate = ["train", "eval", base, *precision, "-o", str(out / "eval.jsonl")]
        yield "eval-base", [*evaluate, "--name", MODELS[0], *given["eval"]]
        yield (
            "warm-up",
            ["train", "sft", base, *precision, "-o", str(out / "warm"), *seed, *given["warm_up"]],
        )
        learn = ["train", "grpo", base, *precision, *warm, "-o", str(out / "grpo"), "--resume"]
        yield "grpo", [*learn, *seed, *given["grpo"]]
        yield "eval-warm-up", [*evaluate, *warm, "--name", MODELS[1], *given["eval"]]
        yield "eval-grpo", [*evaluate, *tuned, "--name", MODELS[2], *given["eval"]]

    def _unpacked(self) -> Path:
        """The model as a folder: to read a GGUF takes a minute, and every phase would."""
        given = Path(self.options.model)
        if given.suffix != ".gguf":
            return given
        folder = Path(self.options.work or self.out) / given.stem
        if not (folder / "tokenizer.json").exists():  # it is written last
            from bylaw.training.run.lora import unpack

            print(f"── unpacking {given} to {folder}", flush=True)
            unpack(given, folder)
        return folder

    def make(self) -> bool:
        """Carries out what is not done yet; whether all is done."""
        for phase, command in self.commands():
            if phase in self.skipped:
                print(f"── {phase}: skipped", flush=True)
            elif self._is_done(phase, command):
                print(f"── {phase}: done before", flush=True)
            elif self.left < RESERVE:
                print(f"── {phase}: no time left; give the command again", flush=True)
                return False
            elif not self._made(phase, command):
                return False
        return True

    def _is_done(self, phase: str, command: list[str]) -> bool:
        """Was this phase carried out before, in this way?"""
        found = self.phases.get(phase, {})
        if found and found["command"] != shlex.join(command):
            message = f"{self.out} has another run: {phase} was `bylaw {found['command']}`"
            sys.exit(f"{message}\nGive another folder with -o, or the options of that run.")
        return bool(found.get("done"))

    def _made(self, phase: str, command: list[str]) -> bool:
        asked = shlex.join(command)
        if phase == "grpo":
            command = [*command, "--seconds", f"{self.left - RESERVE:.0f}"]
        print(f"\n── {phase}\n$ bylaw {shlex.join(command)}", flush=True)
        shown = _Copied(sys.stdout)
        with self._timed(phase, asked), contextlib.redirect_stdout(shown):
            code = bylaw(command)
        _forget()
        done = code == 0 and STOPPED not in shown.getvalue()
        if self.options.half and phase in ("warm-up", "grpo") and code == 0:
            _halve(self.out / phase.removesuffix("-up") / "adapter" / "adapter_model.safetensors")
        self._record(phase, done=done)
        with (self.out / f"{phase}.log").open("a", encoding="utf-8") as log:
            log.write(shown.getvalue())
        self.tell()
        print(f"── {phase}: {self.phases[phase]['seconds']:.0f} s", flush=True)
        return done

    @contextlib.contextmanager
    def _timed(self, phase: str, command: str) -> Iterator[None]:
        """Records the time of a phase while it runs, added to that of earlier attempts."""
        before = self.phases.get(phase, {}).get("seconds", 0.0)
        self.phases[phase] = {"done": False, "command": command}
        since, over = time.monotonic(), threading.Event()

        def record() -> None:
            self._record(phase, seconds=round(before + time.monotonic() - since, 1))

        def beat() -> None:
            while not over.wait(HEARTBEAT):
                record()

        record()
        beats = threading.Thread(target=beat, daemon=True)
        beats.start()
        try:
            yield
        finally:
            over.set()
            beats.join()
            record()

    def _record(self, phase: str, **values: Any) -> None:
        self.phases[phase] |= values
        draft = self.log.with_suffix(".draft")
        draft.write_text(json.dumps(self.phases, indent=1), encoding="utf-8")
        draft.replace(self.log)

    def tell(self) -> None:
        """Writes the tables and transcripts of what is on record so far."""
        path = self.out / "eval.jsonl"
        results = list(read_results(path)) if path.exists() else []
        if not results:
            return
        made = tables(results)
        text = "\n\n".join(table.text() for table in made)
        (self.out / "tables.txt").write_text(text + "\n", encoding="utf-8")
        (self.out / "tables").mkdir(exist_ok=True)
        for table in made:
            (self.out / "tables" / f"{table.name}.csv").write_text(table.csv(), encoding="utf-8")
        (self.out / "transcripts.md").write_text(_transcripts(results), encoding="utf-8")


class _Copied(io.StringIO):
    """Keeps what is printed, and prints it."""

    def __init__(self, to: Any) -> None:
        super().__init__()
        self._to: Final = to

    def write(self, text: str) -> int:
        self._to.write(text)
        self._to.flush()
        return super().write(text)


def _halve(weights: Path) -> None:
    """Rewrites an adapter in half precision."""
    import torch
    from safetensors.torch import load_file, save_file

    halves = {name: tensor.to(torch.float16) for name, tensor in load_file(weights).items()}
    save_file(halves, weights, metadata={"format": "pt"})


def _forget() -> None:
    """Gives back the memory of a phase, that of the GPU included."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _transcripts(results: list[dict[str, Any]]) -> str:
    """The first task of each set, as each model did it."""
    firsts = {result["split"]: result["name"] for result in reversed(results)}
    parts = ["# The same tasks, before and after\n"]
    for name in firsts.values():
        for result in results:
            if result["name"] == name:
                score = result["compliance"]
                shown = "unverified" if score is None else f"compliance {score:.3f}"
                label = f"{result['model']}: {shown}"
                parts.append(f"\n## {name}, {label}, correct: {result['correct']}\n")
                parts += [_line(message) for message in result["messages"][1:]]
    return "\n".join(parts) + "\n"


def _line(message: dict[str, Any]) -> str:
    calls = [call["function"] for call in message.get("tool_calls", ())]
    shown = [f"{call['name']}({call['arguments']})" for call in calls]
    text = " ".join([str(message["content"]).replace("\n", " "), *shown]).strip()
    return f"- **{message['role']}** {text}"


def main() -> int:
    """Runs what is missing, and shows what there is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--work", help="where to unpack a GGUF (default: the output folder)")
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--seed", type=int, default=42, help="of what training draws")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")
    parser.add_argument("--warm-up", default=f"{WARM_UP} {ADAPTER}", help="options of train sft")
    parser.add_argument("--adapter", help="of an earlier warm-up, to train on instead")
    parser.add_argument("--grpo", default=GRPO, help="options of train grpo")
    parser.add_argument("--eval", default="", help="options of train eval")
    parser.add_argument(
        "--half", action="store_true", help="write adapters in half precision, before evaluations"
    )
    parser.add_argument(
        "--skip", action="append", default=[], choices=PHASES, help="a phase; may be repeated"
    )
    parser.add_argument(
        "--rehearsal",
        action="store_true",
        help="fp32, and tiny sizes after the options of each command",
    )
    options = parser.parse_args()
    if options.rehearsal:
        for name, sizes in TINY.items():
            setattr(options, name, f"{getattr(options, name)} {sizes}")
        options.precision = "fp32"
    run = Run(options)
    done = run.make()
    tables_file = run.out / "tables.txt"
    if tables_file.exists():
        print(tables_file.read_text(encoding="utf-8"))
    trained = sum(run.phases.get(phase, {}).get("seconds", 0.0) for phase in ("warm-up", "grpo"))
    print(f"training: {trained:.0f} s; {'all done' if done else 'not done yet: run it again'}")
    return 0 if done else 3


if __name__ == "__main__":
    sys.exit(main())
