"""A long session at the retail desk, which keeps to its procedure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bylaw import Call, Message

PROCEDURE: Final = Path(__file__).parent.parent / "examples" / "retail" / "procedure.yaml"
_USER: Final = "noor_haddad_1001"
_CARD: Final = "credit_card_2000001"
_PROFILE: Final = {"name": "Noor Haddad", "payment_methods": {_CARD: {"source": "credit_card"}}}


def session() -> Iterator[Call | Message]:
    """Requests without end of one customer: each is about an order of its own."""
    step = 0
    for number in range(10_000_000):
        for event in [*(_greeting() if number == 0 else ()), *_request(number)]:
            yield event(step)
            step += 1


def _said(role: Any, text: str) -> Any:
    return lambda step: Message(role, text, step)


def _called(tool: str, result: Any, **arguments: Any) -> Any:
    return lambda step: Call(tool, arguments, result, step)


def _greeting() -> Iterator[Any]:
    yield _said("user", "Hello, my address is noor@example.org.")
    yield _called("find_user_id_by_email", _USER, email="noor@example.org")
    yield _called("get_user_details", _PROFILE, user_id=_USER)


def _request(number: int) -> Iterator[Any]:
    """A cancelled order, or one whose lamp is exchanged for another."""
    order, product = f"#W{2_000_000 + number % 7_000_000}", str(3_000_000_000 + number)
    old, new = str(4_000_000_000 + number), str(5_000_000_000 + number)
    held: dict[str, Any] = {
        "order_id": order,
        "user_id": _USER,
        "status": "delivered" if number % 2 else "pending",
        "items": [{"name": "Lamp", "product_id": product, "item_id": old, "price": 40.0}],
        "payment_history": [{"payment_method_id": _CARD, "amount": 40.0}],
    }
    yield _said("user", f"Please look at order {order}.")
    yield _called("get_order_details", held, order_id=order)
    if number % 2 == 0:
        yield _said("assistant", f"Shall I cancel order {order}, $40, because of a mistake?")
        yield _said("user", "Yes, please.")
        left = {**held, "status": "cancelled"}
        yield _called("cancel_pending_order", left, order_id=order, reason="ordered by mistake")
        yield _said("assistant", f"I have cancelled order {order}.")
        return
    variants = {new: {"available": True, "price": 42.0}, old: {"available": True, "price": 40.0}}
    shown = {"name": "Lamp", "product_id": product, "variants": variants}
    yield _called("get_product_details", shown, product_id=product)
    yield _said("assistant", f"Order {order}: {old} becomes {new}, $42. Are these all the items?")
    yield _said("user", "Yes, these are all.")
    chosen = {"item_ids": [old], "new_item_ids": [new], "payment_method_id": _CARD}
    left = {**held, "status": "exchange requested", "exchange_price_difference": 2.0}
    yield _called("exchange_delivered_order_items", left, order_id=order, **chosen)
    yield _said("assistant", f"The exchange for order {order} is on its way.")
