"""Reading, grouping and averaging the results of the study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bylaw.bench.analysis.runs import grouped, mean, simulated
from bylaw.bench.results import RunRecord, read_results
from bylaw.errors import Diagnostic, TraceError
from bylaw.grounding.report import GroundingVerdict
from bylaw.groundstudy.judges import JUDGEMENT
from bylaw.groundstudy.prompts import PROMPTS
from bylaw.groundstudy.study import CATEGORIES, STUDY

CATEGORY_NOTE: Final = "C, I: the answer is correct, incorrect; G, U: it is grounded, ungrounded"
_FIELDS: Final[Mapping[str, Mapping[str, type | tuple[type, ...]]]] = {
    STUDY: {
        **dict.fromkeys(("key", "model", "prompt", "category", "ending"), str),
        **dict.fromkeys(("repository", "bucket", "symbol", "question"), str),
        **dict.fromkeys(("seed", "reads", "calls"), int),
        **dict.fromkeys(("correct", "located"), bool),
        **dict.fromkeys(("conditions", "grounding", "trace"), dict),
        "answer": (str, type(None)),
    },
    JUDGEMENT: {
        **dict.fromkeys(("key", "judge", "view", "model", "prompt"), str),
        "conditions": dict,
        "verdict": (bool, type(None)),
        "measured": bool,
    },
}
"""The fields that analyses and judges read, for each kind of result."""
_VALUES: Final[Mapping[str, Sequence[str]]] = {"prompt": PROMPTS, "category": CATEGORIES}


def read_study(*paths: str | Path, study: str = STUDY) -> Iterator[dict[str, Any]]:
    """The lines of some results files. A line that is not of this study is an error."""
    for path in paths:
        for run in read_results(path):
            if run.get("study") != study:
                message = f"the run '{run.get('key')}' is not from the grounding study"
                help = "Its results are written by `bylaw ground study`."
                raise TraceError(Diagnostic("E421", message, help, source=str(path)))
            wrong = _invalid_field(run, _FIELDS[study])
            if wrong is not None:
                message = f"the run '{run.get('key')}' has no valid '{wrong}'"
                raise TraceError(Diagnostic("E421", message, source=str(path)))
            yield run


def _invalid_field(run: RunRecord, fields: Mapping[str, type | tuple[type, ...]]) -> str | None:
    """The first field that is missing or has an invalid value."""
    for name, kind in fields.items():
        value = run.get(name, ...)  # None is a valid value of some fields
        if not isinstance(value, kind) or value not in _VALUES.get(name, (value,)):
            return name
    judged = run.get("grounding", {"verdict": "", "satisfied": True})
    return None if judged.keys() >= {"verdict", "satisfied"} else "grounding"


def by_model_and_prompt(runs: Iterable[RunRecord]) -> dict[tuple[str, str], list[RunRecord]]:
    """The runs of each model under each prompt, sorted by model."""
    found = grouped(runs, lambda run: (run["model"], run["prompt"]))
    order = sorted(found, key=lambda key: (key[0], PROMPTS.index(key[1])))
    return {key: found[key] for key in order}


def pooled(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """The runs that figures over all models are taken from: real models only, if there are any."""
    invented = simulated(runs)
    return [run for run in runs if run["model"] not in invented] or list(runs)


def share(runs: Iterable[RunRecord], *categories: str) -> float | None:
    """The share of runs in these categories."""
    return mean(float(run["category"] in categories) for run in runs)


def correct(runs: Iterable[RunRecord]) -> float | None:
    """The share of runs with the correct answer."""
    return share(runs, "CG", "CU")


def grounded(runs: Iterable[RunRecord]) -> float | None:
    """The share of runs that satisfy the predicate. As in the paper, refusals count."""
    return share(runs, "CG", "IG")


def vacuous(runs: Iterable[RunRecord]) -> float | None:
    """The share of vacuous runs among those that satisfy the predicate."""
    satisfied = (run for run in runs if run["category"] in ("CG", "IG"))
    return mean(float(is_vacuous(run)) for run in satisfied)


def is_vacuous(run: RunRecord) -> bool:
    """True if the answer makes no claim that can be checked."""
    found: bool = run["grounding"]["verdict"] == GroundingVerdict.VACUOUS
    return found


def reads(runs: Iterable[RunRecord]) -> float | None:
    """The mean number of file reads in a run."""
    return mean(run["reads"] for run in runs)
