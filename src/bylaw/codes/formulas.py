"""E1xx: mistakes in formulas."""

from __future__ import annotations

from typing import Final

from bylaw.codes.code import Code

FORMULA_CODES: Final = {
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
    "E120": Code(
        "a duration is expected",
        "The bound of `within`, and the window of sofar, are numbers that are written out, with a "
        "unit: ms, s, min, h or d. Without a unit it is a number of seconds.",
        "G(pay -> O approve within args.limit)",
        "G(pay -> O approve within 10 min)",
    ),
    "E121": Code(
        "unknown time zone",
        "hour, weekday and date take the name of a time zone in the IANA database.",
        'G(pay -> hour(start, "Berlin") < 18)',
        'G(pay -> hour(start, "Europe/Berlin") < 18)',
    ),
}
