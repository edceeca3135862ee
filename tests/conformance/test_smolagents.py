"""Behaviour specific to smolagents."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import pytest
from desk import WITHOUT_CALLS, Desk, Script, answer, lookup, pay
from driver import TASK, Turns

from bylaw.errors import UsageError
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Call

pytestmark = pytest.mark.frameworks


@pytest.fixture(autouse=True)
def _needed() -> None:
    pytest.importorskip("smolagents", reason="NOT TESTED: smolagents is not installed")


def _rule(rule: str, severity: str = "SOFT_BLOCK", **more: Any) -> Procedure:
    constraint = {"name": "rule", "rule": rule, "severity": severity}
    return Procedure.from_dict({"bylaw": 1, "constraints": [constraint], **more})


def _plain(script: Script, *, code: bool = False, **options: Any) -> Any:
    """An agent without a gate; it keeps the desk, and what its model was shown."""
    from smolagents import CodeAgent, LogLevel, ToolCallingAgent, tool
    from smolagents_driver import Scripted, ScriptedCode

    desk, turns = Desk(), Turns({TASK: script})
    model = (ScriptedCode if code else Scripted)(turns, TASK)
    model.shown = turns.shown[TASK]
    tools = [tool(each) for each in desk.functions(asynchronous=False)]
    kind = CodeAgent if code else ToolCallingAgent
    agent = kind(tools=tools, model=model, verbosity_level=LogLevel.OFF, **options)
    agent.desk = desk
    return agent


def _agent(procedure: Any, script: Script, *, code: bool = False, **options: Any) -> Any:
    from bylaw.adapters.smolagents import guarded

    return guarded(_plain(script, code=code, **options), procedure)


def test_an_answer_among_other_calls_does_not_count() -> None:
    agent = _agent(_rule("G !pay"), [[lookup(), answer("early")], [answer("late")]])
    assert agent.run("go") == "late"
    assert agent.desk.ran == [lookup()]
    assert "the only call of its turn" in agent.model.shown[1]
    assert '"open": true' in agent.model.shown[1]


def test_an_answer_that_cannot_be_used_is_not_one() -> None:
    unusable = Call("final_answer", {"text": "x"})
    agent = _agent(_rule("G !pay"), [[unusable], [answer()]])
    assert agent.run("go") == "done"
    assert "Argument text is not in the tool's input schema" in agent.model.shown[1]


def test_an_unknown_tool_has_failed() -> None:
    agent = _agent(
        _rule("G(pay -> earlier call(fly, failed))"), [[Call("fly")], [pay()], [answer()]]
    )
    assert agent.run("go") == "done"
    assert agent.desk.ran == [pay()]
    assert "Unknown tool fly" in agent.model.shown[1]


def test_the_memory_holds_all_calls_in_the_order_proposed() -> None:
    agent = _agent(_rule("G !pay"), [[lookup(1), pay(), lookup(2)], [answer()]])
    agent.run("go")
    step = agent.memory.steps[1]
    assert [call.name for call in step.tool_calls] == ["lookup", "pay", "lookup"]
    assert step.observations.count("Not executed") == 1


@pytest.mark.parametrize("code", [False, True])
def test_the_answer_asked_for_at_the_end_is_gated(code: bool) -> None:
    agent = _agent(_rule("G(final_answer -> O lookup)"), [[pay()], []], code=code, max_steps=1)
    assert agent.run("go").startswith("final_answer: Not executed.")
    assert agent.report().trace.answer is None
    agent = _agent(_rule("G(final_answer -> O pay)"), [[pay()], []], code=code, max_steps=1)
    assert "Let me think." in agent.run("go")
    assert agent.report().trace.answer == WITHOUT_CALLS


@pytest.mark.parametrize(("budget", "ran"), [(5, [pay(5)]), (50, [])])
def test_rules_see_the_values_of_state_variables(budget: int, ran: list[Call]) -> None:
    rule = _rule("G(pay -> args.amount < 10)")
    agent = _agent(rule, [[Call("pay", {"amount": "budget"})], [answer()]])
    agent.run("go", additional_args={"budget": budget})
    assert agent.desk.ran == ran


@pytest.mark.parametrize("code", [False, True])
def test_rules_may_speak_of_messages(code: bool) -> None:
    rule = _rule('G(pay -> O (says(user) & text contains "please"))', events="all")
    for task, ran in (("pay", []), ("please pay", [pay()])):
        agent = _agent(rule, [[pay()], [answer()]], code=code)
        agent.run(task)
        assert agent.desk.ran == ran


# ── runs ─────────────────────────────────────────────────────────────────────────────────────


def test_each_run_has_a_guard_and_a_conversation_that_goes_on_keeps_it() -> None:
    script = [[lookup()], [answer()], [pay(1)], [answer()], [pay(2)], [answer("again")]]
    agent = _agent(_rule("G(pay -> earlier lookup)"), script)
    agent.run("go")
    agent.run("and now", reset=False)
    assert agent.desk.ran == [lookup(), pay(1)]
    assert agent.run("go") == "again"
    assert pay(2) not in agent.desk.ran


def test_an_agent_is_not_entered_while_it_works() -> None:
    agent = _agent(_rule("G !pay"), [[lookup()], [answer()]])
    begun, go_on = threading.Event(), threading.Event()
    given = agent.model.generate

    def generate(*values: Any, **named: Any) -> Any:
        begun.set()
        assert go_on.wait(10)
        return given(*values, **named)

    agent.model.generate = generate
    running = threading.Thread(target=agent.run, args=("go",))
    running.start()
    assert begun.wait(10)
    with pytest.raises(UsageError, match="already at work"):
        agent.run("go")
    go_on.set()
    running.join(10)
    assert agent.report().score == 1.0


def test_a_stream_is_a_run_and_one_that_is_not_begun_is_none() -> None:
    agent = _agent(_rule("G(pay -> O lookup)"), [[pay()], [lookup()], [answer()]])
    agent.run("go", stream=True)
    steps = list(agent.run("go", stream=True))
    assert steps[-1].output == "done"
    assert agent.desk.ran == [lookup()]
    left = agent.run("go", stream=True)
    agent.model.turns = Turns({TASK: [[answer("a")], [answer("b")]]})
    next(left)
    with suppress(RuntimeError):  # smolagents yields once more
        left.close()
    assert agent.run("go") == "b"


def test_a_stop_is_the_end_though_checks_reject_its_text() -> None:
    checks = [lambda given, *_, **__: False]
    script = [[pay()], [answer()]]
    agent = _agent(_rule("G !pay", "HARD_STOP"), script, final_answer_checks=checks)
    assert "The run ends here." in agent.run("go")
    assert len(agent.model.shown) == 1


# ── what can be guarded ──────────────────────────────────────────────────────────────────────


def test_the_methods_that_a_gate_stands_in_for_are_there() -> None:
    """Some of them are private: when smolagents moves one, this says so."""
    import inspect

    from smolagents import CodeAgent, ToolCallingAgent
    from smolagents.agents import MultiStepAgent

    from bylaw.adapters.smolagents_agents import CodeGate, ToolCallingGate

    for kind, gate in ((ToolCallingAgent, ToolCallingGate), (CodeAgent, CodeGate)):
        for name in gate.REPLACED:
            theirs = inspect.signature(getattr(kind, name)).parameters
            ours = inspect.signature(getattr(gate, name)).parameters
            known = [each for each in ours.values() if each.kind is each.POSITIONAL_OR_KEYWORD]
            assert list(theirs)[: len(known)] == [each.name for each in known], name
    source = inspect.getsource(MultiStepAgent)
    for used in ("self._run_stream(", "self._step_stream(", "self._validate_final_answer("):
        assert used in source
    source = inspect.getsource(ToolCallingAgent)
    for used in ("self.process_tool_calls(", "self.execute_tool_call("):
        assert used in source


def test_an_agent_that_changes_calls_is_not_guarded() -> None:
    from smolagents import ToolCallingAgent

    class Doubling(ToolCallingAgent):  # type: ignore[misc]  # the framework has no types
        def execute_tool_call(self, tool_name: str, arguments: Any) -> Any:
            return super().execute_tool_call(tool_name, {"amount": 2 * arguments["amount"]})

    from bylaw.adapters.smolagents import guarded

    plain = _plain([])
    doubling = Doubling(tools=list(plain.tools.values()), model=plain.model)
    with pytest.raises(UsageError, match="may change calls after they are judged"):
        guarded(doubling, _rule("G !pay"))
    with pytest.raises(UsageError, match="not a kind of agent"):
        guarded(object(), _rule("G !pay"))


def test_an_agent_has_one_gate() -> None:
    from bylaw.adapters.smolagents import GuardSource, guarded

    source = GuardSource(_rule("G !pay"), {})
    agent = guarded(_plain([]), source)
    assert guarded(agent, source) is agent
    with pytest.raises(UsageError, match="already guarded"):
        guarded(agent, _rule("G !pay"))
    with pytest.raises(UsageError, match="has its options"):
        guarded(_plain([]), source, setting="baseline")
    with pytest.raises(UsageError, match="has not run yet"):
        agent.report()


# ── code ─────────────────────────────────────────────────────────────────────────────────────


def _run_code(procedure: Any, *blocks: str) -> Any:
    from smolagents.models import ChatMessage, MessageRole

    agent = _agent(procedure, [], code=True)
    said = iter(blocks)

    def generate(messages: list[Any], **_: Any) -> ChatMessage:
        agent.model.shown.append("\n".join(str(message.content) for message in messages))
        return ChatMessage(MessageRole.ASSISTANT, content=f"<code>\n{next(said)}\n</code>")

    agent.model.generate = generate
    agent.answer = agent.run("go")
    return agent


def test_a_refusal_is_an_exception_in_the_code() -> None:
    rule = _rule("G(pay -> O lookup)")
    agent = _run_code(
        rule, "pay(5)\nlookup(1)", "lookup(order=7)\npay({'amount': 6})", "final_answer('x')"
    )
    assert agent.desk.ran == [lookup(7), pay(6)]
    assert "ConstraintViolationError: pay: Not executed." in agent.model.shown[1]
    assert agent.answer == "x"


def test_rules_see_positional_arguments() -> None:
    rule = _rule("G(pay -> args.amount < 10)")
    agent = _run_code(rule, "pay(5)\npay(50)", "final_answer(answer='x')")
    assert agent.desk.ran == [pay(5)]


def test_code_cannot_hold_up_the_end() -> None:
    code = "try:\n    pay(5)\nexcept:\n    pass\nlookup(1)\nfinal_answer('x')"
    agent = _run_code(_rule("G !pay", "HARD_STOP"), code)
    assert "The run ends here." in agent.answer
    assert agent.desk.ran == []
    assert agent.report().stopped


def test_an_answer_with_wrong_arguments_does_not_end_the_run() -> None:
    agent = _run_code(
        _rule("G !pay"), "final_answer()", "final_answer(text='x')", "final_answer(3)"
    )
    assert agent.answer == 3


def test_tools_that_run_elsewhere_cannot_be_guarded() -> None:
    from smolagents import PythonExecutor

    class Elsewhere(PythonExecutor):  # type: ignore[misc]  # the framework has no types
        def send_tools(self, tools: Any) -> None: ...
        def send_variables(self, variables: Any) -> None: ...
        def __call__(self, code_action: str) -> Any: ...

    with pytest.raises(UsageError, match="beyond the gate's reach"):
        _agent(_rule("G !pay"), [], code=True, executor=Elsewhere())


@pytest.mark.parametrize("code", [False, True], ids=["calls", "code"])
def test_an_answer_that_the_checks_reject_is_withdrawn(code: bool) -> None:
    rule = _rule("G(final_answer -> O lookup)")
    checks = [lambda given, *_, **__: given == "right"]
    script = [[lookup()], [answer("wrong")], [pay()], [answer("right")]]
    agent = _agent(rule, script, code=code, final_answer_checks=checks)
    assert agent.run("go") == "right"
    assert agent.desk.ran == [lookup(), pay()]
    assert agent.report().score == 1.0


@pytest.mark.parametrize("code", [False, True], ids=["calls", "code"])
def test_so_it_is_when_no_step_is_left(code: bool) -> None:
    rule = _rule("G(final_answer -> O lookup)")
    checks = [lambda given, *_, **__: given == "right"]
    script = [[lookup()], [answer("wrong")], []]
    agent = _agent(rule, script, code=code, final_answer_checks=checks, max_steps=2)
    assert agent.run("go") == WITHOUT_CALLS
    assert agent.report().score == 1.0


# ── attacks: what is judged is what runs ─────────────────────────────────────────────────────

SMALL = "G(pay -> args.amount < 10)"
LIAR = """
class Liar({base}):
    def __lt__(self, other):
        return True
    def __eq__(self, other):
        return True
    def __hash__(self):
        return 0
