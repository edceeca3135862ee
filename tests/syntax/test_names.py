"""Names that a file gives: definitions, constants, groups; and who may speak of what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from notation import trace

from bylaw import Procedure, SpecError, holds, parse, to_text
from bylaw.codes import CODES
from bylaw.errors import Diagnostic
from bylaw.logic.terms import ToolGlob, ToolName, ToolSet
from bylaw.logic.walk import sees_answer, tools_in


def _mistakes(rule: str, **names: Any) -> tuple[Diagnostic, ...]:
    with pytest.raises(SpecError) as caught:
        parse(rule, **names)
    return tuple(caught.value.diagnostics)


# ── definitions ───────────────────────────────────────────────────────────────────────────

DEFINE = {
    "pending(o)": 'o.status = "pending"',
    "between(lo, x, hi)": "lo <= x & x <= hi",
    "both(p, q)": "p & q",
    "first(t, u)": "G(u -> O t)",
    "WRITE": "{cancel, refund}",
    "READ": 'like("get_*")',
    "order(i)": "last(call(get, id = i, ok)).result",
    "items": "args.items",
    "large(k)": "args[k] > 100",
    "confirmed": "earlier ok",
    "double(x)": "x * 2",
    "pending_order(i)": "pending(order(i))",
    "one_of(x, l)": "exists y in l: y = x",
}

MEANS = {
    "pending(args)": 'args.status = "pending"',
    "G(cancel -> pending(last(get).result))": 'G(cancel -> last(get).result.status = "pending")',
    "between(1, args.i, 3)": "1 <= args.i & args.i <= 3",
    "between(args.i, 1, 3)": "args.i <= 1 & 1 <= 3",
    "both(a, call(b, ok))": "a & call(b, ok)",
    "both(both(a, b), X c)": "a & b & X c",
    "first(verify, refund)": "G(refund -> O verify)",
    "first({a, b}, WRITE)": "G({cancel, refund} -> O {a, b})",
    'first(like("get_*"), "x-y")': 'G("x-y" -> O like("get_*"))',
    "G(WRITE -> O verify)": "G({cancel, refund} -> O verify)",
    "Called(WRITE)": "Called({cancel, refund})",
    "call({WRITE, pay}, id = 1)": "call({cancel, refund, pay}, id = 1)",
    "G(READ -> ok)": 'G(like("get_*") -> ok)',
    "let i = args.id: order(i).n = 1": "let i = args.id: last(call(get, id = i, ok)).result.n = 1",
    "let i = args.id, o = order(i): o.n = 1": (
        "let i = args.id, o = last(call(get, id = i, ok)).result: o.n = 1"
    ),
    "forall x in items: x > 0": "forall x in args.items: x > 0",
    "count(x in items: x > 0) = 1": "count(x in args.items: x > 0) = 1",
    'large("amount")': "args.amount > 100",
    "G(WRITE -> confirmed)": "G({cancel, refund} -> earlier ok)",
    "args.i = double(double(args.j))": "args.i = (args.j * 2) * 2",
    "length(items) = double(1)": "length(args.items) = 1 * 2",
    "let i = args.id: pending_order(i)": (
        'let i = args.id: last(call(get, id = i, ok)).result.status = "pending"'
    ),
}


@pytest.mark.parametrize("rule", MEANS)
def test_a_definition_is_what_it_stands_for(rule: str) -> None:
    formula = parse(rule, define=DEFINE)
    assert formula == parse(MEANS[rule])
    assert parse(to_text(formula)) == formula


def test_parameters_are_taken_by_place_and_used_by_name() -> None:
    define = {"f(b, a)": "a < b"}
    assert parse("f(1, 2)", define=define) == parse("2 < 1")


def test_a_list_that_is_handed_over_is_ranged_over_like_one_written_out() -> None:
    formula = parse("one_of(1, [args.i, args.j])", define=DEFINE)
    written = parse("exists y in [args.i, args.j]: y = 1")
    for line in ('a{"i":1}', 'a{"j":1}', 'a{"i":2,"j":1}', "a", "(empty)"):
        assert holds(formula, trace(line)) is holds(written, trace(line))
        assert holds(parse(to_text(formula)), trace(line)) is holds(formula, trace(line))


SAME = {"same(v)": "exists x in args.items: x = v"}

HYGIENE: list[tuple[str, dict[str, str], str, str, bool]] = [
    (
        "a quantifier of the definition does not catch the caller's variable",
        SAME,
        "let x = args.id: same(x)",
        'a{"id":1,"items":[2]}',
        False,
    ),
    (
        "and it finds what is there",
        SAME,
        "let x = args.id: same(x)",
        'a{"id":1,"items":[2,1]}',
        True,
    ),
    (
        "nor does a let",
        {"grows(v)": "let x = v + 1: x > v"},
        "let x = args.id: grows(x)",
        'a{"id":1}',
        True,
    ),
    (
        "nor does a count",
        {"twice(v)": "count(x in args.items: x = v) = 2"},
        "let x = args.id: twice(x)",
        'a{"id":1,"items":[1,2,3]}',
        False,
    ),
    (
        "nor does a formula that is handed over lose its variables",
        {"some(p)": "exists x in args.items: p"},
        "let x = args.id: some(x = 1)",
        'a{"id":2,"items":[1]}',
        False,
    ),
    (
        "nor a tool",
        {"then(t)": "exists x in args.items: X t"},
        "let x = args.id: then(x)",
        'a{"id":"b","items":["c"]} c',
        False,
    ),
    (
        "through several definitions",
        {
            "outer(v)": "exists x in args.a: inner(v) & x = 7",
            "inner(w)": "exists x in args.b: x = w",
        },
        "let x = args.id: outer(x)",
        'a{"id":1,"a":[7],"b":[1]}',
        True,
    ),
    (
        "through several definitions, none of which is the other's",
        {
            "outer(v)": "exists x in args.a: inner(v) & x = 7",
            "inner(w)": "exists x in args.b: x = w",
        },
        "let x = args.id: outer(x)",
        'a{"id":7,"a":[7],"b":[1]}',
        False,
    ),
    (
        "also if the definition's own variables look like renamed ones",
        {"f(v)": "exists x_ in args.a: exists x in args.b: x_ = x & v = 1"},
        "let x = args.id: f(x)",
        'a{"id":1,"a":[1],"b":[2]}',
        False,
    ),
    (
        "also if the caller's variables look like renamed ones",
        {"f(v, w)": "exists x in args.a: x = v & w = 5"},
        "let x = args.id, x_ = args.j: f(x, x_)",
        'a{"id":1,"j":5,"a":[1]}',
        True,
    ),
    (
        "a variable of the definition may shadow its own parameter",
        {"f(v)": "exists v in args.items: v = 2"},
        "f(args.id)",
        'a{"id":1,"items":[2]}',
        True,
    ),
    (
        "a definition used twice, once inside the other's operand",
        {"inc(v)": "v + 1", "has(v)": "exists x in args.items: x = v"},
        "exists x in args.ids: has(inc(x)) & has(inc(inc(x)))",
        'a{"ids":[1],"items":[2,3]}',
        True,
    ),
]


@pytest.mark.parametrize(
    ("define", "rule", "line", "expected"),
    [case[1:] for case in HYGIENE],
    ids=[case[0] for case in HYGIENE],
)
def test_hygiene(define: dict[str, str], rule: str, line: str, expected: bool) -> None:
    formula = parse(rule, define=define)
    assert not formula.free
    assert holds(formula, trace(line)) is expected
    assert holds(parse(to_text(formula)), trace(line)) is expected


def test_a_definition_does_not_see_the_variables_around_its_use() -> None:
    (mistake,) = _mistakes("let x = args.i: peek", define={"peek": "x = 1"})
    assert mistake.code == "E108"
    assert "in 'peek'" in mistake.message


def test_a_tool_of_a_definition_is_no_variable_of_its_caller() -> None:
    formula = parse("forall x in [1]: f", define={"f": "Called(x)"})
    assert tools_in(formula) == ["x"]
    assert parse(to_text(formula)) == formula


OPERAND_ELSEWHERE = {
    "e(v)": "earlier (a & args.i = v)",
    "l(v)": "last(call(a, i = v)).result = 1",
    "n(v)": "X args.i = v",
    "o(v)": "O call(a, i = v)",
    "u(v)": "a U (b & args.i > v)",
    "la(v)": "later (args.l contains v)",
    "q(v)": "earlier (exists x in v: x = 1)",
    "c(v)": "earlier count(x in args.l: x = v) = 1",
    "through(v)": "e(v)",
    "below(v)": "earlier here(v)",
    "here(v)": "args.i = v",
    "computed(v)": "e(v + 1)",
    "past(p)": "earlier p",
    "handed(v)": "past(args.i = v)",
}
ELSEWHERE = ["e", "l", "n", "o", "u", "la", "q", "c", "through", "below", "computed", "handed"]


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize("operand", ["args.j", "step", "last(b).result", "[args.j]", "text"])
def test_an_operand_that_reads_the_event_is_not_read_at_another(name: str, operand: str) -> None:
    mistakes = _mistakes(f"{name}({operand})", define=OPERAND_ELSEWHERE)
    assert {mistake.code for mistake in mistakes} == {"E119"}
    assert "let" in (mistakes[0].help or "")


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize("operand", ["1", "labels.n", "answer", "[1, 2]", 'lower("A")'])
def test_an_operand_that_is_the_same_everywhere_is(name: str, operand: str) -> None:
    parse(f"{name}({operand})", define=OPERAND_ELSEWHERE)
    parse(f"let x = args.j: {name}(x)", define=OPERAND_ELSEWHERE)


def test_an_operand_is_read_where_the_definition_is_used() -> None:
    define = OPERAND_ELSEWHERE
    assert parse("earlier here(args.j)", define=define) == parse("earlier args.i = args.j")
    assert parse("last(here(args.j)).step = 1", define=define) == parse(
        "last(args.i = args.j).step = 1"
    )
    assert parse("past(a & ok)", define=define) == parse("earlier (a & ok)")


@pytest.mark.parametrize(
    ("define", "rule"),
    [
        ({"f": "f"}, "f"),
        ({"f(x)": "f(x)"}, "f(1)"),
        ({"f": "a & g", "g": "X f"}, "G f"),
        ({"f": "g + 1", "g": "f * 2"}, "args.i = f"),
        ({"f": "{g, a}", "g": "f"}, "Called(f)"),
        ({"f": "g", "g": "h", "h": "f"}, "f | a"),
        ({"f(x)": "exists y in g(x): y = 1", "g(x)": "[last(f(x)).step]"}, "f(1)"),
    ],
)
def test_a_definition_that_uses_itself(define: dict[str, str], rule: str) -> None:
    assert {mistake.code for mistake in _mistakes(rule, define=define)} == {"E118"}


def test_a_definition_may_be_used_inside_its_own_operand() -> None:
    define = {"inc(v)": "v + 1"}
    assert parse("args.i = inc(inc(1))", define=define) == parse("args.i = (1 + 1) + 1")


@pytest.mark.parametrize(
    "head",
    ["", "1f", "f(", "f)", "f(x", "f(x,)", "f(x, x)", "f(1)", "f(args)", "G", "last(x)", "f g"],
)
def test_what_is_no_head_of_a_definition(head: str) -> None:
    mistakes = _mistakes("a", define={head: "b"})
    assert [mistake.code for mistake in mistakes] == ["E118"]


@pytest.mark.parametrize("head", ["f", "f(x)", " f ( x , y ) ", "F1", "é"])
def test_what_is_one(head: str) -> None:
    parse("a", define={head: "b"})


@pytest.mark.parametrize(
    "rule", ["f(1)", "f(1, 2, 3)", "f", "f()", "args.i = f(1)", "Called(f)", "forall x in f: a"]
)
def test_wrong_number_of_operands(rule: str) -> None:
    (mistake,) = _mistakes(rule, define={"f(x, y)": "x < y"})
    assert mistake.code == "E105"
    assert "f(x, y)" in (mistake.help or "")


def test_operands_for_a_definition_that_takes_none() -> None:
    (mistake,) = _mistakes("f(1)", define={"f": "a"})
    assert mistake.code == "E105"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("args.i = y", "E108"),
        ("Caled(a)", "E103"),
        ("lenght(args) = 1", "E103"),
        ("call(a, 5)", "E105"),
        ("Called({})", "E106"),
        ("args.i", "E107"),
        ("forall y in []: a", "E106"),
        ("Called(refnud)", "E104"),
    ],
)
@pytest.mark.parametrize("depth", [1, 2])
def test_mistakes_inside_a_definition_point_at_the_use(body: str, code: str, depth: int) -> None:
    define = {"bad": body, "worse": "bad"}
    name = ["bad", "worse"][depth - 1]
    (mistake,) = _mistakes(f"G(a -> {name})", define=define, tools=["a", "refund"])
    assert mistake.code == code
    assert mistake.message.startswith("in 'bad': ")
    assert (mistake.line, mistake.column, mistake.width) == (1, 8, len(name))
    assert mistake.excerpt == f"G(a -> {name})"


def test_mistakes_inside_an_operand_point_at_the_operand() -> None:
    (mistake,) = _mistakes("G(a -> f(nothing))", define={"f(v)": "args.i = v"})
    assert mistake.code == "E108"
    assert (mistake.column, mistake.width) == (10, len("nothing"))
    assert not mistake.message.startswith("in ")


def test_every_use_is_reported() -> None:
    mistakes = _mistakes("bad & X bad", define={"bad": "args.i = y"})
    assert [mistake.column for mistake in mistakes] == [1, 9]


def test_a_definition_that_does_not_parse_says_so() -> None:
    assert _mistakes("a", define={"f": "G("})[0].code == "E101"


# ── constants ─────────────────────────────────────────────────────────────────────────────

CONSTANTS = {
    "LIMITS": {"pay": 100, "refund": {"EUR": 5}},
    "OPEN": ["new", "paid"],
    "MAX": 3,
    "WORD": "^ab",
    "NONE": None,
}

CONSTANT_ROWS = [
    ("LIMITS[tool] >= args.i", 'pay{"i":100}', True),
    ("LIMITS[tool] >= args.i", 'pay{"i":101}', False),
    ("LIMITS[tool] >= args.i", 'other{"i":1}', False),
    ("LIMITS.pay = 100", "a", True),
    ("LIMITS.refund[args.c] = 5", 'a{"c":"EUR"}', True),
    ("LIMITS.refund[args.c] = 5", 'a{"c":"USD"}', False),
    ("LIMITS[args.t][args.c] = 5", 'a{"t":"refund","c":"EUR"}', True),
    ("args.s in OPEN", 'a{"s":"paid"}', True),
    ("args.s in OPEN", 'a{"s":"sent"}', False),
    ("OPEN[0] = args.s", 'a{"s":"new"}', True),
    ("OPEN[-1] = args.s", 'a{"s":"new"}', False),
    ("forall s in OPEN: CalledWith(a, s = s)", 'a{"s":"new"} a{"s":"paid"}', True),
    ("forall s in OPEN: CalledWith(a, s = s)", 'a{"s":"new"}', False),
    ("count(s in OPEN: s ~ /a/) = 1", "a", True),
    ("CalledN(a, <= MAX)", "a a a", True),
    ("CalledN(a, <= MAX)", "a a a a", False),
    ("call(a, i = MAX)", 'a{"i":3}', True),
    ("call(a, i < MAX)", 'a{"i":3}', False),
    ("args.i + 1 = MAX", 'a{"i":2}', True),
    ("args.s ~ WORD", 'a{"s":"abc"}', True),
    ("call(a, i = NONE)", 'a{"i":null}', True),
    ("args.i = NONE", 'a{"i":null}', False),
    ("keys(LIMITS) contains tool", "pay", True),
    ("forall MAX in [9]: args.i = MAX", 'a{"i":9}', True),
    ("let MAX = MAX + 1: args.i = MAX", 'a{"i":4}', True),
    ("(let MAX = 9: args.i = MAX) | args.i = MAX", 'a{"i":3}', True),
]


@pytest.mark.parametrize(("rule", "line", "expected"), CONSTANT_ROWS)
def test_constants(rule: str, line: str, expected: bool) -> None:
    assert holds(parse(rule, constants=CONSTANTS), trace(line)) is expected


@pytest.mark.parametrize(("rule", "line", "expected"), CONSTANT_ROWS)
def test_constants_in_text(rule: str, line: str, expected: bool) -> None:
    """The text of a formula stands alone: what it named is written out."""
    text = to_text(parse(rule, constants=CONSTANTS))
    assert holds(parse(text), trace(line)) is expected


DOMAIN_VALUES = [[1, 2], [[1]], 5, "word", {"k": 1}, True]


@pytest.mark.parametrize("value", DOMAIN_VALUES, ids=repr)
def test_any_constant_may_be_ranged_over(value: object) -> None:
    for rule in ("forall x in C: args.i = x", "count(x in C: args.i = x) = 1"):
        formula = parse(rule, constants={"C": value})
        again = parse(to_text(formula))
        for line in ("(empty)", "a", 'a{"i":1}', 'a{"i":5}', 'a{"i":"word"}', 'a{"i":{"k":1}}'):
            assert holds(again, trace(line)) is holds(formula, trace(line))


@pytest.mark.parametrize("value", [[], None], ids=repr)
def test_a_constant_without_values_cannot_be_ranged_over(value: object) -> None:
    (mistake,) = _mistakes("forall x in C: args.i = x", constants={"C": value})
    assert mistake.code == "E106"


def test_an_unknown_constant() -> None:
    (mistake,) = _mistakes("args.i < LIMIT.pay", constants=CONSTANTS)
    assert mistake.code == "E108"
    assert "LIMITS" in (mistake.help or "")


def test_a_constant_that_is_no_regular_expression() -> None:
    for rule in ("args.s ~ BAD", "find(args.s, BAD) = []", "call(a, s ~ BAD)"):
        assert [m.code for m in _mistakes(rule, constants={"BAD": "("})] == ["E111"]


def test_constants_inside_definitions() -> None:
    define = {"small(x)": "x < MAX", "MAXES": "[MAX, MAX + 1]"}
    formula = parse("small(args.i) & args.j in MAXES", constants=CONSTANTS, define=define)
    assert formula == parse("args.i < 3 & args.j in [3, 3 + 1]")


def test_a_parameter_hides_a_constant_and_a_group() -> None:
    formula = parse(
        "f(1, b)",
        constants={"MAX": 3},
        groups={"WRITE": ["a"]},
        define={"f(MAX, WRITE)": "args.i = MAX & WRITE"},
    )
    assert formula == parse("args.i = 1 & b")


def test_a_variable_hides_a_definition_and_a_group() -> None:
    formula = parse(
        'forall f in ["b"]: forall WRITE in ["c"]: f & X WRITE',
        groups={"WRITE": ["a"]},
        define={"f": "a & a"},
    )
    assert formula == parse('forall f in ["b"]: forall WRITE in ["c"]: f & X WRITE')
    assert tools_in(formula) == []


# ── groups ────────────────────────────────────────────────────────────────────────────────

GROUPS = {
    "WRITE": ["cancel", "refund"],
    "READ": ["get_*", "list"],
    "ALL": ["WRITE", "READ", "ping"],
    "LOOP": ["LOOP2", "a"],
    "LOOP2": ["LOOP", "b"],
}

GROUP_ROWS = [
    ("WRITE", "refund", True),
    ("WRITE", "ping", False),
    ("READ", "get_order", True),
    ("READ", "list", True),
    ("READ", "forget", False),
    ("ALL", "cancel", True),
    ("ALL", "get_x", True),
    ("ALL", "ping", True),
    ("ALL", "pong", False),
    ("{READ, pong}", "pong", True),
    ("{WRITE, READ}", "get_x", True),
    ("LOOP", "b", True),
    ("LOOP2", "a", True),
    ("LOOP", "c", False),
    ("call(ALL, id = 1)", 'get_x{"id":1}', True),
    ("CalledN(ALL, = 3)", "cancel get_x pong ping", True),
    ("Before(READ, WRITE)", "get_x cancel", True),
    ("Before(READ, WRITE)", "cancel get_x", False),
    ('forall i in args(READ, "id"): i > 0', 'get_x{"id":0}', False),
    ("G(WRITE -> last(READ).result = 1)", "get_x=>1 cancel", True),
    ("F READ", '"42"', False),
]


@pytest.mark.parametrize(("rule", "line", "expected"), GROUP_ROWS)
def test_groups(rule: str, line: str, expected: bool) -> None:
    assert holds(parse(rule, groups=GROUPS), trace(line)) is expected


def test_a_group_is_the_set_of_its_members() -> None:
    formula = parse("Called(ALL)", groups=GROUPS)
    members = ToolSet(
        (
            ToolName("cancel"),
            ToolName("refund"),
            ToolGlob("get_*"),
            ToolName("list"),
            ToolName("ping"),
        )
    )
    assert formula.operands == (members,)  # type: ignore[union-attr]  # a predicate
    assert formula == parse('Called({cancel, refund, like("get_*"), list, ping})')


def test_a_group_may_name_the_answer_and_a_form_never_does() -> None:
    groups = {"END": ["final_answer"], "ANY": ["*"]}
    assert sees_answer(parse("F END", groups=groups))
    assert not sees_answer(parse("F ANY", groups=groups))
    assert holds(parse("F END", groups=groups), trace('a "42"'))
    assert not holds(parse("F (END & ANY)", groups=groups), trace('a "42"'))


@pytest.mark.parametrize("groups", [{"A": []}, {"A": ["B"], "B": ["A"]}, {"A": ["A"]}])
def test_a_group_without_tools(groups: dict[str, list[str]]) -> None:
    assert _mistakes("a", groups=groups)[0].code == "E106"


def test_groups_inside_definitions_and_as_operands() -> None:
    define = {"checked(t)": "G(t -> earlier READ)"}
    formula = parse("checked(WRITE)", groups=GROUPS, define=define)
    assert formula == parse('G({cancel, refund} -> earlier {like("get_*"), list})')


# ── in a procedure ────────────────────────────────────────────────────────────────────────

PROCEDURE: dict[str, Any] = {
    "tools": ["get_order", "cancel", "refund"],
    "groups": {"WRITE": ["cancel", "refund"], "READ": ["get_*"], "ALL": ["WRITE", "READ"]},
    "constants": {"OPEN": ["new", "paid"]},
    "define": {"order(i)": "last(call(READ, id = i, ok)).result", "open(o)": "o.status in OPEN"},
    "failed": "text ~ /^Error/",
    "constraints": [
        {"name": "open", "rule": "G(WRITE -> let i = args.id, o = order(i): open(o))"},
        {"name": "no-errors", "rule": "G(ALL -> !failed)"},
    ],
}


def test_a_procedure_with_names() -> None:
    procedure = Procedure.from_dict(PROCEDURE)
    assert Procedure.from_dict(procedure.to_dict()) == procedure
    rule = procedure["open"].formula
    done = trace('get_order{"id":1}=>{"status":"paid"} cancel{"id":1}')
    sent = trace('get_order{"id":1}=>{"status":"sent"} cancel{"id":1}')
    assert holds(rule, done)
    assert not holds(rule, sent)
    wrong = trace('get_order{"id":1}=>"Error: no such order"')
    assert holds(procedure["no-errors"].formula, wrong)
    assert not holds(procedure["no-errors"].formula, procedure.marked(wrong))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"failed": "earlier cancel"}, "E213"),
        ({"failed": "X cancel"}, "E213"),
        ({"failed": "last(cancel).result = 1"}, "E213"),
        ({"failed": "Called(cancel)"}, "E213"),
        ({"failed": "!ok"}, "E213"),
        ({"failed": "call(failed)"}, "E213"),
        ({"failed": 'forall x in args(cancel, "id"): x = 1'}, "E213"),
        ({"failed": 'answer = "x"'}, "E213"),
        ({"failed": "G("}, "E101"),
        ({"define": {"f": "g", "g": "f"}, "constraints": [{"name": "a", "rule": "g"}]}, "E118"),
        ({"define": {"f(x, x)": "a"}}, "E118"),
        ({"define": {"cancel": "a"}}, "E211"),
        ({"define": {"WRITE": "a"}}, "E211"),
        ({"define": {"OPEN": "a"}}, "E211"),
        ({"constants": {"args": 1}}, "E211"),
        ({"constants": {"G": 1}}, "E211"),
        ({"groups": {"W": ["get_*", "put_*"]}}, "E104"),
        ({"groups": {"W": ["cancle"]}}, "E104"),
    ],
)
def test_mistakes_in_a_procedure(change: dict[str, Any], code: str) -> None:
    with pytest.raises(SpecError) as caught:
        Procedure.from_dict(PROCEDURE | change)
    assert code in {mistake.code for mistake in caught.value.diagnostics}


def test_the_place_of_a_mistake_in_a_definition_is_that_of_its_use(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(
        "define:\n  bad: args.i = y\nconstraints:\n  - name: a\n    rule: G(a -> bad)\n"
    )
    with pytest.raises(SpecError) as caught:
        Procedure.load(path)
    (mistake,) = caught.value.diagnostics
    assert (mistake.code, mistake.line, mistake.column) == ("E108", 5, 18)
    assert "in 'bad'" in mistake.message


@pytest.mark.parametrize("code", ["E118", "E119", "E213"])
def test_the_examples_of_codes_are_wrong_and_right(code: str, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    rules = "\nconstraints: [{name: a, rule: Called(a)}]\n"
    for text, found in ((CODES[code].wrong, {code}), (CODES[code].right, set())):
        path.write_text(text if "constraints" in text else text + rules)
        try:
            Procedure.load(path)
            codes = set()
        except SpecError as error:
            codes = {mistake.code for mistake in error.diagnostics}
        assert codes == found
