"""No command destroys what it was not asked to touch."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bylaw.cli.main import main

RULES = "bylaw: 1\nname: desk\nconstraints:\n  - {name: verified, rule: G(refund -> O verify)}\n"
RUN = {"tool_calls": [{"step": 0, "tool_name": "refund", "arguments": {}}]}
PRECIOUS = "precious\n"

FILES = {
    "view": "view run.json -p rules.yaml -o {}",
    "init": "init run.json -o {}",
    "verify --out": "verify -p rules.yaml run.json --out {}.jsonl",
    "verify --out, compressed": "verify -p rules.yaml run.json --out {}.jsonl.gz",
    "verify --out, Parquet": "verify -p rules.yaml run.json --out {}.parquet",
    "verify --report": "verify -p rules.yaml run.json --report {}",
    "bench report": "bench report results.jsonl -o {}",
    "train curves": "train curves trained -o {}",
    "train curves --csv": "train curves trained --csv {}",
}
FOLDERS = {
    "bench instance": "bench instance loop_termination -o {}",
    "bench report --csv": "bench report results.jsonl --csv {}",
    "bench report --figures": "bench report results.jsonl --figures {}",
    "train data build": "train data build -o {}",
}
FORGETFUL = ("init", "train curves --csv")
"""Commands whose files carry no mark: they are never replaced without --force."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "results.jsonl"
    one = "--template loop_termination --difficulty 1 --seed 42 --setting baseline --trials 1"
    assert main(["bench", "run", "sim:careless", *one.split(), "-o", str(path)]) == 0
    return path


@pytest.fixture
def desk(tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.yaml").write_text(RULES)
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    (tmp_path / "results.jsonl").write_bytes(results.read_bytes())
    (tmp_path / "trained").mkdir()
    terms = {"reward": 0.5, "compliance": 0.5, "answer": 0.5, "closeness": 0.5}
    row = {"phase": "train", "step": 1, "after": 0, "rollouts": 8, "seconds": 1.0, **terms}
    (tmp_path / "trained" / "metrics.jsonl").write_text(json.dumps(row) + "\n")
    return tmp_path


def _run(command: str, path: str | Path, *more: str) -> int:
    return main([*command.format(path).split(), *more])


def _written(command: str, stem: str) -> Path:
    return Path(command.split()[-1].format(stem))


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_somebody_else_is_kept(
    desk: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _written(FILES[name], "out")
    path.write_text(PRECIOUS)
    assert _run(FILES[name], "out") == 2
    assert path.read_text() == PRECIOUS
    assert "--force" in capsys.readouterr().err
    assert _run(FILES[name], "out", "--force") in (0, 1)
    assert path.read_bytes() != PRECIOUS.encode()


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_the_command_wrote_is_replaced(desk: Path, name: str) -> None:
    for again in (False, True):
        code = _run(FILES[name], "out")
        assert code == (2 if again and name in FORGETFUL else code)
        assert code in ((2,) if again and name in FORGETFUL else (0, 1))


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_of_somebody_else_is_kept(desk: Path, name: str) -> None:
    (desk / "out").mkdir()
    (desk / "out" / "precious").write_text(PRECIOUS)
    assert _run(FOLDERS[name], "out") == 2
    assert [each.name for each in (desk / "out").iterdir()] == ["precious"]
    assert _run(FOLDERS[name], "out", "--force") == 0
    assert (desk / "out" / "precious").read_text() == PRECIOUS


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_the_command_wrote_is_used_again(desk: Path, name: str) -> None:
    (desk / "out").mkdir()
    assert _run(FOLDERS[name], "out") == 0
    assert _run(FOLDERS[name], "out") == 0


def _itself(desk: Path, target: Path) -> Path:
    return target


def _link(desk: Path, target: Path) -> Path:
    (desk / "link").symlink_to(target)
    return desk / "link"


def _hard_link(desk: Path, target: Path) -> Path:
    os.link(target, desk / "hard")
    return desk / "hard"


def _roundabout(desk: Path, target: Path) -> Path:
    return desk / "trained" / ".." / target.name


@pytest.mark.parametrize("way", [_itself, _link, _hard_link, _roundabout])
@pytest.mark.parametrize("source", ["run.json", "rules.yaml"])
def test_an_input_is_not_overwritten(
    desk: Path, way: Callable[[Path, Path], Path], source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (desk / source).read_bytes()
    assert _run(FILES["view"], way(desk, desk / source)) == 2
    assert (desk / source).read_bytes() == before
    assert "one of the files to read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "path", "told"),
    [
        ("view run.json -p rules.yaml -o {}", "trained", "is a folder"),
        ("bench instance loop_termination -o {}", "run.json", "is a file"),
        ("view run.json -p rules.yaml -o {}", "missing/page.html", "cannot write"),
        ("view run.json -p rules.yaml -o {}", "page\0.html", "cannot write"),
        ("view run.json -p rules.yaml -o {}", "/dev/null", "did not write it"),
    ],
)
def test_what_cannot_be_written_is_a_sentence(
    desk: Path, command: str, path: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(command, path) == 2
    assert told in capsys.readouterr().err


def test_a_replaced_link_stays_a_link(desk: Path) -> None:
    (desk / "link").symlink_to(desk / "page.html")
    assert _run(FILES["view"], "link") == 0
    assert _run(FILES["view"], "link") == 0
    assert (desk / "link").is_symlink()
    assert (desk / "page.html").is_file()


def test_an_interrupted_command_leaves_the_old_file(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _run(FILES["view"], "page.html") == 0
    before = (desk / "page.html").read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert _run(FILES["view"], "page.html") == 2
    assert (desk / "page.html").read_bytes() == before
    assert not [each for each in desk.iterdir() if each.name.endswith(".draft")]
