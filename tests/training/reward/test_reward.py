"""The reward: what gold transcripts and mistakes get, and that verdicts are those of the score."""

from __future__ import annotations

import json
import random

import pytest
from training_examples import built, carried_out, departed, everything

from bylaw import Call, Guard, Procedure, Trace, Vocabulary, verify_trace
from bylaw.agents.habits import HABITS
from bylaw.agents.loop import Episode
from bylaw.agents.profiles import PROFILES
from bylaw.agents.protocol import Chat
from bylaw.agents.simulated import Simulated
from bylaw.training.data.corpus import TRAIN
from bylaw.training.data.example import Example
from bylaw.training.data.splits import DIVERSE, SPLITS
from bylaw.training.reward.reward import (
    NOTHING,
    REWARDED,
    Goal,
    Goals,
    Reward,
    Rewarded,
    Rollout,
    correctness,
    weights,
)
from bylaw.training.reward.summary import summary

# ── the terms ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("answer", "reward"),
    [
        (12, 1.0),
        ("12", 1.0),
        (" 12 ", 1.0),
        (12.0, 1.0),
        (13, 0.1),
        ("-3", 0.1),
        (None, 0.0),
        ("", 0.0),
        ("twelve", 0.0),
        ("The answer is 12.", 0.0),
        (12.5, 0.0),
        (True, 0.0),
        ([12], 0.0),
    ],
)
def test_an_answer_is_right_well_formed_or_nothing(answer: object, reward: float) -> None:
    assert correctness(answer, 12) == reward


def test_weights() -> None:
    assert weights() == (0.5, 0.25, 0.25)
    assert weights(1.0) == (1.0, 0.0, 0.0)
    assert Reward(0.8, 0.1, 0.2).total() == pytest.approx(0.4 + 0.025 + 0.05)
    assert Reward(0.8, 0.1, 0.2).total(weights(0.6)) == pytest.approx(0.48 + 0.02 + 0.04)


@pytest.mark.parametrize(
    ("terms", "total"), [("both", 0.475), ("answer", 0.1), ("compliance", 0.8)]
)
def test_a_model_is_trained_on_all_terms_or_on_one(terms: Rewarded, total: float) -> None:
    assert Reward(0.8, 0.1, 0.2).total(REWARDED[terms]) == pytest.approx(total)
    assert Reward(None, None, None, "unread").total(REWARDED[terms]) is None


# ── gold and mistakes ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("split", [TRAIN, *SPLITS])
def test_gold_transcripts_get_everything(split: str) -> None:
    """The rollout is read back from the conversation, as a trainer would do."""
    for example in built()[split]:
        assert Goal(example).reward(_from_transcript(example)) == Reward(1.0, 1.0, 1.0)


def _from_transcript(example: Example) -> Rollout:
    made, answer = [], None
    results = {m["tool_call_id"]: m["content"] for m in example.transcript if m["role"] == "tool"}
    for step, message in enumerate(m for m in example.transcript if m["role"] == "assistant"):
        for call in message["tool_calls"]:
            arguments = json.loads(call["function"]["arguments"])
            if call["function"]["name"] == "final_answer":
                answer = arguments["answer"]
            else:
                result = results[call["id"]]
                made.append(Call(call["function"]["name"], arguments, result, step))
    return Rollout(made, answer)


def test_the_answer_may_be_the_last_call() -> None:
    example = built()[TRAIN][0]
    last = Call("final_answer", {"answer": example.answer}, step=len(example.gold))
    assert Goal(example).reward(Rollout([*example.calls, last])) == Reward(1.0, 1.0, 1.0)


def test_an_agent_that_follows_the_procedure_gets_everything() -> None:
    """Examples run in the tool loop, aliases and all."""
    examples = [*built()[TRAIN][:15], *built()[DIVERSE]]
    scripts = {example.name: example.script for example in examples}
    agent = Simulated(PROFILES["gold"], lambda conversation: scripts[conversation.key])
    for example in examples:
        messages = [dict(message) for message in example.opening]
        conversation = Chat(example.name, example.specs, messages)
        guard = Guard(example.procedure, "baseline")
        episode = Episode(conversation, example.functions, guard, example.budget)
        while not episode.done:
            episode.take(*agent.reply([conversation]))
        reward = Goal(example).reward(Rollout(episode.executed, episode.answer))
        assert reward == Reward(1.0, 1.0, 1.0)


