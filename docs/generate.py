"""Generates the parts of the reference that are defined in code.

    python docs/generate.py            rewrites the pages
    python docs/generate.py --check    changes nothing; exits 1 if a page is stale

A page marks such a part with `<!-- generated: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Final, get_args

import bylaw
from bylaw import Trace, holds, parse
from bylaw.agents.habits import HABITS
from bylaw.agents.loop import MAX_SILENT_TURNS
from bylaw.agents.profiles import OBEDIENT_RANDOM, PROFILES
from bylaw.bench.constraints import WEIGHTS
from bylaw.bench.instance import MAX_GOLD_CALLS, SEEDS, TRIALS, budget
from bylaw.bench.jobs import jobs
from bylaw.bench.templates import TEMPLATES
from bylaw.bench.tools import TOOLS
from bylaw.cli.main import COMMANDS, module_of
from bylaw.codes import CODES
from bylaw.enforcement.coverage import coverage
from bylaw.errors import MAX_DIAGNOSTICS
from bylaw.logic.formula import Compare, Formula, Truth, applied
from bylaw.logic.node import MAX_DEPTH
from bylaw.logic.operators import (
    ARITHMETIC,
    COMPARISONS,
    KEYWORDS,
    OPERATORS,
    RELATIONS,
    Operator,
)
from bylaw.procedure.document import MAX_BYTES, MAX_NESTING
from bylaw.procedure.procedure import LARGEST_WEIGHT, LAYERS
from bylaw.procedure.toolset.compiling import ANNOTATIONS
from bylaw.procedure.toolset.schema import SCHEMA_KEYWORDS
from bylaw.procedure.yaml_document import MAX_NODES
from bylaw.reports.html.viewer import MAX_EXPLAINED
from bylaw.scoring.explain import MAX_TRIALS, MAX_WORK
from bylaw.semantics.evaluation import evaluate, view_of
from bylaw.semantics.verdict import Value
from bylaw.serve.application import BODY_SECONDS, MAX_BODY, MAX_WAIT
from bylaw.serve.operations import MAX_CALLS
from bylaw.serve.resident import MAX_KEY, MAX_LIVE, TIMEOUT
from bylaw.serve.resident_run import REMEMBERED
from bylaw.serve.routes import ROUTES, STATUS
from bylaw.trace.files import MAX_DOCUMENT, MAX_LINE, MEGABYTE
from bylaw.values import LARGEST, write_json
from bylaw.values import MAX_DEPTH as MAX_VALUE_DEPTH
from bylaw.vocabulary.functions import FUNCTIONS, Function
from bylaw.vocabulary.predicates import PREDICATES
from bylaw.vocabulary.reading import written_value

for folder in ("support", "conformance"):
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / folder))

from cookbook import CookbookRule, cookbook  # noqa: E402  # found in a folder of the tests
from declared import Declared, declared  # noqa: E402  # as above
from scenarios import SCENARIOS  # noqa: E402  # as above

DOCS: Final = Path(__file__).parent
_REGION: Final = re.compile(r"(<!-- generated: (?P<name>[^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text.strip()).replace("|", r"\|")


def code(text: str) -> str:
    """The text as inline code."""
    return f"`{text}`"


# ── the language ──────────────────────────────────────────────────────────────────────────

_CONNECTIVES: Final = {
    "forall": "`a` holds for every value of the domain",
    "exists": "`a` holds for some value of the domain",
    "let": "`a`, with the value of `t` for `x`; an undefined value stays undefined",
    "iff": "both hold, or neither",
    "implies": "`b` holds if `a` does",
    "or": "at least one of them holds",
    "and": "all of them hold",
    "not": "`a` does not hold",
}
"""The meaning of operators whose nodes have no docstring of their own."""
_PYTHON: Final = {
    "iff": "a.iff(b)",
    "implies": "a >> b",
    "or": "a | b",
    "and": "a & b",
    "not": "~a",
}


def operators() -> str:
    """The table of operators, tightest binding first."""
    header = ["text", "also", "Python", "JSON tag", "meaning", "on the empty trace"]
    return table(header, map(_operator, sorted(OPERATORS, key=lambda each: -each.precedence)))


def _operator(operator: Operator) -> list[str]:
    symbol = operator.symbol
    written, python = {
        "prefix": (f"{symbol} a" if symbol.isalpha() else f"{symbol}a", f"{symbol}(a)"),
        "right": (f"a {symbol} b", f"{symbol}(a, b)"),
        "flat": (f"a {symbol} b", ""),
        "binder": (f"{symbol} x in D: a", f'{symbol}("x", D, a)'),
        "let": (f"{symbol} x = t: a", f'{symbol}("x", t, a)'),
    }[operator.fixity]
    _, _, told = inspect.getdoc(operator.node).partition(": ")  # type: ignore[union-attr]  # each has a docstring
    return [
        code(written),
        ", ".join(map(code, operator.words)),
        code(_PYTHON.get(operator.tag, python)),
        code(operator.tag),
        told.rstrip(".") if operator.temporal else _CONNECTIVES[operator.tag],
        _on_nothing(operator),
    ]


def _on_nothing(operator: Operator) -> str:
    """The value of a temporal operator on the empty trace, as the reference computes it."""
    if not operator.temporal:
        return ""
    operands = 1 if operator.fixity == "prefix" else 2
    values = {
        evaluate(formula, view_of(formula, Trace())).value
        for formula in (applied(operator.node, [truth] * operands) for truth in _truths())
    }
    (value,) = values
    return "false" if value is Value.FALSE else "true"


def _truths() -> Iterator[Formula]:
    yield from (Truth(True), Truth(False))


def binding() -> str:
    """The precedence of operators, arithmetic and comparisons first."""
    rows: list[list[str]] = []
    for strength in sorted(set(ARITHMETIC.values()), reverse=True):
        symbols = [symbol for symbol, its in ARITHMETIC.items() if its == strength]
        first = symbols[0]
        told = f"to the left: `a {first} b {first} c` is `(a {first} b) {first} c`"
        rows.append([" ".join(map(code, symbols)), told])
    rows.append([" ".join(map(code, RELATIONS)), "between two values"])
    groups: dict[int, list[Operator]] = {}
    for operator in sorted(OPERATORS, key=lambda each: -each.precedence):
        groups.setdefault(operator.precedence, []).append(operator)
    grouping = {
        "prefix": "before one operand",
        "right": "to the right: `a U b U c` is `a U (b U c)`",
        "flat": "as one list",
        "binder": "reaches as far to the right as it can",
    }
    for members in groups.values():
        symbols = [member.symbol for member in members]
        told = grouping[members[0].fixity].replace(" U ", f" {symbols[0]} ")
        rows.append([" ".join(map(code, symbols)), told])
    numbered = [[str(level), *row] for level, row in enumerate(rows, start=1)]
    return table(["", "operators", "groups"], numbered)


def predicates() -> str:
    """The table of trace predicates."""
    rows = []
    for each in PREDICATES.values():
        names = ", ".join(parameter.name for parameter in each.parameters)
        rows.append([code(f"{each.name}({names})"), each.doc.rstrip("."), code(each.example)])
    return table(["predicate", "holds if", "for example"], rows)


def operands() -> str:
    """The meaning of the names in the table of predicates."""
    names: dict[str, dict[str, None]] = {}
    for predicate in PREDICATES.values():
        for parameter in predicate.parameters:
            names.setdefault(parameter.kind.value, {})[code(parameter.name)] = None
    return table(["operand", "is"], [[", ".join(found), told] for told, found in names.items()])


def keywords() -> str:
    """The words of the language; a tool of that name must be quoted."""
    return " ".join(map(code, sorted(KEYWORDS, key=lambda word: (word.lower(), word))))


def comparisons() -> str:
    """The comparisons of numbers in `CalledN`."""
    return " ".join(map(code, COMPARISONS))


_RELATIONS: Final = {
    "=": ("they are equal as JSON", '{"a": 1.0} = {"a": 1}'),
    "!=": ("they are not equal as JSON", '1 != "1"'),
    "<=": ("both are numbers or both are texts, and the left is not larger", "2 <= 2.0"),
    ">=": ("both are numbers or both are texts, and the left is not smaller", "2.5 >= 2"),
    "<": (
        "both are numbers or both are texts, and the left is smaller",
        '"2024-05-14" < "2024-05-15"',
    ),
    ">": ("both are numbers or both are texts, and the left is larger", "10 > 9"),
    "in": (
        "the left is an element of the list, or a part of the text, on the right",
        "1 in [1, 2]",
    ),
    "contains": ("the same, the other way round", '"abc" contains "b"'),
    "mentions": (
        "every text and number on the right occurs on the left, as a whole",
        '"Pay $5 to Ann." mentions ["ann", 5]',
    ),
    "~": ("the text on the left holds a match of the regular expression", '"abc" ~ /^a/'),
}
"""The meaning of each comparison of two defined values, and an example that holds."""


def relations() -> str:
    """The table of comparisons of values; the examples are evaluated."""
    rows = []
    for symbol in RELATIONS:
        told, example = _RELATIONS[symbol]
        if not holds(parse(example), Trace()):
            raise AssertionError(f"{example} does not hold")
        rows.append([code(f"x {symbol} y"), told, code(example)])
    return table(["comparison", "holds if", "for example"], rows)


def functions() -> str:
    """The table of functions; the values of their examples are computed."""
    header = ["function", "takes", "gives", "for example", "of a list"]
    return table(header, map(_function, FUNCTIONS.values()))


def _function(function: Function) -> list[str]:
    compared = parse(f"{function.example} = 0")
    if not isinstance(compared, Compare):
        raise TypeError(f"{function.example} is not one value")
    name = f"a {function.name} b" if function.name in ARITHMETIC else f"{function.name}(…)"
    return [
        code(name),
        ", ".join(place.word for place in function.takes),
        function.doc.rstrip("."),
        f"{code(function.example)} is {code(write_json(written_value(compared.left)))}",
        "element by element" if any(place.lifts for place in function.takes) else "",
    ]


# ── limits ────────────────────────────────────────────────────────────────────────────────


def language_limits() -> str:
    """Limits of formulas."""
    return table(
        ["what", "limit", "code"],
        [
            ["operators inside one another", f"{MAX_DEPTH:,}", "E112"],
            ["brackets inside one another in a value", f"{MAX_VALUE_DEPTH}", "E113"],
            ["a count, an index or a number of positions", f"{LARGEST:,}", "E105"],
        ],
    )


def procedure_limits() -> str:
    """Limits of procedure files."""
    return table(
        ["what", "limit", "code"],
        [
            ["size of the file", f"{MAX_BYTES // MEGABYTE} MiB", "E204"],
            ["nesting of the document", f"{MAX_NESTING}", "E204"],
            ["values, aliases expanded", f"{MAX_NODES:,}", "E204"],
            ["weight", f"above 0, at most {LARGEST_WEIGHT:g}", "E205"],
            ["mistakes reported at once", f"{MAX_DIAGNOSTICS}", ""],
        ],
    )


def schema_keywords() -> str:
    """The keywords of JSON Schema."""
    checked = ", ".join(f"`{name}`" for names in SCHEMA_KEYWORDS for name in names)
    ignored = ", ".join(f"`{name}`" for name in sorted(ANNOTATIONS))
    return table(["keywords", ""], [["checked", checked], ["ignored", f"{ignored}, `x-…`"]])


def trace_limits() -> str:
    """Limits of trace files."""
    return table(
        ["what", "limit", "code"],
        [
            ["one line of JSONL", f"{MAX_LINE // MEGABYTE} MiB, or `--max-line`", "E313"],
            ["one JSON document", f"{MAX_DOCUMENT // MEGABYTE:,} MiB", "E313"],
            ["brackets inside one another", f"{MAX_VALUE_DEPTH}", "E315"],
            ["a step", f"{LARGEST:,}", "E303"],
            ["mistakes reported for one record", f"{MAX_DIAGNOSTICS}", ""],
        ],
    )


def explanation_limits() -> str:
    """Limits of the search for a minimal set."""
    return (
        f"The search tries at most {MAX_TRIALS:,} sets and looks at most at {MAX_WORK:,} events "
        f"altogether. The viewer explains traces of up to {MAX_EXPLAINED} calls; on longer ones it "
        "shows each verdict's witness."
    )


# ── the other pages ───────────────────────────────────────────────────────────────────────


def layers() -> str:
    """The names that the paper gives its layers."""
    return table(["layer", "isolates"], [[code(name), told] for name, told in LAYERS.items()])


def public_names() -> str:
    """The public names of `bylaw`."""
    rows = []
    for name in bylaw.__all__:
        thing = getattr(bylaw, name)
        documented = _alias_doc(name) if _kind(thing) == "type" else inspect.getdoc(thing) or ""
        summary = documented.split("\n\n")[0].rstrip(".")
        rows.append([code(name), _kind(thing), summary.replace("\n", " ")])
    return table(["name", "", "what it is"], rows)


def _kind(thing: object) -> str:
    if inspect.isclass(thing):
        return "exception" if issubclass(thing, Exception) else "class"
    if inspect.isfunction(thing):
        return "function"
    return "value" if thing is bylaw.MISSING else "type"


def _alias_doc(name: str) -> str:
    """The string after the definition of a type alias, or its choices."""
    module = sys.modules[bylaw._HOMES[name]]
    body = ast.parse(inspect.getsource(module)).body
    for statement, after in pairwise([*body, ast.Pass()]):
        if isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) == name:
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                return inspect.cleandoc(str(after.value.value))
            return " or ".join(
                code(write_json(choice)) for choice in get_args(getattr(bylaw, name))
            )
    raise AssertionError(f"{name} is not a type alias")


_AREAS: Final = {
    "E1": "Formulas",
    "E2": "Procedures",
    "E3": "Traces",
    "E4": "Commands",
    "W5": "Advice",
}


def codes() -> str:
    """Every diagnostic code."""
    parts: list[str] = []
    area = ""
    for name, entry in CODES.items():
        if _AREAS[name[:2]] != area:
            area = _AREAS[name[:2]]
            parts.append(f"## {area}")
        parts.append(
            f"### {name}\n\n**{entry.title[:1].upper()}{entry.title[1:]}.** {_prose(entry.meaning)}"
        )
        parts.append(f"Wrong:\n\n{_fenced(entry.wrong or '(nothing)')}")
        parts.append(f"Right:\n\n{_fenced(entry.right)}")
    return "\n\n".join(parts)


def _prose(text: str) -> str:
    """The text with Markdown's marks for italics escaped."""
    return text.replace("*", r"\*")


