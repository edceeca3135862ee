"""Names for proposed rules: short, of the words of the rule, and different from each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from bylaw.mining.candidate import RuleCandidate

_FORMS: Final = {
    "called": "{a}-called",
    "never": "no-{a}",
    "count": "{a}-count",
    "precedence": "{b}-before-{a}",
    "response": "{b}-after-{a}",
    "not after": "no-{a}-after-{b}",
    "together": "{a}-needs-{b}",
    "apart": "{a}-or-{b}",
    "alternate precedence": "{b}-before-each-{a}",
    "alternate response": "{b}-after-each-{a}",
    "chain precedence": "{b}-right-before-{a}",
    "chain response": "{b}-right-after-{a}",
    "any before": "{others}-before-{a}",
    "any after": "{others}-after-{a}",
    "group count": "{a}-and-{b}-count",
    "value": "{a}-{x}-values",
    "bound": "{a}-{x}-bound",
    "combination": "{a}-{x}-and-{z}",
    "lookup": "{a}-looks-up-{x}",
    "source": "{a}-{x}-from-{b}",
    "said": "{a}-{x}-from-the-user",
    "follow-up": "{b}-after-{a}-of-same-{x}",
    "done before": "no-{a}-after-{b}-of-same-{x}",
    "confirmed": "{a}-confirmed",
    "state": "{a}-only-if-{y}",
    "state bound": "{a}-only-if-{y}",
    "agreement": "{a}-{x}-fits-{y}",
    "per key": "{a}-once-per-{x}",
    "total": "{a}-{x}-total",
    "total per key": "{a}-{x}-total-per-{y}",
    "rate": "{a}-rate",
    "window total": "{a}-{x}-rate",
    "recent": "{b}-soon-before-{a}",
    "deadline": "{b}-soon-after-{a}",
}


def rule_names(candidates: Iterable[RuleCandidate]) -> list[str]:
    """A name for each of the candidates."""
    taken: Counter[str] = Counter()
    names = []
    for each in candidates:
        words = {
            "a": each.tools[0],
            "b": each.tools[-1],
            "others": "-or-".join(each.tools[1:]),
            "x": each.about[0] if each.about else "",
            "y": each.about[-1] if each.about else "",
            "z": each.about[-2] if len(each.about) > 2 else "",
        }
        name = _slug(_FORMS[each.kind].format(**words))
        taken[name] += 1
        names.append(name if taken[name] == 1 else f"{name}-{taken[name]}")
    return names


def _slug(text: str) -> str:
    return re.sub(r"[^\w-]+", "-", text).strip("-") or "rule"
