"""A long session at the airline's service desk, which keeps to its procedure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bylaw import Call, Message, Procedure

PROCEDURE: Final = Path(__file__).parent.parent / "examples" / "airline" / "procedure.yaml"
_USER: Final = "mia_li_3668"
_PROFILE: Final = {
    "user_id": _USER,
    "membership": "gold",
    "payment_methods": {"credit_card_1": {"source": "credit_card", "id": "credit_card_1"}},
}


def procedure() -> Procedure:
    """The airline's procedure."""
    return Procedure.load(PROCEDURE)


def session() -> Iterator[Call | Message]:
    """Requests without end: each looks up a reservation of its own, agrees, and changes it."""
    step = 0
    for number in range(10_000_000):
        for event in _request(number):
            yield event(step)
            step += 1


def _request(number: int) -> Iterator[Any]:
    code = f"R{number:05d}"
    flight = f"HAT{number % 900 + 100}"
    held = {
        "reservation_id": code,
        "user_id": _USER,
        "cabin": "economy",
        "flights": [{"flight_number": flight, "date": "2024-05-20"}],
        "passengers": [{"first_name": "Mia", "last_name": "Li", "dob": "1990-04-05"}],
        "total_baggages": 1,
        "created_at": "2024-05-15T10:00:00",
        "insurance": "no",
    }

    def said(role: Any, text: str) -> Any:
        return lambda step: Message(role, text, step)

    def called(tool: str, result: Any, **arguments: Any) -> Any:
        return lambda step: Call(tool, arguments, result, step)

    yield said("user", f"I am {_USER}. Please change reservation {code}.")
    if number % 10 == 0:
        yield called("get_user_details", _PROFILE, user_id=_USER)
    yield called("get_reservation_details", held, reservation_id=code)
    yield said("assistant", f"Reservation {code}, flight {flight}: shall I go on?")
    yield said("user", "Yes, please.")
    if number % 3:
        changed = {**held, "total_baggages": 2}
        bags = {"total_baggages": 2, "nonfree_baggages": 0, "payment_id": "credit_card_1"}
        yield called("update_reservation_baggages", changed, reservation_id=code, **bags)
    else:
        yield called("cancel_reservation", held, reservation_id=code)
