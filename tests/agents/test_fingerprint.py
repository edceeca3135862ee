"""Weights are told apart by what they are, not by what they are called."""

from __future__ import annotations

import os
from pathlib import Path

from bylaw.agents.local import fingerprint


def _folder(path: Path, weights: bytes) -> Path:
    path.mkdir(parents=True)
    (path / "config.json").write_text(str(path))
    (path / "model.safetensors").write_bytes(weights)
    return path


def test_the_same_weights_are_the_same_wherever_they_lie(tmp_path: Path) -> None:
    weights = os.urandom(3_000_000)
    assert fingerprint(_folder(tmp_path / "a" / "m", weights)) == fingerprint(
        _folder(tmp_path / "b", weights)
    )


def test_other_weights_are_others_under_the_same_name(tmp_path: Path) -> None:
    weights = os.urandom(3_000_000)
    moved = bytes(byte ^ 1 for byte in weights)
    found = {
        fingerprint(_folder(tmp_path / str(number) / "m", each))
        for number, each in enumerate((weights, moved, weights[:-1], b""))
    }
    assert len(found) == 4


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    one, other = tmp_path / "one.gguf", tmp_path / "other.gguf"
    one.write_bytes(b"GGUF 1")
    other.write_bytes(b"GGUF 2")
    assert fingerprint(one) != fingerprint(other)
