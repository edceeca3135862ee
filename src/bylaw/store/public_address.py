"""Addresses of stores as messages and logs may show them."""

from __future__ import annotations


def public_address(address: str) -> str:
    """The address of a store without its password, for messages and logs."""
    scheme, slashes, rest = address.partition("://")
    if not slashes:
        return address
    user, at, place = rest.partition("?")[0].rpartition("@")
    if "@" in rest and not at:  # the password contains a question mark
        return f"{scheme}://…"
    return f"{scheme}://{user.partition(':')[0]}{at}{place}"
