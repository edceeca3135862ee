"""A transformers model in conversations: batches, ends of turns, limits, draws, grammars."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from torch_needed import torch_and

from bylaw import Call
from bylaw.agents.protocol import Chat, ToolSpec

pytestmark = pytest.mark.models


@pytest.fixture(autouse=True, scope="module")
def _needed() -> Iterator[None]:
    yield from torch_and("transformers")


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory, _needed: None) -> Path:
    """A model that has learned two turns, and whose template knows no tools."""
    import tiny_model

    return tiny_model.save(tmp_path_factory.mktemp("taught"), taught=True)


@pytest.fixture(scope="module")
def untaught(tmp_path_factory: pytest.TempPathFactory, _needed: None) -> Path:
    """A model with random weights, and a template that takes tools."""
    import tiny_model

    folder = tmp_path_factory.mktemp("untaught")
    return tiny_model.save(folder, taught=False, template=tiny_model.WITH_TOOLS)


def _model(path: Path, **settings: Any) -> Any:
    from bylaw.agents.hf.model import HFModel

    return HFModel(path, **settings)


def _asked(text: str, seed: str = "") -> Chat:
    import tiny_model

    return tiny_model.asked(text, seed)


def _questions() -> list[Chat]:
    """Of different lengths, so that all but one are padded."""
    return [_asked("Go on. " * (n % 5), str(n)) for n in range(9)]


def _assert_same_alone_and_together(model: Any) -> None:
    together = model.reply(_questions())
    assert together == [model.reply([question])[0] for question in _questions()]
    assert len({reply.text for reply in together}) > 1


class TestTurns:
    def test_a_turn_ends_at_its_end_although_the_tokenizer_names_another_token(
        self, taught: Path
    ) -> None:
        import tiny_model as tiny

        model = _model(taught)
        call, words = model.reply([_asked(tiny.ASKED_FOR_A_CALL), _asked(tiny.ASKED_FOR_WORDS)])
        assert call.calls == (Call("tool_a", {"i": 1}, id="call_1_1"),)
        assert (call.text, call.malformed, call.failure) == ("", (), None)
        assert (words.text, words.calls) == (tiny.TAUGHT[tiny.ASKED_FOR_WORDS], ())
        assert 0 < words.output_tokens < call.output_tokens < 96
        assert model.throughput.turns == 2
        assert model.throughput.output_tokens == call.output_tokens + words.output_tokens
        assert model.throughput.tokens_per_second > 0

    def test_a_turn_is_limited_in_tokens(self, taught: Path) -> None:
        import tiny_model as tiny

        (reply,) = _model(taught, max_new_tokens=5).reply([_asked(tiny.ASKED_FOR_A_CALL)])
        assert reply.output_tokens == 5
        assert reply.calls == ()
        assert "ends before it is complete" in reply.malformed[0]

    def test_conversations_are_left_as_they_were(self, untaught: Path) -> None:
        questions = _questions()
        before = copy.deepcopy(questions)
        _model(untaught).reply(questions)
        assert questions == before

    def test_calls_and_results_are_read_again(self, untaught: Path) -> None:
        call = {"id": "1", "function": {"name": "tool_a", "arguments": '{"i": 1}'}}
        turns: list[dict[str, Any]] = [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "name": "tool_a", "content": "41"},
        ]
        question = _asked("Begin.")
        shorter = _model(untaught).reply([question])[0]
        question.messages += turns
        longer = _model(untaught).reply([question])[0]
        assert longer.failure is None  # the template has added to the argument as to a number
        assert longer.input_tokens > shorter.input_tokens

    def test_results_describe_the_model(self, taught: Path, untaught: Path) -> None:
        plain, by_template = _model(taught), _model(untaught, constrained=True, width=3)
        assert plain.name == f"hf:{taught.name}"
        assert plain.about["tools"] == "in the system message"
        assert by_template.about["tools"] == "by the chat template"
        assert by_template.about["tags"] == "tokens"
        assert (plain.about["constrained"], by_template.about["constrained"]) == (False, True)
        assert {"device", "dtype", "torch", "transformers"} <= plain.about.keys()
        assert (plain.batched, by_template.width) == (True, 3)

    def test_there_must_be_a_model(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="there is no model at"):
            _model(tmp_path / "nothing")


class TestBatches:
    def test_replies_do_not_depend_on_companions(self, untaught: Path) -> None:
        _assert_same_alone_and_together(_model(untaught, max_new_tokens=12))

    def test_nor_do_those_that_are_drawn(self, untaught: Path) -> None:
        _assert_same_alone_and_together(_model(untaught, max_new_tokens=12, temperature=1.0))

    @pytest.mark.parametrize("limits", [{"max_batch_tokens": 1}, {"width": 2}])
    def test_nor_on_how_batches_are_cut(self, untaught: Path, limits: dict[str, int]) -> None:
        whole = _model(untaught, max_new_tokens=6).reply(_questions())
        assert _model(untaught, max_new_tokens=6, **limits).reply(_questions()) == whole

    def test_attention_is_that_of_transformers(self, untaught: Path) -> None:
        import torch
        from transformers import AutoModelForCausalLM

        from bylaw.agents.hf.attention import share_keys

        def logits(model: Any) -> Any:
            ids = torch.arange(12).reshape(2, 6)
            mask = torch.tensor([[0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]])
            settings = {"return_dict_in_generate": True, "output_logits": True, "do_sample": False}
            output = model.generate(ids, attention_mask=mask, max_new_tokens=5, **settings)
            return torch.stack(output.logits)

        model = AutoModelForCausalLM.from_pretrained(untaught)
        theirs = logits(model)
        share_keys(model)
        assert model.config._attn_implementation != "sdpa"
        torch.testing.assert_close(logits(model), theirs)

    def test_a_batch_that_does_not_fit_into_memory_is_parted(
        self, untaught: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import torch

        model = _model(untaught, max_new_tokens=6)
        whole = model.reply(_questions())
        generate = model._generate

        def small(batch: Any) -> Any:  # the memory of this machine does not run out on demand
            if len(batch) > 2:
                raise torch.OutOfMemoryError
            return generate(batch)

        monkeypatch.setattr(model, "_generate", small)
        assert model.reply(_questions()) == whole

    def test_no_conversations_are_no_replies(self, untaught: Path) -> None:
        assert _model(untaught).reply([]) == []

    def test_one_without_room_for_a_turn_is_full_alone(self, untaught: Path) -> None:
        short, long = _asked("Short."), _asked("Long. " * 9)
        model = _model(untaught, max_new_tokens=8)
        lengths = [reply.input_tokens for reply in model.reply([short, long])]
        tight = _model(untaught, max_new_tokens=8, max_context=lengths[1] + 7)
        fits, full = tight.reply([short, long])
        assert (fits.full, fits.output_tokens) == (False, 8)
        assert (full.full, full.output_tokens, full.failure) == (True, 0, None)
        assert (
            not _model(untaught, max_new_tokens=7, max_context=lengths[1] + 7).reply([long])[0].full
        )

    def test_one_that_the_template_refuses_fails_alone(self, untaught: Path) -> None:
        refused, other = _model(untaught).reply([_asked("forbidden"), _asked("Short.")])
        assert refused.failure == "the chat template rejects the conversation: no"
        assert other.failure is None


class TestDraws:
    def test_they_differ_by_conversation_by_turn_and_by_seed(self, untaught: Path) -> None:
        settings: dict[str, Any] = {"max_new_tokens": 8, "temperature": 1.0}
        model, other = _model(untaught, **settings), _model(untaught, seed=1, **settings)
        question = _asked("Go.", "a")
        later = _asked("Go.", "a")
        later.messages.insert(0, {"role": "system", "content": ""})
        replies = model.reply([question, _asked("Go.", "b"), later]) + other.reply([question])
        assert len({reply.text for reply in replies}) == 4
        assert model.reply([question]) == replies[:1]

    def test_a_small_nucleus_is_the_most_likely_token(self, untaught: Path) -> None:
        drawn = _model(untaught, max_new_tokens=8, temperature=1.0, top_p=1e-6)
        assert drawn.reply(_questions()) == _model(untaught, max_new_tokens=8).reply(_questions())


class TestConstrained:
    TOOLS = (
        ToolSpec("count", "", {"i": {"type": "integer"}}),
        ToolSpec(
            "note",
            "",
            {
                "kind": {"enum": ["good", "bad"]},
                "text": {"type": "string", "maxLength": 4},
                "items": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2},
            },
        ),
        ToolSpec("stop", "", {}),
    )

    @pytest.fixture(autouse=True)
    def _llguidance(self) -> None:
        pytest.importorskip("llguidance", reason="NOT TESTED: llguidance is not installed")

    @staticmethod
    def _fits(call: Call) -> bool:
        match call.tool, dict(call.args):
            case "count", {"i": int(), **rest}:
                return not rest
            case "note", {"kind": "good" | "bad", "text": str(text), "items": items, **rest}:
                whole = all(isinstance(item, bool) for item in items) and len(items) <= 2
                return whole and len(text) <= 4 and not rest
            case "stop", {**rest}:
                return not rest
        return False

    @pytest.mark.parametrize("line_tokens", [0, 8])
    @pytest.mark.parametrize("temperature", [0.0, 2.0])
    def test_random_weights_write_one_call_that_fits(
        self, untaught: Path, line_tokens: int, temperature: float
    ) -> None:
        model = _model(
            untaught,
            constrained=True,
            line_tokens=line_tokens,
            temperature=temperature,
            max_new_tokens=200,  # a random model spells everything in single bytes
        )
        questions = [
            Chat("run", self.TOOLS, question.messages, f"{question.seed} {n}")
            for question in _questions()
            for n in range(3)
        ]
        replies = model.reply(questions)
        assert all(reply.malformed == () for reply in replies)
        assert all(len(reply.calls) == 1 and self._fits(reply.calls[0]) for reply in replies)
        assert all("\n" not in reply.text for reply in replies)
        assert any(reply.text for reply in replies) is (line_tokens > 0)
        if temperature:
            assert {reply.calls[0].tool for reply in replies} == {"count", "note", "stop"}

    def test_each_conversation_has_its_own_tools(self, untaught: Path) -> None:
        questions = [Chat("run", [tool], _asked("Go.").messages) for tool in self.TOOLS]
        model = _model(untaught, constrained=True, max_new_tokens=200)
        assert [reply.calls[0].tool for reply in model.reply(questions)] == [
            tool.name for tool in self.TOOLS
        ]

    def test_a_schema_that_cannot_be_followed_is_a_mistake(self, untaught: Path) -> None:
        tool = ToolSpec("odd", "", {"i": {"type": "integer", "not": {"const": 0}}})
        question = Chat("run", [tool], _asked("Go.").messages)
        with pytest.raises(ValueError, match=r"no grammar for the tools \(odd\)"):
            _model(untaught, constrained=True).reply([question])


def test_an_adapter_changes_the_model(untaught: Path, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft", reason="NOT TESTED: peft is not installed")
    from transformers import AutoModelForCausalLM

    lora = peft.LoraConfig(target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    adapter = tmp_path / "adapter"
    plain = AutoModelForCausalLM.from_pretrained(untaught)
    peft.get_peft_model(plain, lora).save_pretrained(adapter)
    model = _model(untaught, adapter=adapter, max_new_tokens=8)
    assert model.name.endswith("+adapter")
    assert model.about["adapter"] == "adapter"
    assert len({model.about["weights"], model.about["adapter_weights"], None}) == 3
    replies = model.reply(_questions())
    assert replies != _model(untaught, max_new_tokens=8).reply(_questions())
    assert all(reply.failure is None for reply in replies)
