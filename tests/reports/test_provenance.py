"""The origin of reports: complete, reproducible, and without secrets."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from bylaw.cli.main import main
from bylaw.reports.command_line import shown_command
from bylaw.reports.provenance import provenance

SECRET = "s3cr3t-value-of-the-test"


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ("verify -p p.yaml runs", "verify -p p.yaml runs"),
        (f"run --api-key {SECRET} x", "run --api-key [secret] x"),
        (f"run --api-key={SECRET} x", "run --api-key=[secret] x"),
        (f"run --auth-token {SECRET}", "run --auth-token [secret]"),
        (f"run OPENAI_API_KEY={SECRET}", "run OPENAI_API_KEY=[secret]"),
        ("run --password --verbose", "run --password --verbose"),
        ("run https://ann:pw@host/x", "run https://[secret]@host/x"),
        ("run sk-abcdefghijkl ghp_0123456789abcdef", "run [secret] [secret]"),
        ("verify monkey.json --keyboard x", "verify monkey.json --keyboard x"),
        (f"run --url http://h/?q={SECRET}", "run --url http://h/?q=[key]"),
    ],
)
def test_no_secret_is_shown(arguments: str, shown: str) -> None:
    environment = {"MY_TOKEN": SECRET, "HOME": "verify", "SHORT_KEY": "run"}
    assert " ".join(shown_command(arguments.split(), environment)) == shown


def test_files_are_named_by_their_hashes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    found = provenance(["bylaw"], inputs=[str(tmp_path / "a"), str(tmp_path / "missing"), "-"])
    written = found.to_dict()["inputs"]
    assert written["files"][0]["sha256"] == hashlib.sha256(b"one").hexdigest()
    assert [each["sha256"] is None for each in written["files"]] == [False, True, True]
    assert written["sha256"] is None, "not all inputs have a digest"


def test_every_page_names_its_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rules = [{"name": "r", "rule": "G(refund -> O verify)"}]
    Path("p.json").write_text(json.dumps({"constraints": rules}))
    Path("run.json").write_text(json.dumps({"tool_calls": []}))
    commands = {
        "view.html": ["view", "-p", "p.json", "run.json", "-o", "view.html"],
        "corpus.html": ["verify", "-p", "p.json", "run.json", "--report", "corpus.html"],
        "bench.html": ["bench", "report", "results.jsonl", "-o", "bench.html"],
    }
    bench = "bench run sim:careless --template loop_termination --trials 1 -o results.jsonl"
    assert main(bench.split()) == 0
    for name, command in commands.items():
        assert main(command) == 0
        text = Path(name).read_text()
        found = re.search(r'id="provenance">(.*?)</script>', text)
        assert found is not None
        origin = json.loads(found[1])
        assert origin["command"] == ["bylaw", *command]
        assert origin["inputs"]["files"][0]["sha256"]
        assert (origin["procedure"]["hash"] is None) is (name == "bench.html")
        assert 'class="origin">bylaw version' in text
