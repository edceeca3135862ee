"""The repositories of the paper, each pinned to one version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

PopularityBucket: TypeAlias = Literal["low", "mid", "hi"]
BUCKETS: Final[tuple[PopularityBucket, ...]] = ("low", "mid", "hi")
OWN: Final = "own"
"""The bucket of a repository that is not in the paper; also the version of a checkout."""


@dataclass(frozen=True, slots=True)
class PinnedRepository:
    """A repository at a version, with its popularity when the paper selected it."""

    name: str
    version: str
    stars: int | None
    """None if it is not in the paper."""
    bucket: PopularityBucket | Literal["own"]
    project: str | None
    """Its name on the package index, if it is there."""
    checksum: str | None = None
    """The SHA-256 of its source distribution, if known."""


_CHECKSUM_LINES: Final = """
    flask               5f873c5184c897c8d9d1b05df1e3d01b14910ce69607a117bd3277098a5836ac
    requests            55365417734eb18255590a9ff9eb97e9e1da868d4ccd6402399eaf68af20a760
    pandas              4f18ba62b61d7e192368b84517265a99b4d7ee8912f8708660fb4a366cc82667
    numpy               140dd80ff8981a583a60980be1a655068f8adebf7a45a06a6858c873fcdcd4a0
    matplotlib          1e00e8be7393cbdc6fedfa8a6fba02cf3e83814b285db1c60b906a023ba41bc3
    click               398329ad4837b2ff7cbe1dd166a4c0f8900c3ca3a218de04466f38f6497f18a2
    schedule            15fe9c75fe5fd9b9627f3f19cc0ef1420508f9f9a46f45cd0769ef75ede5f0b7
    isort               a8ca25fbfad0f7d5d8447a4314837298d9f6b23aed8618584c894574f626b64b
    returns             c7bd85bd1e0041b44fe46c7e2f68fcc76a0546142c876229e395174bcd674f37
    msgspec             2313508e394b0d208f8f56892ca9b2799e2561329de9763b19619595a6c0f72c
    environs            638106bfb5d8c9a13ee51c23a9f2416baf9a748c8e537fec771102927cd02aa8
    itsdangerous        e0050c0b7da1eea53ffaf149c0cfbb5c6e2e2b69c4bef22c81fa6eb73e5f6173
    ocpp                d29bfafb7161f75a78314f5cfd1b82fdf155082cd0f4de48c4dc8e5741422cf0
    cyclopts            8c9b77921660fa1ee52c150e2217ced672323efb3434e9b338077de1bc551ff4
    tldr_python_client  8355f2ca96991c61a2daa166050af5d3bdf93507817fcde5de36259c3908eca1
"""
"""The SHA-256 of each source distribution, as given by the package index."""
_CHECKSUMS: Final = dict(line.split() for line in _CHECKSUM_LINES.split("\n") if line)

PINNED: Final[Mapping[str, PinnedRepository]] = {
    each.name: replace(each, checksum=_CHECKSUMS.get(each.name))
    for each in (
        PinnedRepository("flask", "3.1.0", 68_000, "hi", "flask"),
        PinnedRepository("requests", "2.32.3", 52_000, "hi", "requests"),
        PinnedRepository("pandas", "2.2.3", 43_000, "hi", "pandas"),
        PinnedRepository("numpy", "2.2.0", 28_000, "hi", "numpy"),
        PinnedRepository("matplotlib", "3.9.4", 21_000, "hi", "matplotlib"),
        PinnedRepository("click", "8.3.3", 18_000, "mid", "click"),
        PinnedRepository("schedule", "1.2.2", 13_000, "mid", "schedule"),
        PinnedRepository("isort", "5.11.3", 7_000, "mid", "isort"),
        PinnedRepository("returns", "0.22.0", 4_300, "low", "returns"),
        PinnedRepository("msgspec", "0.21.1", 3_700, "low", "msgspec"),
        PinnedRepository("environs", "15.0.1", 3_600, "low", "environs"),
        PinnedRepository("itsdangerous", "2.2.0", 2_800, "low", "itsdangerous"),
        PinnedRepository("ocpp", "2.1.0", 1_000, "low", "ocpp"),
        PinnedRepository("mac_apt", "1.29.0", 1_000, "low", None),
        PinnedRepository("cyclopts", "4.11.2", 1_100, "low", "cyclopts"),
        PinnedRepository("tldr_python_client", "3.4.4", 733, "low", "tldr"),
    )
}
"""The paper's table; the buckets are from its column B."""


def package(name: str, version: str) -> PinnedRepository:
    """A package of the index at a version, which need not be in the paper."""
    return PinnedRepository(name, version, None, OWN, name)
