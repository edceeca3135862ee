"""Classes with fields that cost little to define.

A dataclass compiles code for each of its methods, and its module imports Python's parser. For the
hundred classes that a procedure needs, that would take a third of the start-up time. Classes made
here share their methods, except for the constructor, which is compiled when it is first called.
`dataclasses.fields`, `replace` and `asdict` work on them.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, NoReturn, TypeVar, dataclass_transform, overload

_Class = TypeVar("_Class", bound=type)
_Object = TypeVar("_Object")
_NONE: Final = object()
"""No default."""


class _Field:
    """A field that is declared with a function that makes its default."""

    def __init__(self, default_factory: Callable[[], Any]) -> None:
        self.make: Final = default_factory


def field(*, default_factory: Callable[[], Any]) -> Any:
    """A field whose default is made anew for each object."""
    return _Field(default_factory)


@overload
def frozen(cls: _Class) -> _Class: ...
@overload
def frozen(*, init: bool) -> Callable[[_Class], _Class]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, *, init: bool = True) -> Any:
    """Makes a class what `@dataclass(frozen=True, slots=True)` would make it.

    The class keeps its own equality, hash and representation, inherited or not; `init=False`
    keeps its constructor.
    """
    if cls is None:
        return lambda given: frozen(given) if init else _frozen(_with_slots(given))
    return _frozen(_with_constructor(_with_slots(cls)))


def _frozen(made: Any) -> Any:
    made.__setattr__ = made.__delattr__ = _refuse
    made.__reduce__ = made.__dict__.get("__reduce__", _reduce)
    equal, hashed = _comparison(made)
    _provide(made, __eq__=equal, __hash__=hashed, __repr__=_repr)
    return made


@dataclass_transform(field_specifiers=(field,))
def record(cls: _Class) -> _Class:
    """Makes a class what `@dataclass(slots=True)` would make it."""
    made = _with_constructor(_with_slots(cls))
    if made.__eq__ is object.__eq__:
        made.__eq__, made.__hash__ = _comparison(made)[0], None
    _provide(made, __repr__=_repr)
    return made  # type: ignore[no-any-return]  # the class that was given, with slots


def replace(thing: _Object, **changes: Any) -> _Object:
    """A copy of an object with other values in some of its fields."""
    made: Any = type(thing)
    values = [
        changes.pop(name) if name in changes else getattr(thing, name)
        for name in made.__match_args__
    ]
    return made(*values, **changes)  # type: ignore[no-any-return]  # of the same class


def _with_slots(cls: Any) -> Any:
    """The class with its fields as slots."""
    declared = cls.__annotations__
    content = {
        name: value
        for name, value in cls.__dict__.items()
        if name not in declared and name not in ("__dict__", "__weakref__")
    }
    inherited: dict[str, tuple[Any, Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= base.__dict__.get("_declared", {})
    own = {name: (kind, cls.__dict__.get(name, _NONE)) for name, kind in declared.items()}
    taken = {slot for base in cls.__mro__[1:] for slot in base.__dict__.get("__slots__", ())}
    content["_declared"] = fields = inherited | own
    content["__slots__"] = tuple(name for name in declared if name not in taken)
    content.setdefault("__match_args__", tuple(fields))
    content["__doc__"] = cls.__doc__ or cls.__name__
    content["__dataclass_fields__"] = _DataclassFields()
    made: Any = type(cls)(cls.__name__, cls.__bases__, content)
    made.__qualname__ = cls.__qualname__
    return made


def _with_constructor(cls: Any) -> Any:
    """The class with its fields as the parameters of its constructor."""
    cls.__init__, cls.__signature__ = _initialiser(cls), _Signature()
    return cls


def _initialiser(cls: Any) -> Any:
    def __init__(self: Any, *given: Any, **named: Any) -> None:  # noqa: N807  # it becomes a method
        cls.__init__ = compiled = _compiled_initialiser(cls)
        compiled(self, *given, **named)

    return __init__


def _compiled_initialiser(cls: Any) -> Any:
    """The constructor as source code, compiled when the first object is made."""
    parameters, lines = [], []
    names: dict[str, Any] = {"_none": _NONE, "__name__": cls.__module__}
    mutable = cls.__setattr__ is object.__setattr__
    for name, (_, default) in cls._declared.items():
        names[f"_set_{name}"] = getattr(cls, name).__set__
        value = name
        if type(default) is _Field:
            names[f"_make_{name}"], names[f"_default_{name}"] = default.make, _NONE
            value = f"_make_{name}() if {name} is _none else {name}"
        elif default is not _NONE:
            names[f"_default_{name}"] = default
        optional = f"_default_{name}" in names
        parameters.append(f"{name}=_default_{name}" if optional else name)
        lines.append(f" self.{name} = {value}" if mutable else f" _set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    source = f"def __init__(self, {', '.join(parameters)}):\n" + "\n".join(lines or [" pass"])
    exec(source, names)
    names["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return names["__init__"]


class _DataclassFields:
    """The fields for the functions of `dataclasses`, made when they are first asked for."""

    def __get__(self, instance: object, cls: Any) -> Any:
        import dataclasses

        listed: list[Any] = []
        for name, (kind, default) in cls._declared.items():
            entry = dataclasses.field()
            if type(default) is _Field:
                entry = dataclasses.field(default_factory=default.make)
            elif default is not _NONE:
                entry = dataclasses.field(default=default)
            listed.append((name, kind, entry))
        made: Any = dataclasses.make_dataclass(cls.__name__, listed)
        cls.__dataclass_fields__ = made.__dataclass_fields__
        return cls.__dataclass_fields__


class _Signature:
    """The signature of a class for `help`, made when it is asked for."""

    def __get__(self, instance: object, cls: Any) -> Any:
        from inspect import Parameter, Signature

        parameters = []
        for name, (kind, default) in cls._declared.items():
            shown = Parameter.empty if default is _NONE else default
            shown = ... if type(default) is _Field else shown
            by = Parameter.POSITIONAL_OR_KEYWORD
            parameters.append(Parameter(name, by, default=shown, annotation=kind))
        return Signature(parameters)


def _provide(cls: Any, **methods: Any) -> None:
    """Adds the methods that the class does not have from elsewhere."""
    for name, method in methods.items():
        if getattr(cls, name) is getattr(object, name):
            setattr(cls, name, method)


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
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")
