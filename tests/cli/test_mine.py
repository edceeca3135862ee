"""`bylaw mine`: files and labels in, a procedure, a page and JSON out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bylaw import Procedure
from bylaw.cli.main import main

pytest.importorskip("numpy")

EXAMPLES = Path(__file__).parents[2] / "examples" / "mining"
GOOD, BAD = str(EXAMPLES / "good.jsonl"), str(EXAMPLES / "bad.jsonl")


def test_the_mistakes_of_the_bad_agents_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written, page = tmp_path / "p.yaml", tmp_path / "p.html"
    assert main(["mine", GOOD, "--bad", BAD, "-o", str(written), "--page", str(page)]) == 0
    assert "60 of 60 bad runs break a rule" in capsys.readouterr().out
    names = [rule.name for rule in Procedure.load(written).constraints]
    assert sorted(names) == [
        "cancel_order-confirmed",
        "cancel_order-only-if-status",
        "get_order-order-from-list_orders",
        "refund-amount-fits-paid",
    ]
    assert "Save decisions" in page.read_text(encoding="utf-8")
    assert main(["mine", GOOD, "--bad", BAD, "-o", str(written)]) == 0, "it wrote the file itself"


def test_a_label_says_which_runs_are_good(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs.jsonl"
    lines = []
    for path, reward in ((GOOD, 1.0), (BAD, 0)):
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            lines.append(json.dumps({**json.loads(line), "labels": {"reward": reward}}))
    runs.write_text("\n".join(lines), encoding="utf-8")
    assert main(["mine", str(runs), "--label", "reward", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["good"], found["bad"], found["explained"]) == (80, 60, 60)
    assert len(found["rules"]) == 4
    assert all(rule["evidence"]["held_out"] == 3 for rule in found["rules"])
    assert main(["mine", str(runs), "--label", "success"]) == 2
    assert "has no label 'success'" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--bad", BAD, "--label", "x"], "both say which runs are bad"),
        (["--tolerance", "0.7"], "not from 0 to below 0.5"),
        (["--decisions", GOOD], "cannot be read"),
        (["--decisions", str(EXAMPLES)], "cannot be read"),
    ],
)
def test_mistakes_are_sentences(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mine", GOOD, *arguments]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_runs_without_calls_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.json"
    empty.write_text('{"tool_calls": []}', encoding="utf-8")
    assert main(["mine", str(empty)]) == 2
    assert "E302" in capsys.readouterr().err


def test_a_person_decides(tmp_path: Path) -> None:
    decisions, written = tmp_path / "decisions.json", tmp_path / "p.yaml"
    dropped = "F get_order"
    decisions.write_text(json.dumps({"rules": {dropped: "drop"}}), encoding="utf-8")
    assert main(["mine", GOOD, "--decisions", str(decisions), "-o", str(written)]) == 0
    assert dropped not in [rule.rule for rule in Procedure.load(written).constraints]


EDITS = {
    "CalledN(get_order, <= 1)": "CalledN(get_order, <= 2)",
    'G(search_help -> args.query in ["returns"])': (
        'G(search_help -> args.query in ["returns", "hours"])'
    ),
}


@pytest.mark.parametrize("rule", EDITS)
def test_a_rule_that_is_too_strict_is_loosened(
    rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    procedure = tmp_path / "p.json"
    constraints = [{"name": "r", "rule": rule}, {"name": "kept", "rule": "F get_order"}]
    procedure.write_text(json.dumps({"constraints": constraints}), encoding="utf-8")
    assert main(["mine", GOOD, "-p", str(procedure), "--json"]) == 0
    (edit,) = json.loads(capsys.readouterr().out)["edits"]
    assert (edit["name"], edit["new"]) == ("r", EDITS[rule])
    assert edit["good_broken"] == 0
