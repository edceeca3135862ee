"""Warm-up and GRPO with TRL's own trainer, on a tiny model: real steps, on the processor."""

from __future__ import annotations

import argparse
import json
import math
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from torch_needed import torch_and
from training_examples import built

from bylaw import BylawError
from bylaw.bench.results import read_results
from bylaw.training.data.corpus import TRAIN
from bylaw.training.data.splits import SPLITS
from bylaw.training.reward.reward import Goals, Rollout
from bylaw.training.run.metrics import read_metrics
from bylaw.training.run.plan import GrpoPlan

pytestmark = [
    pytest.mark.models,
    pytest.mark.filterwarnings("ignore"),  # those of TRL and transformers among themselves
]

EXAMPLES = built()[TRAIN][:4]
HELD_OUT = [built()[split][0] for split in SPLITS]
PLAN = GrpoPlan(
    rollouts="batched",
    generations=4,
    prompts=2,
    batch=4,
    micro_batch_size=4,
    max_completion_tokens=400,
    turn_tokens=40,
    width=8,
)
"""Two rounds of rollouts, and after each the weights change twice."""


@pytest.fixture(autouse=True, scope="module")
def _needed() -> Iterator[None]:
    yield from torch_and("trl")


@pytest.fixture(scope="module")
def base(_needed: None) -> Path:
    import tiny_learner

    return tiny_learner.folder()


def command(name: str, *arguments: str | int | Path) -> int:
    """Runs a command in this process."""
    module = import_module(f"bylaw.cli.train.{name}")
    parser = argparse.ArgumentParser()
    module.configure(parser)
    code: int = module.run(parser.parse_args([str(each) for each in arguments]))
    return code