"""


def _lying(base: str, call: str) -> str:
    return LIAR.format(base=base) + call


def _refused(then: str) -> str:
    return f"try:\n    pay(500)\nexcept Exception as refusal:\n    {then}\n    pay(500)"


CODE_ATTACKS = {
    "a number that compares as it likes": (_lying("int", "pay(Liar(500))"), "Liar is not a JSON"),
    "a float that does": (_lying("float", "pay(Liar(500.0))"), "Liar is not a JSON type"),
    "a text that does": (_lying("str", "pay(Liar('500'))"), "Liar is not a JSON type"),
    "a keyword": (_lying("int", "pay(amount=Liar(500))"), "Liar is not a JSON type"),
    "in a mapping": (_lying("int", "pay({'amount': Liar(500)})"), "Liar is not a JSON type"),
    "in a list": (_lying("int", "pay([Liar(500)])"), "Liar is not a JSON type"),
    "a name that does": (
        _lying("str", "pay(**{Liar('memo'): 5, 'amount': 500})"),
        "a name is not a string but Liar",
    ),
    "a mapping that unpacks differently": (
        """
class Shifty(dict):
    def items(self):
        return [('amount', 5)]
    def keys(self):
        return ['amount']
    def __getitem__(self, key):
        return 5
pay(Shifty(amount=500))""",
        "Shifty is not a JSON type",
    ),
    "a list with two faces": (
        """
