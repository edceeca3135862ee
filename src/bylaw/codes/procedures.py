"""E2xx: mistakes in procedures."""

from __future__ import annotations

from typing import Final

from bylaw.codes.code import Code

PROCEDURE_CODES: Final = {
    "E201": Code(
        "the procedure is not a readable document",
        "A procedure is one YAML or JSON mapping. A rule that contains ': ' or ' #', or begins "
        "with !, a bracket or a quote, needs quotes around it or a block (rule: |).",
        "rule: {cancel, refund} -> F confirm",
        'rule: "{cancel, refund} -> F confirm"',
    ),
    "E202": Code(
        "a field is missing, unknown or of the wrong kind",
        "The fields of a procedure are bylaw, name, tools, groups, constants, define, failed, "
        "unlisted, order, events, finish and constraints; those of a constraint name, rule, "
        "events, weight, layer, severity, why and fix.",
        "wieght: 3.0",
        "weight: 3.0",
    ),
    "E203": Code(
        "unknown format version",
        "The file was written for another version of the format.",
        "bylaw: 99",
        "bylaw: 1",
    ),
    "E204": Code(
        "the document is too large",
        "Procedure files are at most 16 MiB, nest at most 64 deep, and expand their aliases to "
        "at most 200,000 values; an alias cannot contain itself.",
        "groups: &all {READ: *all}",
        "groups: {READ: [lookup]}",
    ),
    "E205": Code(
        "not a weight",
        "Weights are positive, finite numbers. To keep a rule from counting, remove it.",
        "weight: -1",
        "weight: 0.5",
    ),
    "E206": Code(
        "the procedure file cannot be read",
        "The file, or the file of tools that it names, does not exist, may not be read, or is not "
        "UTF-8 text.",
        "bylaw verify --procedure missing.yaml run.json",
        "bylaw verify --procedure refund.yaml run.json",
    ),
    "E207": Code(
        "a key appears twice",
        "A mapping that gives two values for one key has no clear meaning.",
        "{name: a, name: b}",
        "{name: a}",
    ),
    "E208": Code(
        "the procedure has no constraints",
        "A procedure without rules has no score, so it is an error.",
        "constraints: []",
        "constraints: [{name: looked-up, rule: Called(lookup)}]",
    ),
    "E209": Code(
        "two constraints share a name",
        "Reports, logs and `bylaw explain` refer to constraints by name.",
        "- {name: a, rule: Called(x)}\n- {name: a, rule: Called(y)}",
        "- {name: x-called, rule: Called(x)}\n- {name: y-called, rule: Called(y)}",
    ),
    "E210": Code(
        "no such constraint",
        "The procedure has no constraint of that name.",
        "bylaw explain verfy-first --procedure refund.yaml run.json",
        "bylaw explain verify-first --procedure refund.yaml run.json",
    ),
    "E211": Code(
        "a name cannot be used",
        "Groups, constants and definitions are named by plain words. Each name is used once, and "
        "is neither a tool nor a keyword.",
        "groups: {my-tools: [a]}",
        "groups: {MY_TOOLS: [a]}",
    ),
    "E212": Code(
        "not one of the choices",
        "order is position or step; events is calls or all; unlisted is block or allow; finish is "
        "met or free; severity is HARD_STOP, SOFT_BLOCK, ASK, BLOCK_AND_WARN or TOLERATE.",
        "order: steps",
        "order: step",
    ),
    "E213": Code(
        "not a test for failed calls",
        "`failed` tests one call: its result, its text or its arguments. It cannot look at other "
        "events, and cannot use ok or failed.",
        "failed: earlier cancel",
        "failed: text ~ /^Error/",
    ),
    "E214": Code(
        "the schema of a tool cannot be used",
        "A gate checks the arguments of calls against the tool's JSON Schema. A keyword that it "
        "does not check is an error, so that no check is silently left out; "
        "annotations such as title, description, default, examples and format are ignored. "
        "References stay inside the schema; regular expressions run in time linear in the text.",
        "tools: {refund: {type: object, properties: {amount: {type: number, nullable: true}}}}",
        'tools: {refund: {type: object, properties: {amount: {type: ["number", "null"]}}}}',
    ),
    "E215": Code(
        "the tools of a procedure cannot be read",
        "Tools are a list of names, a mapping from names to JSON Schemas, a list of tool "
        "definitions as OpenAI, Anthropic or MCP write them, or the path of a file with one of "
        "these, relative to the procedure. Every definition has a name. Only a procedure that is "
        "loaded from a file can name another file.",
        "tools: [{description: Pays a refund., input_schema: {type: object}}]",
        "tools: [{name: refund, description: Pays a refund., input_schema: {type: object}}]",
    ),
    "E216": Code(
        "a stated severity cannot be kept",
        "A severity that the file states is a promise: HARD_STOP, SOFT_BLOCK, ASK and "
        "BLOCK_AND_WARN say what a gate does before the rule is broken. No guard is made if the "
        "rule can only be broken where nothing can be refused any more: by a result or a message, "
        "by a call that only a registered predicate can judge in the end, or by an agent that "
        "finishes too early under `finish: free`. HARD_STOP is kept if a result breaks the rule, "
        "because the run ends then. A rule without a severity is enforced as far as possible; "
        "`bylaw lint` shows where.",
        "{name: no-failures, rule: G !call(pay, failed), severity: SOFT_BLOCK}",
        "{name: no-failures, rule: G !call(pay, failed), severity: HARD_STOP}",
    ),
    "E217": Code(
        "a rule cannot judge runs together",
        "`across: labels.customer` names one label: the rule judges everything that happened under "
        "one value of it, over all runs. An answer, metrics, other labels and the trace that a "
        "registered function is given are those of one run, so such a rule cannot read them.",
        "{name: paid-first, rule: Before(pay, final_answer), across: labels.customer}",
        "{name: paid-first, rule: Before(pay, final_answer)}",
    ),
}
