"""Rollouts of a real, tiny model: what it wrote, what it heard, what is rewarded and trained on."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import pytest
from torch_needed import torch_and
from training_examples import built

from bylaw.agents.tool_text import CHATML, in_plain_text, with_objects
from bylaw.training.data.corpus import TRAIN
from bylaw.training.data.splits import DIVERSE
from bylaw.training.data.transcripts import transcript
from bylaw.training.reward.reward import Goal, Rollout

pytestmark = pytest.mark.models

EXAMPLES = built()[TRAIN][:4]
MOST = 500
"""The most tokens after a prompt."""


@pytest.fixture(autouse=True, scope="module")
def _needed() -> Iterator[None]:
    yield from torch_and("trl")


@pytest.fixture(scope="module")
def learner(_needed: None) -> Any:
    import tiny_learner

    from bylaw.training.run.lora import learner

    return learner(tiny_learner.folder())


def made(learner: Any, number: int, *, width: int = 4, temperature: float = 1.0) -> Sequence[Any]:
    """So many rollouts of the first examples, in turn."""
    from bylaw.agents.hf.rollouts import Rollouts
    from bylaw.training.run.episodes import start_episode

    runs = [start_episode(EXAMPLES[at % len(EXAMPLES)], str(at)) for at in range(number)]
    rollouts = Rollouts(learner.model, learner.chat_tokenizer, width=width, turn_tokens=40)
    written: Sequence[Any] = rollouts.execute_runs(
        runs, max_completion_tokens=MOST, sampler=rollouts.batch_sampler(temperature, 1)
    )
    return written


@pytest.fixture(scope="module")
def sampled(learner: Any) -> Sequence[Any]:
    return made(learner, 12)


def test_every_run_ends_and_some_make_calls(sampled: Sequence[Any]) -> None:
    assert all(each.run.ending is not None for each in sampled)
    assert any(each.run.executed for each in sampled)


def test_the_most_likely_turn_is_the_one_that_generate_writes(learner: Any) -> None:
    import torch

    for each in made(learner, 4, temperature=0.0):
        ids, own = each.completion.ids, each.completion.mask
        turn = ids[: own.index(0)] if 0 in own else ids
        expected = learner.model.generate(
            input_ids=torch.tensor([each.prompt_ids]),
            attention_mask=torch.ones(1, len(each.prompt_ids)),
            max_new_tokens=40,
            do_sample=False,
            eos_token_id=sorted(learner.chat_tokenizer.ends),
        )
        assert expected[0, len(each.prompt_ids) :].tolist() == turn


def test_logprobs_match_a_forward_pass_over_the_whole_conversation(
    learner: Any, sampled: Sequence[Any]
) -> None:
    """So rows, places and the cache are right, whatever else was written beside."""
    import torch

    learner.model.eval()
    for each in sampled:
        ids = torch.tensor([each.prompt_ids + each.completion.ids])
        with torch.no_grad():
            scores = torch.log_softmax(learner.model(ids).logits[0].float(), dim=-1)
        start = len(each.prompt_ids)
        expected = scores[start - 1 : -1].gather(1, ids[0, start:, None])[:, 0]
        own = torch.tensor(each.completion.mask, dtype=torch.bool)
        found = torch.tensor(each.completion.logprobs)
        assert torch.allclose(found[own], expected[own], atol=1e-4)
        assert not found[~own].any()


def test_a_run_does_not_depend_on_the_rest_of_the_batch(learner: Any) -> None:
    alone, together = (made(learner, 4, width=width, temperature=0.0) for width in (1, 4))
    assert [each.completion.ids for each in alone] == [each.completion.ids for each in together]


def test_equal_seeds_give_equal_runs(learner: Any, sampled: Sequence[Any]) -> None:
    again = made(learner, 12)
    assert [each.completion.ids for each in again] == [each.completion.ids for each in sampled]
    assert len({tuple(each.completion.ids) for each in sampled[::4]}) > 1


def test_messages_of_others_are_never_trained_on(learner: Any, sampled: Sequence[Any]) -> None:
    """All other tokens are those that the template writes for messages of others.

    The end token of a truncated turn does not belong to the agent either.
    """
    for each in sampled:
        marked = zip(each.completion.ids, each.completion.mask, strict=True)
        parts = [(own, [id for id, _ in part]) for own, part in groupby(marked, itemgetter(1))]
        heard = [ids for own, ids in parts if not own]
        said = [
            list(part)
            for agent, part in groupby(
                each.run.conversation.messages[2:], lambda message: message["role"] == "assistant"
            )
            if not agent
        ]
        assert sum(len(ids) for own, ids in parts if own) == each.run.output_tokens
        assert len(said) - 1 <= len(heard) <= len(said)  # nobody hears what follows the last turn
        for ids, messages in zip(heard, said, strict=False):
            expected = learner.chat_tokenizer.between(messages)
            assert ids in (expected, [learner.chat_tokenizer.end, *expected])


def test_a_turn_and_a_rollout_stay_within_their_limits(sampled: Sequence[Any]) -> None:
    for each in sampled:
        assert len(each.completion.ids) <= MOST
        longest = max(map(len, "".join(map(str, each.completion.mask)).split("0")))
        assert longest <= 40


def test_the_reward_is_that_of_the_trace_of_the_tools(sampled: Sequence[Any]) -> None:
    from bylaw.training.run.episodes import rollout

    for at, each in enumerate(sampled):
        goal = Goal(EXAMPLES[at % len(EXAMPLES)])
        executed = Rollout(tuple(each.run.executed), each.run.answer)
        assert goal.reward(rollout(each.run)) == goal.reward(executed)


def test_a_gate_refuses_in_rollouts_if_it_is_asked_to(learner: Any) -> None:
    from bylaw import Call
    from bylaw.agents.protocol import Reply
    from bylaw.training.run.episodes import start_episode

    wrong = Reply(calls=(Call("tool_d", {"numbers": [1]}, id="x"),))
    free, gated = start_episode(EXAMPLES[0]), start_episode(EXAMPLES[0], setting="block-and-warn")
    for run in (free, gated):
        run.take(wrong)
    assert [len(run.executed) for run in (free, gated)] == [1, 0]
    assert gated.refused


def test_a_lesson_is_the_templates_own_text(learner: Any) -> None:
    """So that what is imitated is what a rollout will look like."""
    from bylaw.training.run.sft import tokenize

    for example in (*EXAMPLES, *built()[DIVERSE][:2]):
        gold = transcript(example)
        whole = learner.tokenizer.apply_chat_template(
            with_objects([*gold.opening, *gold.rest]),
            tools=[tool.to_dict() for tool in gold.tools],
            tokenize=False,
        )
        taught = tokenize(learner.chat_tokenizer, gold)
        assert learner.tokenizer.decode(taught.ids) == whole.rstrip("\n")


def test_a_template_that_knows_no_tools_gets_them_in_plain_text(learner: Any) -> None:
    from bylaw.agents.hf.chat_tokenizer import ChatTokenizer
    from bylaw.training.run.sft import tokenize

    plain = copy.deepcopy(learner.tokenizer)
    plain.chat_template = CHATML
    chat = ChatTokenizer(plain, sorted(learner.chat_tokenizer.ends), takes_tools=False)
    gold = transcript(EXAMPLES[0], "notes")
    whole = plain.apply_chat_template(
        in_plain_text([*gold.opening, *gold.rest], gold.tools), tokenize=False
    )
    assert plain.decode(tokenize(chat, gold).ids) == whole.rstrip("\n")


def test_only_the_turns_of_the_agent_are_learned(learner: Any) -> None:
    from bylaw.training.run.sft import IGNORED, tokenize

    example = EXAMPLES[0]
    gold = transcript(example, "notes")
    taught = tokenize(learner.chat_tokenizer, gold)
    learned = [label for label in taught.labels if label != IGNORED]
    turns = [learner.chat_tokenizer.turn(each) for each in gold.rest if each["role"] == "assistant"]
    assert learned == [token for turn in turns for token in turn]
    assert [label for label in taught.labels if label != IGNORED] == [
        token for token, label in zip(taught.ids, taught.labels, strict=True) if label != IGNORED
    ]
    assert learner.tokenizer.decode(learned).count("<|im_end|>") == len(example.gold) + 1


def test_the_template_determines_the_end_of_a_turn(learner: Any) -> None:
    assert learner.tokenizer.convert_ids_to_tokens(learner.chat_tokenizer.end) == "<|im_end|>"
    assert learner.tokenizer.eos_token == "<|im_end|>"
