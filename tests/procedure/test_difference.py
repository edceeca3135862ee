"""The comparison of two procedures, field by field."""

from __future__ import annotations

from typing import Any

import pytest

from bylaw import Procedure
from bylaw.procedure import files
from bylaw.procedure.difference import ChangeKind, ProcedureChange, compare

PROCEDURE: dict[str, Any] = {
    "name": "repo",
    "tools": ["write", "test", "commit", "push"],
    "groups": {"WRITE": ["commit", "push"], "ALL": ["WRITE", "write"]},
    "constants": {"LIMIT": 3, "passed": ["small"]},
    "define": {"tested": "call(test, ok)", "small(n)": "n <= LIMIT", "broken": "text ~ /^E/"},
    "failed": "broken",
}
RULE: dict[str, Any] = {"name": "r", "rule": "Before(test, commit)"}


def procedure(rule: dict[str, Any], fields: dict[str, Any]) -> Procedure:
    """The procedure with these fields added or replaced, in its rule and for all rules."""
    return Procedure.from_dict({**PROCEDURE, **fields, "constraints": [RULE | rule]})


def became(
    rule: dict[str, Any] | None = None, *, before: dict[str, Any] | None = None, **fields: Any
) -> list[ProcedureChange]:
    """The changes when the procedure and its rule get these fields."""
    old = before or {}
    return compare(procedure(old, {}), procedure(old | (rule or {}), fields))


OF_RULES: list[tuple[str, Any, ChangeKind, str | None]] = [
    # field | its new value | kind | note
    ("rule", "O commit", "changed", None),
    ("across", "labels.c", "changed", "`across` was not given and is now labels.c."),
    ("events", "all", "equivalent", "`events` was calls and is now all."),
    ("weight", 2.5, "changed", "The weight was 1 and is now 2.5."),
    ("weight", 1.0000001, "changed", "The weight was 1 and is now 1.0000001."),
    ("layer", "L6", "changed", "The layer was not given and is now L6."),
    ("severity", "ASK", "changed", "The severity was SOFT_BLOCK and is now ASK."),
    ("why", "Because.", "same", None),
    ("fix", "Test first.", "same", None),
]
OF_PROCEDURES: list[tuple[str, Any, ChangeKind, str | None]] = [
    # a field of the procedure | its new value | what becomes of the rule | note
    ("name", "other", "same", None),
    ("groups", {}, "same", None),
    ("constants", {"LIMIT": 4}, "same", None),
    ("define", {"broken": "text ~ /^E/"}, "same", None),
    ("failed", "text ~ /^F/", "same", None),
    ("order", "step", "changed", "`order` was position and is now step."),
    ("events", "all", "equivalent", "`events` was calls and is now all."),
]


@pytest.mark.parametrize(("field", "value", "kind", "note"), OF_RULES)
def test_a_field_of_a_rule(field: str, value: Any, kind: ChangeKind, note: str | None) -> None:
    (change,) = became({field: value})
    assert (change.kind, change.note) == (kind, note)


@pytest.mark.parametrize(("field", "value", "kind", "note"), OF_PROCEDURES)
def test_a_field_of_the_procedure(
    field: str, value: Any, kind: ChangeKind, note: str | None
) -> None:
    (change,) = became(**{field: value})
    assert (change.kind, change.note) == (kind, note)


@pytest.mark.parametrize(
    ("field", "value", "note"),
    [
        ("finish", "free", "`finish` was met and is now free."),
        ("unlisted", "allow", "`unlisted` was block and is now allow."),
        ("tools", [*PROCEDURE["tools"], "pull"], "`tools` now lists pull."),
        ("tools", None, "Tools are no longer listed."),
        (
            "tools",
            {**dict.fromkeys(PROCEDURE["tools"]), "push": {"type": "object"}},
            "The schema of the arguments has changed: push.",
        ),
    ],
)
def test_what_a_gate_does_is_told_once_for_all_rules(field: str, value: Any, note: str) -> None:
    of_all, rule = became(**{field: value})
    assert (of_all.about, of_all.matters) == ("procedure", True)
    assert of_all.note == note
    assert rule.kind == "same"


