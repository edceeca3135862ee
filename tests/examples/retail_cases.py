"""Each rule of the retail desk by example: a run that satisfies it, and one that does not."""

from __future__ import annotations

from runs import Pair, agent, failing, run, user

from bylaw import Call
from bylaw.values import Json

ANNA, BORIS = "anna_berg_11", "boris_kern_22"
ORDER, OTHER_ORDER = "#W1234567", "#W7654321"
LAMPS, CHAIRS = "3000000001", "3000000002"
WHITE_LAMP, BLUE_LAMP, OAK_CHAIR = "1000000001", "1000000002", "2000000001"
PAYPAL, CARD, GIFT_CARD = "paypal_1", "credit_card_1", "gift_card_1"
LAMP_BOUGHT: Json = {"item_id": WHITE_LAMP, "product_id": LAMPS}

YES = user("Yes, please.")
TRANSFER = Call("transfer_to_human_agents", {"summary": "A broken lamp"}, "Transfer successful")


def authenticated(user_id: str = ANNA) -> Call:
    return Call("find_user_id_by_email", {"email": "me@example.com"}, user_id)


def profile(user_id: str = ANNA) -> Call:
    """A user with three payment methods; the gift card holds 40."""
    methods: Json = {
        PAYPAL: {"source": "paypal"},
        CARD: {"source": "credit_card"},
        GIFT_CARD: {"source": "gift_card", "balance": 40},
    }
    return Call("get_user_details", {"user_id": user_id}, {"payment_methods": methods})


def order(
    status: str = "delivered", *, id: str = ORDER, owner: str = ANNA, total: float = 30.0
) -> Call:
    """An order of a white lamp, paid by PayPal."""
    shown: Json = {
        "order_id": id,
        "user_id": owner,
        "status": status,
        "items": [LAMP_BOUGHT],
        "payment_history": [{"payment_method_id": PAYPAL, "amount": total}],
    }
    return Call("get_order_details", {"order_id": id}, shown)


def product(id: str = LAMPS, *, variant: str = BLUE_LAMP, available: bool = True) -> Call:
    variants: Json = {variant: {"available": available, "price": 35.5}}
    return Call("get_product_details", {"product_id": id}, {"product_id": id, "variants": variants})


def cancel(reason: str = "no longer needed") -> Call:
    left: Json = {"order_id": ORDER, "user_id": ANNA, "status": "cancelled"}
    return Call("cancel_pending_order", {"order_id": ORDER, "reason": reason}, left)


def exchange(
    old: str = WHITE_LAMP, new: str = BLUE_LAMP, *, paid_by: str = PAYPAL, difference: float = 5.5
) -> Call:
    args: Json = {"order_id": ORDER, "item_ids": [old], "new_item_ids": [new]}
    left: Json = {
        "order_id": ORDER,
        "status": "exchange requested",
        "items": [LAMP_BOUGHT],
        "payment_history": [{"payment_method_id": PAYPAL, "amount": 30.0}],
    }
    return Call(
        "exchange_delivered_order_items",
        {**args, "payment_method_id": paid_by},
        {**left, "exchange_price_difference": difference},
    )


def give_back(*, refund_to: str = PAYPAL) -> Call:
    args: Json = {"order_id": ORDER, "item_ids": [WHITE_LAMP], "payment_method_id": refund_to}
    return Call("return_delivered_order_items", args, {"status": "return requested"})


def pay_instead_by(method: str) -> Call:
    args: Json = {"order_id": ORDER, "payment_method_id": method}
    return Call("modify_pending_order_payment", args, {"order_id": ORDER})


def move_to(address: str) -> Call:
    return Call("modify_user_address", {"user_id": ANNA, "address1": address}, {"user_id": ANNA})


