"""Words that authors use for the fields of a procedure and for severities."""

from __future__ import annotations

from typing import Final

FIELD_WORDS: Final = {
    **dict.fromkeys(("rules", "policies", "checks", "assertions"), "constraints"),
    **dict.fromkeys(("version", "format", "apiversion", "schema_version"), "bylaw"),
    **dict.fromkeys(("formula", "condition", "ltl", "expr", "expression", "check"), "rule"),
    **dict.fromkeys(("policy", "assert", "when", "if", "logic", "spec"), "rule"),
    **dict.fromkeys(("id", "title", "rule_id", "label"), "name"),
    **dict.fromkeys(("description", "message", "reason", "rationale", "doc", "comment"), "why"),
    **dict.fromkeys(("remedy", "hint", "suggestion", "advice"), "fix"),
    **dict.fromkeys(("level", "action", "enforcement", "mode", "effect"), "severity"),
    **dict.fromkeys(("priority", "points", "score"), "weight"),
    **dict.fromkeys(("category", "tag", "kind"), "layer"),
    **dict.fromkeys(("macros", "definitions", "functions", "predicates"), "define"),
    **dict.fromkeys(("vars", "variables", "consts", "values", "tables"), "constants"),
    **dict.fromkeys(("sets", "tool_groups", "classes", "aliases"), "groups"),
    **dict.fromkeys(("tool", "toolset", "tool_list", "actions"), "tools"),
}
"""The field that each word may stand for."""
SEVERITY_WORDS: Final = {
    **dict.fromkeys(("block", "error", "deny", "refuse", "high", "reject", "fail"), "SOFT_BLOCK"),
    **dict.fromkeys(("stop", "halt", "critical", "fatal", "abort", "kill"), "HARD_STOP"),
    **dict.fromkeys(("warn", "warning", "medium", "soft"), "BLOCK_AND_WARN"),
    **dict.fromkeys(("log", "info", "note", "low", "allow", "audit", "monitor"), "TOLERATE"),
    **dict.fromkeys(("confirm", "approve", "approval", "human", "escalate"), "ASK"),
}
"""The severity that each word may stand for."""
