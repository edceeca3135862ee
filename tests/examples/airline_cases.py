"""Each rule of the airline's desk by example: a run that satisfies it, and one that does not.

The desk's clock stands at 15:00 on 15 May 2024.
"""

from __future__ import annotations

import json

from runs import Pair, agent, failing, run, user

from bylaw import Call
from bylaw.values import Json

MIRA, OTTO = "mira_holt_31", "otto_lund_42"
TRIP = "QX7RT2"
MORNING, EVENING = "HAT901", "HAT902"
CARD, GIFT_CARD, CERTIFICATE = "credit_card_1", "gift_card_1", "certificate_1"
MOSS: Json = {"first_name": "Ida", "last_name": "Moss", "dob": "1988-03-07"}

YES = user("Yes, please.")
TRANSFER = Call("transfer_to_human_agents", {"summary": "A lost bag"}, "Transfer successful")


def profile(membership: str = "silver") -> Call:
    """Mira's profile; the gift card holds 100."""
    methods: Json = {
        CARD: {"source": "credit_card"},
        GIFT_CARD: {"source": "gift_card", "amount": 100},
        CERTIFICATE: {"source": "certificate", "amount": 250},
    }
    shown: Json = {"membership": membership, "payment_methods": methods}
    return Call("get_user_details", {"user_id": MIRA}, shown)


def flights(number: str, day: str) -> list[Json]:
    return [{"flight_number": number, "date": day}]


def trip(
    *,
    owner: str = MIRA,
    cabin: str = "economy",
    insurance: str = "no",
    booked: str = "2024-05-01T10:00:00",
    day: str = "2024-05-20",
    passengers: int = 1,
    bags: int = 1,
) -> Json:
    """A reservation of the morning flight."""
    return {
        "reservation_id": TRIP,
        "user_id": owner,
        "cabin": cabin,
        "insurance": insurance,
        "created_at": booked,
        "flights": flights(MORNING, day),
        "passengers": [MOSS] * passengers,
        "total_baggages": bags,
    }


MIRAS_TRIP: Json = trip()
FRESH_TRIP: Json = trip(booked="2024-05-15T10:00:00")


def look(shown: Json = MIRAS_TRIP) -> Call:
    return Call("get_reservation_details", {"reservation_id": TRIP}, shown)


def cancel(left: Json = MIRAS_TRIP) -> Call:
    return Call("cancel_reservation", {"reservation_id": TRIP}, left)


def search(number: str = MORNING, day: str = "2024-05-20", *, seats: int = 9) -> Call:
    found: Json = {"flight_number": number, "available_seats": {"economy": seats}, "price": 1250.5}
    return Call("search_direct_flight", {"date": day}, [found])


def book(
    *,
    paid_by: dict[str, float] | None = None,
    passengers: int = 1,
    bags: int = 0,
    charged_bags: int = 0,
) -> Call:
    """The morning flight of 20 May, in economy. The passengers are sent as JSON text."""
    payments: Json = [
        {"payment_id": method, "amount": amount}
        for method, amount in (paid_by or {CARD: 90}).items()
    ]
    args: Json = {
        "user_id": MIRA,
        "cabin": "economy",
        "flights": flights(MORNING, "2024-05-20"),
        "passengers": json.dumps([MOSS] * passengers),
        "payment_methods": payments,
        "total_baggages": bags,
        "nonfree_baggages": charged_bags,
    }
    return Call("book_reservation", args, {"reservation_id": "QX7RT3", "user_id": MIRA})


def fly(number: str = EVENING, *, paid_by: str = GIFT_CARD) -> Call:
    """The trip changed to another flight of the same day."""
    args: Json = {
        "reservation_id": TRIP,
        "flights": flights(number, "2024-05-20"),
        "payment_id": paid_by,
    }
    return Call("update_reservation_flights", args, MIRAS_TRIP)


def check_in_bags(total: int, *, charged: int = 0) -> Call:
    args: Json = {"reservation_id": TRIP, "total_baggages": total, "nonfree_baggages": charged}
    return Call("update_reservation_baggages", args, MIRAS_TRIP)


def name_passengers(number: int) -> Call:
    args: Json = {"reservation_id": TRIP, "passengers": [MOSS] * number}
    return Call("update_reservation_passengers", args, MIRAS_TRIP)


def compensate(amount: int = 100) -> Call:
    return Call("send_certificate", {"user_id": MIRA, "amount": amount}, "Certificate sent")


def gift_cards(number: int) -> dict[str, float]:
    return {f"gift_card_{i}": 30 for i in range(number)}