class Faces(list):
    def __iter__(self):
        return iter([5])
    def __lt__(self, other):
        return True
pay(Faces([500]))""",
        "Faces is not a JSON type",
    ),
    "not a number": ("pay(float('nan'))", "nan is not a JSON number"),
    "an infinity": ("pay(float('-inf'))", "-inf is not a JSON number"),
    "a function": ("pay(print)", "is not a JSON type"),
    "a list within itself": ("x = [1]\nx.append(x)\npay(x)", "it nests more than 200 deep"),
    "a list of lists of lists": (
        "x = [1]\nfor i in range(60):\n    x = [x, x]\npay(x)",
        "it has more than 1,000,000 parts",
    ),
    "two amounts": ("pay(5, amount=500)", "multiple values for argument 'amount'"),
    "an option of the framework": ("pay(500, sanitize_inputs_outputs=True)", "unexpected keyword"),
    "another name": ("pay(5, total=500)", "unexpected keyword argument 'total'"),
    "the tool under the gate": ("pay.__wrapped__(500)", "pay: Not executed."),
    "the tool below that": ("pay.__wrapped__.__wrapped__(500)", "dunder attribute"),
    "its cells": ("getattr(pay, '__closure__')[0].cell_contents(500)", "dunder attribute"),
    "its method": ("pay.forward(500)", "has no attribute forward"),
    "the call in the refusal": (
        _refused("refusal.decision.call.args['amount'] = 5"),
        "no attribute 'decision'",
    ),
    "the rule in the refusal": (
        _refused("print(refusal.decision.violations)"),
        "no attribute 'decision'",
    ),
}


@pytest.mark.parametrize("attack", CODE_ATTACKS)
def test_code_cannot_pass_the_gate_by(attack: str) -> None:
    code, reason = CODE_ATTACKS[attack]
    agent = _run_code(_rule(SMALL), code, "final_answer('x')")
    assert agent.desk.ran == []
    assert reason in agent.model.shown[1]


def test_code_gets_plain_values_of_its_own() -> None:
    agent = _run_code(_rule(SMALL), "x = [1, (2, 3)]\npay({'amount': 5})", "final_answer('x')")
    assert agent.desk.ran == [pay(5)]


@pytest.mark.parametrize(
    ("state", "ran"),
    [
        ({"budget": 5}, [pay(5)]),
        ({"budget": "more", "more": 500}, []),  # it is looked up once, not twice
        ({"budget": True}, []),
        ({"budget": object()}, []),
        ({"budget": float("nan")}, []),
    ],
)
def test_a_state_variable_is_judged_by_the_value_that_the_tool_receives(
    state: dict[str, Any], ran: list[Call]
) -> None:
    rule = _rule("G(pay -> args.amount < 10 & args.amount != true)")
    agent = _agent(rule, [[Call("pay", {"amount": "budget"})], [answer()]])
    assert agent.run("go", additional_args=state) == "done"
    assert agent.desk.ran == ran


# ── managed agents ───────────────────────────────────────────────────────────────────────────

HELPER: dict[str, Any] = {"name": "helper", "description": "Pays."}


def _team(procedure: Any, turns: Script, *, code: bool = False, orders: Script = ()) -> Any:
    """A manager who asks a helper, who makes these turns."""
    helper = _plain(turns, **HELPER)
    ask = [Call("helper", {"task": "Yes, I confirm: pay."})]
    script = orders or [ask, [answer("managed")]]
    manager = _agent(procedure, script, code=code, managed_agents=[helper])
    manager.helper = helper
    return manager


@pytest.mark.parametrize("code", [False, True], ids=["calls", "code"])
def test_the_calls_of_a_managed_agent_are_decided(code: bool) -> None:
    team = _team(_rule(SMALL), [[pay(500)], [pay(5)], [answer("paid")]], code=code)
    assert team.run("go") == "managed"
    assert team.helper.desk.ran == [pay(5)]


@pytest.mark.parametrize("code", [False, True], ids=["calls", "code"])
def test_a_managed_agent_is_not_asked_by_the_user(code: bool) -> None:
    rule = 'G(pay -> O (says(user) & text contains "confirm"))'
    team = _team(_rule(rule, events="all"), [[pay()], [answer("paid")]], code=code)
    assert team.run("go") == "managed"
    assert team.helper.desk.ran == []


@pytest.mark.parametrize("code", [False, True], ids=["calls", "code"])
def test_the_answer_of_a_managed_agent_is_not_the_answer(code: bool) -> None:
    rule = _rule("G(final_answer -> O lookup)")
    turns = [[answer("paid")]]
    orders = [[Call("helper", {"task": "x"})], [answer("early")], [lookup()], [answer("late")]]
    team = _team(rule, turns, code=code, orders=orders)
    assert team.run("go") == "late"
    assert team.report().score == 1.0


@pytest.mark.parametrize("code", [False, True], ids=["calls", "code"])
def test_a_stop_in_a_managed_agent_ends_the_run(code: bool) -> None:
    orders = [[Call("helper", {"task": "x"}), lookup()], [lookup()], [answer()]]
    rule = _rule("G !pay", "HARD_STOP")
    team = _team(rule, [[pay()], [answer()]], code=code, orders=orders)
    assert "The run ends here." in team.run("go")
    assert team.helper.desk.ran == []
    assert len(team.model.shown) == 1
    assert len(team.helper.model.shown) == 1


def test_rules_may_speak_of_a_managed_agent() -> None:
    team = _team(_rule("G !helper"), [[pay()], [answer("paid")]])
    team.run("go")
    assert team.helper.desk.ran == []


@pytest.mark.parametrize("code", [False, True], ids=["calls", "code"])
def test_a_managed_agent_that_is_added_later_is_guarded(code: bool) -> None:
    team = _team(_rule(SMALL), [], code=code)
    added = _plain([[pay(500)], [pay(5)], [answer()]], **HELPER)
    added.inputs, added.output_type = team.helper.inputs, "string"
    team.managed_agents["helper"] = added
    team.run("go")
    assert added.desk.ran == [pay(5)]


@pytest.mark.parametrize("code", [False, True], ids=["calls", "code"])
def test_a_managed_agent_with_another_gate_is_refused(code: bool) -> None:
    elsewhere = _agent(_rule(SMALL), [], **HELPER)
    with pytest.raises(UsageError, match="already guarded by another gate"):
        _agent(_rule(SMALL), [], code=code, managed_agents=[elsewhere])
    team = _team(_rule(SMALL), [], code=code)
    team.managed_agents["helper"] = elsewhere
    with pytest.raises(UsageError, match="already guarded by another gate"):
        team.run("go")
    team.managed_agents["helper"] = team
    with pytest.raises(UsageError, match="manages itself"):
        team.run("go")


def test_an_agent_that_a_tool_runs_joins_with_the_same_source() -> None:
    from smolagents import tool

    from bylaw.adapters.smolagents import GuardSource, guarded

    source = GuardSource(_rule("G(pay -> O lookup)"), {})
    inner = guarded(_plain([[pay(1)], [answer("inner")]]), source)

    @tool  # type: ignore[untyped-decorator]  # the framework has no types
    def assist(task: str) -> str:
        """Asks another agent.

        Args:
            task: the task
        """
        return str(inner.run(task))

    script = [[lookup()], [Call("assist", {"task": "x"})], [answer()]]
    outer = guarded(_plain(script), source)
    outer.tools["assist"] = assist
    assert outer.run("go") == "done"
    assert inner.desk.ran == [pay(1)], "the lookup of the outer agent is evidence"


def test_helpers_that_work_at_once_wait_for_each_other() -> None:
    ask = Call("helper", {"task": "x"})
    turns = [[lookup(1)], [answer("a")], [lookup(2)], [answer("b")]]
    team = _team(_rule(SMALL), turns, orders=[[ask, ask], [answer()]])
    assert team.run("go") == "done"
    assert team.helper.desk.ran == [lookup(1), lookup(2)]
