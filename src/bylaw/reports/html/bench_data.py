"""The runs of a benchmark report as data: a row for each run, and the viewer's data.

The page reads the rows when it loads. The viewer's data is compressed per task and decompressed
when one of the task's runs is opened. Rules are stored once per task and verdicts once per trace,
so thousands of runs fit in a few megabytes.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from bylaw.bench.analysis.runs import grouped, settings_of, simulated
from bylaw.bench.instance import TaskInstance, instance
from bylaw.bench.results import RunRecord
from bylaw.enforcement.severity import Setting, severity_of
from bylaw.reports.html.viewer import readable_arguments, trace_data
from bylaw.scoring.verify import verify_trace
from bylaw.values import Json, canonical

ROW_FIELDS: Final = (
    "model",
    "setting",
    "template",
    "difficulty",
    "seed",
    "trial",
    "score",
    "label",
    "correct",
    "ending",
    "calls",
    "gold_calls",
)
"""The fields of a run record that its row has."""
RULE_FIELDS: Final = ("name", "layer", "weight", "rule", "why", "fix")
"""The fields of a rule that are the same in every run."""
VERDICT_FIELDS: Final = ("verdict", "detail", "calls")
"""The fields that differ."""


def run_rows(runs: Sequence[RunRecord]) -> dict[str, Json]:
    """The rows, field by field, and the names of simulated models."""
    fields: dict[str, Json] = {field: [run[field] for run in runs] for field in ROW_FIELDS}
    counts = {field: [len(run[field]) for run in runs] for field in ("refused", "violated")}
    easy = {"guessable": [instance(*_task(run)).guessable for run in runs]}
    return {"fields": fields | counts | easy | _spots(runs), "simulated": sorted(simulated(runs))}


def _spots(runs: Sequence[RunRecord]) -> dict[str, Json]:
    """The block of each run, and its index in the block."""
    numbers = {task: number for number, task in enumerate(grouped(runs, _task))}
    filled = Counter[int]()
    found: dict[str, Json] = {"block": [], "place": []}
    for run in runs:
        block = numbers[_task(run)]
        found["block"].append(block)
        found["place"].append(filled[block])
        filled[block] += 1
    return found


def blocks(runs: Sequence[RunRecord], step: Callable[[], None] = lambda: None) -> list[str]:
    """The viewer's data as a compressed block per task; `step` is called after every run."""
    return [_packed(_block(group, step)) for group in grouped(runs, _task).values()]


def _task(run: RunRecord) -> tuple[str, int, int]:
    return run["template"], run["difficulty"], run["seed"]


def _packed(block: Json) -> str:
    text = json.dumps(block, ensure_ascii=False, separators=(",", ":"))
    packed = gzip.compress(text.encode("utf-8", errors="replace"), mtime=0)
    return b64encode(packed).decode()


def _block(runs: Sequence[RunRecord], step: Callable[[], None]) -> dict[str, Json]:
    task = instance(*_task(runs[0]))
    traces: dict[str, int] = {}
    judged: list[dict[str, Json]] = []
    shown: list[Json] = []
    for run in runs:
        trace = canonical(run["trace"])
        if trace not in traces:
            traces[trace] = len(judged)
            report = verify_trace(run["trace"], task.procedure)
            judged.append(trace_data(report, {}, detailed=False))
        shown.append(_shown(run, traces[trace], judged[traces[trace]]))
        step()
    return {
        "prompt": task.prompt,
        "expected": task.answer,
        "rules": [[rule[field] for field in RULE_FIELDS] for rule in judged[0]["rules"]],
        "severities": {setting: _severities(task, setting) for setting in settings_of(runs)},
        "judged": [_varying(each) for each in judged],
        "runs": shown,
    }


def _severities(task: TaskInstance, setting: Setting) -> list[str]:
    """The severity of each rule under a setting."""
    return [severity_of(constraint, setting) for constraint in task.procedure.constraints]


def _varying(data: dict[str, Json]) -> dict[str, Json]:
    """The viewer's data of a trace, without the fields stored with the task."""
    rules = [[rule[field] for field in VERDICT_FIELDS] for rule in data["rules"]]
    return {key: value for key, value in data.items() if key != "rules"} | {"verdicts": rules}


def _shown(run: RunRecord, judged: int, data: Mapping[str, Json]) -> dict[str, Json]:
    """The part of a run that is not in its trace: refused calls and excused rules."""
    resolutions = {_call(event): event["resolution"] for event in run["events"]}
    refused = [
        {
            "turn": each["turn"],
            "tool": each["tool"],
            "args": readable_arguments(each["arguments"]),
            "action": each["reason"],
            "message": each["message"],
            "rules": each["constraints"],
            "resolution": resolutions.get(_call(each)),
        }
        for each in run["refused"]
    ]
    found = {"judged": judged, "answer": run["answer"], "refused": refused}
    if run["excused"]:
        found["excused"] = run["excused"]
    if {rule["name"] for rule in data["rules"] if rule["verdict"] == "violated"} != {
        *run["violated"]
    }:
        found["reason"] = "The rules of this task have changed since the run was scored."
    return found


def _call(refused: Mapping[str, Json]) -> str:
    return canonical([refused["turn"], refused["tool"], refused["arguments"]])
