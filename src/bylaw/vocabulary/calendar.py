"""Hours, weekdays and dates of times, in a time zone of the IANA database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final

from bylaw.trace.event import MISSING
from bylaw.values import Json

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=256)
def zone_named(name: str) -> tzinfo | None:
    """The time zone of this name; None if there is none."""
    from zoneinfo import ZoneInfo  # slow to import, and seldom needed

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # a folder, a path, or not found
        return None


def _local(seconds: float, zone: str) -> datetime | None:
    """The local time; None if there is no such zone, or the year has more than four digits."""
    found = zone_named(zone)
    if found is None:
        return None
    try:
        return (_EPOCH + timedelta(seconds=seconds)).astimezone(found)
    except OverflowError:
        return None


def hour(seconds: float, zone: str) -> Json:
    """The hour of the day, 0 to 23."""
    local = _local(seconds, zone)
    return MISSING if local is None else local.hour


def weekday(seconds: float, zone: str) -> Json:
    """The day of the week, from 1 for Monday to 7 for Sunday."""
    local = _local(seconds, zone)
    return MISSING if local is None else local.isoweekday()


def date(seconds: float, zone: str) -> Json:
    """The date, such as 2026-03-29."""
    local = _local(seconds, zone)
    return MISSING if local is None else local.date().isoformat()