def _fenced(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


def commands() -> str:
    """The help of every command."""
    return "\n\n".join(f"## bylaw {name}\n\n{_command(name)}" for name in COMMANDS)


def _command(name: str) -> str:
    """The arguments, from the parser: the layout of its help text depends on the Python version."""
    module = import_module(module_of(name))
    parser = argparse.ArgumentParser(prog=f"bylaw {name}", add_help=False)
    module.configure(parser)
    required, positional, rows = [], [], []
    for action in parser._actions:
        metavar = str(action.metavar or action.dest.upper())
        value = "" if action.nargs == 0 else f" {metavar}"
        shown = [f"{flag}{value}" for flag in action.option_strings] or [metavar]
        rows.append([", ".join(map(code, shown)), action.help or ""])
        if not action.option_strings:
            many = {"+": f"{metavar}…", "?": f"[{metavar}]"}
            positional.append(many.get(str(action.nargs), metavar))
        elif action.required:
            required.append(shown[0])
    usage = " ".join([f"bylaw {name}", *required, "[OPTIONS]", *positional])
    summary = f"{COMMANDS[name][:1].upper()}{COMMANDS[name][1:]}."
    arguments = table(["argument", ""], rows)
    return "\n\n".join([summary, _fenced(usage), arguments, _fenced(module.EPILOG)])


def bench_tools() -> str:
    """The tools of the benchmark."""
    rows = [
        [
            code(f"{tool.name}({', '.join(tool.parameters)})"),
            code(f'{{"{tool.result}": …}}'),
            tool.formula,
        ]
        for tool in TOOLS.values()
    ]
    return table(["tool", "returns", "computes"], rows)


def bench_templates() -> str:
    """The templates, and what difficulty scales."""
    rows = [
        [
            code(template.name),
            template.structure,
            template.failure,
            ", ".join(map(code, template.tools)),
            "; ".join(
                f"{code(name)} {', '.join(map(str, values))}"
                for name, values in template.scaling.items()
            ),
        ]
        for template in TEMPLATES.values()
    ]
    head = ["template", "structure", "isolates", "tools", "scales, from D1 to D5"]
    return table(head, rows)


def bench_choices() -> str:
    """Decisions that the paper leaves open, by template."""
    return "\n\n".join(
        f"**`{template.name}`**\n\n" + "\n".join(f"- {choice}" for choice in template.choices)
        for template in TEMPLATES.values()
    )


def bench_layers() -> str:
    """The weights of the layers."""
    rows = [[layer, f"{weight:g}", LAYERS[layer]] for layer, weight in WEIGHTS.items()]
    return table(["layer", "weight", "about"], rows)


def bench_numbers() -> str:
    """The numbers of the benchmark."""
    rows = [
        ["seeds", ", ".join(map(str, SEEDS))],
        ["trials", str(TRIALS)],
        ["runs per model and setting", str(len(list(jobs("sim:gold", ["baseline"]))))],
        ["calls of a gold trace", f"at most {MAX_GOLD_CALLS}"],
        ["budget at difficulty d", f"{budget(2) - budget(1)}d + {2 * budget(1) - budget(2)} calls"],
        ["turns", "twice the budget"],
        ["turns in a row without a call before a run ends", str(MAX_SILENT_TURNS)],
    ]
    return table(["what", "how many"], rows)


def bench_agents() -> str:
    """The simulated agents and their habits."""
    rows = [
        [
            code(f"sim:{profile.name}"),
            profile.about,
            ", ".join(f"{name} {rate:g}" for name, rate in profile.rates.items()) or "none",
            f"{profile.obedience:g}",
        ]
        for profile in PROFILES.values()
    ]
    rows.append([code(f"sim:{OBEDIENT_RANDOM}"), "has no plan, obeys refusals", "none", "1"])
    habits = [[habit.name, habit.about] for habit in HABITS.values()]
    agents = table(["agent", "", "habits, and how likely at each call", "obedience"], rows)
    return agents + "\n\n" + table(["habit", ""], habits)


# ── adapters ──────────────────────────────────────────────────────────────────────────────


def adapters() -> str:
    """The adapters: how each is used, and with which versions the suite ran."""
    rows = [
        [
            f"[{each.title}](../how-to/{each.page})",
            code(each.use),
            "" if each.extra is None else code(f"bylaw[{each.extra}]"),
            " and ".join(each.tried),
            ", ".join(each.modes),
        ]
        for each in declared()
    ]
    return table(["framework", "use", "extra", "tried with", "modes"], rows)


def promises() -> str:
    """The scenarios of the conformance suite, and the adapters that keep each promise."""
    listed = declared()
    reasons: list[str] = []
    rows = [
        [each.promise, *(_kept(adapter, each.name, reasons) for adapter in listed)]
        for each in SCENARIOS.values()
    ]
    notes = "\n".join(f"{number}. {reason}" for number, reason in enumerate(reasons, 1))
    return table(["promise", *(each.title for each in listed)], rows) + "\n\n" + notes


def _kept(adapter: Declared, scenario: str, reasons: list[str]) -> str:
    """Yes, or the number of the reason why not; new reasons are added."""
    missing = {mode: adapter.why_not(scenario, mode) for mode in adapter.modes}
    cells = []
    for mode, reason in missing.items():
        if reason is not None:
            told = f"{adapter.title}: {reason}"
            if told not in reasons:
                reasons.append(told)
            alone = None in missing.values()
            cells.append(f"{f'{mode}: ' if alone else ''}no ({reasons.index(told) + 1})")
    return ", ".join(dict.fromkeys(cells)) or "yes"


_NOT_IN_DOGWOOD: Final = {
    "exports-a-day": "no calendar: windows slide",
    "cost-cap": "a window is mandatory, and sums are of whole numbers",
    "office-hours": "no time zones, no weekdays",
    "customer-notified": "no future",
}
"""The reasons why a policy has no form in Dogwood."""


def budgets() -> str:
    """The policies of the example, and their length beside Dogwood's."""
    folder = DOCS.parent / "examples" / "budgets"
    parts = re.split(r"^// (\S+)$", (folder / "dogwood.dw").read_text("utf-8"), flags=re.MULTILINE)
    others = {
        name: " ".join(text.split()) for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }
    rows = []
    for rule in bylaw.Procedure.load(folder / "procedure.yaml").constraints:
        other = others.get(rule.name)
        theirs = _NOT_IN_DOGWOOD[rule.name] if other is None else f"{len(other)} characters"
        text = bylaw.to_text(rule.formula)
        rows.append([rule.why or "", code(text), f"{len(text)}", theirs])
    return table(["policy", "rule", "characters", "in Dogwood"], rows)


# ── the cookbook ──────────────────────────────────────────────────────────────────────────


def cookbook_rules() -> str:
    """The rules by need, each with a run either way."""
    sections: dict[str, list[CookbookRule]] = {}
    for rule in cookbook():
        sections.setdefault(rule.section, []).append(rule)
    parts = ["\n".join(_needs(*each) for each in sections.items())]
    for section, rules in sections.items():
        parts += [f"## {section}", *map(_cookbook_rule, rules)]
    return "\n\n".join(parts)


def _needs(section: str, rules: Sequence[CookbookRule]) -> str:
    listed = " · ".join(f"[{rule.need}](#{_anchor(rule.need)})" for rule in rules)
    return f"- **{section}**: {listed}"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _cookbook_rule(rule: CookbookRule) -> str:
    indented = {
        "keeps it": "\n".join(f"  {line}" for line in rule.keeps),
        "breaks it": "\n".join(f"  {line}" for line in rule.breaks),
    }
    runs = "\n".join(f"{name}:\n{lines}" for name, lines in indented.items())
    remarks = [rule.note] if rule.note else []
    if rule.fields:
        remarks.append(f"The procedure has `{_yaml_line(rule.fields)}`.")
    (covered,) = coverage(rule.procedure)
    if covered.place == "at the answer":
        remarks.append("At a gate, the final answer is refused while the rule is violated.")
    text = f"### {rule.need}\n\n```bylaw\n{rule.rule}\n```\n\n"
    return text + (" ".join(remarks) + "\n\n" if remarks else "") + _fenced(runs)


def _yaml_line(fields: dict[str, object]) -> str:
    return ", ".join(
        f"{name}: {write_json(value).strip(chr(34))}" for name, value in fields.items()
    )


# ── the HTTP interface ────────────────────────────────────────────────────────────────────


def http_routes() -> str:
    """The routes of a resident gate."""
    rows = [
        [code(f"{each.method} {each.path}"), each.about.rstrip("."), each.access, each.answers]
        for each in ROUTES
    ]
    return table(["request", "", "token", "answer"], rows)


def http_fields() -> str:
    """The fields of each request that has any."""
    rows = [
        [
            code(f"{each.method} {each.path}"),
            code(field.name),
            "any JSON" if field.kind == "anything" else field.kind,
            f"{field.about}{'' if field.required else '; optional'}",
        ]
        for each in ROUTES
        for field in each.fields
    ]
    return table(["request", "field", "", ""], rows)


def http_errors() -> str:
    """The status of each diagnostic."""
    rows = [[str(STATUS[name]), code(name), CODES[name].title] for name in STATUS]
    return table(["status", "code", ""], sorted(rows))


def http_limits() -> str:
    """The limits of requests."""
    rows = [
        ["size of a request", f"{MAX_BODY:,} bytes, or `--max-body`"],
        ["time to send it", f"{BODY_SECONDS:g} s"],
        ["time to decide it", f"{TIMEOUT:g} s, or `--timeout`"],
        ["calls of one turn", str(MAX_CALLS)],
        ["an idempotency key", f"{MAX_KEY} characters"],
        ["answers that are remembered", f"the latest {REMEMBERED} of a run"],
        ["waiting for a person", f"{MAX_WAIT:g} s in one request"],
        ["runs in memory", f"{MAX_LIVE:,}, or `--live`; the others are in the store"],
    ]
    return table(["what", "limit"], rows)


GENERATORS: Final[dict[str, Callable[[], str]]] = {
    "http routes": http_routes,
    "http fields": http_fields,
    "http errors": http_errors,
    "http limits": http_limits,
    "operators": operators,
    "binding": binding,
    "predicates": predicates,
    "operands": operands,
    "keywords": keywords,
    "comparisons": comparisons,
    "relations": relations,
    "functions": functions,
    "limits of the language": language_limits,
    "limits of procedures": procedure_limits,
    "schema keywords": schema_keywords,
    "limits of traces": trace_limits,
    "limits of explanations": explanation_limits,
    "layers": layers,
    "public names": public_names,
    "codes": codes,
    "commands": commands,
    "benchmark tools": bench_tools,
    "benchmark templates": bench_templates,
    "benchmark choices": bench_choices,
    "benchmark layers": bench_layers,
    "benchmark numbers": bench_numbers,
    "simulated agents": bench_agents,
    "adapters": adapters,
    "promises of adapters": promises,
    "budgets": budgets,
    "cookbook": cookbook_rules,
}


def filled(text: str) -> str:
    """The page with its generated parts up to date."""

    def region(found: re.Match[str]) -> str:
        return f"{found[1]}\n{GENERATORS[found['name']]()}\n\n{found[3]}"

    return _REGION.sub(region, text)


def main() -> int:
    """Rewrites or checks every page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit 1 if a page is stale")
    check = parser.parse_args().check
    stale = []
    for path in sorted(DOCS.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        current = filled(text)
        if current != text:
            stale.append(path.relative_to(DOCS.parent).as_posix())
            if not check:
                path.write_text(current, encoding="utf-8")
    for name in stale:
        sys.stderr.write(
            f"{name} {'is stale: run python docs/generate.py' if check else 'updated'}\n"
        )
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
