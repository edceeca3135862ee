"""E3xx and W52x: mistakes in traces, and notes on them."""

from __future__ import annotations

from typing import Final

from bylaw.codes.code import Code

TRACE_CODES: Final = {
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
    "E308": Code(
        "an event starts before an earlier one",
        "A rule with a window or a deadline is followed in the order of time. A gate stamps events "
        "by its own clock; a monitor that is given events with times takes them in order.",
        'monitor.step(Call("a", start=5)); monitor.step(Call("b", start=4))',
        'monitor.step(Call("b", start=4)); monitor.step(Call("a", start=5))',
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
    "E321": Code(
        "a gate's log cannot be read as a trace",
        "The entries of each run in a log are one trace. The log was altered, the beginning of a "
        "run is missing, or one run is needed and there are several.",
        "bylaw view gate.jsonl -p refund.yaml   # a log of two runs",
        "bylaw view 'gate.jsonl[0]' -p refund.yaml",
    ),
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
    "W526": Code(
        "a refusal is not in the gate's log",
        "A result in the transcript is marked as a refusal, but the log that was given has no such "
        "decision. A tool may have imitated it, or the log is of another gate. The call counts as "
        "one that ran.",
        "bylaw verify -p refund.yaml chat.json --log another-gate.jsonl",
        "bylaw verify -p refund.yaml chat.json --log gate.jsonl",
    ),
    "W528": Code(
        "a trace lacks the label of a rule across runs",
        "A rule with `across: labels.customer` judges the traces of a customer together. A trace "
        "without the label, or with one that is neither a text nor a whole number, belongs to "
        "nobody: the rule judges it alone, and may hold only for that reason.",
        '{"tool_calls": [{"tool_name": "pay"}]}   # with across: labels.customer',
        '{"tool_calls": [{"tool_name": "pay"}], "labels": {"customer": "c7"}}',
    ),
    "W527": Code(
        "a rule about time meets events without times",
        "The rule compares times, and the trace does not say when some of its events began. Every "
        "comparison with such an event is false, so the verdict says nothing about what the agent "
        "did. Most formats have times if they are recorded at all.",
        '{"tool_calls": [{"tool_name": "pay"}]}   # with G(pay -> O verify within 10 min)',
        '{"tool_calls": [{"tool_name": "pay", "start": 1763294400.0}]}',
    ),
}