PAIRS = {
    # ── who is asking ──
    "authenticate-first": Pair(
        run(authenticated(), order()),
        run(failing(authenticated()), order()),
    ),
    "one-customer": Pair(
        run(authenticated(ANNA), authenticated(ANNA)),
        run(authenticated(ANNA), authenticated(BORIS)),
    ),
    "own-profile-only": Pair(
        run(authenticated(ANNA), profile(ANNA)),
        run(authenticated(ANNA), profile(BORIS)),
    ),
    "own-orders-only": Pair(
        run(authenticated(ANNA), order(owner=ANNA), cancel()),
        run(authenticated(ANNA), order(owner=BORIS), cancel()),
    ),
    # ── look, then act on what was shown ──
    "look-before-write": Pair(
        run(order(id=ORDER), cancel()),
        run(order(id=OTHER_ORDER), cancel()),
    ),
    "only-pending": Pair(
        run(order("pending"), cancel()),
        run(order("processed"), cancel()),
    ),
    "only-delivered": Pair(
        run(order("delivered"), exchange()),
        run(order("pending"), exchange()),
    ),
    "swap-once": Pair(
        run(order(), failing(exchange()), exchange()),
        run(order(), exchange(), exchange()),
    ),
    # ── list the details, get a yes ──
    "confirmed": Pair(
        run(agent("Shall I cancel it?"), user("Yes, go ahead."), cancel()),
        run(agent("Shall I cancel it?"), user("What would it cost?"), cancel()),
    ),
    "order-proposed": Pair(
        run(agent("Shall I cancel order W1234567?"), YES, cancel()),
        run(agent("Shall I cancel your last order?"), YES, cancel()),
    ),
    "items-proposed": Pair(
        run(agent("Item 1000000002 instead?"), YES, exchange(new=BLUE_LAMP)),
        run(agent("The blue one instead?"), YES, exchange(new=BLUE_LAMP)),
    ),
    "remind-of-all-items": Pair(
        run(agent("Are these all the items to be exchanged?"), exchange()),
        run(agent("Shall I exchange the lamp?"), exchange()),
    ),
    # ── cancelling ──
    "cancel-reason-allowed": Pair(
        run(cancel("ordered by mistake")),
        run(cancel("found it cheaper")),
    ),
    "cancel-reason-discussed": Pair(
        run(user("I bought it by mistake."), cancel("ordered by mistake")),
        run(user("I want my money back."), cancel("ordered by mistake")),
    ),
    # ── items and variants ──
    "items-of-this-order": Pair(
        run(order(), exchange(WHITE_LAMP)),
        run(order(), exchange(OAK_CHAIR)),
    ),
    "new-items-looked-up": Pair(
        run(product(variant=BLUE_LAMP), exchange(new=BLUE_LAMP)),
        run(product(variant=WHITE_LAMP), exchange(new=BLUE_LAMP)),
    ),
    "new-items-available": Pair(
        run(product(available=True), exchange()),
        run(product(available=False), exchange()),
    ),
    "same-product": Pair(
        run(order(), product(LAMPS, variant=BLUE_LAMP), exchange(WHITE_LAMP, BLUE_LAMP)),
        run(order(), product(CHAIRS, variant=BLUE_LAMP), exchange(WHITE_LAMP, BLUE_LAMP)),
    ),
    "another-option": Pair(
        run(exchange(WHITE_LAMP, BLUE_LAMP)),
        run(exchange(WHITE_LAMP, WHITE_LAMP)),
    ),
    # ── money ──
    "payment-method-on-file": Pair(
        run(profile(), order(), exchange(paid_by=CARD)),
        run(profile(), order(), exchange(paid_by="credit_card_2")),
    ),
    "refund-to-original-or-gift-card": Pair(
        run(profile(), order(), give_back(refund_to=PAYPAL)),
        run(profile(), order(), give_back(refund_to=CARD)),
    ),
    "new-payment-differs": Pair(
        run(order("pending"), pay_instead_by(CARD)),
        run(order("pending"), pay_instead_by(PAYPAL)),
    ),
    "gift-card-covers-total": Pair(
        run(authenticated(), profile(), order(total=40.0), pay_instead_by(GIFT_CARD)),
        run(authenticated(), profile(), order(total=40.5), pay_instead_by(GIFT_CARD)),
    ),
    "gift-card-covers-difference": Pair(
        run(authenticated(), profile(), exchange(paid_by=GIFT_CARD, difference=40.0)),
        run(authenticated(), profile(), exchange(paid_by=GIFT_CARD, difference=40.5)),
    ),
    # ── nothing made up ──
    "address-as-given": Pair(
        run(user("I moved to 5 OAK  street."), move_to("5 Oak Street")),
        run(user("I moved to Oak Street."), move_to("5 Oak Street")),
    ),
    "ids-not-made-up": Pair(
        run(order(id=ORDER), agent("You mean order #W1234567?")),
        run(order(id=ORDER), agent("You mean order #W7654321?")),
    ),
    "amounts-not-made-up": Pair(
        run(order(total=1250.5), agent("That was $1,250.50.")),
        run(order(total=1250.5), agent("That was $1,205.50.")),
    ),
    "claims-are-true": Pair(
        run(user("Cancel #W1234567."), cancel(), agent("I have cancelled order #W1234567.")),
        run(
            user("Cancel #W1234567."), failing(cancel()), agent("I have cancelled order #W1234567.")
        ),
    ),
    # ── how to work ──
    "one-call-at-a-time": Pair(
        run(profile(), order()),
        run((profile(), order())),
    ),
    "no-text-with-a-call": Pair(
        run(agent("Which order is it?"), profile()),
        run((agent("Which order is it?"), profile())),
    ),
    "transfer-ends-it": Pair(
        run(failing(TRANSFER), order()),
        run(TRANSFER, order()),
    ),
}