@pytest.mark.parametrize("name", HABITS)
def test_every_habit_costs_something_wherever_it_strikes(name: str) -> None:
    habit, struck = HABITS[name], 0
    for example in everything():
        goal = Goal(example)
        for site in habit.sites(example.script.plan):
            calls = carried_out(habit.apply(example.script.plan, site))
            reward = goal.reward(Rollout(calls, example.answer))
            assert reward.compliance is not None
            assert reward.compliance < 1
            total = reward.total()
            assert total is not None
            assert total < 1
            struck += 1
    assert struck > 300


def test_doing_nothing_keeps_only_the_counts_of_zero() -> None:
    for example in everything():
        used = {call.tool for call in example.gold}
        unused = [tool for tool in example.tools if tool.name not in used]
        total = sum(rule.weight for rule in example.procedure.constraints)
        reward = Goal(example).reward(NOTHING)
        assert reward.compliance == pytest.approx(3.0 * len(unused) / total)
        assert reward.answer == 0.0


def test_parallel_calls_cost_compliance_but_not_distance() -> None:
    example = built()[TRAIN][0]
    together = [Call(call.tool, call.args, call.result, 0) for call in example.calls]
    reward = Goal(example).reward(Rollout(together, example.answer))
    assert reward.closeness == 1.0
    assert reward.compliance is not None
    assert reward.compliance < 1.0


# ── no reward ─────────────────────────────────────────────────────────────────────────────


def test_an_unverifiable_rollout_has_a_reason_but_no_reward() -> None:
    vocabulary = Vocabulary()

    @vocabulary.predicate
    def broken(trace: object, at: int, metrics: object) -> bool:
        """Always fails."""
        raise KeyError("invoice")

    rules = [{"name": "fine", "rule": "Called(tool_a)"}, {"name": "odd", "rule": "broken()"}]
    procedure = Procedure.from_dict({"constraints": rules}, vocabulary=vocabulary)
    report = verify_trace(Trace([Call("tool_a")]), procedure)
    assert report.score is None
    assert report.reason == "odd: Not decided: 'broken' raised KeyError: 'invoice' at event 1."


@pytest.mark.parametrize(
    "calls",
    [
        [Call("tool_a", {"i": 1}, step=2), Call("tool_a", {"i": 2}, step=1)],
        [Call("tool_a", {"i": float("nan")})],
        [Call("tool_a", {"i": {1, 2}})],
    ],
)
def test_a_rollout_that_cannot_be_read_has_no_reward_but_a_reason(calls: list[Call]) -> None:
    reward = Goal(built()[TRAIN][0]).reward(Rollout(calls, 1))
    assert (reward.compliance, reward.answer, reward.closeness) == (None, None, None)
    assert reward.total() is None
    assert reward.reason is not None
    assert reward.reason.startswith("the rollout cannot be read: ")


# ── many ──────────────────────────────────────────────────────────────────────────────────


def test_a_batch_gets_the_rewards_of_its_rollouts() -> None:
    rng = random.Random(0)
    examples = built()[TRAIN]
    goals = Goals(examples)
    chosen = [rng.choice(examples) for _ in range(512)]
    batch = [Rollout(departed(each, rng, 3), each.answer) for each in chosen]
    names = [example.name for example in chosen]
    rewards = goals.rewards(names, batch)
    assert [reward.total() for reward in rewards] == [
        goals[name].reward(rollout).total() for name, rollout in zip(names, batch, strict=True)
    ]


def test_means_come_with_the_baseline_of_doing_nothing() -> None:
    goals = [Goal(example) for example in built()[TRAIN][:2]]
    rewards = [Reward(1.0, 1.0, 1.0), Reward(None, None, None, "it broke")]
    (row,) = summary("Two", goals, rewards).to_dict()["rows"]
    assert (row["compliance"], row["reward"], row["unscored"]) == (1.0, 1.0, 1)
    assert 0 < row["nothing"] < 0.2
