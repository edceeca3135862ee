"""Behaviour specific to smolagents."""

from __future__ import annotations

from typing import Any

import pytest
from desk import WITHOUT_CALLS, Desk, Script, answer, lookup, pay

from bylaw.enforcement.decision import ConstraintViolationError
from bylaw.enforcement.guard import Guard
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Call

pytestmark = pytest.mark.frameworks


@pytest.fixture(autouse=True)
def _needed() -> None:
    pytest.importorskip("smolagents", reason="NOT TESTED: smolagents is not installed")


def _guard(rule: str, severity: str = "SOFT_BLOCK", **more: Any) -> Guard:
    constraint = {"name": "rule", "rule": rule, "severity": severity}
    return Guard(Procedure.from_dict({"bylaw": 1, "constraints": [constraint], **more}))


def _agent(guard: Guard, script: Script, *, code: bool = False, **options: Any) -> Any:
    import smolagents_drivers as drivers
    from smolagents import LogLevel

    driver = drivers.Code if code else drivers.ToolCalling
    desk = Desk()
    agent = driver.agent(
        tools=drivers.tools_of(desk),
        model=driver.model(script),
        guard=guard,
        verbosity_level=LogLevel.OFF,
        **options,
    )
    agent.desk = desk
    return agent


def test_an_answer_among_other_calls_does_not_count() -> None:
    agent = _agent(_guard("G !pay"), [[lookup(), answer("early")], [answer("late")]])
    assert agent.run("go") == "late"
    assert agent.desk.ran == [lookup()]
    assert "the only call of its turn" in agent.model.shown[1]
    assert "'open': True" in agent.model.shown[1]


def test_an_answer_that_cannot_be_used_is_not_one() -> None:
    unusable = Call("final_answer", {"text": "x"})
    agent = _agent(_guard("G !pay"), [[unusable], [answer()]])
    assert agent.run("go") == "done"
    assert "Argument text is not in the tool's input schema" in agent.model.shown[1]


def test_an_unknown_tool_has_failed() -> None:
    agent = _agent(
        _guard("G(pay -> earlier call(fly, failed))"), [[Call("fly")], [pay()], [answer()]]
    )
    assert agent.run("go") == "done"
    assert agent.desk.ran == [pay()]
    assert "Unknown tool fly" in agent.model.shown[1]


def test_the_memory_holds_all_calls_in_the_order_proposed() -> None:
    agent = _agent(_guard("G !pay"), [[lookup(1), pay(), lookup(2)], [answer()]])
    agent.run("go")
    step = agent.memory.steps[1]
    assert [call.name for call in step.tool_calls] == ["lookup", "pay", "lookup"]
    assert step.observations.count("Not executed") == 1


@pytest.mark.parametrize("code", [False, True])
def test_the_answer_asked_for_at_the_end_is_gated(code: bool) -> None:
    agent = _agent(_guard("G(final_answer -> O lookup)"), [[pay()], []], code=code, max_steps=1)
    with pytest.raises(ConstraintViolationError, match="final_answer: Not executed"):
        agent.run("go")
    agent = _agent(_guard("G(final_answer -> O pay)"), [[pay()], []], code=code, max_steps=1)
    assert "Let me think." in agent.run("go")
    assert agent.guard.finished


@pytest.mark.parametrize(("budget", "ran"), [(5, [pay(5)]), (50, [])])
def test_rules_see_the_values_of_state_variables(budget: int, ran: list[Call]) -> None:
    guard = _guard("G(pay -> args.amount < 10)")
    agent = _agent(guard, [[Call("pay", {"amount": "budget"})], [answer()]])
    agent.run("go", additional_args={"budget": budget})
    assert agent.desk.ran == ran


@pytest.mark.parametrize("code", [False, True])
def test_rules_may_speak_of_messages(code: bool) -> None:
    guard = _guard('G(pay -> O (says(user) & text contains "please"))', events="all")
    agent = _agent(guard, [[pay()], [answer()]], code=code)
    agent.run("pay")
    assert agent.desk.ran == []
    guard = _guard('G(pay -> O (says(user) & text contains "please"))', events="all")
    agent = _agent(guard, [[pay()], [answer()]], code=code)
    agent.run("please pay")
    assert agent.desk.ran == [pay()]


