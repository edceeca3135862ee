"""`bylaw bench run` finds a model that cannot be used before it makes any run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bylaw.cli.main import main

BAD = {
    "sim:carefull": "there is no simulated agent 'carefull'",
    "sm:gold": "unknown model 'sm:gold'",
    "gold": "unknown model 'gold'",
    "openai:": "unknown model 'openai:'",
    "hf:no/such/folder": "'hf:no/such/folder' cannot be used",
    "gguf:no/such/file.gguf": "'gguf:no/such/file.gguf' cannot be used",
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_name_is_found_before_any_run(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results.jsonl"
    command = ["bench", "run", "sim:gold", name, "--trials", "1", "-o", str(results)]
    assert main(command) == 2
    assert BAD[name] in capsys.readouterr().err
    assert not results.exists()
