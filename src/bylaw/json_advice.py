"""Advice on JSON that cannot be read."""

from __future__ import annotations


def json_advice(text: str, at: int | None) -> str | None:
    """The likely cause of a mistake at a place of a text."""
    if at is None:
        return None
    before, rest = text[:at].rstrip(), text[at:]
    if not rest.strip():
        return "The text ends too early: it may have been cut off."
    if rest[0] in "}]" and before.endswith(","):
        return f"Remove the comma before {rest[0]}."
    if rest.startswith("'"):
        return "Strings stand in double quotes. A Python dictionary is written with json.dumps."
    if rest.startswith(("//", "/*", "#")):
        return "JSON has no comments."
    if rest.startswith(("True", "False", "None")):
        return "Write true, false and null. A Python dictionary is written with json.dumps."
    if rest[0] in "“”‘’":
        return 'Strings stand in plain double quotes: "text".'
    if not before and rest[0] not in "{[":
        return "A JSON text begins with { or [."
    if rest[0] == '"' and before.endswith(('"', "}", "]")):
        return "A comma is missing before it."
    return None
