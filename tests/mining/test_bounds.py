"""Bounds are where the labels change, and as round as the runs allow."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from bylaw.mining.bounds import (
    allowed_values,
    lower_bounds,
    round_date,
    roundest,
    upper_bounds,
)
from bylaw.mining.candidate import RunMask

ROUND = [
    # from, below, whole, the roundest
    (98, 103, True, 100),
    (45, 60, True, 50),
    (20, 21, True, 20),
    (147, 161, True, 150),
    (3, 4, True, 3),
    (0.18, 0.27, False, 0.2),
    (1203.5, 1260, False, 1250),
    (-3, 7, True, 0),
    (-21, -19, True, -20),
    (-10, -8, True, -10),
    (12.5, 12.5000001, False, 12.5),
]


@pytest.mark.parametrize(("low", "high", "whole", "found"), ROUND)
def test_roundest(low: float, high: float, whole: bool, found: float) -> None:
    assert roundest(low, high, whole=whole) == found
    assert low <= found < high


def test_a_bound_separates_good_from_bad() -> None:
    numbers = np.array([10.0, 60, 97, 99, 103, 150, 200, -np.inf])
    good = np.array([True, True, True, True, False, False, False, True])
    fitted = next(upper_bounds(numbers, good, 0, whole=True))
    assert fitted.value == 100
    assert fitted.violated.tolist() == [False] * 4 + [True] * 3 + [False]


def test_a_wrong_label_does_not_move_a_bound() -> None:
    choose = np.random.default_rng(1)
    kept, broken = choose.integers(1, 201, 80), choose.integers(201, 400, 80)
    numbers = np.concatenate([kept, broken]).astype(float)
    good = np.array([True] * 80 + [False] * 80)
    good[[3, 90, 100]] = [False, True, True]
    fitted = next(upper_bounds(numbers, good, 8, whole=True))
    assert fitted.value == 200


def test_a_bound_from_below() -> None:
    numbers = np.array([5.0, 8, 9, 20, 31, 44])
    good = np.array([False, False, False, True, True, True])
    fitted = next(lower_bounds(numbers, good, 0, whole=True))
    assert fitted.value == 10
    assert fitted.violated.tolist() == [True, True, True, False, False, False]


@pytest.mark.parametrize(
    "numbers", [[1.0, 1.0, 1.0, 1.0], [-np.inf] * 4, [1.0, 2.0, 1.0, 2.0], [9.0, 8.0, 2.0, 1.0]]
)
def test_there_is_no_bound_if_numbers_say_nothing(numbers: list[float]) -> None:
    good = np.array([True, True, False, False])
    assert not list(upper_bounds(np.array(numbers), good, 0, whole=True))


def test_values_of_bad_runs_are_not_allowed() -> None:
    good = np.array([True] * 20 + [False] * 20)
    pending = good.copy()
    shipped = ~good
    pending[25], shipped[3] = True, True  # wrong labels
    seen: dict[str | int | float, RunMask] = {"pending": pending, "shipped": shipped}
    assert list(allowed_values(seen, good, 2)) == [["pending"], ["pending", "shipped"]]
    assert list(allowed_values(seen, good, 0)) == [["pending", "shipped"]]


DATES = [
    # from, before, the roundest
    ("2026-02-10", "2026-03-09", "2026-03-01"),
    ("2025-11-30", "2026-02-02", "2026-01-01"),
    ("2026-03-12", "2026-03-20", "2026-03-15"),
    ("2026-03-17", "2026-03-20", "2026-03-17"),
]


@pytest.mark.parametrize(("low", "high", "found"), DATES)
def test_dates_begin_or_halve_a_month(low: str, high: str, found: str) -> None:
    first, last = date.fromisoformat(low).toordinal(), date.fromisoformat(high).toordinal()
    assert round_date(first, last, True)[0] == date.fromisoformat(found).toordinal()
    negative, _ = round_date(-last, -first, True)  # from below, after `low`
    assert first < -negative <= last
