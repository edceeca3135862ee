"""Which tools can still be called: those of which some call would break nothing now.

A tool whose arguments a rule asks for is tried with arguments made up from what the rules speak of,
and from what the refused call says. A tool that is named has such a call; one that has none among
those that were tried is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

from bylaw.enforcement.judge import Judge
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.examples.invented_events import OTHERS, Maker
from bylaw.trace.event import Call
from bylaw.values import Json

_TRIES: Final = 60
"""How many calls are made up for a tool."""


def still_open(judge: Judge, refused: Call) -> list[str]:
    """The tools that can still be called, now that a call was refused."""
    known = judge.procedure.tools
    names = known if known is not None else sorted(frozenset().union(*judge.named))
    return [name for name in names if name != FINAL_ANSWER and _is_open(judge, name, refused)]


def _is_open(judge: Judge, tool: str, refused: Call) -> bool:
    against = judge.against(Call(tool, step=refused.step))
    if not against:
        return True
    about = {*against, *(i for i, named in enumerate(judge.named) if tool in named)}
    return any(
        not judge.against(Call(tool, arguments, step=refused.step))
        for arguments in _made_up(judge, sorted(about), refused)
    )


def _made_up(judge: Judge, rules: Sequence[int], refused: Call) -> Iterator[dict[str, Json]]:
    """Arguments that may do: those of the refused call, and others that the rules speak of."""
    given = dict(refused.args)
    yield given
    formulas = [judge.procedure.constraints[i].formula for i in rules]
    maker, random = Maker(formulas, messages=False), Random(0)
    pool = [*OTHERS, *given.values()]
    for _ in range(_TRIES):
        yield {**given, **maker.arguments(random, pool)}