@pytest.fixture(scope="module")
def warm(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The adapter of a short warm-up."""
    output = tmp_path_factory.mktemp("warm")
    assert warmed_up(base, output) == 0
    return output / "adapter"


def warmed_up(base: Path, output: Path, *how: str) -> int:
    size = ("--examples", 4, "--epochs", 2, "--batch", 2)
    return command("sft", base, "-o", output, *size, *how)


def weights(adapter: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return dict(load_file(adapter / "adapter_model.safetensors"))


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one[name].equal(other[name]) for name in one | other)


def trained(
    base: Path, adapter: Path, output: Path, plan: GrpoPlan = PLAN, held_out: Any = (), **how: Any
) -> Any:
    from bylaw.training.run.grpo import train
    from bylaw.training.run.lora import learner

    return train(learner(base, adapter), output, EXAMPLES, held_out, plan, **how)


@pytest.fixture(scope="module")
def whole(base: Path, warm: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run from beginning to end, on the fast path."""
    output = tmp_path_factory.mktemp("whole")
    assert trained(base, warm, output, held_out=HELD_OUT).finished
    return output


def test_a_warm_up_lowers_the_loss_and_writes_an_adapter_of_peft(warm: Path) -> None:
    losses = [row["loss"] for row in read_metrics(warm.parent / "metrics.jsonl")]
    assert len(losses) == 4
    assert all(map(math.isfinite, losses))
    config = json.loads((warm / "adapter_config.json").read_text(encoding="utf-8"))
    assert (config["r"], config["lora_alpha"], config["lora_dropout"]) == (8, 16, 0.05)
    assert sorted(config["target_modules"]) == ["q_proj", "v_proj"]
    assert any(weight.any() for name, weight in weights(warm).items() if "lora_B" in name)


def test_a_line_of_reasoning_can_be_learned_with_each_call(base: Path, tmp_path: Path) -> None:
    assert warmed_up(base, tmp_path, "--teach", "notes") == 0
    first, *_, last = [row["loss"] for row in read_metrics(tmp_path / "metrics.jsonl")]
    assert math.isfinite(first)
    assert last < first


def test_the_form_alone_can_be_learned(base: Path, tmp_path: Path) -> None:
    assert warmed_up(base, tmp_path, "--teach", "form") == 0
    losses = [row["loss"] for row in read_metrics(tmp_path / "metrics.jsonl")]
    assert len(losses) == 4
    assert all(map(math.isfinite, losses))


def test_grpo_makes_real_steps(whole: Path, warm: Path) -> None:
    steps = [row for row in read_metrics(whole / "metrics.jsonl") if row["phase"] == "train"]
    assert [row["step"] for row in steps] == [1, 2, 3, 4]
    assert all(math.isfinite(row["loss"]) and math.isfinite(row["kl"]) for row in steps)
    assert any(row["grad_norm"] > 0 for row in steps)
    assert not same(weights(warm), weights(whole / "adapter"))


def test_rollouts_can_be_learned_from_more_than_once(
    base: Path, warm: Path, tmp_path: Path
) -> None:
    done = trained(base, warm, tmp_path, replace(PLAN, iterations=2))
    assert (done.steps, done.finished) == (8, True)
    rows = [row for row in read_metrics(tmp_path / "metrics.jsonl") if row["phase"] == "train"]
    assert [row["rollouts"] for row in rows] == [0, 4, 8, 8, 8, 12, 16, 16]
    assert [row["step"] for row in rows if "reward" in row] == [1, 5]


def test_held_out_examples_are_evaluated_before_training_and_at_every_checkpoint(
    whole: Path,
) -> None:
    rows = [row for row in read_metrics(whole / "metrics.jsonl") if row["phase"] == "evaluation"]
    assert [(row["step"], row["rollouts"]) for row in rows] == [(0, 0), (2, 8), (4, 16)]
    assert all(0 <= row[term] <= 1 for row in rows for term in ("compliance", "answer", "reward"))


def test_skipping_padding_changes_no_result(
    base: Path, warm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from bylaw.training.run import grpo_trainer

    monkeypatch.setattr(torch.nn.Dropout, "forward", lambda self, given: given)
    padded = []
    aligned = grpo_trainer.UnpaddedGrpoTrainer._left_aligned

    def watched(self: Any, model: Any, ids: Any, mask: Any, *others: Any, **how: Any) -> Any:
        padded.append([not mask[:, 0].all(), not mask[:, -1].all(), not mask.any(0).all()])
        return aligned(self, model, ids, mask, *others, **how)

    monkeypatch.setattr(grpo_trainer.UnpaddedGrpoTrainer, "_left_aligned", watched)
    trained(base, warm, tmp_path / "aligned")
    monkeypatch.delattr(grpo_trainer.UnpaddedGrpoTrainer, "_get_per_token_logps_and_entropies")
    trained(base, warm, tmp_path / "padded")
    on_the_left, on_the_right, everywhere = zip(*padded, strict=True)
    assert any(on_the_left)
    assert any(on_the_right)
    assert any(everywhere)
    aligned_steps, padded_steps = (
        [row for row in read_metrics(tmp_path / name / "metrics.jsonl") if row["after"] < 2]
        for name in ("aligned", "padded")
    )
    for one, other in zip(aligned_steps, padded_steps, strict=True):
        for name in ("loss", "kl", "entropy", "grad_norm"):
            assert one[name] == pytest.approx(other[name], rel=1e-3, abs=1e-5)


def test_rollouts_without_an_advantage_are_left_out_and_change_no_result(
    base: Path, warm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from trl import GRPOTrainer

    from bylaw.training.run.grpo_trainer import UnpaddedGrpoTrainer

    monkeypatch.setattr(torch.nn.Dropout, "forward", lambda self, given: given)
    rewards, losses = Goals.rewards, []

    def equal_for_some(self: Any, names: Sequence[str], made: Any) -> Any:
        given = rewards(self, names, made)
        equal = {EXAMPLES[0].name, EXAMPLES[2].name, EXAMPLES[3].name}
        return [
            replace(each, compliance=0.5 if name in equal else at % 2, answer=0.0, closeness=0.0)
            for at, (name, each) in enumerate(zip(names, given, strict=True))
        ]

    def counted(self: Any, model: Any, inputs: Any) -> Any:
        losses.append(inputs)
        return compute(self, model, inputs)

    monkeypatch.setattr(Goals, "rewards", equal_for_some)
    compute = GRPOTrainer._compute_loss
    monkeypatch.setattr(GRPOTrainer, "_compute_loss", counted)
    plan = replace(PLAN, beta=0.0, batch=8)  # a step from one prompt of two, and one from none
    assert trained(base, warm, tmp_path / "ours", plan).steps == 2
    assert len(losses) == 1
    monkeypatch.delattr(UnpaddedGrpoTrainer, "_compute_loss")
    assert trained(base, warm, tmp_path / "TRL's", plan).steps == 2
    assert len(losses) == 1 + 4
    ours, theirs = weights(tmp_path / "ours" / "adapter"), weights(tmp_path / "TRL's" / "adapter")
    assert not same(ours, weights(warm))
    for name, weight in theirs.items():
        torch.testing.assert_close(ours[name], weight)


def test_a_gradient_that_is_no_number_changes_no_weight(
    base: Path, warm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bylaw.training.run.grpo_trainer import UnpaddedGrpoTrainer

    step = UnpaddedGrpoTrainer.training_step

    def spoiled(self: Any, model: Any, *others: Any) -> Any:
        loss = step(self, model, *others)
        for weight in model.parameters():
            if weight.grad is not None and self.state.global_step == 1:
                weight.grad.fill_(math.nan)
        return loss

    monkeypatch.setattr(UnpaddedGrpoTrainer, "training_step", spoiled)
    lines: list[str] = []
    assert trained(base, warm, tmp_path, report=lines.append).steps == 4
    assert [line for line in lines if "not finite" in line] == [
        "step 2: skipped, as the gradient is not finite"
    ]
    adapter = weights(tmp_path / "adapter")
    assert all(weight.isfinite().all() for weight in adapter.values())
    assert not same(adapter, weights(warm))


@pytest.mark.parametrize("path", ["batched", "environment"])
def test_rewards_are_the_pure_function_on_the_trace_of_the_tools(
    base: Path, warm: Path, tmp_path: Path, path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inspects the inputs of TRL, for both rollout backends."""
    from bylaw.training.run.grpo_rounds import RolloutRounds

    handed: list[tuple[str, Rollout, float | None]] = []
    reward = RolloutRounds.reward

    def watched(self: Any, *positional: Any, **named: Any) -> list[float | None]:
        given = reward(self, *positional, **named)
        traces = named.get("rollout") or [each.rollout for each in named["environments"]]
        handed.extend(zip(named["name"], traces, given, strict=True))
        return given

    monkeypatch.setattr(RolloutRounds, "reward", watched)
    assert trained(base, warm, tmp_path, replace(PLAN, rollouts=path)).steps == 4
    goals = Goals(EXAMPLES)
    assert [total for _, _, total in handed] == [
        goals[name].reward(trace).total() for name, trace, _ in handed
    ]
    assert any(trace.calls for _, trace, _ in handed)
    # Each prompt is rolled out four times in a row, in the order of the curriculum.
    assert [name for name, _, _ in handed] == [each.name for each in EXAMPLES for _ in range(4)]
    logged = [row for row in read_metrics(tmp_path / "metrics.jsonl") if "reward" in row]
    rounds = [[total or 0.0 for _, _, total in handed[at : at + 8]] for at in (0, 8)]
    assert [row["reward"] for row in logged] == pytest.approx([sum(r) / 8 for r in rounds])


def test_the_reward_can_be_one_of_its_terms(base: Path, warm: Path, tmp_path: Path) -> None:
    assert trained(base, warm, tmp_path, replace(PLAN, reward="answer")).steps == 4
    rows = [row for row in read_metrics(tmp_path / "metrics.jsonl") if "reward" in row]
    assert [row["reward"] for row in rows] == pytest.approx([row["answer"] for row in rows])
    assert [row["compliance"] for row in rows] != [row["answer"] for row in rows]
    settings = json.loads((tmp_path / "settings.json").read_text(encoding="utf-8"))
    assert settings["reward"] == "answer"
    with pytest.raises(BylawError, match="started with other settings: reward answer"):
        trained(base, warm, tmp_path, PLAN, resume=True)


def test_prompts_whose_rollouts_have_one_reward_are_replaced(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import SimpleNamespace

    from bylaw.agents.clock import Clock
    from bylaw.training.run.grpo_rounds import RolloutRounds
    from bylaw.training.run.lora import learner

    first, second, *others = EXAMPLES
    learns = learner(base)
    rewards = Goals.rewards

    def equal_for_the_first(self: Any, names: Sequence[str], made: Any) -> Any:
        terms = enumerate(rewards(self, names, made))
        return [
            replace(each, compliance=0.0 if name == first.name else at, answer=0.0, closeness=0.0)
            for name, (at, each) in zip(names, terms, strict=True)
        ]

    monkeypatch.setattr(Goals, "rewards", equal_for_the_first)
    prompts = [each.opening for each in (first, second) for _ in range(4)]

    def made(redraws: int, *, training: bool = True) -> dict[str, Any]:
        plan = replace(PLAN, redraws=redraws)
        rounds = RolloutRounds(EXAMPLES, HELD_OUT, plan, learns, Clock())
        model = SimpleNamespace(training=training)
        return rounds.roll_out(
            prompts, SimpleNamespace(model=model, state=SimpleNamespace(global_step=0))
        )

    kept, replaced = made(0), made(1)
    assert kept["name"] == [first.name] * 4 + [second.name] * 4
    assert replaced["name"][0] in {each.name for each in others}
    assert len(set(replaced["name"][:4])) == 1
    for field in ("name", "prompt_ids", "completion_ids"):
        assert replaced[field][4:] == kept[field][4:]
    assert replaced["prompt_ids"][0] != kept["prompt_ids"][0]
    again = made(2)  # the replacement has rewards that differ
    assert {name: again[name] for name in again if name != "rollout"} == {
        name: replaced[name] for name in replaced if name != "rollout"
    }
    assert made(1, training=False)["name"] == kept["name"]


def test_a_run_with_redraws_can_be_trained_on(base: Path, warm: Path, tmp_path: Path) -> None:
    assert trained(base, warm, tmp_path, replace(PLAN, redraws=1, reward="answer")).finished
    rows = [row for row in read_metrics(tmp_path / "metrics.jsonl") if "reward" in row]
    assert all(0 <= row["redrawn"] <= 2 for row in rows)
    assert all(0 <= row["frac_reward_zero_std"] <= 1 for row in rows)


def test_a_run_that_was_interrupted_ends_like_one_that_was_not(
    base: Path, warm: Path, tmp_path: Path
) -> None:
    """To the last bit: adapter, optimizer, draws and the reference go on where they stopped."""
    assert trained(base, warm, tmp_path / "whole").finished
    stopped = trained(base, warm, tmp_path / "parts", seconds=0.0)
    assert (stopped.steps, stopped.finished) == (2, False)
    halfway = weights(tmp_path / "parts" / "adapter")
    resumed = trained(base, warm, tmp_path / "parts", resume=True)
    assert (resumed.steps, resumed.finished) == (4, True)
    finished = weights(tmp_path / "parts" / "adapter")
    assert same(finished, weights(tmp_path / "whole" / "adapter"))
    assert not same(finished, halfway)
    steps = [row["step"] for row in read_metrics(tmp_path / "parts" / "metrics.jsonl")]
    assert steps == [1, 2, 3, 4]


def test_the_environment_offers_the_tools_as_a_model_will_see_them() -> None:
    from bylaw.agents.clock import Clock
    from bylaw.training.run.environment import TASK_OVER, environments, tool_set

    example, other = EXAMPLES[0], HELD_OUT[-1]  # the other one's tools have other names
    made = environments([example, other], "baseline", Clock())
    assert len(made) == 2
    environment: Any = made[tool_set(example)]()
    environment.reset(name=example.name)
    call = example.gold[0]
    assert getattr(environment, call.tool)(**call.arguments) == call.result
    assert "error" in environment.tool_a(i="three")
    environment.final_answer(answer=example.answer)
    assert environment.tool_a(i=1) == TASK_OVER
    assert [each.tool for each in environment.rollout.calls] == [call.tool, "tool_a"]
    assert environment.rollout.answer == example.answer
    assert hasattr(made[tool_set(other)](), other.tools[0].name)


def test_an_adapter_can_be_used_with_hf(base: Path, whole: Path) -> None:
    from bylaw.agents.hf.model import HFModel
    from bylaw.training.run.episodes import start_episode

    model = HFModel(base, adapter=whole / "adapter", max_new_tokens=40)
    (reply,) = model.reply([start_episode(EXAMPLES[0]).conversation])
    assert reply.failure is None


def test_checkpoints_are_tried_and_compared(
    base: Path, warm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "eval.jsonl"
    few = ("--examples", 1, "--width", 8, "--turn-tokens", 40, "-o", results)
    assert command("eval", base, "--name", "base", *few) == 0
    capsys.readouterr()
    assert command("eval", base, "--adapter", warm, "--name", "warm", *few, "--json") == 0
    tables = json.loads(capsys.readouterr().out)
    assert set(tables) == {"splits", "gains", "templates"}
    assert [row["n"] for row in tables["splits"]["rows"]] == [1] * 12 + [5] * 2
    runs = list(read_results(results))
    assert {run["split"] for run in runs} == {*SPLITS, "production"}
    with pytest.raises(BylawError, match="other conditions"):  # another adapter, the same name
        command("eval", base, "--name", "warm", *few)


def test_grpo_as_a_command(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without an adapter to begin with, behind the gate, and with curves at the end."""
    sizes = "--generations 2 --prompts 2 --batch 4 --micro-batch-size 4 --examples 2 --held-out 2"
    limits = "--max-completion-tokens 200 --turn-tokens 40 --width 4 --rollouts batched"
    options = f"{sizes} {limits} --setting block-and-warn --json".split()
    assert command("grpo", base, "-o", tmp_path / "run", *options) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["steps"], told["finished"]) == (1, True)
    assert told["clock"]["tokens_per_second"] > 0
    assert 0 < told["clock"]["own_share"] < 1
    assert (tmp_path / "run" / "curves.svg").read_text(encoding="utf-8").startswith("<svg")


def test_held_out_examples_are_not_confused_with_training_examples(
    base: Path, warm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if it has the same name; and what is trained on is not held out."""
    from bylaw.training.run.grpo_rounds import RolloutRounds

    first, second, *_ = EXAMPLES
    rewarded: dict[str, set[str]] = {}
    reward = RolloutRounds.reward

    def watched(self: Any, prompts: Any, *positional: Any, **named: Any) -> Any:
        for name, prompt in zip(named["name"], prompts, strict=True):
            rewarded.setdefault(name, set()).add(prompt[-1]["content"])
        return reward(self, prompts, *positional, **named)

    monkeypatch.setattr(RolloutRounds, "reward", watched)
    trained(base, warm, tmp_path, held_out=[replace(HELD_OUT[0], name=first.name), second])
    assert rewarded == {each.name: {each.prompt} for each in EXAMPLES} | {
        f"held out: {first.name}": {HELD_OUT[0].prompt}
    }


def test_examples_that_could_be_mixed_up_are_refused(
    base: Path, warm: Path, tmp_path: Path
) -> None:
    from bylaw.training.run.grpo import train
    from bylaw.training.run.lora import learner

    first, second, third, fourth = EXAMPLES
    for twin in (replace(fourth, name=first.name), replace(fourth, prompt=first.prompt)):
        with pytest.raises(BylawError, match="same name or prompt"):
            train(learner(base, warm), tmp_path, [first, second, third, twin], (), PLAN)


def test_a_run_resumes_with_its_own_adapter_and_settings(base: Path, tmp_path: Path) -> None:
    sizes = "--generations 2 --prompts 1 --batch 2 --micro-batch-size 2 --examples 2 --held-out 0"
    limits = "--max-completion-tokens 200 --turn-tokens 40 --width 4 --rollouts batched"
    options = ["-o", str(tmp_path), *f"{sizes} {limits}".split()]
    assert command("grpo", base, *options, "--seconds", 0, "--rank", 4) == 0
    for other in ("--beta 0.5", "--precision bf16", "--examples 1"):
        with pytest.raises(BylawError, match="started with other settings"):
            command("grpo", base, *options, "--resume", *other.split())
    assert command("grpo", base, *options, "--resume", "--width", 2) == 0
    steps = [row["step"] for row in read_metrics(tmp_path / "metrics.jsonl")]
    assert steps == [1, 2]
    config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text(encoding="utf-8"))
    assert config["r"] == 4


def test_results_of_weights_that_have_changed_are_not_those_on_record(
    base: Path, warm: Path, whole: Path, tmp_path: Path
) -> None:
    adapter = shutil.copytree(warm, tmp_path / "adapter")
    few = ("--examples", 1, "--width", 8, "--turn-tokens", 40, "--set", "unaugmented")
    tried = (base, "--adapter", adapter, "--name", "tuned", *few, "-o", tmp_path / "eval.jsonl")
    assert command("eval", *tried) == 0
    assert command("eval", *tried) == 0
    shutil.copytree(whole / "adapter", adapter, dirs_exist_ok=True)
    with pytest.raises(BylawError, match="other conditions"):
        command("eval", *tried)


def test_results_survive_running_out_of_memory(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from bylaw.agents.hf.batch_decoder import BatchDecoder

    results = tmp_path / "eval.jsonl"
    few = ("--set", "unaugmented", "--examples", 2, "--width", 1, "--turn-tokens", 40)

    def full(self: Any, rows: Any, prompts: Any) -> None:
        if results.read_text(encoding="utf-8"):
            raise torch.OutOfMemoryError("Tried to allocate 128 MiB. If reserved but unallocated")
        begin(self, rows, prompts)

    begin = BatchDecoder.begin
    with monkeypatch.context() as shared:
        shared.setattr(BatchDecoder, "begin", full)
        with pytest.raises(BylawError, match=r"Tried to allocate 128 MiB\.\n.*smaller --width"):
            command("eval", base, *few, "-o", results)
    assert len(list(read_results(results))) == 1
    assert command("eval", base, *few, "-o", results) == 0
    assert len(list(read_results(results))) == 2


def test_results_of_the_benchmark_are_not_those_of_an_evaluation(
    base: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results.jsonl"
    line = '{"bylaw": 1, "key": "k", "model": "m", "conditions": {}}\n'
    results.write_text(line, encoding="utf-8")
    for how in (["--tables"], [base, "--examples", 1]):
        with pytest.raises(BylawError, match="not results of `bylaw train eval`"):
            command("eval", *how, "-o", results)
    assert results.read_text(encoding="utf-8") == line


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("{{ raise_exception('no system') if messages[0].role == 'system' }}", "no system"),
        ("{% if loop.last %}", "changes a turn when a message follows"),
    ],
)
def test_a_chat_template_that_cannot_be_trained_on_is_reported(
    base: Path, tmp_path: Path, template: str, told: str
) -> None:
    """A turn is shown as it is only while it is the last one, in the second case."""
    folder = shutil.copytree(base, tmp_path / "model")
    whole = "{{ message.content }}<|im_end|>\n"
    if "loop.last" in template:
        whole = template + whole + "{% else %}{{ message.content | upper }}\n{% endif %}"
        template = ""
    lines = "<|im_start|>{{ message.role }}\n" + whole
    asks = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    (folder / "chat_template.jinja").write_text(
        template + "{% for message in messages %}" + lines + "{% endfor %}" + asks,
        encoding="utf-8",
    )
    for name in ("sft", "grpo", "eval"):
        with pytest.raises(BylawError, match=told):
            command(name, folder, "-o", tmp_path / "out")


def test_a_template_that_trl_cannot_read_leads_to_our_own_rollouts(
    base: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(base, tmp_path / "model")
    path = folder / "chat_template.jinja"
    path.write_text("{# another #}" + path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(BylawError, match="TRL cannot train this model") as refused:
        command("grpo", folder, "-o", tmp_path / "out", "--examples", 5)
    assert "--rollouts batched" in str(refused.value.diagnostics[0].help)


def test_layers_that_are_not_there_are_named(base: Path, tmp_path: Path) -> None:
    few = ("-o", tmp_path, "--examples", 1, "--epochs", 1)
    with pytest.raises(BylawError, match="no layers named v_prj"):
        command("sft", base, *few, "--targets", "q_proj,v_prj")
    assert command("sft", base, *few, "--targets", "q_proj, v_proj") == 0
    config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text(encoding="utf-8"))
    assert sorted(config["target_modules"]) == ["q_proj", "v_proj"]


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ("--prompts 7", "300 examples, 7 per round: not divisible"),
        ("--batch 50", "80 rollouts in batches of 50"),
        ("--micro-batch-size 7", "batches of 40 in micro-batches of 7"),
        ("--generations 1", "generations must be 2 or more"),
        ("--temperature 0", "temperature must be above 0"),
        ("--learning-rate nan", "learning rate must be above 0"),
        ("--epochs 0", "epochs must be above 0"),
        ("--beta -1", "beta must be 0 or more"),
        ("--redraws -1", "redraws must be 0 or more"),
        ("--redraws 1", "only batched rollouts can be redrawn"),
    ],
)
def test_invalid_numbers_are_rejected(base: Path, tmp_path: Path, sizes: str, told: str) -> None:
    with pytest.raises(BylawError, match=told):
        command("grpo", base, "-o", tmp_path, *sizes.split())


@pytest.mark.parametrize("name", ["sft", "grpo"])
def test_a_file_without_examples_is_reported(name: str, base: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(BylawError, match="the file has no examples"):
        command(name, base, "-o", tmp_path / "run", "--data", tmp_path / "empty.jsonl")


def test_a_model_that_is_not_there_is_said_to_be(tmp_path: Path) -> None:
    wanted: Sequence[tuple[str, str]] = (
        (str(tmp_path / "nowhere"), "there is no model at"),
        ("nobody/nothing", "hf download nobody/nothing"),
    )
    for base, told in wanted:
        with pytest.raises(BylawError, match=told):
            command("sft", base, "-o", tmp_path)


@pytest.mark.parametrize("file", ["", "model.gguf", "config.json"])
def test_an_unusable_model_is_reported(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from bylaw.cli.main import main

    (tmp_path / "there").mkdir()
    base = tmp_path / "there" / file
    if file:
        base.write_text("no model")
    assert main(["train", "sft", str(base), "-o", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert "error[E420]: the model cannot be used:" in told
    assert "Traceback" not in told