PAIRS = {
    # ── who is asking, about what ──
    "customer-first": Pair(
        run(profile(), cancel()),
        run(failing(profile()), cancel()),
    ),
    "user-id-as-given": Pair(
        run(user("I am mira_holt_31."), profile()),
        run(user("I am Mira Holt."), profile()),
    ),
    "reservation-id-as-given": Pair(
        run(user("It is about QX7RT2."), look()),
        run(user("It is about my trip to Oslo."), look()),
    ),
    "own-reservations-only": Pair(
        run(profile(), look(trip(owner=MIRA)), cancel()),
        run(profile(), look(trip(owner=OTTO)), cancel()),
    ),
    "look-before-change": Pair(
        run(look(), cancel()),
        run(failing(look()), cancel()),
    ),
    # ── list the details, get a yes ──
    "confirmed": Pair(
        run(agent("Shall I cancel it?"), user("Yes, go ahead."), cancel()),
        run(agent("Shall I cancel it?"), user("What would it cost?"), cancel()),
    ),
    "change-proposed": Pair(
        run(agent("Shall I cancel QX7RT2?"), YES, cancel()),
        run(agent("Shall I cancel your trip?"), YES, cancel()),
    ),
    "flights-proposed": Pair(
        run(agent("Shall I book HAT901?"), YES, book()),
        run(agent("Shall I book the morning flight?"), YES, book()),
    ),
    # ── payment ──
    "booking-paid-from-profile": Pair(
        run(profile(), book(paid_by={CARD: 90})),
        run(profile(), book(paid_by={"credit_card_2": 90})),
    ),
    "change-paid-from-profile": Pair(
        run(profile(), fly(paid_by=GIFT_CARD)),
        run(profile(), fly(paid_by=CERTIFICATE)),
    ),
    "payment-mix": Pair(
        run(book(paid_by=gift_cards(3))),
        run(book(paid_by=gift_cards(4))),
    ),
    "balance-covers": Pair(
        run(profile(), book(paid_by={GIFT_CARD: 100})),
        run(profile(), book(paid_by={GIFT_CARD: 101})),
    ),
    # ── passengers and bags ──
    "at-most-five-passengers": Pair(
        run(book(passengers=5)),
        run(book(passengers=6)),
    ),
    "passengers-as-given": Pair(
        run(user("It is for Ida MOSS."), book()),
        run(user("It is for my sister Ida."), book()),
    ),
    "birth-dates-as-given": Pair(
        run(user("Ida Moss, born on 7 March 1988."), book()),
        run(user("Ida Moss, born on 7 March."), book()),
    ),
    "passenger-number-kept": Pair(
        run(look(trip(passengers=2)), name_passengers(2)),
        run(look(trip(passengers=2)), name_passengers(1)),
    ),
    "free-bags-at-booking": Pair(
        run(profile("silver"), book(bags=3, charged_bags=1)),
        run(profile("regular"), book(bags=3, charged_bags=1)),
    ),
    "free-bags-later": Pair(
        run(profile("regular"), look(trip(cabin="business")), check_in_bags(2, charged=0)),
        run(profile("regular"), look(trip(cabin="economy")), check_in_bags(2, charged=0)),
    ),
    "bags-only-added": Pair(
        run(look(trip(bags=1)), check_in_bags(1)),
        run(look(trip(bags=2)), check_in_bags(1)),
    ),
    "insurance-offered": Pair(
        run(agent("Would you like travel insurance?"), book()),
        run(agent("Would you like a window seat?"), book()),
    ),
    # ── flights ──
    "booked-flights-from-a-search": Pair(
        run(search(MORNING, "2024-05-20"), book()),
        run(search(MORNING, "2024-05-21"), book()),
    ),
    "changed-flights-from-a-search": Pair(
        run(look(), search(EVENING), fly(EVENING)),
        run(look(), search(MORNING), fly(EVENING)),
    ),
    "seats-for-all": Pair(
        run(search(seats=2), book(passengers=2)),
        run(search(seats=1), book(passengers=2)),
    ),
    "basic-economy-flights-stay": Pair(
        run(look(trip(cabin="basic_economy")), search(EVENING), fly(MORNING)),
        run(look(trip(cabin="basic_economy")), search(EVENING), fly(EVENING)),
    ),
    # ── cancelling ──
    "cancel-conditions": Pair(
        run(user("I am in hospital."), look(trip(insurance="yes")), cancel()),
        run(user("My plans changed."), look(trip(insurance="yes")), cancel()),
    ),
    "cancelled-rightly": Pair(
        run(cancel(trip(booked="2024-05-14T15:00:00"))),
        run(cancel(trip(booked="2024-05-14T14:59:59"))),
    ),
    "cancel-unflown": Pair(
        run(look(trip(day="2024-05-15")), cancel()),
        run(look(trip(day="2024-05-14")), cancel()),
    ),
    "cancel-once": Pair(
        run(failing(cancel(FRESH_TRIP)), cancel(FRESH_TRIP)),
        run(cancel(FRESH_TRIP), cancel(FRESH_TRIP)),
    ),
    # ── certificates ──
    "certificate-amount": Pair(
        run(look(trip(passengers=2)), compensate(200)),
        run(look(trip(passengers=2)), compensate(100)),
    ),
    "certificate-eligible": Pair(
        run(profile("silver"), look(), compensate()),
        run(profile("regular"), look(), compensate()),
    ),
    "certificate-on-request": Pair(
        run(user("I was late, and want compensation."), compensate()),
        run(user("I was late."), compensate()),
    ),
    # ── nothing made up ──
    "flight-numbers-not-made-up": Pair(
        run(search(MORNING), agent("HAT901 has seats.")),
        run(search(MORNING), agent("HAT902 has seats.")),
    ),
    "amounts-not-made-up": Pair(
        run(search(), agent("It costs $1,250.50.")),
        run(search(), agent("It costs $1,205.50.")),
    ),
    "claims-are-true": Pair(
        run(cancel(), agent("Your reservation QX7RT2 has been cancelled.")),
        run(failing(cancel()), agent("Your reservation QX7RT2 has been cancelled.")),
    ),
    # ── how to work ──
    "one-call-at-a-time": Pair(
        run(profile(), look()),
        run((profile(), look())),
    ),
    "no-text-with-a-call": Pair(
        run(agent("Which trip is it?"), profile()),
        run((agent("Which trip is it?"), profile())),
    ),
    "transfer-after-trying": Pair(
        run(look(), TRANSFER),
        run(failing(look(), "Unknown action get_reservation_details"), TRANSFER),
    ),
    "transfer-ends-it": Pair(
        run(failing(TRANSFER), look()),
        run(TRANSFER, look()),
    ),
}
