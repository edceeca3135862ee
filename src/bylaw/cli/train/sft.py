"""`bylaw train sft`: warms a model up on gold transcripts."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

from bylaw.cli.main import OK
from bylaw.cli.options import add_choice, add_json, add_number, add_output
from bylaw.cli.train.options import (
    add_adapter_options,
    add_base,
    add_examples,
    examples_from,
    lora_from,
    printer,
    with_libraries,
    within_memory,
)
from bylaw.errors import Diagnostic, TraceError, UsageError
from bylaw.groundstudy.questions.building import problems
from bylaw.groundstudy.questions.questions import read_questions
from bylaw.training.data.lookups import lookups
from bylaw.training.data.transcripts import TEACHINGS, Transcript, transcript
from bylaw.training.run.metrics import METRICS, MetricsLog

EPILOG: Final = """\
For models that do not keep to the format yet: supervised training on a few
transcripts. The loss covers what the agent says, not what the tools return. The
adapter is in peft's format.

  bylaw train sft models/qwen-0.5b -o warm --teach notes
  bylaw bench run hf:models/qwen-0.5b --adapter warm/adapter
  bylaw train grpo models/qwen-0.5b --adapter warm/adapter -o run
  bylaw train sft models/qwen-0.5b -o reader --teach lookup \\
      --questions training.json

What to teach: `form` shows only how calls and answers are written: arbitrary
calls, and an answer that the prompt states, without any procedure. `procedure`
shows gold runs of the training corpus. `notes` adds a line of reasoning to each
turn, generated from the gold run: the number of the step, what decides a
condition, and the words of the prompt that the call carries out.
`v = 3. Step 2: The larger of 3 and 4 is 4. 3 is not greater than 4.
tool_c(x = v), v = 3.`

`lookup` shows how to answer the questions of `bylaw ground questions`: list
folders, read likely files page by page, answer once the definition was seen.
Measure it with `bylaw ground study`, on other repositories.
"""

LOOKUP: Final = "lookup"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_base(parser)
    add_output(
        parser, "-o", "--output", help="output folder", mark=METRICS, folder=True, required=True
    )
    add_examples(parser, most=60)
    choices = (*TEACHINGS, LOOKUP)
    add_choice(parser, "--teach", choices, "procedure", "what the transcripts show")
    help = "the questions that the transcripts answer (lookup)"
    parser.add_argument("--questions", metavar="FILE", help=help)
    add_number(parser, "--epochs", 3, "passes over the transcripts")
    add_number(parser, "--batch", 8, "transcripts per step")
    add_number(parser, "--learning-rate", 3e-4, "initial learning rate, which decays to 0", float)
    add_adapter_options(parser)
    add_json(parser, "what was done as JSON")


def run(options: argparse.Namespace) -> int:
    """Trains the adapter and writes it."""
    show = printer(options)
    taught = _transcripts(options)
    with with_libraries():
        from bylaw.training.run.lora import learner, save_adapter
        from bylaw.training.run.sft import WarmUp, tokenize, warm_up

        learns = learner(
            options.base,
            options.adapter,
            lora_from(options),
            precision=options.precision,
            seed=options.seed,
        )
    transcripts = [tokenize(learns.chat_tokenizer, each) for each in taught]
    output = Path(options.output)
    metrics = MetricsLog(output / METRICS)

    def report(step: int, loss: float) -> None:
        metrics.add("warm-up", step, {"loss": loss})
        show(f"step {step}: loss {loss:.4f}")

    settings = WarmUp(options.epochs, options.batch, options.learning_rate, options.seed)
    with within_memory("--batch"):
        losses = warm_up(learns, transcripts, settings, report)
    save_adapter(learns.model, output / "adapter")
    if options.json:
        print(json.dumps({"adapter": str(output / "adapter"), "losses": losses}))
    show(f"{len(transcripts)} transcripts, {len(losses)} steps. The adapter: {output / 'adapter'}")
    return OK


def _transcripts(options: argparse.Namespace) -> list[Transcript]:
    """The transcripts to imitate."""
    if options.teach != LOOKUP:
        if options.questions:
            message = f"--questions has no meaning with --teach {options.teach}"
            raise UsageError(Diagnostic("E402", message, f"Write --teach {LOOKUP}."))
        return [transcript(example, options.teach) for example in examples_from(options)]
    if not options.questions or options.data:
        help = "`bylaw ground questions build` writes them."
        message = f"--teach {LOOKUP} needs --questions FILE, and no --data"
        raise UsageError(Diagnostic("E402", message, help))
    asked = read_questions(Path(options.questions))
    found = list(problems(asked))
    if found:
        help = "Build the questions again."
        raise TraceError(Diagnostic("E310", each, help, options.questions) for each in found)
    return lookups(asked)[: options.examples]
