"""A run in another process, so that nothing but what is stored can be used afterwards."""

from __future__ import annotations

import multiprocessing
from typing import Any

from desk import Seen
from driver import TASK, Driver, Setup

from bylaw.procedure.procedure import Procedure


def run_elsewhere(drive: Driver, setup: Setup) -> Seen:
    """The run of an agent that another process makes, and ends with."""
    given = (
        (type(drive), drive.asynchronous),
        (setup.procedure.to_dict(), dict(setup.scripts), setup.options, setup.storage),
    )
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        answer, final = pool.apply(_run, given)
    return Seen([], answer=answer, final=final)


def _run(driver: tuple[type[Any], bool], about: tuple[Any, ...]) -> tuple[Any, str]:
    kind, asynchronous = driver
    procedure, scripts, options, storage = about
    setup = Setup(Procedure.from_dict(procedure), scripts, options, storage=storage)
    drive = kind(asynchronous=asynchronous)
    seen = drive.start(drive.agent(setup), TASK)
    return seen.answer, seen.final
