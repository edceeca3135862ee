"""Frozen classes that cost little to define.

A dataclass compiles code for each of its methods. For the hundred classes that a procedure needs,
that would take a third of the start-up time. Classes made here share their methods.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform

_Class = TypeVar("_Class", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: _Class) -> _Class:
    """Makes a class what `@dataclass(frozen=True, slots=True)` would make it.

    `dataclasses.replace`, `fields` and `asdict` work. Of equality, hash and representation, what
    the class has from elsewhere is kept.
    """
    cls.__doc__ = cls.__doc__ or cls.__name__
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    made.__init__ = _initialiser(made)
    made.__setattr__ = made.__delattr__ = _refuse
    made.__reduce__ = _reduce
    made.__signature__ = _Signature()
    equal, hashed = _comparison(made)
    for name, method in (("__eq__", equal), ("__hash__", hashed), ("__repr__", _repr)):
        if getattr(made, name) is getattr(object, name):
            setattr(made, name, method)
    return made  # type: ignore[no-any-return]  # the class that was given, with slots


def _initialiser(cls: Any) -> Any:
    declared = fields(cls)
    setters = tuple(getattr(cls, each.name).__set__ for each in declared)
    defaults = tuple(each.default for each in declared)
    count = len(declared)
    needed = max((at + 1 for at, value in enumerate(defaults) if value is MISSING), default=0)
    finish = getattr(cls, "__post_init__", None)

    def __init__(self: Any, *given: Any, **named: Any) -> None:  # noqa: N807  # it becomes a method
        if named or not needed <= len(given) <= count:
            given = complete(given, named)
        elif len(given) < count:
            given += defaults[len(given) :]
        for setter, value in zip(setters, given):  # noqa: B905  # as long as each other, and hot
            setter(self, value)
        if finish is not None:
            finish(self)

    def complete(given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        if len(given) > count:
            raise TypeError(f"{cls.__name__} takes {count} arguments, not {len(given)}")
        values = list(given)
        for each in declared[len(given) :]:
            if each.name in named:
                values.append(named.pop(each.name))
            elif each.default is not MISSING:
                values.append(each.default)
            elif each.default_factory is not MISSING:
                values.append(each.default_factory())
            else:
                raise TypeError(f"{cls.__name__} needs the argument '{each.name}'")
        if named:
            raise TypeError(f"{cls.__name__} takes no argument '{next(iter(named))}' here")
        return tuple(values)

    return __init__


class _Signature:
    """The signature of a class for `help`, made when it is asked for."""

    def __get__(self, instance: object, cls: Any) -> Any:
        from inspect import Parameter, Signature

        parameters = []
        for each in fields(cls):
            default = Parameter.empty if each.default is MISSING else each.default
            default = default if each.default_factory is MISSING else ...
            kind = Parameter.POSITIONAL_OR_KEYWORD
            parameters.append(Parameter(each.name, kind, default=default, annotation=each.type))
        return Signature(parameters)


def _comparison(cls: Any) -> tuple[Any, Any]:
    names = cls.__match_args__
    values: Any = attrgetter(*names) if names else lambda _: ()

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807  # as above
        return values(self) == values(other) if type(other) is cls else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807  # as above
        return hash(values(self))

    return __eq__, __hash__


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _reduce(self: Any) -> tuple[type, tuple[Any, ...]]:
    return type(self), tuple(getattr(self, name) for name in self.__match_args__)


def _refuse(self: Any, name: str, *_: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")
