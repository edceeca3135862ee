"""Rules about data: where arguments come from, what lookups show, bounds and totals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bylaw.formulas import call
from bylaw.mining import bounds
from bylaw.mining.candidate import RuleCandidate, RunMask
from bylaw.mining.labels import RunLabels
from bylaw.mining.leaves import LeafValue, value_key
from bylaw.mining.runs import Runs
from bylaw.mining.sites import (
    SAID,
    YES,
    ArgumentPath,
    EarlierValue,
    LookedUp,
    Sites,
)
from bylaw.syntax.printer import to_text
from bylaw.values import write_json

_SAID_BY_CHANCE: Final = 0.05
"""The probability that a user happens to name a value of four or more characters."""
_MIN_SAID: Final = 4


def candidates(runs: Runs, sites: Sites, labels: RunLabels) -> Iterator[RuleCandidate]:
    """The rules about data that few enough good runs break."""
    found = _DataRules(runs, sites, labels)
    families = (
        *(found.joined(), found.later(), found.done_before(), found.confirmed(), found.states()),
        *(found.agreements(), found.arguments(), found.per_key()),
    )
    for family in families:
        for candidate in family:
            if labels.acceptable(candidate.violated, candidate.active):
                yield candidate


class _DataRules:
    def __init__(self, runs: Runs, sites: Sites, labels: RunLabels) -> None:
        self._runs = runs
        self._sites = sites
        self._labels = labels
        self._has_bad = bool(runs.bad.any())
        self._pools: dict[str, dict[int, set[LeafValue]]] = {}
        self._calls = {tool: self._array(counts) for tool, counts in sites.calls.items()}

    # ── where an argument comes from ─────────────────────────────────────────────────────

    def joined(self) -> Iterator[RuleCandidate]:
        """The argument was looked up, returned or said before."""
        for (argument, source), held in self._sites.earlier.items():
            own = source.kind == "argument" and source.tool == argument.tool
            if own or self._sites.echoed.get(source, 0) > 0:
                continue  # an echo is no source
            if not self._held_often(argument, held):
                continue
            violated = self._required(argument) > self._array(held)
            named, about = _named(argument), _about(argument)
            match source.kind:
                case "argument":
                    told = f"{source.tool} was called with it before"
                    kind = "lookup"
                case "said":
                    told, kind = "the user has named it", "said"
                case _:
                    where = _within(source)
                    told, kind = f"{source.tool} returned it before, in {where}", "source"
            body = _earlier(source)
            same_name = kind == "source" and argument.path == source.path
            extra = -0.1 if same_name else 0.0  # the same name is easier to read
            tools = (argument.tool, *([source.tool] if source.tool else []))
            yield RuleCandidate(
                kind,
                tools,
                f"G({_tool(argument.tool)} -> {named} {body})",
                f"{argument.path} of {argument.tool}: {told}.",
                violated,
                self._active(argument.tool),
                self._join_chance(argument, source),
                extra,
                about,
            )

    def _join_chance(self, argument: ArgumentPath, source: EarlierValue) -> float:
        """The logarithm of the probability that the values match by chance."""
        good, total = self._runs.good, max(2, len(self._runs))
        chance = 0.0
        spread = self._sites.spread.get(source, {})
        for run, value, _ in self._sites.arguments[argument]:
            if not good[run]:
                continue
            if source is SAID or source == SAID:
                chance += log(_SAID_BY_CHANCE) if len(str(value)) >= _MIN_SAID else 0.0
            else:
                others = spread.get(value_key(value), 1) - 1
                chance += log(min(1.0, max(1.0 / total, others / (total - 1))))
        return chance

    def later(self) -> Iterator[RuleCandidate]:
        """A later call has the same argument."""
        for (argument, other), held in self._sites.later.items():
            if argument.listed or "." in argument.path or not self._held_often(argument, held):
                continue
            rule = (
                f"G({_tool(argument.tool)} -> {_named(argument)} "
                f"F call({_tool(other.tool)}, {other.path} = v))"
            )
            yield RuleCandidate(
                "follow-up",
                (argument.tool, other.tool),
                rule,
                f"Every {argument.tool} is followed by {other.tool} with the same {other.path}.",
                self._required(argument) > self._array(held),
                self._active(argument.tool),
                0.0,
                0.0,
                _about(argument),
            )

    def done_before(self) -> Iterator[RuleCandidate]:
        """No earlier call of another tool has the same argument."""
        if not self._has_bad:
            return
        for (argument, other), found in self._sites.repeated.items():
            if argument.listed:
                continue
            rule = (
                f"G({_tool(argument.tool)} -> {_named(argument)} "
                f"length(sofar(call({_tool(other.tool)}, {other.path} = v))) = 0)"
            )
            yield RuleCandidate(
                "done before",
                (argument.tool, other.tool),
                rule,
                f"No {argument.tool} after {other.tool} with the same {other.path}.",
                self._array(found) > 0,
                self._active(argument.tool),
                0.0,
                0.0,
                _about(argument),
            )

    def confirmed(self) -> Iterator[RuleCandidate]:
        """The user's last message is a yes."""
        agreed, said = self._sites.yeses
        if not agreed:
            return
        by_chance = log(min(0.999, (agreed + 1) / (said + 2)))
        for tool, held in self._sites.confirmed.items():
            calls = self._calls[tool]
            yield RuleCandidate(
                "confirmed",
                (tool,),
                f"G({_tool(tool)} -> last(says(user)).text ~ /{YES}/)",
                f"The user's last message before {tool} is a yes.",
                calls > self._array(held),
                self._active(tool),
                by_chance * float(calls[self._runs.good].sum()),
            )

    # ── what a lookup shows ──────────────────────────────────────────────────────────────

    def states(self) -> Iterator[RuleCandidate]:
        """The last lookup of an argument shows one of a few values, or a bounded number."""
        for looked_up, shown in self._sites.shown.items():
            argument = looked_up.argument
            if argument.listed:
                continue
            missing = self._required(argument) > self._number(run for run, _ in shown)
            if not self._labels.acceptable(missing, self._active(argument.tool)):
                continue
            begin, meaning = _looked_up(looked_up)
            about = (*_about(argument), looked_up.field)
            tools = (argument.tool, looked_up.lookup.tool)
            active = self._active(argument.tool)
            base = self._sites.results[looked_up.lookup.tool, looked_up.field]
            if allowed := self._allowed(shown, active):
                masks, values = allowed
                test = _is_one_of(f"o.{looked_up.field}", values)
                share = sum(base[value] for value in values) / max(1, base.total())
                yield RuleCandidate(
                    "state",
                    tools,
                    f"{begin} {test})",
                    f"{meaning} {looked_up.field} is {_or(values)}.",
                    missing | masks,
                    active,
                    log(max(1e-9, share)) * float((active & self._runs.good).sum()),
                    0.5 * len(values) * log(1 + len(base)),
                    about,
                )
            for operator, fitted in self._bounds(shown, active):
                yield RuleCandidate(
                    "state bound",
                    tools,
                    f"{begin} o.{looked_up.field} {operator} {fitted.value:.12g})",
                    f"{meaning} {looked_up.field} is {_limit(operator)} {fitted.value:.12g}.",
                    missing | fitted.violated,
                    active,
                    0.0,
                    0.5 * log(fitted.levels),
                    about,
                )

    def agreements(self) -> Iterator[RuleCandidate]:
        """An argument agrees with what the last lookup of another shows."""
        for comparison, held in self._sites.agreeing.items():
            looked_up = comparison.looked_up
            argument = looked_up.argument
            if argument.listed or not self._held_often(argument, held):
                continue
            let = f"let v = args.{argument.path}, o = {_last(looked_up.lookup)}"
            test = f"args.{comparison.argument} {comparison.operator} o.{looked_up.field}"
            words = {"=": "equals", "<=": "is at most", ">=": "is at least"}[comparison.operator]
            base = self._sites.results[looked_up.lookup.tool, looked_up.field]
            same = sum(n * n for n in base.values()) / max(1, base.total()) ** 2
            active = self._active(argument.tool)
            chance = log(max(1e-6, same)) * float((active & self._runs.good).sum())
            yield RuleCandidate(
                "agreement",
                (argument.tool, looked_up.lookup.tool),
                f"G({_tool(argument.tool)} -> {let}: {test})",
                f"{comparison.argument} of {argument.tool} {words} {looked_up.field} as "
                f"{looked_up.lookup.tool} last showed it.",
                self._required(argument) > self._array(held),
                active,
                chance if comparison.operator == "=" else 0.0,
                0.0 if comparison.operator == "=" else 0.2,
                (comparison.argument, looked_up.field),
            )

    # ── arguments by themselves ──────────────────────────────────────────────────────────

    def arguments(self) -> Iterator[RuleCandidate]:
        """An argument is one of a few values, or stays within a bound."""
        if not self._has_bad:
            return
        for argument, given in self._sites.arguments.items():
            if argument.listed:
                continue
            shown = [(run, value) for run, value, _ in given]
            tool, active = _tool(argument.tool), self._active(argument.tool)
            missing = self._required(argument) > self._number(run for run, _ in shown)
            about = _about(argument)
            if allowed := self._allowed(shown, active):
                masks, values = allowed
                yield RuleCandidate(
                    "value",
                    (argument.tool,),
                    f"G({tool} -> {_is_one_of(f'args.{argument.path}', values)})",
                    f"{argument.path} of {argument.tool} is {_or(values)}.",
                    missing | masks,
                    active,
                    0.0,
                    0.5 * len(values) * log(1 + len({value for _, value in shown})),
                    about,
                )
            for operator, fitted in self._bounds(shown, active):
                yield RuleCandidate(
                    "bound",
                    (argument.tool,),
                    f"G({tool} -> args.{argument.path} {operator} {fitted.value:.12g})",
                    f"{argument.path} of {argument.tool} is {_limit(operator)} "
                    f"{fitted.value:.12g}.",
                    missing | fitted.violated,
                    active,
                    0.0,
                    0.5 * log(fitted.levels),
                    about,
                )
            yield from self._totals(argument, given)

    def per_key(self) -> Iterator[RuleCandidate]:
        """So many calls with the same argument."""
        for argument, given in self._sites.arguments.items():
            if argument.listed or "." in argument.path:
                continue
            counts: dict[tuple[int, LeafValue], int] = defaultdict(int)
            for run, value, _ in given:
                counts[run, value_key(value)] += 1
            most = np.zeros(len(self._runs))
            for (run, _), count in counts.items():
                most[run] = max(most[run], count)
            chance = self._repetition_chance(argument)
            for limit in range(1, min(int(most.max()), 5) + 1):
                violated = most > limit
                if not self._has_bad and (limit > 1 or violated.any()):
                    break
                if self._has_bad and not violated.any():
                    break
                rule = (
                    f"G({_tool(argument.tool)} -> let v = args.{argument.path}: "
                    f"length(sofar(call({_tool(argument.tool)}, {argument.path} = v))) <= {limit})"
                )
                yield RuleCandidate(
                    "per key",
                    (argument.tool,),
                    rule,
                    f"{argument.tool} is called at most {limit} "
                    f"{'time' if limit == 1 else 'times'} with the same {argument.path}.",
                    violated,
                    self._active(argument.tool),
                    chance,
                    0.0,
                    _about(argument),
                )

    def _repetition_chance(self, argument: ArgumentPath) -> float:
        """The logarithm of the probability that no value occurs twice in a good run by chance.

        By chance, a value is any of those that the run has for arguments of this name.
        """
        pools = self._pools.get(argument.path)
        if pools is None:
            pools = defaultdict(set)
            for other, given in self._sites.arguments.items():
                if other.path == argument.path:
                    for run, value, _ in given:
                        pools[run].add(value_key(value))
            self._pools[argument.path] = pools
        chance = 0.0
        for run in np.flatnonzero(self._runs.good & (self._calls[argument.tool] > 1)).tolist():
            calls = int(self._calls[argument.tool][run])
            chance += calls * (calls - 1) / 2 * log(1 - 1 / max(2, len(pools[run])))
        return chance

    def _totals(
        self, argument: ArgumentPath, given: Sequence[tuple[int, LeafValue, int]]
    ) -> Iterator[RuleCandidate]:
        """The argument adds up to so much in a run, or for each value of another argument."""
        numbers = [(run, float(value), n) for run, value, n in given if not isinstance(value, str)]
        if len(numbers) < len(given) or any(value < 0 for _, value, _ in numbers):
            return
        tool, path = _tool(argument.tool), argument.path
        whole = all(value == int(value) for _, value, _ in numbers)
        sums = np.full(len(self._runs), -np.inf)
        for run, value, _ in numbers:
            sums[run] = value + (sums[run] if np.isfinite(sums[run]) else 0.0)
        active = self._active(argument.tool)
        if fitted := bounds.upper_bound(
            sums, self._runs.good, self._labels.tolerated(active), whole=whole
        ):
            yield RuleCandidate(
                "total",
                (argument.tool,),
                f"G({tool} -> sum(sofar({tool}).args.{path}) <= {fitted.value:.12g})",
                f"{path} of {argument.tool} adds up to at most {fitted.value:.12g}.",
                fitted.violated,
                active,
                0.0,
                0.5 * log(fitted.levels),
                _about(argument),
            )
        keys: dict[str, dict[tuple[int, int], LeafValue]] = {}
        for other, found in self._sites.arguments.items():
            plain = other.tool == argument.tool and not other.listed and "." not in other.path
            if plain and other.path != path and len(found) == len(given):
                keys[other.path] = {(run, n): value_key(value) for run, value, n in found}
        for key, values in keys.items():
            by_key: dict[tuple[int, LeafValue], float] = defaultdict(float)
            for run, value, n in numbers:
                by_key[run, values.get((run, n), "")] += value
            most = np.full(len(self._runs), -np.inf)
            for (run, _), total in by_key.items():
                most[run] = max(most[run], total)
            fitted = bounds.upper_bound(
                most, self._runs.good, self._labels.tolerated(active), whole=whole
            )
            if fitted is not None:
                of_key = f"sofar(call({tool}, {key} = v))"
                yield RuleCandidate(
                    "total per key",
                    (argument.tool,),
                    f"G({tool} -> let v = args.{key}: "
                    f"sum({of_key}.args.{path}) <= {fitted.value:.12g})",
                    f"{path} of {argument.tool} adds up to at most {fitted.value:.12g} "
                    f"for each {key}.",
                    fitted.violated,
                    active,
                    0.0,
                    0.5 * log(fitted.levels),
                    (*_about(argument), key),
                )

    # ── counting ─────────────────────────────────────────────────────────────────────────

    def _array(self, counts: Mapping[int, int]) -> NDArray[np.int64]:
        found = np.zeros(len(self._runs), dtype=np.int64)
        if counts:
            found[list(counts)] = list(counts.values())
        return found

    def _number(self, of_runs: Iterable[int]) -> NDArray[np.int64]:
        return np.bincount(np.fromiter(of_runs, np.int64), minlength=len(self._runs))

    def _active(self, tool: str) -> RunMask:
        return self._calls[tool] > 0

    def _required(self, argument: ArgumentPath) -> NDArray[np.int64]:
        """The number of times the argument must fit the rule. A missing one counts against it."""
        if argument.listed:
            return self._number(run for run, _, _ in self._sites.arguments[argument])
        return self._calls[argument.tool]

    def _held_often(self, argument: ArgumentPath, held: Mapping[int, int]) -> bool:
        """May the rule hold in enough good runs? A quick test."""
        return len(held) >= 0.5 * max(1, int((self._active(argument.tool) & self._runs.good).sum()))

    def _allowed(
        self, shown: Sequence[tuple[int, LeafValue]], active: RunMask
    ) -> tuple[RunMask, list[LeafValue]] | None:
        """The runs with a value that is not allowed, and the values that are."""
        values = {value for _, value in shown}
        floats = any(isinstance(value, float) for value in values)
        if floats or len(values) > 4 * bounds.MAX_VALUES or 3 * len(values) > len(shown):
            return None
        masks = {value: np.zeros(len(self._runs), dtype=np.bool_) for value in values}
        for run, value in shown:
            masks[value][run] = True
        allowed = bounds.allowed_values(masks, self._runs.good, self._labels.tolerated(active))
        if allowed is None or (len(allowed) == len(values) and self._has_bad):
            return None
        violated = np.zeros(len(self._runs), dtype=np.bool_)
        for value in values - set(allowed):
            violated |= masks[value]
        return violated, sorted(allowed, key=str)

    def _bounds(
        self, shown: Sequence[tuple[int, LeafValue]], active: RunMask
    ) -> Iterator[tuple[str, bounds.FittedBound]]:
        """Bounds on a number, from above and from below."""
        numbers = [(run, value) for run, value in shown if isinstance(value, int | float)]
        if len(numbers) < len(shown) or any(isinstance(value, bool) for _, value in numbers):
            return
        if not self._has_bad:
            return
        whole = all(value == int(value) for _, value in numbers)
        largest = np.full(len(self._runs), -np.inf)
        smallest = np.full(len(self._runs), np.inf)
        for run, value in numbers:
            largest[run] = max(largest[run], value)
            smallest[run] = min(smallest[run], value)
        good, tolerated = self._runs.good, self._labels.tolerated(active)
        if fitted := bounds.upper_bound(largest, good, tolerated, whole=whole):
            yield "<=", fitted
        if fitted := bounds.lower_bound(smallest, good, tolerated, whole=whole):
            yield ">=", fitted


