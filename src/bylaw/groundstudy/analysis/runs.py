"""Reading, grouping and averaging the results of the study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bylaw.bench.analysis.runs import grouped, mean, simulated
from bylaw.bench.result_fields import FieldCheck, conditions, maybe, one_of, require_fields
from bylaw.bench.results import RunRecord, read_results
from bylaw.errors import Diagnostic, TraceError
from bylaw.grounding.report import GroundingVerdict
from bylaw.groundstudy.judges import JUDGEMENT
from bylaw.groundstudy.prompts import PROMPTS
from bylaw.groundstudy.study import CATEGORIES, STUDY
from bylaw.saved import flag, table, text, whole

BOTH: Final = "both"
"""The name of rows over all prompts."""
CATEGORY_NOTE: Final = "C, I: the answer is correct, incorrect; G, U: it is grounded, ungrounded"


def _grounding(value: Any) -> None:
    stated = table(value)
    text(stated.get("verdict")), flag(stated.get("satisfied"))


_FIELDS: Final[Mapping[str, Mapping[str, FieldCheck]]] = {
    STUDY: {
        **dict.fromkeys(("key", "model", "ending"), text),
        **dict.fromkeys(("repository", "bucket", "symbol", "question"), text),
        "prompt": one_of(*PROMPTS),
        "category": one_of(*CATEGORIES),
        **dict.fromkeys(("seed", "reads", "calls"), whole),
        **dict.fromkeys(("correct", "located", "defined"), flag),
        "conditions": conditions,
        "grounding": _grounding,
        "trace": table,
        "answer": maybe(text),
    },
    JUDGEMENT: {
        **dict.fromkeys(("key", "judge", "view", "model"), text),
        "prompt": one_of(*PROMPTS),
        "conditions": conditions,
        "verdict": maybe(flag),
        "measured": flag,
    },
}
"""The fields that analyses and judges read, for each kind of result."""


def read_study(*paths: str | Path, study: str = STUDY) -> Iterator[dict[str, Any]]:
    """The lines of some results files. A line that is not of this study is an error."""
    for path in paths:
        for run in read_results(path):
            if run.get("study") != study:
                message = f"the run '{run['key']}' is not from the grounding study"
                help = "Its results are written by `bylaw ground study`."
                raise TraceError(Diagnostic("E421", message, help, source=str(path)))
            require_fields(run, _FIELDS[study], path)
            yield run


def by_model_and_prompt(runs: Iterable[RunRecord]) -> dict[tuple[str, str], list[RunRecord]]:
    """The runs of each model under each prompt, sorted by model."""
    found = grouped(runs, lambda run: (run["model"], run["prompt"]))
    order = sorted(found, key=lambda key: (key[0], PROMPTS.index(key[1])))
    return {key: found[key] for key in order}


def with_both_prompts(
    groups: Mapping[tuple[str, str], list[RunRecord]],
) -> dict[tuple[str, str], list[RunRecord]]:
    """The same groups; after a model's last prompt comes a group of its runs under all of them."""
    made: dict[tuple[str, str], list[RunRecord]] = {}
    for model in dict.fromkeys(model for model, _ in groups):
        own = {key: group for key, group in groups.items() if key[0] == model}
        made |= own
        if len(own) > 1:
            made[model, BOTH] = [run for group in own.values() for run in group]
    return made


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
