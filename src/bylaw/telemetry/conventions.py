"""The names of OpenTelemetry's conventions for generative AI, and our own.

Those of evaluations and tools are in the released package of conventions. Spans of guardrails are
an open proposal (semantic-conventions-genai #427): only the names that it states are used, and only
if they are asked for. Everything else has the prefix `bylaw`.
"""

from __future__ import annotations

from typing import Final

EVALUATION: Final = "gen_ai.evaluation.result"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_VALUE: Final = "gen_ai.evaluation.score.value"
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"

# A proposal, and likely to change.
OPERATION_NAME: Final = "gen_ai.operation.name"
GUARDRAIL_OPERATION: Final = "run_guardrail"
GUARDRAIL_ACTION: Final = "gen_ai.security.action.type"
GUARDRAIL_RULE: Final = "gen_ai.security.policy.rule.id"
FINDING: Final = "gen_ai.security.finding"

DECISION: Final = "bylaw.decision"
ACTION: Final = "bylaw.decision.action"
DECISION_ID: Final = "bylaw.decision.id"
RULES: Final = "bylaw.decision.rules"
OVERRIDDEN: Final = "bylaw.decision.overridden"
MESSAGE: Final = "bylaw.decision.message"
RUN: Final = "bylaw.run.id"
SETTING: Final = "bylaw.setting"
PROCEDURE: Final = "bylaw.procedure.name"
PROCEDURE_HASH: Final = "bylaw.procedure.hash"
