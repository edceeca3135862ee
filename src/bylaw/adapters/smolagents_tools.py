"""The tools of smolagents behind a gate: named arguments, and code that sees only gated tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from smolagents import LocalPythonExecutor, PythonExecutor
from smolagents.tools import validate_tool_arguments

from bylaw.enforcement.decision import ConstraintViolationError, Decision
from bylaw.enforcement.parameters import ToolParameters
from bylaw.values import Json, copied

_ABSENT: Final = object()
"""The default of an input that may be left out: no rule sees it."""


def parameters_of(name: str, tool: Any) -> ToolParameters:
    """The parameters of a tool or managed agent: its inputs, in the order of Python's call."""
    inputs: Mapping[str, Any] = getattr(tool, "inputs", None) or {}
    try:
        known = inspect.signature(tool.forward).parameters
    except (AttributeError, TypeError, ValueError):  # a managed agent, or no Python function
        known = inspect.Signature().parameters
    order = [each for each in known if each in inputs] if inputs.keys() <= known.keys() else inputs
    listed = []
    for each in order:
        default = known[each].default if each in known else inspect.Parameter.empty
        if default is inspect.Parameter.empty and inputs[each].get("nullable"):
            default = _ABSENT
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        listed.append(inspect.Parameter(each, kind, default=default))
    return ToolParameters(name, inspect.Signature(listed, __validate_parameters__=False))


def written_arguments(
    parameters: ToolParameters, values: Sequence[Any], keywords: Mapping[str, Any]
) -> dict[str, Json]:
    """The arguments of a call in an agent's code. A single mapping of inputs is unpacked."""
    if len(values) == 1 and not keywords and type(values[0]) is dict:
        given = dict(values[0])
        if all(key in parameters.signature.parameters for key in given):
            return parameters.filled(given)
    return parameters.named(values, keywords)


def argument_error(tool: Any, arguments: Any) -> str | None:
    """The reason why a tool cannot be called with these arguments, if there is one."""
    try:
        validate_tool_arguments(tool, arguments)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


class JudgedArguments(dict[str, Json]):
    """Arguments that were judged, on their way through smolagents to the tool."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(copied(decision.call.args))
        self.decision: Final = decision

    def __bool__(self) -> bool:
        return True  # smolagents replaces arguments that are false by others


class RunStopped(BaseException):
    """Leaves the agent's code at once: no `except` clause of that code can catch it."""


class CodeRefusal(Exception):
    """A refusal in an agent's code: the message, and nothing that leads to the rules."""


CodeRefusal.__name__ = ConstraintViolationError.__name__  # as agents and readers know it


class GatedExecutor(PythonExecutor):
    """Gives the agent's code tools that ask the guard first."""

    def __init__(self, inner: LocalPythonExecutor, gated: Callable[..., Any]) -> None:
        self.inner = inner
        self.gated = gated

    def send_tools(self, tools: Mapping[str, Any]) -> None:
        self.inner.send_tools({name: self.gated(name, tool) for name, tool in tools.items()})

    def send_variables(self, variables: Mapping[str, Any]) -> None:
        self.inner.send_variables(variables)

    def __call__(self, code_action: str) -> Any:
        return self.inner(code_action)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)
