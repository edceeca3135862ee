"""No command destroys what it was not asked to touch."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from forked_commands import run_command

from bylaw.cli.main import COMMANDS, main, module_of

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
    "verify --certificate": "verify -p rules.yaml run.json --certificate {}",
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
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "loop").symlink_to("loop")
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
    assert "one of the files to read" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("command", "path", "told"),
    [
        ("view run.json -p rules.yaml -o {}", "trained", "is a folder"),
        ("bench instance loop_termination -o {}", "run.json", "is a file"),
        ("view run.json -p rules.yaml -o {}", "missing/page.html", "cannot write"),
        ("view run.json -p rules.yaml -o {}", "page\0.html", "cannot write"),
        ("view run.json -p rules.yaml -o {}", "/dev/null", "is not a regular file"),
        ("view run.json -p rules.yaml --force -o {}", "/dev/null", "is not a regular file"),
        ("view run.json -p rules.yaml --force -o {}", "pipe", "is not a regular file"),
        ("verify -p rules.yaml run.json --out {}", "pipe.jsonl", "is not a regular file"),
        ("view run.json -p rules.yaml --force -o {}", "loop", "cannot write"),
        ("view run.json -p rules.yaml -o {}", "run.json/page.html", "cannot write"),
        ("view run.json -p rules.yaml -o {}", "x" * 300, "cannot write"),
        ("bench instance loop_termination -o {}", "run.json/folder", "cannot write"),
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


# ── files that look like ours ─────────────────────────────────────────────────────────────

LOOKALIKES = {
    "an SVG of somebody else": ("train curves trained -o {}", "<svg></svg>"),
    "a procedure in JSON": ("ground questions build -o {}", '{\n "bylaw": 1,\n "name": "x"\n}'),
    "what `replay --json` printed": (
        "verify -p rules.yaml run.json --out {}.jsonl",
        '{"trace": "run.json", "replays": []}\n',
    ),
    "a procedure in one line": ("bench run sim:gold -o {}", '{"bylaw": 1, "name": "x"}'),
    "one line of something": ("bench run sim:gold -o {}", "precious"),
    "an empty object": ("bench run sim:gold -o {}", "{}\n"),
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_a_file_that_looks_like_ours_is_kept(desk: Path, name: str) -> None:
    command, content = LOOKALIKES[name]
    path = _written(command, "out")
    path.write_text(content)
    assert _run(command, "out") == 2
    assert path.read_text() == content


@pytest.mark.parametrize("name", ["bench instance", "bench report --csv"])
def test_a_file_that_was_edited_is_kept(desk: Path, name: str) -> None:
    assert _run(FOLDERS[name], "out") == 0
    edited = next(each for each in sorted((desk / "out").iterdir()) if each.name != ".bylaw")
    for change in (_edited, _linked):
        change(edited)
        before = _contents(desk / "out")
        assert _run(FOLDERS[name], "out") == 2
        assert _contents(desk / "out") == before
    assert _run(FOLDERS[name], "out", "--force") == 0
    assert _run(FOLDERS[name], "out") == 0


def _edited(path: Path) -> None:
    path.write_text(PRECIOUS)


def _linked(path: Path) -> None:
    path.unlink()
    (path.parent.parent / "elsewhere").write_text(PRECIOUS)
    path.symlink_to(path.parent.parent / "elsewhere")


def _contents(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def test_the_folder_of_an_unfinished_run_is_kept_if_it_is_not_one(desk: Path) -> None:
    """Otherwise it would be emptied, and removed at the end."""
    command = FILES["verify --out"]
    parts = desk / "out.jsonl.parts"
    parts.mkdir()
    (parts / "precious").write_text(PRECIOUS)
    assert _run(command, "out") == 2
    assert _run(command, "out", "--restart", "--force") == 2
    assert (parts / "precious").read_text() == PRECIOUS
    (parts / "precious").rename(desk / "precious")
    (parts / "lock").symlink_to(desk / "precious")
    assert _run(command, "out") == 2
    assert (desk / "precious").read_text() == PRECIOUS
    (parts / "lock").unlink()
    assert _run(command, "out") == 1


def test_the_checkpoints_of_a_run_are_kept(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Even if --resume is forgotten."""
    checkpoint = desk / "trained" / "checkpoints" / "checkpoint-5"
    checkpoint.mkdir(parents=True)
    (checkpoint / "weights").write_text(PRECIOUS)
    assert main(["train", "grpo", "base", "-o", "trained"]) == 2
    assert "--resume" in capsys.readouterr().err
    assert (checkpoint / "weights").read_text() == PRECIOUS


# ── in the meantime ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["view", "init", "verify --report", "bench report"])
def test_what_appears_while_the_command_works_is_kept(
    desk: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check at the start finds nothing; then somebody puts a link there."""
    (desk / "elsewhere").write_text(PRECIOUS)
    command = FILES[name]
    module = import_module(module_of(_command_of(command)))
    run = module.run

    def put_a_link_there(options: argparse.Namespace) -> int:
        (desk / "out").symlink_to(desk / "elsewhere")
        return int(run(options))

    monkeypatch.setattr(module, "run", put_a_link_there)
    assert _run(command, "out") == 2
    assert (desk / "elsewhere").read_text() == PRECIOUS


def _command_of(command: str) -> str:
    words = command.split()
    return next(name for n in (3, 2, 1) if (name := " ".join(words[:n])) in COMMANDS)


def test_scores_do_not_replace_what_appears_meanwhile(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bylaw.batch.output.results_file import ResultsFile

    finish = ResultsFile.finish

    def late(self: ResultsFile, *given: Any) -> None:
        Path("out.jsonl").write_text(PRECIOUS)
        finish(self, *given)

    with monkeypatch.context() as patched:
        patched.setattr(ResultsFile, "finish", late)
        assert _run(FILES["verify --out"], "out") == 2
    assert Path("out.jsonl").read_text() == PRECIOUS
    Path("out.jsonl").unlink()
    assert _run(FILES["verify --out"], "out") == 1  # what was scored is kept


# ── whole or not at all ───────────────────────────────────────────────────────────────────

WRITERS = FILES | FOLDERS


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("size", [0, 400])
def test_a_full_disk_leaves_no_half_file(desk: Path, name: str, size: int) -> None:
    arguments = WRITERS[name].format("out").split()
    before = {path: path.stat().st_size for path in desk.rglob("*") if path.is_file()}
    done = run_command(arguments, folder=desk, largest_file=size)
    assert done.returncode in (0, 1, 2), done.stdout
    assert "Traceback" not in done.stdout
    assert all(path.stat().st_size == length for path, length in before.items())
    left = {path for path in desk.rglob("*") if path.is_file()} - set(before)
    left = {path for path in left if path.name != ".bylaw" and ".parts/" not in str(path)}
    assert not [each for each in left if each.name.endswith(".draft")]
    if done.returncode == 2:
        assert not left
        assert "cannot write" in done.stdout


@pytest.mark.parametrize("name", ["view", "verify --report", "bench report"])
def test_an_interrupted_command_leaves_the_old_file(
    desk: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _run(FILES[name], "page.html") in (0, 1)
    before = (desk / "page.html").read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert _run(FILES[name], "page.html") == 2
    assert (desk / "page.html").read_bytes() == before
    assert not [each for each in desk.iterdir() if each.name.endswith(".draft")]
