"""Sound files and rules that use every feature: what mutation starts from."""

from __future__ import annotations

import json
from typing import Any, Final

RULES: Final = (
    "true",
    "search",
    '"send-mail"',
    "call",
    "{cancel, refund}",
    "G(search -> F cite)",
    "!refund W verify",
    "a U b & (c R d | e W f)",
    "X a -> WX b <-> X true",
    "H(refund -> O verify) | Y lookup S verify",
    "not a and b or c implies d iff e",
    'call(search, q = "foo", ok)',
    'F call(pay, args.amount.value = 5, result.status = "open", failed)',
    'call(result = null) & call({a, b}, "odd key" = [1, {"k": 2.5}])',
    "Called(lookup)",
    "CalledN(pay, <= 1) & CalledN({a, b}, != 0)",
    "Before(verify, refund) & After(refund, verify)",
    "AllBefore([lookup, {verify, audit}], refund)",
    "InstanceBefore(read, 0, write, 1)",
    "InOrder(search, read, search)",
    "WithinSteps(open, close, 3)",
    "CalledWith(pay, amount = 5, to.iban = answer)",
    'CalledWithResult(pay, {"ok": true}, amount = 5)',
    "CalledExactly(pay, amount = -1.5e3)",
    "BranchCalled(approve, reject)",
    "Before(search, final_answer)",
    'forall n in results(tool_a_list, "numbers[]"): CalledWith(tool_b, i = n)',
    'exists x in args(search, "filters[?open].id"): F call(read, id = [x, {"v": x}])',
    'forall t in ["lookup", 2]: true',
    'forall t in ["lookup", "verify"]: Called(t) & G(t -> X {t, other})',
    'forall m in metrics("models[].name || `[]`"): exists m in [m, answer]: true',
    'G(search ->  # a comment\n  F cite)\t& "naïve · tool"',
)
"""Rules by themselves."""

_YAML_PLAIN: Final = """\
# A desk that pays money back.
bylaw: 1
name: refund-desk
tools: [lookup, verify, refund, cancel, pay, "send-mail"]
groups: {WRITE: [refund, cancel, pay], READ: [lookup]}
order: position
events: calls
constraints:
  - name: verify-first
    rule: G(refund -> O verify)
    weight: 3.0
    layer: L4
    severity: SOFT_BLOCK
    why: Refunds need a verified customer.
    fix: Call verify first.
  - name: no write without reading
    rule: "!WRITE W READ"
    severity: HARD_STOP
  - {name: once, rule: 'CalledN(pay, <= 1)', weight: 2, layer: L5, severity: TOLERATE}
"""

_YAML_BLOCKS: Final = """\
%YAML 1.1
---
bylaw: 1
order: step
events: all
constraints:
- name: folded
  rule: >-
    G(search ->
      F cite)
  weight: &half 0.5
- name: literal
  rule: |
    # every number that was listed is used
    forall n in results(tool_a_list, "numbers[]"):
      CalledWith(tool_b, i = n)
  weight: *half
  severity: BLOCK_AND_WARN
- name: "escaped \\u00e9"
  rule: "call(search, q = \\"x\\\\n\\") -> exists x in args(search, \\"ids[]\\"): Called(x)"
  severity: ASK
- name: always
  rule: true
...
"""

FORMULA: Final[dict[str, Any]] = {
    "bylaw": 1,
    "formula": [
        {"event": {"tool": "search"}},
        {
            "event": {
                "tool": {"any": ["cite", {"variable": "t"}]},
                "where": [
                    {"outcome": "ok"},
                    {"argument": ["q", "text"], "is": {"literal": [1, {"k": None}]}},
                    {"result": [], "is": {"list": [{"answer": True}, {"variable": "t"}]}},
                ],
            }
        },
        {"until": [0, 1]},
        {"CalledN": {"tool": "pay", "count": {"is": "<=", "number": {"literal": 3}}}},
        {
            "CalledWithResult": {
                "tool": "pay",
                "result": {"object": {"id": {"variable": "t"}}},
                "arguments": [{"argument": ["amount"], "is": {"literal": 5}}],
            }
        },
        {"InOrder": {"sequence": ["a", "b", {"variable": "t"}]}},
        {"and": [2, 3, 4, 5]},
        {
            "exists": {
                "variable": "t",
                "in": {"results": {"tool": "search", "path": "ids[]"}},
                "body": 6,
            }
        },
        {"truth": True},
        {"implies": [8, 7]},
        {"always": [9]},
    ],
}
"""A rule in the JSON form."""