# ── the text of rules ─────────────────────────────────────────────────────────────────────


def _tool(name: str) -> str:
    return to_text(call(name))


def _about(argument: ArgumentPath) -> tuple[str, ...]:
    return (argument.path,)


def _named(argument: ArgumentPath) -> str:
    return f"{'forall v in' if argument.listed else 'let v ='} args.{argument.path}:"


def _within(source: EarlierValue) -> str:
    where = f"result.{source.path}" if source.path else "result"
    return f"keys({where})" if source.kind == "keys" else where


def _earlier(source: EarlierValue) -> str:
    match source.kind:
        case "argument":
            return f"earlier call({_tool(source.tool)}, {source.path} = v, ok)"
        case "said":
            return "earlier (says(user) & text contains v)"
        case _:
            test = f"v {'in' if source.listed else '='} {_within(source)}"
            return f"earlier (call({_tool(source.tool)}, ok) & {test})"


def _last(lookup: EarlierValue) -> str:
    return f"last(call({_tool(lookup.tool)}, {lookup.path} = v, ok)).result"


def _looked_up(found: LookedUp) -> tuple[str, str]:
    argument, lookup = found.argument, found.lookup
    begin = f"G({_tool(argument.tool)} -> let v = args.{argument.path}, o = {_last(lookup)}:"
    return begin, f"Before {argument.tool}, {lookup.tool} of the same {lookup.path} shows that"


def _is_one_of(term: str, values: Sequence[LeafValue]) -> str:
    written = [write_json(value) for value in values]
    return f"{term} = {written[0]}" if len(written) == 1 else f"{term} in [{', '.join(written)}]"


def _or(values: Sequence[LeafValue]) -> str:
    *others, last = [write_json(value) for value in values]
    return f"{', '.join(others)} or {last}" if others else last


def _limit(operator: str) -> str:
    return "at most" if operator == "<=" else "at least"