def test_a_tool_that_is_gone_is_told() -> None:
    of_all, _ = became(tools=["test", "commit"], groups={})
    assert of_all.note == "`tools` no longer lists write, push."


def test_every_field_has_been_thought_of() -> None:
    """A new field needs a row above: is another value of it told?"""
    assert {field for field, *_ in OF_RULES} == {*files.CONSTRAINT_FIELDS} - {"name"}
    tested = {field for field, *_ in OF_PROCEDURES} | {"finish", "tools", "unlisted"}
    assert tested == {*files.PROCEDURE_FIELDS} - {"bylaw", "constraints"}


NAMES: list[tuple[str, dict[str, Any], list[tuple[str | None, str | None]]]] = [
    # rule | what changed in the procedure | the names that are shown, before and after
    (
        "G(commit -> O tested)",
        {"define": {**PROCEDURE["define"], "tested": "test", "small(n)": "n < 1"}},
        [("tested: call(test, ok)", "tested: test")],
    ),
    ("G(push -> small(args.size))", {"constants": {"LIMIT": 4}}, [("LIMIT: 3", "LIMIT: 4")]),
    (
        "G(push -> small(args.LIMIT))",
        {"define": {"small(m)": "m\n< LIMIT", "broken": "text ~\n/^E/"}},
        [("small(n): n <= LIMIT", "small(m): m < LIMIT")],
    ),
    (
        "G(ALL -> O test)",
        {"groups": {**PROCEDURE["groups"], "WRITE": ["commit"]}},
        [("WRITE: [commit, push]", "WRITE: [commit]")],
    ),
    (
        "F call(test, failed)",
        {"define": {**PROCEDURE["define"], "broken": "text ~ /^F/"}},
        [("broken: text ~ /^E/", "broken: text ~ /^F/")],
    ),
    (
        "G(commit -> args.tag in passed)",
        {"constants": {"passed": []}, "define": {"broken": "text ~ /^E/"}},
        [('passed: ["small"]', "passed: []")],
    ),
]


@pytest.mark.parametrize(("rule", "fields", "shown"), NAMES)
def test_the_names_that_make_the_difference_are_shown(
    rule: str, fields: dict[str, Any], shown: list[tuple[str | None, str | None]]
) -> None:
    (change,) = became(before={"rule": rule}, **fields)
    assert change.matters
    assert [(each.old, each.new) for each in change.names] == shown


def test_a_definition_that_is_no_longer_needed_is_shown_as_gone() -> None:
    (change,) = became(
        {"rule": "G(commit -> O test)"},
        before={"rule": "G(commit -> O tested)"},
        define={"broken": "text ~ /^E/"},
    )
    (name,) = change.to_dict()["names"]
    assert name == {"name": "tested", "old": "tested: call(test, ok)"}


def test_a_test_of_failure_that_is_written_the_same_is_not_told_as_two() -> None:
    define = {**PROCEDURE["define"], "broken": "text ~ /^F/"}
    (change,) = became(before={"rule": "F call(test, failed)"}, define=define)
    assert change.kind == "undecided"
    assert "`failed` is still `broken`, but its definition has changed." in str(change.note)


def test_a_weight_is_told_where_the_rules_could_not_be_decided() -> None:
    data = "G(commit -> let i = args.id: earlier {})"
    rules = [data.format(test) for test in ("call(test, id = i)", "(test & args.id = i)")]
    (change,) = became({"rule": rules[1], "weight": 2}, before={"rule": rules[0]})
    assert change.kind == "undecided", "they differ on a null id only"
    assert "a search found no trace on which they differ" in str(change.note)
    assert str(change.note).endswith("The weight was 1 and is now 2.")


def test_rules_that_agree_can_differ_in_weight() -> None:
    (change,) = became({"rule": "!F push", "weight": 2}, before={"rule": "G !push"})
    assert change.kind == "changed"
    assert change.note == "They agree on every trace. The weight was 1 and is now 2."
