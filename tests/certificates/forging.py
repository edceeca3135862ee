"""Certificates, and forgeries of them.

A forgery is a certificate, a record and rules, of which something was changed. `lie` says whether
it claims something else than the original: then it must be rejected whatever it is about. Where
the trace was changed, the claim may still be true, and the reference decides.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import bylaw_check
from bylaw import Procedure, Trace, to_json, verify_trace
from bylaw.certificates.certificate import CertifiedFile, certificate
from bylaw.logic.formula import Formula
from bylaw.procedure.procedure import Constraint
from bylaw.values import Json

NOTHING = CertifiedFile("none", b"")
OUTCOMES = ("satisfied", "vacuous", "violated")


@dataclass(frozen=True)
class Case:
    """The input of a checker: a certificate, the record of the trace, and the procedure."""

    certificate: Json
    record: Json
    rules: Json

    def rejected(self) -> str | None:
        """The reason why the checker rejects it, or None if it accepts."""
        try:
            procedure = bylaw_check.Procedure(self.rules)
            unproved = bylaw_check.check(self.certificate, self.record, procedure)
        except bylaw_check.Wrong as error:
            return str(error)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            return f"malformed: {error!r}"
        return f"not checked: {unproved}" if unproved else None

    def copied(self) -> Case:
        return copy.deepcopy(self)


def procedure_of(formula: Formula, order: Any = "position", events: Any = "calls") -> Procedure:
    """A procedure of one rule."""
    return Procedure([Constraint("rule", formula)], order=order, events=events)


def case_of(procedure: Procedure, trace: Trace, written: str = "text") -> Case:
    """A true certificate, as it looks after it was written and read. Rules are text, or JSON."""
    report = verify_trace(trace, procedure)
    found = certificate(report, trace, NOTHING, NOTHING)
    rules = procedure.to_dict()
    if written == "JSON":
        for each, constraint in zip(rules["constraints"], procedure.constraints, strict=True):
            each["rule"] = to_json(constraint.formula)
    return Case(*json.loads(json.dumps([found, trace.to_record(), rules])))


# ── lies about the same trace ─────────────────────────────────────────────────────────────


def lies(case: Case, random: Random) -> Iterator[tuple[str, Case]]:
    """Certificates that claim something else, each with what was changed."""
    yield from _about_outcomes(case, random)
    yield from _about_rows(case, random)
    yield from _about_formulas(case, random)


def _about_outcomes(case: Case, random: Random) -> Iterator[tuple[str, Case]]:
    number = random.randrange(len(case.certificate["rules"]))
    told = case.certificate["rules"][number]["outcome"]
    for outcome in OUTCOMES:
        if outcome != told:
            lie = case.copied()
            lie.certificate["rules"][number]["outcome"] = outcome
            yield f"{told} becomes {outcome}", lie
            lie = lie.copied()
            score = bylaw_check.score(lie.certificate["rules"])
            lie.certificate["score"], lie.certificate["label"] = score
            yield f"{told} becomes {outcome}, and the score with it", lie
    for field, value in (("score", 0.25), ("label", "MOST"), ("certificate", 2)):
        lie = case.copied()
        lie.certificate[field] = value
        yield f"another {field}", lie
    for field, value in (("weight", 7.5), ("name", "other"), ("events", "none")):
        lie = case.copied()
        lie.certificate["rules"][number][field] = value
        yield f"another {field}", lie
    lie = case.copied()
    del lie.certificate["rules"][number]
    yield "a rule is dropped", lie
    lie = case.copied()
    order = lie.certificate["procedure"]["order"]
    lie.certificate["procedure"]["order"] = "step" if order == "position" else "position"
    yield "another order", lie


def _about_rows(case: Case, random: Random) -> Iterator[tuple[str, Case]]:
    rows = [
        (rule, part, row)
        for rule, claim in enumerate(case.certificate["rules"])
        for part, table in enumerate(claim["tables"])
        for row in range(len(table))
    ]
    for rule, part, row in random.sample(rows, min(len(rows), 4)):

        def table(lie: Case, rule: int = rule, part: int = part) -> Any:
            return lie.certificate["rules"][rule]["tables"][part]

        # All events, the answer, and the position after the last one.
        size = len(case.record["tool_calls"]) + len(case.record.get("messages", [])) + 2
        for field in ("true", "checked"):
            lie = case.copied()
            changed = table(lie)[row]
            mask = bylaw_check.mask_of(changed.get(field, changed["true"]), size)
            changed[field] = _runs(mask ^ 1 << random.randrange(size + 1))
            if field == "true":
                changed.setdefault("checked", table(case)[row]["true"])
            yield f"a bit of {field} flipped", lie
        lie = case.copied()
        del table(lie)[row]
        yield "a row dropped", lie
        lie = case.copied()
        table(lie).append(copy.deepcopy(table(lie)[row]))
        yield "a row doubled", lie
        lie = case.copied()
        changed = table(lie)[row]
        if "values" in changed:
            name = random.choice(sorted(changed["values"]))
            changed["values"][name] = random.choice(['"zebra"', "17", None, "sha256:00"])
            if table(case) != table(lie):
                yield "a bound value replaced", lie
            lie = case.copied()
            added = copy.deepcopy(table(lie)[row])
            added["values"][name] = '"zebra"'
            table(lie).append(added)
            yield "a bound value added", lie
        else:
            changed["values"] = {"zebra": "1"}
            yield "a variable added", lie
        others = [each for each in range(len(table(case))) if each != row]
        if others:
            lie, other = case.copied(), random.choice(others)
            one, two = table(lie)[row], table(lie)[other]
            one["values"], two["values"] = two["values"], one["values"]
            if sorted(map(json.dumps, table(lie))) != sorted(map(json.dumps, table(case))):
                yield "the rows of two values swapped", lie


def _about_formulas(case: Case, random: Random) -> Iterator[tuple[str, Case]]:
    lie = case.copied()
    parts = lie.certificate["rules"][0]["formula"]
    at = random.randrange(len(parts))
    parts[at] = {"truth": not parts[at].get("truth", False)}
    yield "a part of the formula replaced", lie
    lie = case.copied()
    lie.certificate["rules"][0]["formula"].append({"truth": True})
    lie.certificate["rules"][0]["tables"].append([{"true": [0, 1]}])
    yield "a formula that is simply true", lie
    lie = case.copied()
    root = len(lie.certificate["rules"][0]["formula"]) - 1
    lie.certificate["rules"][0]["formula"][root] = {"not": [root]}
    yield "a part that refers to itself", lie
    claim = copy.deepcopy(case.certificate["rules"][0])
    lie = case.copied()
    lie.rules["constraints"][0]["rule"] = {"formula": [*claim["formula"], {"not": [root]}]}
    yield "the rule was edited, and not the certificate", lie


def _runs(mask: int) -> list[int]:
    runs, inside, length = [], False, 0
    for bit in bin(mask)[:1:-1]:
        if (bit == "1") is not inside:
            runs.append(length)
            inside, length = not inside, 0
        length += 1
    return [*runs, length]


# ── other traces ──────────────────────────────────────────────────────────────────────────


def edited(record: Json, random: Random) -> Json:
    """The record of another run: a call changed, dropped, doubled or moved, or something said."""
    changed = copy.deepcopy(record)
    calls = changed["tool_calls"]
    kind = random.randrange(9)
    if calls and kind < 7:
        at = random.randrange(len(calls))
        match kind:
            case 0:
                calls[at]["tool_name"] = random.choice(["a", "b", "c", "other"])
            case 1:
                del calls[at]
                for message in changed.get("messages", []):
                    message["before"] -= message["before"] > at
            case 2:
                calls[at].setdefault("arguments", {})[random.choice("ij")] = random.choice(
                    [0, 1, "a"]
                )
            case 3:
                calls[at]["arguments"] = {}
            case 4:
                calls[at]["tool_result"] = random.choice([1, 2, "a", None, {"i": 1}])
            case 5:
                calls[at].pop("tool_result", None)
            case 6:
                calls[at]["error"] = "failed"
    elif kind == 7:
        changed["answer"] = random.choice(["42", "other"])
    else:
        changed["labels"] = {random.choice("ij"): random.choice([0, 1, "a"])}
        changed["ids"] = [random.choice([0, 1, "a"])]
    return changed