_JSON_PROCEDURE: Final[dict[str, Any]] = {
    "bylaw": 1,
    "name": "as JSON – Grüße",
    "groups": {"WRITE": ["refund", "pay"]},
    "order": "step",
    "events": "all",
    "constraints": [
        {"name": "as JSON", "rule": FORMULA, "weight": 1.5, "severity": "ASK"},
        {"name": "as text", "rule": "G(WRITE -> O verify)", "layer": "L4"},
        {
            "name": "no rule in words",
            "rule": "CalledExactly(pay, amount = 5)",
            "why": "a",
            "fix": "b",
        },
    ],
}

_TRACE: Final[dict[str, Any]] = {
    "bylaw": 1,
    "tool_calls": [
        {
            "step": 0,
            "tool_name": "lookup",
            "arguments": {"id": 7},
            "tool_result": '{"ids": [1, 2]}',
        },
        {
            "step": 1,
            "tool_name": "search",
            "arguments": {"q": "naïve · 検索 \U0001f50e", "filters": [{"open": True, "id": "x"}]},
            "tool_result": None,
            "id": "call_1",
            "start": 1.5,
            "end": 2,
            "agent": "desk",
        },
        {"step": 1, "tool_name": "tool_a_list", "tool_result": {"numbers": [8, 2, 46.0]}},
        {
            "step": 2,
            "tool_name": "refund",
            "arguments": {"deep": {"a": [[[]]]}},
            "error": "timeout",
        },
        {"step": 3, "tool_name": "pay", "arguments": {"amount": 5}, "tool_result": "not JSON {"},
    ],
    "answer": "done",
    "messages": [
        {"role": "system", "text": "be kind", "before": 0},
        {"role": "user", "text": "money back", "before": 0, "step": 0},
        {"role": "assistant", "text": "one moment", "before": 5},
    ],
    "labels": {"split": "test", "hard": False},
    "num_steps": 4,
    "tokens": {"in": 120, "out": 3e2},
}
_FINISHED: Final[dict[str, Any]] = {
    "tool_calls": [
        {"tool_name": "search", "arguments": {"q": ""}},
        {"tool_name": "cite", "arguments": {}, "tool_result": "ok"},
        {"tool_name": "final_answer", "arguments": {"answer": "here it is"}},
    ]
}


def _line(record: object) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def _of_rules(*rules: str) -> str:
    """A procedure with these rules, as blocks."""
    return "constraints:\n" + "".join(
        f"- name: rule {number}\n  rule: |\n    {rule.replace(chr(10), chr(10) + '    ')}\n"
        for number, rule in enumerate(rules)
    )


_RICH: Final[tuple[tuple[str, str], ...]] = (
    (".yaml", _YAML_PLAIN),
    (".yaml", _YAML_BLOCKS),
    (".yaml", _of_rules(*RULES[14:25])),
    (".yaml", json.dumps(_JSON_PROCEDURE, indent=1)),
    (".json", json.dumps(_JSON_PROCEDURE, indent=2, ensure_ascii=False)),
    (".json", _line(_JSON_PROCEDURE)),
)
PROCEDURES: Final = (*_RICH * 4, *((".yaml", _of_rules(rule)) for rule in RULES))
"""Sound procedure files: how the name ends, and what is inside. Those with a single rule are
easily still sound after some damage.
"""

TRACES: Final[tuple[tuple[str, str], ...]] = (
    (".json", json.dumps(_TRACE, indent=2)),
    (".json", _line(_TRACE)),
    (".json", json.dumps([_FINISHED, _TRACE], indent=1)),
    (".jsonl", _line(_TRACE) + "\n" + _line(_FINISHED) + _line({"tool_calls": []})),
    (".log", (_line(_FINISHED) + _line(_TRACE)).replace("\n", "\r\n")),
)
"""Sound trace files."""