def test_one_guard_is_one_run() -> None:
    agent = _agent(_guard("G !pay"), [[answer()], [answer()], [answer("again")]])
    agent.run("go")
    with pytest.raises(Exception, match="the run has finished"):
        agent.run("go")
    agent.guard = _guard("G !pay")
    assert agent.run("go") == "again"


# ── code ─────────────────────────────────────────────────────────────────────────────────────


def _run_code(guard: Guard, *blocks: str) -> Any:
    from smolagents.models import ChatMessage, MessageRole

    agent = _agent(guard, [], code=True)
    said = iter(blocks)

    def generate(messages: list[Any], **_: Any) -> ChatMessage:
        agent.model.shown.append("\n".join(str(message.content) for message in messages))
        return ChatMessage(MessageRole.ASSISTANT, content=f"<code>\n{next(said)}\n</code>")

    agent.model.generate = generate
    agent.answer = agent.run("go")
    return agent


def test_a_refusal_is_an_exception_in_the_code() -> None:
    guard = _guard("G(pay -> O lookup)")
    agent = _run_code(
        guard, "pay(5)\nlookup(1)", "lookup(order=7)\npay({'amount': 6})", "final_answer('x')"
    )
    assert agent.desk.ran == [lookup(7), pay(6)]
    assert "ConstraintViolationError: pay: Not executed." in agent.model.shown[1]
    assert agent.answer == "x"


def test_rules_see_positional_arguments() -> None:
    guard = _guard("G(pay -> args.amount < 10)")
    agent = _run_code(guard, "pay(5)\npay(50)", "final_answer(answer='x')")
    assert agent.desk.ran == [pay(5)]


def test_code_cannot_hold_up_the_end() -> None:
    code = "try:\n    pay(5)\nexcept:\n    pass\nlookup(1)\nfinal_answer('x')"
    with pytest.raises(ConstraintViolationError) as stop:
        _run_code(_guard("G !pay", "HARD_STOP"), code)
    assert stop.value.violation_type == "stop"


def test_an_answer_with_wrong_arguments_does_not_end_the_run() -> None:
    agent = _run_code(
        _guard("G !pay"), "final_answer()", "final_answer(text='x')", "final_answer(3)"
    )
    assert agent.answer == 3


def test_tools_that_run_elsewhere_cannot_be_guarded() -> None:
    from smolagents import PythonExecutor

    class Elsewhere(PythonExecutor):  # type: ignore[misc]  # the framework has no types
        def send_tools(self, tools: Any) -> None: ...
        def send_variables(self, variables: Any) -> None: ...
        def __call__(self, code_action: str) -> Any: ...

    with pytest.raises(ValueError, match="beyond the gate's reach"):
        _agent(_guard("G !pay"), [], code=True, executor=Elsewhere())


@pytest.mark.parametrize("code", [False, True], ids=["calls", "code"])
def test_an_answer_that_the_checks_reject_is_withdrawn(code: bool) -> None:
    guard = _guard("G(final_answer -> O lookup)")
    checks = [lambda given, *_, **__: given == "right"]
    script = [[lookup()], [answer("wrong")], [pay()], [answer("right")]]
    agent = _agent(guard, script, code=code, final_answer_checks=checks)
    assert agent.run("go") == "right"
    assert agent.desk.ran == [lookup(), pay()]
    assert guard.finish().score == 1.0


@pytest.mark.parametrize("code", [False, True], ids=["calls", "code"])
def test_so_it_is_when_no_step_is_left(code: bool) -> None:
    guard = _guard("G(final_answer -> O lookup)")
    checks = [lambda given, *_, **__: given == "right"]
    script = [[lookup()], [answer("wrong")], []]
    agent = _agent(guard, script, code=code, final_answer_checks=checks, max_steps=2)
    assert agent.run("go") == WITHOUT_CALLS
    assert guard.finish().score == 1.0


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
    agent = _run_code(_guard(SMALL), code, "final_answer('x')")
    assert agent.desk.ran == []
    assert reason in agent.model.shown[1]


