"""A llama.cpp model in conversations. Which one says the environment variable BYLAW_TEST_GGUF."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bylaw.agents.protocol import Chat, ToolSpec

pytestmark = pytest.mark.models

TOOLS = [
    ToolSpec("tool_a", "Looks up the value of i.", {"i": {"type": "integer"}}),
    ToolSpec("final_answer", "Ends the task.", {"answer": {"type": "integer"}}),
]


@pytest.fixture(scope="module")
def path() -> Path:
    pytest.importorskip("xllamacpp", reason="NOT TESTED: xllamacpp is not installed")
    if not (named := os.environ.get("BYLAW_TEST_GGUF")):
        pytest.skip("NOT TESTED: BYLAW_TEST_GGUF names no GGUF file")
    return Path(named)


def _model(path: Path, **settings: Any) -> Any:
    from bylaw.agents.gguf import GGUFModel

    return GGUFModel(path, max_context=1024, **settings)


def _asked(text: str = "Call tool_a with i = 1.", seed: str = "") -> Chat:
    return Chat("run", TOOLS, [{"role": "user", "content": text}], seed)


def test_turns_have_an_end_and_a_limit(path: Path) -> None:
    model = _model(path, max_new_tokens=7)
    (reply,) = model.reply([_asked()])
    assert reply.failure is None
    assert 0 < reply.output_tokens <= 7
    assert reply.input_tokens > len(TOOLS)
    assert model.throughput.turns == 1
    assert model.throughput.tokens_per_second > 0


def test_a_conversation_without_room_for_a_turn_is_full(path: Path) -> None:
    model = _model(path, max_new_tokens=200)
    for words in (2000, 800):  # too long itself; and too long with a turn added
        (reply,) = model.reply([_asked("word " * words)])
        assert (reply.full, reply.failure, reply.calls) == (True, None, ())
    assert not model.reply([_asked("Short.")])[0].full


@pytest.mark.parametrize("line_tokens", [0, 16])
def test_constrained_turns_are_one_call_that_fits(path: Path, line_tokens: int) -> None:
    model = _model(path, constrained=True, line_tokens=line_tokens, temperature=2.0)
    conversations = [_asked(seed=str(n)) for n in range(4)]
    with ThreadPoolExecutor(model.width) as pool:  # as conversations are given to it
        replies = [reply for (reply,) in pool.map(lambda one: model.reply([one]), conversations)]
    for reply in replies:
        (call,) = reply.calls
        (value,) = call.args.values()
        assert isinstance(value, int)
        assert call.tool in {"tool_a", "final_answer"}
        assert reply.malformed == ()
        assert "\n" not in reply.text
        assert line_tokens or not reply.text


def test_calls_and_results_are_read_again(path: Path) -> None:
    model = _model(path, constrained=True, line_tokens=0)
    conversation = _asked()
    (first,) = model.reply([conversation])
    conversation.messages.append(first.to_message())
    result = {"role": "tool", "tool_call_id": first.calls[0].id, "content": "41"}
    conversation.messages.append({**result, "name": first.calls[0].tool})
    (second,) = model.reply([conversation])
    assert second.input_tokens > first.input_tokens + first.output_tokens
    assert second.calls[0].id != first.calls[0].id


def test_a_draw_depends_on_conversation_and_seed(path: Path) -> None:
    texts = {
        _model(path, seed=seed, temperature=2.0).reply([_asked(seed=own)])[0].text
        for seed in (0, 1)
        for own in "ab"
    }
    assert len(texts) == 4


def test_results_describe_the_model(path: Path) -> None:
    model = _model(path)
    assert model.name == f"gguf:{path.name}"
    assert (model.batched, model.about["model"]) == (False, path.name)
    assert {"xllamacpp", "temperature", "max_new_tokens", "constrained"} <= model.about.keys()


def test_there_must_be_a_model(tmp_path: Path, path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no model at"):
        _model(tmp_path / path.name)


def test_transformers_reads_it_as_well(path: Path) -> None:
    pytest.importorskip("transformers", reason="NOT TESTED: transformers is not installed")
    pytest.importorskip("gguf", reason="NOT TESTED: gguf is not installed")
    from bylaw.agents.hf.model import HFModel

    model = HFModel(path, constrained=True, line_tokens=0)
    (reply,) = model.reply([_asked()])
    (call,) = reply.calls
    assert call.tool in {"tool_a", "final_answer"}
    assert reply.malformed == ()
