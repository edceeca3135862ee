"""Certificates of refusals in a gate's log, and `bylaw-check` on the log."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

import bylaw_check
from bylaw import Call, Guard, Procedure, Trace, holds, parse
from bylaw.audit.log import AuditLog
from bylaw.certificates.refusals import violations_last

RULES = {
    "verify-first": "G(refund -> O call(verify, ok))",
    "not-before": "!refund W verify",
    "once": "CalledN(refund, <= 1)",
    "what-was-paid": "G(refund -> args.amount <= last(call(lookup, ok)).result.paid)",
    "same-order": "G(refund -> let i = args.id: earlier call(lookup, id = i))",
    "sourced": "G(notify -> args.to from lookup)",
    "polite": "G(says(user) -> F says(assistant))",
}


def procedure(*names: str, **fields: Any) -> Procedure:
    constraints = [{"name": name, "rule": RULES[name]} for name in names]
    return Procedure.from_dict({"constraints": constraints, "events": "all", **fields})


def logged(path: Path, rules: Procedure, turns: list[list[Call]], **how: Any) -> Path:
    """The log of a run in which these turns were proposed, and every allowed call succeeded."""
    results = {"lookup": {"paid": 20, "mail": "ann@x.org"}, "verify": True}
    with AuditLog(path, durable=False) as log:
        guard = Guard(rules, log=log, certify=True, **how)
        guard.say("user", "Refund order 7.")
        for turn in turns:
            for decision in guard.propose(turn):
                if decision.allowed:
                    guard.record(decision, results.get(decision.call.tool, "done"))
    return path


def checked(path: Path, rules: Procedure) -> list[str]:
    return bylaw_check.check_log(path.read_bytes(), bylaw_check.Procedure(rules.to_dict()))


LOOKUP, VERIFY = Call("lookup", {"id": 7}), Call("verify")
REFUND = Call("refund", {"id": 7, "amount": 20})
REFUSED: dict[str, list[list[Call]]] = {
    "verify-first": [[LOOKUP], [REFUND]],
    "not-before": [[LOOKUP, REFUND]],
    "once": [[REFUND], [LOOKUP], [REFUND]],
    "what-was-paid": [[LOOKUP], [Call("refund", {"id": 7, "amount": 21})]],
    "same-order": [[LOOKUP], [Call("refund", {"id": 8, "amount": 1})]],
    "sourced": [[LOOKUP], [Call("notify", {"to": "eve@x.org"})]],
}


@pytest.mark.parametrize("rule", REFUSED)
def test_a_refusal_is_proved(rule: str, tmp_path: Path) -> None:
    rules = procedure(rule)
    log = logged(tmp_path / "gate.log", rules, REFUSED[rule])
    refused = [entry for entry in entries(log) if entry.get("action") == "block"]
    assert [claim["name"] for entry in refused for claim in entry["certificates"]] == [rule]
    assert checked(log, rules) == []


def test_the_calls_of_one_turn_are_counted_as_they_were_decided(tmp_path: Path) -> None:
    rules = procedure("once", "verify-first")
    turns = [[VERIFY], [REFUND, REFUND, Call("refund", {"id": 9})]]
    log = logged(tmp_path / "gate.log", rules, turns)
    assert sum("certificates" in entry for entry in entries(log)) == 2
    assert checked(log, rules) == []


def test_without_the_flag_refusals_are_named_as_not_checked(tmp_path: Path) -> None:
    rules = procedure("verify-first")
    with AuditLog(tmp_path / "gate.log", durable=False) as log:
        Guard(rules, log=log).propose([REFUND])
    (claim,) = checked(tmp_path / "gate.log", rules)
    assert claim.endswith("verify-first: it has no certificate")


def test_a_rule_that_was_broken_and_excused_before_has_no_certificate(tmp_path: Path) -> None:
    rules = procedure("verify-first")
    log = logged(
        tmp_path / "gate.log",
        rules,
        [[REFUND], [REFUND], [LOOKUP], [REFUND]],
        setting="block-and-warn",
    )
    first, second = checked_refusals(log)
    assert "certificates" in first
    assert "certificates" not in second


def checked_refusals(log: Path) -> list[Any]:
    return [
        entry
        for entry in entries(log)
        if entry["kind"] == "decision" and entry["action"] != "allow"
    ]


def entries(log: Path) -> list[Any]:
    return [json.loads(line) for line in log.read_text().splitlines()]


# ── lies ──────────────────────────────────────────────────────────────────────────────────


def relinked(log: Path, changed: list[Any]) -> None:
    """Writes entries with a chain of hashes that is right again."""
    lines, head = [], "0" * 64
    for number, entry in enumerate(changed):
        content = {k: v for k, v in entry.items() if k not in ("entry", "prev", "size", "hash")}
        body = json.dumps({"entry": number, "prev": head, "size": 1, **content})[:-1].encode()
        head = hashlib.sha256(body).hexdigest()
        lines.append(body + f',"hash":"{head}"}}\n'.encode())
    log.write_bytes(b"".join(lines))


def test_a_log_that_was_altered_is_noticed(tmp_path: Path) -> None:
    rules = procedure("verify-first")
    log = logged(tmp_path / "gate.log", rules, REFUSED["verify-first"])
    log.write_bytes(log.read_bytes().replace(b'"refund"', b'"notify"'))
    with pytest.raises(bylaw_check.Wrong, match=r"entry \d was altered"):
        checked(log, rules)


@pytest.mark.parametrize("lie", ["another call", "what ran", "another rule", "a bit"])
def test_a_lie_is_noticed_in_a_log_with_new_hashes(lie: str, tmp_path: Path) -> None:
    rules = procedure("verify-first")
    log = logged(tmp_path / "gate.log", rules, REFUSED["verify-first"])
    changed = entries(log)
    refusal = next(entry for entry in changed if "certificates" in entry)
    claim = refusal["certificates"][0]
    ran = next(entry for entry in changed if entry.get("action") == "allow")
    match lie:
        case "another call":
            refusal["tool"] = "notify"
        case "what ran":
            ran["tool"] = "verify"
        case "another rule":
            claim["formula"][0] = {"truth": True}
        case "a bit":
            claim["tables"][0][0]["true"] = [0, 3]
    relinked(log, changed)
    with pytest.raises(bylaw_check.Wrong):
        checked(log, rules)


def test_what_a_call_has_yet_to_return_is_not_known(tmp_path: Path) -> None:
    rules = procedure("verify-first")
    log = logged(tmp_path / "gate.log", rules, REFUSED["verify-first"])
    changed = [entry for entry in entries(log) if entry["kind"] != "result"]
    next(entry for entry in changed if entry.get("action") == "allow")["tool"] = "verify"
    relinked(log, changed)
    (claim,) = checked(log, rules)
    assert claim.endswith("verify-first: it reads a call that has not returned")


@pytest.mark.parametrize("content", ["[]", "7", "{}", "x", '{"entry": true}', "[" * 100_000])
def test_a_hostile_log_gets_a_sentence(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    log, rules = tmp_path / "gate.log", tmp_path / "procedure.json"
    log.write_text(content)
    rules.write_text(json.dumps(procedure("once").to_dict()))
    monkeypatch.setattr("sys.argv", ["bylaw-check", str(log), str(rules)])
    assert bylaw_check.main() == 2
    assert capsys.readouterr().out.startswith("unusable: ")


# ── rules whose violations last ───────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rule", "lasts"),
    [
        *((rule, name != "polite") for name, rule in RULES.items()),
        *(("F a", False), ("G(a -> F b)", False), ("a U b", False), ("!F a", False)),
        *(("G !a | G !b", True), ("G(a -> WX b)", True), ("G(a -> X b)", False), ("H a", True)),
        *(("CalledN(a, = 1)", False), ("Before(a, b)", False), ("G(a -> Called(b))", False)),
        *(
            ("a R b", True),
            ("G(answer != null)", False),
            ('G(forall x in args(a, "i"): x = 1)', False),
        ),
        *(
            ("G(a -> forall x in args.i: O call(b, i = x))", True),
            ("G(last(F a).args.i = 1)", False),
        ),
    ],
)
def test_checker_and_writer_agree_on_what_lasts(rule: str, lasts: bool) -> None:
    rules = bylaw_check.Rules({})
    assert bylaw_check.violations_last(rules.parts, rules.root(rule)) is lasts
    assert violations_last(parse(rule)) is lasts


def test_what_lasts_is_violated_on_every_longer_trace() -> None:
    random = Random(3)
    parts = ["a", "O a", "a S b", "H b", "CalledN(a, <= 1)", "!b", "earlier b"]
    for _ in range(3000):
        one, two, three = (random.choice(parts) for _ in range(3))
        form = random.choice(
            [
                "G(({0}) -> ({1}))",
                "({0}) W ({1})",
                "({0}) R ({1})",
                "G({0}) | G({1} & {2})",
                "G(({0}) -> WX({1}))",
            ]
        )
        formula = parse(form.format(one, two, three))
        if violations_last(formula):
            calls = [Call(random.choice("abc")) for _ in range(6)]
            values = [holds(formula, Trace(calls[:size])) for size in range(7)]
            assert values == sorted(values, reverse=True), (formula, calls)
