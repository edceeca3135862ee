"""W50x, W51x, W53x and W54x: findings of lint."""

from __future__ import annotations

from typing import Final

from bylaw.codes.code import Code

LINT_CODES: Final = {
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
    "W534": Code(
        "a budget counts only what has succeeded",
        "When a call is proposed, its result is not known, nor are the results of calls beside it. "
        "A limit on successes is broken for certain only when they have come back: two refunds of "
        "one turn can exceed it together. A limit on calls is decided before they run.",
        "G(refund -> sum(sofar(call(refund, ok)).args.amount) <= 500)",
        "G(refund -> sum(sofar(refund).args.amount) <= 500)",
    ),
    "W535": Code(
        "a budget for each value does not count calls without one",
        "The total is kept for each value of an argument. A call that leaves the argument out "
        "belongs to no total: an agent could escape the limit that way. A schema that requires the "
        "argument has a gate refuse such calls.",
        "G(refund -> let c = args.customer: length(sofar(call(refund, customer = c))) <= 3)",
        "tools: {refund: {required: [customer]}}",
    ),
    "W540": Code(
        "a field that events do not have",
        "last and sofar give events, whose fields are args, result, tool, step, text, error, "
        "start, end, duration, agent and usage. Any other field is undefined, and comparisons with "
        "it are false. What a result has is read from the result.",
        'G(refund -> last(verify).status = "ok")',
        'G(refund -> last(verify).result.status = "ok")',
    ),
    "W541": Code(
        "a comparison that is never true",
        "Values of different types are never equal and have no order, and an event or a list is no "
        "number or text. The finding says what each side is.",
        'G(refund -> last(verify) = "ok")',
        'G(refund -> last(verify).result = "ok")',
    ),
    "W542": Code(
        "a number in quotes",
        'Texts are ordered as in a dictionary, so that "20" comes after "100", and a number has '
        "no order with a text at all.",
        'G(refund -> args.amount <= "100")',
        "G(refund -> args.amount <= 100)",
    ),
    "W543": Code(
        "a regular expression that matches nothing",
        "Nothing can be read before ^ or after $, unless the expression has the flag m, and some "
        "classes of characters are empty. Such a comparison is always false.",
        "G(refund -> args.price ~ /$5/)",
        r"G(refund -> args.price ~ /\$5/)",
    ),
    "W544": Code(
        "one call of two tools",
        "A formula is evaluated at one event, and an event is a call of one tool. Two tools joined "
        "by & are never called at once; two calls of one run are two events.",
        "G(refund & verify)",
        "F refund & F verify",
    ),
    "W545": Code(
        "a rule in quotes",
        "Text in quotes is the name of a tool where a formula is expected. A name with an arrow or "
        "with parentheses is usually a rule that was quoted twice.",
        "rule: '\"G(refund -> O verify)\"'",
        "rule: G(refund -> O verify)",
    ),
}
