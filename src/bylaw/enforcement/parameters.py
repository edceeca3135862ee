"""The parameters of a tool: Python's arguments become named ones, which rules judge, and back.

    def pay(amount, /, to="shop", *notes, **more): …

    pay(5, "bank", "urgent", when="now")
    {"amount": 5, "to": "bank", "notes": ["urgent"], "when": "now"}

Both directions are exact: the tool is called with what was judged. Where one name could mean two
arguments (`pay(5, amount=6)` puts 6 into `more`), the call is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from bylaw.enforcement.validation import not_json, unusable
from bylaw.plain import NotJson, rebuilt, type_name
from bylaw.values import Json

if TYPE_CHECKING:
    from inspect import Parameter, Signature


class ToolParameters:
    """The parameters of one tool."""

    def __init__(self, name: str, signature: Signature) -> None:
        self.name: Final = name
        self.signature: Final = signature
        listed = signature.parameters.values()
        self._positional: Final = [
            each
            for each in listed
            if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        ]
        self._rest: Final = _of_kind(listed, "VAR_POSITIONAL")
        """The name of `*notes`, if there is one."""
        self._more: Final = _of_kind(listed, "VAR_KEYWORD")
        """The name of `**more`, if there is one."""
        self._defaults: Final = {
            each.name: value for each in listed for value in _json_default(each)
        }
        """The default arguments that are JSON. Rules do not see the others."""

    @classmethod
    def of(cls, name: str, tool: Callable[..., Any]) -> ToolParameters:
        """The parameters of a Python function."""
        from inspect import signature  # slow to import

        try:
            return cls(name, signature(tool))
        except (TypeError, ValueError):
            help = "Wrap it in a function of your own, with named parameters."
            raise unusable(f"the parameters of the tool '{name}' cannot be read", help) from None

    def named(self, values: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Json]:
        """The arguments of a Python call by name, with the defaults. They are not checked yet.

        Raises TypeError if Python would not make the call.
        """
        for keyword in keywords:
            if type(keyword) is not str:  # one that decides itself which parameter it equals
                reason = f"a name is not a string but {type_name(type(keyword))}"
                raise not_json(f"the arguments of '{self.name}' are", reason)
        found = dict(self.signature.bind(*values, **keywords).arguments)
        if self._rest in found:
            found[self._rest] = list(found[self._rest])
        more = found.pop(self._more, {}) if self._more is not None else {}
        for keyword in more:
            if keyword in self.signature.parameters and keyword != self._more:
                message = f"the argument '{keyword}' of '{self.name}' can mean two parameters"
                help = f"Rename the parameter, or pass no '{keyword}' in **{self._more}."
                raise unusable(message, help)
        return self.filled(found | more)

    def filled(self, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """The arguments with the defaults of those that are missing."""
        missing = {k: v for k, v in self._defaults.items() if k not in arguments}
        return {**arguments, **missing}

    def bound(self, arguments: Mapping[str, Json]) -> tuple[list[Any], dict[str, Any]]:
        """The Python call with these arguments: the positional ones and the keywords."""
        keywords = dict(arguments)
        rest = keywords.pop(self._rest, []) if self._rest is not None else []
        if type(rest) is not list:
            raise TypeError(f"the argument '{self._rest}' of '{self.name}' is not a list")
        last = max(
            (
                number
                for number, each in enumerate(self._positional)
                if rest or (each.kind is each.POSITIONAL_ONLY and each.name in keywords)
            ),
            default=-1,
        )
        values = []
        for each in self._positional[: last + 1]:
            if each.name not in keywords and each.default is each.empty:
                raise TypeError(f"the argument '{each.name}' of '{self.name}' is missing")
            values.append(keywords.pop(each.name, each.default))
        return [*values, *rest], keywords


def _of_kind(listed: Any, kind: str) -> str | None:
    return next((each.name for each in listed if each.kind.name == kind), None)


def _json_default(parameter: Parameter) -> list[Json]:
    if parameter.default is not parameter.empty:
        try:
            return [rebuilt(parameter.default)]
        except NotJson:
            pass
    return []
