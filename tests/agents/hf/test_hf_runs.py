"""Whole runs of a transformers model: each at its own pace, independent of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from torch_needed import torch_and

from bylaw.agents.driving import RunExecutor, drive
from bylaw.bench.jobs import Job, job_episode, jobs
from bylaw.bench.results import Results, read_results
from bylaw.bench.runner import BenchRunner

pytestmark = pytest.mark.models


@pytest.fixture(autouse=True, scope="module")
def _needed() -> Iterator[None]:
    yield from torch_and("transformers")


@pytest.fixture(scope="module")
def untaught(tmp_path_factory: pytest.TempPathFactory, _needed: None) -> Path:
    """A model with random weights, and a template that takes tools."""
    import tiny_model

    folder = tmp_path_factory.mktemp("untaught")
    return tiny_model.save(folder, taught=False, template=tiny_model.WITH_TOOLS)


def _model(path: Path, **settings: Any) -> Any:
    from bylaw.agents.hf.model import HFModel

    settings = {"constrained": True, "line_tokens": 0, "max_new_tokens": 64} | settings
    return HFModel(path, **settings)


def _some_jobs() -> list[Job]:
    return list(jobs("hf:tiny", ["baseline", "soft-block"], difficulties=[1], trials=1))[::5]


def _runs(model: Any) -> dict[str, Any]:
    """The episodes of some jobs, by their keys."""
    found: dict[str, Any] = {}
    drive(
        model,
        _some_jobs(),
        lambda job: job_episode(job, "rule"),
        lambda over: found.update({each.conversation.key: each for each in over}),
    )
    return found


def _told(runs: dict[str, Any]) -> dict[str, Sequence[Any]]:
    return {key: each.conversation.messages for key, each in runs.items()}


def test_the_model_executes_whole_runs(untaught: Path) -> None:
    model = _model(untaught, width=4)
    runs = _runs(model)
    assert len(runs) == len(_some_jobs()) > 4
    assert all(run.done and run.failure is None for run in runs.values())
    assert model.throughput.output_tokens == sum(run.output_tokens for run in runs.values())
    assert isinstance(model, RunExecutor)


def test_constrained_turns_are_calls(untaught: Path) -> None:
    for run in _runs(_model(untaught, width=4, temperature=0.7)).values():
        assert run.malformed == 0
        said = [each for each in run.conversation.messages if each["role"] == "assistant"]
        whole = said if run.ending != "truncated" else said[:-1]
        assert all(each["tool_calls"] for each in whole)


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_a_run_does_not_depend_on_the_rest_of_the_batch(untaught: Path, temperature: float) -> None:
    alone, together = (
        _told(_runs(_model(untaught, width=width, temperature=temperature))) for width in (1, 8)
    )
    assert alone == together


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_long_messages_are_read_in_one_pass_with_the_same_result(
    untaught: Path, temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bylaw.agents.hf import batch_decoder

    told = []
    for long in (3, 10**9):
        monkeypatch.setattr(batch_decoder, "LONG", long)
        told.append(_told(_runs(_model(untaught, width=8, temperature=temperature))))
    assert told[0] == told[1]


def test_the_first_turn_is_the_one_that_a_reply_has(untaught: Path) -> None:
    """Later ones may differ: what was written is put into words for a reply, and read anew."""
    model = _model(untaught, width=4, temperature=0.7)
    runs = _runs(model)
    for job in _some_jobs():
        (reply,) = model.reply([job_episode(job, "rule").conversation])
        written = runs[job.key].conversation.messages[2]
        assert (written["content"], written["tool_calls"]) == (
            reply.text,
            reply.to_message()["tool_calls"],
        )


def test_the_seed_makes_other_runs(untaught: Path) -> None:
    one, other = (
        _told(_runs(_model(untaught, width=8, temperature=0.7, seed=seed))) for seed in (1, 2)
    )
    assert one != other


def test_a_conversation_without_room_ends_truncated(untaught: Path) -> None:
    whole = _model(untaught, width=8)
    longest = max(each.input_tokens for each in _runs(whole).values())
    assert longest > 0
    short = _model(untaught, width=8, max_context=80)
    assert {run.ending for run in _runs(short).values()} == {"truncated"}
    assert {run.turns for run in _runs(short).values()} == {0}


def test_the_benchmark_runs_on_it(untaught: Path, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    model = _model(untaught, width=4)
    with Results(path) as results:
        outcome = BenchRunner(model, results).run(_some_jobs())
    assert outcome.made == len(_some_jobs())
    assert {run["key"] for run in read_results(path)} == {job.key for job in _some_jobs()}
    with Results(path) as results:
        assert BenchRunner(model, results).run(_some_jobs()).made == 0


REWRITES = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if loop.last or message.role != 'assistant' %}{{ message.content }}{% else %}…{% endif %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""Leaves out what the agent said as soon as something follows it."""
UNMARKED = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
"""Does not mark where a turn ends."""


@pytest.mark.parametrize("template", [REWRITES, UNMARKED])
def test_models_whose_template_rewrites_turns_are_called_turn_by_turn(
    template: str, tmp_path: Path
) -> None:
    import tiny_model

    model = _model(tiny_model.save(tmp_path, taught=False, template=template), width=4)
    assert not model.can_execute_runs
    runs = _runs(model)
    assert len(runs) == len(_some_jobs())
    assert all(run.done for run in runs.values())