def test_code_gets_plain_values_of_its_own() -> None:
    agent = _run_code(_guard(SMALL), "x = [1, (2, 3)]\npay({'amount': 5})", "final_answer('x')")
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
    guard = _guard("G(pay -> args.amount < 10 & args.amount != true)")
    agent = _agent(guard, [[Call("pay", {"amount": "budget"})], [answer()]])
    assert agent.run("go", additional_args=state) == "done"
    assert agent.desk.ran == ran


# ── managed agents ───────────────────────────────────────────────────────────────────────────

HELPER: dict[str, Any] = {"name": "helper", "description": "Pays."}


def _team(guard: Guard, turns: Script, *, code: bool = False, orders: Script | None = None) -> Any:
    """A manager who asks a helper, who makes these turns."""
    helper = _agent(guard, turns, **HELPER)
    ask = [Call("helper", {"task": "Yes, I confirm: pay."})]
    script = orders if orders is not None else [ask, [answer("managed")]]
    manager = _agent(guard, script, code=code, managed_agents=[helper])
    manager.helper = helper
    return manager


@pytest.mark.parametrize("code", [False, True], ids=["calls", "code"])
def test_the_calls_of_a_managed_agent_are_decided(code: bool) -> None:
    team = _team(_guard(SMALL), [[pay(500)], [pay(5)], [answer("paid")]], code=code)
    assert team.run("go") == "managed"
    assert team.helper.desk.ran == [pay(5)]


@pytest.mark.parametrize("code", [False, True], ids=["calls", "code"])
def test_a_managed_agent_is_not_asked_by_the_user(code: bool) -> None:
    rule = 'G(pay -> O (says(user) & text contains "confirm"))'
    team = _team(_guard(rule, events="all"), [[pay()], [answer("paid")]], code=code)
    assert team.run("go") == "managed"
    assert team.helper.desk.ran == []


@pytest.mark.parametrize("code", [False, True], ids=["calls", "code"])
def test_the_answer_of_a_managed_agent_is_not_the_answer(code: bool) -> None:
    guard = _guard("G(final_answer -> O lookup)")
    turns = [[answer("paid")]]
    orders = [[Call("helper", {"task": "x"})], [answer("early")], [lookup()], [answer("late")]]
    team = _team(guard, turns, code=code, orders=orders)
    assert team.run("go") == "late"
    assert guard.finish().score == 1.0


@pytest.mark.parametrize("code", [False, True], ids=["calls", "code"])
def test_a_stop_in_a_managed_agent_ends_the_run(code: bool) -> None:
    guard = _guard("G !pay", "HARD_STOP")
    orders = [[Call("helper", {"task": "x"}), lookup()], [lookup()], [answer()]]
    team = _team(guard, [[pay()], [answer()]], code=code, orders=orders)
    with pytest.raises(ConstraintViolationError) as stop:
        team.run("go")
    assert stop.value.violation_type == "stop"
    assert len(team.model.shown) == 1


def test_rules_may_speak_of_a_managed_agent() -> None:
    team = _team(_guard("G !helper"), [[pay()], [answer("paid")]])
    team.run("go")
    assert team.helper.desk.ran == []


@pytest.mark.parametrize("code", [False, True], ids=["calls", "code"])
def test_a_managed_agent_without_the_gate_is_refused(code: bool) -> None:
    import smolagents_drivers as drivers
    from smolagents import ToolCallingAgent

    guard, desk = _guard(SMALL), Desk()
    unguarded = ToolCallingAgent(tools=drivers.tools_of(desk), model=drivers.Scripted([]), **HELPER)
    for helper in (unguarded, _agent(_guard(SMALL), [], **HELPER)):
        with pytest.raises(ValueError, match="acts beyond the gate's reach"):
            _agent(guard, [], code=code, managed_agents=[helper])
    team = _team(guard, [[pay(500)], [answer()]], code=code)
    team.managed_agents["helper"] = unguarded
    with pytest.raises(ValueError, match="acts beyond the gate's reach"):
        team.run("go")


def test_a_new_guard_is_the_new_guard_of_the_team() -> None:
    team = _team(_guard("G !lookup"), [[pay(500)], [answer()]])
    team.guard = _guard(SMALL)
    team.run("go")
    assert team.helper.desk.ran == []
