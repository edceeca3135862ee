"""The tools that can still be called: those with a call that would break no rule now.

If a rule depends on arguments, some are generated from the values in the rules and in the refused
call. Each tool listed has a call that passes. A tool may be missing if no generated call does.
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
"""The number of calls that are generated for a tool."""


def open_tools(judge: Judge, refused: Call) -> list[str]:
    """The tools that can still be called after this refusal."""
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
        for arguments in _candidates(judge, sorted(about), refused)
    )


def _candidates(judge: Judge, rules: Sequence[int], refused: Call) -> Iterator[dict[str, Json]]:
    """Arguments to try: those of the refused call, and variants with values from the rules."""
    given = dict(refused.args)
    yield given
    formulas = [judge.procedure.constraints[i].formula for i in rules]
    maker, random = Maker(formulas, messages=False), Random(0)
    pool = [*OTHERS, *given.values()]
    for _ in range(_TRIES):
        yield {**given, **maker.arguments(random, pool)}
