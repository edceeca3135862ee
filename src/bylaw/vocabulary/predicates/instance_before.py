"""`InstanceBefore(a, n, b, m)`"""

from bylaw.logic.terms import Term, Tool
from bylaw.vocabulary.predicates.ordering import tell_order
from bylaw.vocabulary.signature import Kind, Parameter, Predicate
from bylaw.vocabulary.view import Kleene, View


def holds(view: View, first: Tool, n: Term, second: Tool, m: Term) -> Kleene:
    """Call n of `first` comes before call m of `second`, counted from 0; both happen."""
    earlier, later = _index(view, n), _index(view, m)
    if earlier is None or later is None:
        return False
    return view.nth(first, earlier) < view.nth(second, later)


def witness(view: View, first: Tool, n: Term, second: Tool, m: Term) -> list[int]:
    earlier, later = _index(view, n), _index(view, m)
    found: set[int] = set()
    for tool, index in ((first, earlier), (second, later)):
        if index is not None:
            found.update(view.positions(tool, index=index))
    return sorted(found)


def sentence(view: View, held: bool, first: Tool, n: Term, second: Tool, m: Term) -> str:
    earlier, later = _index(view, n), _index(view, m)
    if earlier is None or later is None:
        return f"{view.shown(n)} and {view.shown(m)} must be whole numbers, 0 or more."
    return tell_order(view, (first, earlier), (second, later))


def _index(view: View, term: Term) -> int | None:
    number = view.number(term)
    return number if number is not None and number >= 0 else None


INSTANCE_BEFORE = Predicate(
    "InstanceBefore",
    "InstanceBefore(read, 0, write, 1)",
    (
        Parameter("first", Kind.TOOL),
        Parameter("n", Kind.NUMBER),
        Parameter("second", Kind.TOOL),
        Parameter("m", Kind.NUMBER),
    ),
    holds,
    witness,
    sentence,
)
