"""A person's decisions on mined rules: which to keep and which to drop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from bylaw.errors import Diagnostic, UsageError
from bylaw.mining.mine import MinedProcedure
from bylaw.values import JsonError, read_json

RuleDecision: TypeAlias = Literal["keep", "drop"]
_WORDS: Final = ("keep", "drop")


def read_decisions(path: str) -> dict[str, RuleDecision]:
    """The decisions in a file that the page saved: for each rule's text, keep or drop."""
    try:
        found = read_json(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, JsonError) as error:
        raise UsageError(Diagnostic("E402", f"{path} cannot be read: {error}")) from None
    rules = found.get("rules") if isinstance(found, dict) else None
    if not isinstance(rules, dict) or not all(word in _WORDS for word in rules.values()):
        message = f"{path} holds no decisions on rules"
        help = 'The page of `bylaw mine --page` saves them: {"rules": {RULE: "keep" or "drop"}}.'
        raise UsageError(Diagnostic("E402", message, help))
    return rules


def apply_decisions(mined: MinedProcedure, decisions: Mapping[str, RuleDecision]) -> MinedProcedure:
    """The procedure without the rules that were dropped; those that were kept are certain."""
    kept = []
    for each in mined.rules:
        match decisions.get(each.rule):
            case "keep":
                kept.append(replace(each, evidence=replace(each.evidence, held_out=None)))
            case "drop":
                continue
            case _:
                kept.append(each)
    return replace(mined, rules=tuple(kept))
