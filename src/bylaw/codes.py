"""Every diagnostic code: its meaning, a mistake and its correction, as `bylaw explain CODE` prints.

E1xx are about formulas, E2xx about procedures, E3xx about traces, E4xx about commands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Code:
    """The description of one diagnostic code."""

    title: str
    meaning: str
    wrong: str
    """An example that causes the diagnostic."""
    right: str
    """The example corrected."""


CODES: Final = {
    # ── formulas ─────────────────────────────────────────────────────────────────────────
    "E101": Code(
        "the formula is not well formed",
        "A word or symbol stands where the grammar expects another, or the formula ends early.",
        "G(search -> F cite",
        "G(search -> F cite)",
    ),
    "E102": Code(
        "a character, string or number is not well formed",
        "Strings are JSON strings in double quotes; numbers are JSON numbers; "
        "! & | -> <-> are the connectives.",
        'call(search, q = "foo)',
        'call(search, q = "foo")',
    ),
    "E103": Code(
        "unknown predicate",
        "A name with parentheses must be a predicate of the language or a registered function. "
        "To refer to a tool's arguments, write call(tool, …).",
        "Caled(search)",
        "Called(search)",
    ),
    "E104": Code(
        "unknown tool",
        "The procedure lists its tools, and this name is not among them. Names are case-sensitive.",
        "G(refnud -> O verify)   # with tools: [refund, verify]",
        "G(refund -> O verify)",
    ),
    "E105": Code(
        "wrong operands",
        "A predicate got too few or too many operands, or one of the wrong kind.",
        "CalledN(pay, 1)",
        "CalledN(pay, <= 1)",
    ),
    "E106": Code(
        "a tool was expected",
        "The operand must be a tool name, a set {a, b} or a group. Sets and lists of tools have "
        "at least one member. A tool that is named like a keyword is quoted.",
        "Called({})",
        "Called({cancel, refund})",
    ),
    "E107": Code(
        "a formula or a value was expected",
        "A number is not a formula, and a predicate is not a value. To make a formula of a "
        "value, compare it with another.",
        "G(5)",
        "G(call(pay, amount = 5))",
    ),
    "E108": Code(
        "unknown variable",
        "A bare word in place of a value is a variable, and no quantifier binds this one. "
        "Strings are written in quotes.",
        "CalledWith(book, city = Paris)",
        'CalledWith(book, city = "Paris")',
    ),
    "E109": Code(
        "not a path",
        "Paths into arguments, results and metrics are JMESPath expressions in quotes.",
        'forall n in results(list, "items[["): Called(open)',
        'forall n in results(list, "items[]"): CalledWith(open, id = n)',
    ),
    "E110": Code(
        "unknown domain",
        "A quantifier ranges over a list, over a value of the current event such as args.items, or "
        'over the whole trace: args(tool, "path"), results(tool, "path"), metrics("path") or a '
        "registered extractor.",
        'forall x in result(lookup, "ids"): Called(refund)',
        'forall x in results(lookup, "ids"): CalledWith(refund, id = x)',
    ),
    "E111": Code(
        "a regular expression cannot be used",
        "Regular expressions are Python's, between slashes or in quotes, without the parts that "
        "can take more than linear time: looking ahead or behind, and referring back to a group.",
        "G(send -> args.text ~ /^(?!.*secret)/)",
        "G(send -> !(args.text ~ /secret/))",
    ),
    "E112": Code(
        "the formula is too deep",
        "Operators may nest a thousand deep. Conjunctions and disjunctions of any length count "
        "as one level.",
        "!!!! … (1,001 times) a",
        "several constraints in place of one",
    ),
    "E113": Code(
        "not a JSON value",
        "Values in formulas are JSON: null, true, false, finite numbers, strings, lists and "
        "objects, nested at most 200 deep.",
        'CalledWith("pay", amount=float("nan"))',
        'CalledWith("pay", amount=5)',
    ),
    "E114": Code(
        "a function cannot be registered",
        "Predicates take (trace, at, metrics, *operands), extractors (trace, metrics, "
        "*operands); the function's name must be new and writable in a formula.",
        "@vocabulary.predicate\ndef G(trace): …",
        "@vocabulary.predicate\ndef paid_twice(trace, at, metrics): …",
    ),
    "E115": Code(
        "a function is not registered",
        "The formula uses an open predicate or extractor that no vocabulary supplies. Loading a "
        "file never imports code: pass the vocabulary explicitly.",
        "bylaw verify --procedure p.yaml run.json",
        "bylaw verify --procedure p.yaml --with my_rules:vocabulary run.json",
    ),
    "E116": Code(
        "the JSON form is not well formed",
        "A formula in JSON is a list of parts, each an object with one tag; parts name earlier "
        "parts by number, and the last part is the formula.",
        '{"bylaw": 1, "formula": [{"allways": [0]}]}',
        '{"bylaw": 1, "formula": [{"event": {"tool": "a"}}, {"always": [0]}]}',
    ),
    "E117": Code(
        "the formula could not be evaluated",
        "A registered function raised an exception or returned something other than True or "
        "False, and the verdict depends on it.",
        "def paid_twice(trace, at, metrics): return trace[at].args['invoice']",
        "def paid_twice(trace, at, metrics): return 'invoice' in trace[at].args",
    ),
    "E118": Code(
        "a definition cannot be used",
        "A definition gives a name, perhaps with parameters, to a rule or a value. It is "
        "expanded wherever it is used, so it cannot use itself, not even through another "
        "definition.",
        'define: {done: "X done"}\nconstraints: [{name: a, rule: done}]',
        'define: {done: "X finish"}\nconstraints: [{name: a, rule: done}]',
    ),
    "E119": Code(
        "an operand would be read at another event",
        "The operand reads the current event, and the definition uses it inside last, earlier or "
        "another operator that looks at other events, where it would have another value. Bind "
        "the value with let at the current event, and pass the variable.",
        'define: {"seen(i)": "earlier call(get, id = i)"}\n'
        'constraints: [{name: a, rule: "G(pay -> seen(args.id))"}]',
        'define: {"seen(i)": "earlier call(get, id = i)"}\n'
        'constraints: [{name: a, rule: "G(pay -> let i = args.id: seen(i))"}]',
    ),
    # ── procedures ───────────────────────────────────────────────────────────────────────
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
    # ── traces ───────────────────────────────────────────────────────────────────────────
    "E301": Code(
        "not a trace record",
        "A trace record is a JSON object with a list of tool_calls.",
        "[1, 2, 3]",
        '{"tool_calls": []}',
    ),
    "E302": Code(
        "a field of the record is missing",
        "A record has tool_calls; each of them has a tool_name.",
        '{"tool_calls": [{"arguments": {}}]}',
        '{"tool_calls": [{"tool_name": "search", "arguments": {}}]}',
    ),
    "E303": Code(
        "a field of the record is of the wrong kind",
        "tool_name is a string, arguments an object (for a Call, perhaps as JSON text), step a "
        "whole number, answer a string; every value is JSON.",
        '{"tool_calls": [{"tool_name": "search", "step": "two"}]}',
        '{"tool_calls": [{"tool_name": "search", "step": 2}]}',
    ),
    "E304": Code(
        "steps decrease",
        "The step is the model turn that issued a call; turns follow each other.",
        '{"tool_calls": [{"tool_name": "a", "step": 2}, {"tool_name": "b", "step": 1}]}',
        '{"tool_calls": [{"tool_name": "a", "step": 1}, {"tool_name": "b", "step": 2}]}',
    ),
    "E305": Code(
        "final_answer is not the last call",
        "The name is reserved for the answer at the end of a trace.",
        '{"tool_calls": [{"tool_name": "final_answer"}, {"tool_name": "search"}]}',
        '{"tool_calls": [{"tool_name": "search"}, {"tool_name": "final_answer", '
        '"arguments": {"answer": "42"}}]}',
    ),
    "E306": Code(
        "the record states two answers",
        "The field answer and the closing final_answer call must agree.",
        '{"answer": "1", "tool_calls": [{"tool_name": "final_answer", '
        '"arguments": {"answer": "2"}}]}',
        '{"answer": "1", "tool_calls": []}',
    ),
    "E307": Code(
        "unknown format version",
        "The record was written for another version of the format.",
        '{"bylaw": 99, "tool_calls": []}',
        '{"bylaw": 1, "tool_calls": []}',
    ),
    "E310": Code(
        "the trace file cannot be read",
        "The file does not exist, is a directory without traces, or may not be read.",
        "bylaw verify --procedure refund.yaml missing.json",
        "bylaw verify --procedure refund.yaml run.json",
    ),
    "E311": Code("the trace file is empty", "There is no record in it.", "", '{"tool_calls": []}'),
    "E312": Code(
        "several records where one was expected",
        "This command works on one trace. Name the record you mean: runs.jsonl:17 is the one "
        "on line 17.",
        "bylaw view runs.jsonl --procedure refund.yaml",
        "bylaw view runs.jsonl:17 --procedure refund.yaml",
    ),
    "E313": Code(
        "the record is too large",
        "Lines are read up to 64 MiB (--max-line raises that), documents up to 1 GiB, so that "
        "memory stays bounded. Write large corpora as JSONL, one record a line.",
        "one line of 100 MB",
        "one record a line",
    ),
    "E314": Code(
        "the trace is not UTF-8 text", "JSON is exchanged as UTF-8.", r"b'\xff\xfe'", "b'{}'"
    ),
    "E315": Code(
        "the trace is not JSON",
        "Strict JSON is read: no NaN, no infinities, no duplicate keys, brackets at most 200 deep.",
        '{"tool_calls": [NaN]}',
        '{"tool_calls": []}',
    ),
    "E320": Code(
        "a message cannot be read",
        "In the traces of other programs, messages are a list of objects with a role (system, "
        "developer, user, assistant, tool or function) and content that is text, a list of parts "
        "or null; some formats have other fields instead. A tool call names its tool.",
        '[{"role": "narrator", "content": "Once upon a time."}]',
        '[{"role": "user", "content": "Once upon a time."}]',
    ),
    # ── commands ─────────────────────────────────────────────────────────────────────────
    "E401": Code(
        "the vocabulary cannot be imported",
        "--with takes module:name; the module is found on the Python path or in the current "
        "directory, and the name is a bylaw.Vocabulary in it.",
        "--with my_rules.py",
        "--with my_rules:vocabulary",
    ),
    "E402": Code(
        "the command cannot do that",
        "The arguments cannot be used together; --help shows the combinations that work.",
        "bylaw explain verify-first",
        "bylaw explain verify-first --procedure refund.yaml run.json",
    ),
    "E403": Code(
        "the output cannot be written",
        "The folder does not exist or may not be written to.",
        "bylaw view run.json --procedure refund.yaml -o missing/out.html",
        "bylaw view run.json --procedure refund.yaml -o out.html",
    ),
    "E410": Code(
        "a call was refused",
        "The gate refused a call. The message names the rules that it would break, and what to "
        "do instead.",
        'guard.propose([Call("refund")])   # verify was not called',
        'guard.propose([Call("verify")])',
    ),
    "E411": Code(
        "an audit log is not intact",
        "An entry was changed, removed, inserted or moved, or the file is not a log. Nothing "
        "more is written to it.",
        "a log that was edited",
        "a new file, and the old one kept as evidence",
    ),
    "E412": Code(
        "an audit log cannot be written",
        "No call is allowed without a record of it, so the run ends when the log cannot be "
        "written: the disk is full, the file is not writable, or another process writes to it.",
        'AuditLog("/full/disk/gate.jsonl")',
        'AuditLog("gate.jsonl")',
    ),
    "E413": Code(
        "a guard was asked for something out of order",
        "A guard decides one run: propose turns, record the results of calls that ran, then "
        "finish. After that there is nothing more to decide.",
        "guard.finish(); guard.propose([…])",
        "Guard(procedure).propose([…])",
    ),
    "E414": Code(
        "an argument of a guard is not valid",
        "A misspelt setting, level of hints or role, a limit below 1, a file name in place of a "
        "procedure, tools without names, or a value that is not a call. Nothing is guessed: a "
        "gate with another setting than intended would let calls pass.",
        'Guard(procedure, "softblock")',
        'Guard(procedure, "soft-block")',
    ),
    "E415": Code(
        "a key or an anchor of an audit log cannot be used",
        "An HMAC key is at least 16 secret bytes, an Ed25519 key a PEM file, and an anchor a line "
        "that `bylaw log anchor` printed.",
        'AuditLog("gate.jsonl", key=b"secret")',
        'AuditLog("gate.jsonl", key=Path("gate.key").read_bytes())',
    ),
    "E416": Code(
        "a value at a gate is not JSON",
        "Rules judge JSON: null, true, false, finite numbers, strings, and lists and dictionaries "
        "of these. An object of another type, also of a subclass, may show the gate something "
        "else than the tool. `wrap` and `run_turn` convert results; arguments are never converted.",
        'guard.propose([Call("pay", {"on": date.today()})])',
        'guard.propose([Call("pay", {"on": "2026-05-20"})])',
    ),
    "E417": Code(
        "a saved run cannot be restored",
        "It belongs to another procedure, setting, or set of metrics or labels, it was changed "
        "after it was saved, or it was not saved with the key that was given. The guard stays as "
        "it was.",
        "guard.restore(json.loads(edited))",
        "guard.restore(json.loads(saved))",
    ),
    "E418": Code(
        "a change of a run was interrupted",
        "Something was raised in the middle of `propose`, `record` or another change, such as "
        "Ctrl-C in a slow rule, and the rules may have seen half a call. The run has ended: every "
        "call is refused, and the report has no score. The same is said to a function of the "
        "vocabulary that uses the guard that calls it.",
        "guard.propose([…])   # interrupted; then guard.say(…)",
        "Guard(procedure).propose([…])",
    ),
    "E419": Code(
        "a file is not an audit log",
        "It does not begin as a log begins. A guard writes a log of its own, to a new file, and "
        "nothing is changed in a file that is something else.",
        'AuditLog("notes.txt")',
        'AuditLog("gate.jsonl")',
    ),
    "E420": Code(
        "there is no such template, model or library",
        "The message lists the known templates, difficulties, models or simulated agents, or "
        "gives the command that installs a missing library.",
        "bylaw bench run sim:golden",
        "bylaw bench run sim:gold",
    ),
    "E421": Code(
        "results cannot be used",
        "A results file has one line per run, as `bylaw bench run` writes it. Runs of a model "
        "under other conditions (hints, versions, model settings) belong in another file, and "
        "only one runner may write to a file.",
        "bylaw bench run sim:gold --hints none -o results.jsonl   # started with --hints rule",
        "bylaw bench run sim:gold --hints none -o without-hints.jsonl",
    ),
    "E430": Code(
        "a corpus could not be scored in parallel",
        "A worker process died (often because it ran out of memory), a cluster failed, or the "
        "vocabulary cannot be sent to other processes, because its functions are not at the top "
        "level of a module. With --out, the same command resumes the run.",
        "bylaw verify -p refund.yaml runs/ --out scores.parquet --jobs 64",
        "bylaw verify -p refund.yaml runs/ --out scores.parquet --jobs 8",
    ),
    "E431": Code(
        "an unfinished run cannot be resumed",
        "The output has an interrupted run with other rules, other files or another --max-line, "
        "or its journal is damaged. Finish it with its own command, or discard it.",
        "bylaw verify -p edited.yaml runs/ --out scores.parquet   # started with refund.yaml",
        "bylaw verify -p edited.yaml runs/ --out scores.parquet --restart",
    ),
    "E440": Code(
        "there is not enough memory for a model",
        "A shared GPU has less free memory than when the work began, or the batch does not fit. "
        "Results on disk and checkpoints are not lost: repeat the command with smaller numbers.",
        "bylaw train eval models/qwen-7b -o eval.jsonl",
        "bylaw train eval models/qwen-7b -o eval.jsonl --width 64 --precision bf16",
    ),
    "E499": Code(
        "the command failed because of a mistake in bylaw",
        "Something happened that the program does not expect. Your files are as they were. Please "
        "report it, with what is printed if the environment variable BYLAW_TRACEBACK is set.",
        "bylaw verify -p refund.yaml run.json",
        "BYLAW_TRACEBACK=1 bylaw verify -p refund.yaml run.json",
    ),
    # ── lint ─────────────────────────────────────────────────────────────────────────────
    "W501": Code(
        "a rule can never hold",
        "No trace satisfies the rule, so every trace is scored as violating it. Usually two of "
        "its parts exclude each other, or a call must come before itself.",
        "Before(pay, pay)",
        "InstanceBefore(pay, 0, pay, 1)",
    ),
    "W502": Code(
        "a rule always holds",
        "Every trace satisfies the rule, so it checks nothing and only raises the score. Usually "
        "the condition of an implication can never be met.",
        "G((refund & verify) -> O lookup)   # one call is never of two tools",
        "G({refund, verify} -> O lookup)",
    ),
    "W503": Code(
        "two rules contradict each other",
        "Each rule can be satisfied, but no trace satisfies both: no agent can score 1.",
        '- {name: once, rule: "CalledN(pay, = 1)"}\n- {name: twice, rule: "CalledN(pay, >= 2)"}',
        '- {name: once-or-twice, rule: "CalledN(pay, >= 1) & CalledN(pay, <= 2)"}',
    ),
    "W504": Code(
        "no sample trace brings the rule into play",
        "In every trace given with --traces the rule holds because there was nothing to check. "
        "Either the samples lack the case it is for, or it waits for something that never "
        "happens, such as a call of a tool that has been renamed.",
        "G(refnud -> O verify)   # the traces call refund",
        "G(refund -> O verify)",
    ),
    "W505": Code(
        "a path finds nothing in the sample traces",
        "The quantifier ranges over the values that a path finds in arguments, results or "
        "metrics. In no trace given with --traces did it find anything, so `forall` held without "
        "checking and `exists` failed. The suggestion lists the paths that lead somewhere.",
        'forall n in results(list_items, "number[]"): CalledWith(check, n = n)',
        'forall n in results(list_items, "numbers[]"): CalledWith(check, n = n)',
    ),
    "W506": Code(
        "no rule uses a group",
        "The procedure declares a group of tools, and no rule uses it.",
        "groups: {WRITE: [refund]}\nconstraints: [{name: a, rule: G(refund -> O verify)}]",
        "groups: {WRITE: [refund]}\nconstraints: [{name: a, rule: G(WRITE -> O verify)}]",
    ),
    "W507": Code(
        "no rule names a tool",
        "The procedure lists the tool, and no rule names it. That may be intended: tools that "
        "only read often need no rule.",
        "tools: [verify, refund, delete]\nconstraints: [{name: a, rule: G(refund -> O verify)}]",
        "tools: [verify, refund]\nconstraints: [{name: a, rule: G(refund -> O verify)}]",
    ),
    "W508": Code(
        "an ordering also demands the call",
        "Before, After, AllBefore, InstanceBefore, InOrder and WithinSteps are false if the "
        "calls they compare do not happen, so a trace that never refunds violates Before(verify, "
        "refund). To order calls only if they happen, write the condition. If the call is "
        "demanded, say so in a separate rule, Called(refund), and the ordering is fine as it "
        "stands.",
        "Before(verify, refund)",
        "G(refund -> O verify)",
    ),
    "W509": Code(
        "a final verdict may come late",
        "While an agent acts, a monitor reports as soon as a rule can no longer be satisfied. It "
        "cannot do so for rules that read data known only at the end (domains found in traces, "
        "open predicates, the answer), nor if the search needs more states than its budget "
        "allows. Scores of finished traces are not affected.",
        'forall n in results(list_items, "ids[]"): CalledWith(check, id = n)',
        "G(delete -> O check)",
    ),
    "W510": Code(
        "an undefined value makes a rule hold",
        "A comparison with an undefined value is false, so its negation is true, and `forall` over "
        "an undefined list holds: the guard fails open. `last` is undefined if no earlier turn has "
        "such an event, so a call without the lookup passes. State what must be so, not what must "
        "not. If it is meant, say so with a quantifier over one value: forall o in [last(…)]: ….",
        'G(cancel -> let o = last(get_order).result: !(o.status = "shipped"))',
        'G(cancel -> let o = last(get_order).result: o.status != "shipped")',
    ),
    "W511": Code(
        "a rule refers to messages that it does not see",
        "By default rules see only calls. A rule that uses says(user) needs `events: all`, in "
        "the constraint or in the procedure.",
        "{name: confirmed, rule: G(pay -> Y says(user))}",
        "{name: confirmed, events: all, rule: G(pay -> Y says(user))}",
    ),
    "W512": Code(
        "a comparison with null is always false",
        "An undefined or null value makes every comparison false, != included, so a comparison "
        "with null checks nothing.",
        "G(pay -> args.coupon != null)",
        "G(pay -> exists c in args.coupon: true)",
    ),
    "W513": Code(
        "a value is compared with itself",
        "Values are read from the event being tested, also inside last, earlier and temporal "
        "operators, so both sides are the same value. To compare two events, bind the value of "
        "the outer one with let.",
        "G(pay -> earlier call(get, id = args.id))",
        "G(pay -> let i = args.id: earlier call(get, id = i))",
    ),
    "W514": Code(
        "rules clash from the start",
        "Each of the rules can be satisfied, and each pair of them, but not all together: they "
        "demand calls that they do not allow. No agent can score 1, and a gate tests these rules, "
        "and those that share tools with them, only one by one.",
        '- {name: once, rule: "CalledN(pay, = 1)"}\n'
        '- {name: five, rule: "CalledWith(pay, amount = 5)"}\n'
        '- {name: six, rule: "CalledWith(pay, amount = 6)"}',
        '- {name: twice, rule: "CalledN(pay, = 2)"}\n'
        '- {name: five, rule: "CalledWith(pay, amount = 5)"}\n'
        '- {name: six, rule: "CalledWith(pay, amount = 6)"}',
    ),
    "W515": Code(
        "a rule is satisfied only where it does not apply",
        "The rule has a condition, and no trace that meets it satisfies the rule: the "
        "consequence is impossible. One call is never of two tools, and S, U, O and F include "
        "the event at which they are evaluated.",
        "G(push -> (!push S commit))   # the push itself is a push",
        "G(push -> Y(!push S commit))",
    ),
    "W516": Code(
        "a rule is evaluated at the first event only",
        "A rule is evaluated at the start of a trace. Without G around it, a condition is about "
        "the first event, and O, Y, S, H, earlier and last find nothing before it.",
        "write_file -> O read_file",
        "G(write_file -> O read_file)",
    ),
    "W517": Code(
        "a prohibition does not see the calls of the same turn",
        "`earlier` and `last` look for evidence in earlier turns. Under a negation, or before an "
        "arrow, they let calls pass that are proposed together: two refunds of one turn do not see "
        "each other. `sofar` is for prohibitions: it lists the events up to and including the "
        "current one, which is then the only one.",
        "G(refund -> let i = args.id: !earlier call(refund, id = i))",
        "G(refund -> let i = args.id: length(sofar(call(refund, id = i))) = 1)",
    ),
    "W518": Code(
        "a stated severity cannot be kept",
        "The file states a severity for a rule that can only be broken where nothing can be "
        "refused any more, so no guard can be made (E216). The finding says why, and what to do.",
        "{name: no-failures, rule: G !call(pay, failed), severity: SOFT_BLOCK}",
        "{name: no-failures, rule: G !call(pay, failed), severity: HARD_STOP}",
    ),
    "W530": Code(
        "a value that the schema excludes",
        "The rule compares an argument with a value that no call has whose arguments fit the "
        "tool's schema: of another type, not among the values of an enum, out of bounds. Such a "
        "comparison is always false (with != always true), so it checks nothing.",
        'G(refund -> args.amount <= "100")   # amount is a number',
        "G(refund -> args.amount <= 100)",
    ),
    "W531": Code(
        "an argument that the schema does not have",
        "The tool's schema lists its arguments and excludes others (additionalProperties: false), "
        "and this one is not among them. Usually it is misspelt.",
        "G(refund -> args.amout <= 100)",
        "G(refund -> args.amount <= 100)",
    ),
    "W532": Code(
        "exact arguments lack one that is required",
        "CalledExactly compares all arguments of a call. The tool's schema requires one that the "
        "rule does not list, so no call that fits the schema can match.",
        "CalledExactly(refund, amount = 5)   # the schema also requires order",
        'CalledExactly(refund, amount = 5, order = "W7")',
    ),
    "W533": Code(
        "an order comparison on an argument of any type",
        "Numbers are ordered among numbers, texts among texts, and every other comparison is "
        'false: "5000" > 100 is false. Where the rule applies only if the comparison is true, a '
        "call escapes it with a value of another type. A schema fixes the type, and a gate refuses "
        "calls that do not fit it. Without one, negate the opposite: it is true of everything "
        "else.",
        "G(refund & args.amount > 100 -> O approve)",
        "G(refund & !(args.amount <= 100) -> O approve)",
    ),
    # ── notes on traces ──────────────────────────────────────────────────────────────────
    "W520": Code(
        "arguments are not a JSON object",
        "The arguments that a model wrote for a call are not a JSON object. The call is kept, "
        "with their text as its only argument, _raw. Rules that look for other arguments do not "
        "find them.",
        '{"function": {"name": "search", "arguments": "{\\"q\\": "}}',
        '{"function": {"name": "search", "arguments": "{\\"q\\": \\"x\\"}"}}',
    ),
    "W521": Code(
        "a result answers no call",
        "Every call of the turn before the tool message has its result, or nothing was called; "
        "or the message names a call that already has its result. It is left out of the trace. "
        "Usually messages were cut off at the start of the conversation, or a result was "
        "recorded twice.",
        '[{"role": "user", "content": "Hi."}, {"role": "tool", "content": "done"}]',
        '[{"role": "user", "content": "Hi."}]',
    ),
    "W522": Code(
        "a trace calls a tool that the procedure does not list",
        "The procedure lists its tools, and this one is not among them. That violates no rule, but "
        "a gate refuses the call (unless `unlisted: allow`), and if a tool has been renamed, the "
        "rules about it no longer check anything.",
        '{"tool_calls": [{"tool_name": "refund_order"}]}   # with tools: [refund, verify]',
        '{"tool_calls": [{"tool_name": "refund"}]}',
    ),
    "W523": Code(
        "a call counts as refused because its result says so",
        "The result of a call is the text of a gate's refusal, with the gate's mark. Such a call "
        "did not run, so it is kept apart from the calls that did, and no rule sees it. The mark "
        "shows that the text is complete and about this tool. It does not show who wrote it: a "
        "tool that ran can imitate it. Only the gate's own report and log are certain.",
        '{"role": "tool", "content": "pay: Not executed.\\n[bylaw:block:…]"}',
        '{"tool_calls": [], "refusals": [{"tool_name": "pay", "action": "block", …}]}',
    ),
    "W524": Code(
        "a call of a trace does not fit the tool's schema",
        "The procedure has a schema for the arguments of the tool, and these do not fit it. That "
        "violates no rule, but a gate refuses the call, and a rule that compares the argument may "
        "find a value of another type. The first such call of each tool is noted.",
        '{"tool_calls": [{"tool_name": "refund", "arguments": {"amount": "5"}}]}',
        '{"tool_calls": [{"tool_name": "refund", "arguments": {"amount": 5}}]}',
    ),
}
