r"""smolagents' memory: `agent.memory.get_full_steps()`, or an object with it in `steps`.

    [{"task": "Refund order 7.", "task_images": null},
     {"step_number": 1, "model_output": null, "error": null, "is_final_answer": false,
      "tool_calls": [{"id": "c1", "type": "function",
                      "function": {"name": "refund", "arguments": {"order": 7}}}],
      "model_output_message": {"role": "assistant", "content": null, "tool_calls": […]},
      "observations": "done", "action_output": "done"}]

The task is a message of the user, a plan one of the assistant. A step's calls are taken from the
model's message, because the memory sorts its own list by id and drops it when a call fails.

- `observations` is one text with the results of all calls of a step. A single call gets all of it;
  several calls get one line each if the number of lines fits. Otherwise no call has a result, and
  a note says so.
- The text of a step begins with the refusals of a gate, one after the other, before the results of
  the calls that ran.
- A step's `error` belongs to the calls it names, or to all of the step if it names none.
- `final_answer` is the answer, not a call. It is also a message, so that a memory of several tasks
  shows each answer. A step of a `CodeAgent` is a call of `python_interpreter` with the argument
  `code`; the memory does not record which tools the code called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call
from bylaw.trace.formats.conversation import CallFields, ConversationReader, answered, scalars
from bylaw.trace.formats.details import Details, start_of, time_of, usage_of
from bylaw.trace.formats.format import Format, NotedTrace
from bylaw.trace.formats.openai_chat import CALLS
from bylaw.trace.refusal_mark import refusals_at_the_start
from bylaw.values import Json, kind_of, write_json

_INTERPRETER: Final = "python_interpreter"
_STEPS: Final = (
    {"task", "task_images"},
    {"plan", "model_output_message"},
    {"step_number", "model_output_message"},
)


class _MemoryReader(ConversationReader):
    def details_of(self, message: object) -> Details:
        """The time and usage of a step; its name is not recorded."""
        timing = message.get("timing") if isinstance(message, Mapping) else None
        start = start_of(timing) if isinstance(timing, Mapping) else None
        usage = usage_of(message) if isinstance(message, Mapping) else None
        return Details(start, None, usage)

    def message(self, message: object, where: str) -> None:
        if not isinstance(message, Mapping):
            self.complain(where, f"expected a step, found {kind_of(message)}")
        elif "task" in message:
            self.said("user", self.text(message["task"], f"{where}.task"))
        elif "system_prompt" in message:
            self.said("system", self.text(message["system_prompt"], f"{where}.system_prompt"))
        elif "plan" in message:
            self.turn(self.text(message["plan"], f"{where}.plan"), ())
        elif "step_number" in message:
            self.action(message, where)
        elif "output" not in message:  # an output repeats the answer of the previous step
            self.complain(where, "not a step of a memory")

    def action(self, step: Mapping[str, Any], where: str) -> None:
        """Reads a step: the model's text, its calls, and their results."""
        said = step.get("model_output_message")
        by_model = said.get("tool_calls") if isinstance(said, Mapping) else None
        calls = (
            self.calls({"tool_calls": by_model}, f"{where}.model_output_message")
            if by_model
            else self.calls(step, where)
        )
        text = self.text(step.get("model_output"), f"{where}.model_output")
        observed = step.get("observations")
        refused: dict[int, str] = {}
        if isinstance(observed, str):
            refused, rest = refusals_at_the_start(observed, calls)
            step = {**step, "observations": rest or None} if refused else step
        ran = [c for i, c in enumerate(calls) if i not in refused and c.tool != FINAL_ANSWER]
        results = iter(self.finished(ran, step, where))
        made = [
            answered(call, {"content": refused[i]}) if i in refused else next(results)
            for i, call in enumerate(calls)
            if i in refused or call.tool != FINAL_ANSWER
        ]
        timing = step.get("timing")
        end = time_of(timing.get("end_time")) if isinstance(timing, Mapping) else None
        if len(made) == 1 and end is not None:  # several calls ended at times not recorded
            made = [replace(made[0], end=end)]
        self.turn(text, made)
        output = _answer(step, calls)
        if output is not None:
            self.turn(output if isinstance(output, str) else write_json(output), ())

    def call(self, entry: object, where: str, fields: CallFields | None = None) -> Call:
        """The call that an entry describes. A text for the interpreter is its argument `code`."""
        if isinstance(entry, Mapping) and isinstance(function := entry.get("function"), Mapping):
            given = function.get("arguments")
            if function.get("name") == _INTERPRETER and isinstance(given, str):
                entry = {**entry, "function": {**function, "arguments": {"code": given}}}
        return super().call(entry, where, fields)

    def finished(self, calls: list[Call], step: Mapping[str, Any], where: str) -> list[Call]:
        """The calls with their results and errors."""
        if error := step.get("error"):
            reason = error.get("message") if isinstance(error, Mapping) else error
            text = reason if isinstance(reason, str) else write_json(error)
            named = [call for call in calls if f"'{call.tool}'" in text] or calls
            return [replace(call, error=text) if call in named else call for call in calls]
        observed = step.get("observations")
        if observed is None or (not calls and step.get("is_final_answer")):
            return calls
        several = isinstance(observed, str) and len(calls) != 1
        lines = observed.split("\n") if several else [observed]
        if len(lines) == len(calls):
            by_id = sorted(range(len(calls)), key=lambda i: calls[i].id or "")
            results = dict(zip(by_id, lines, strict=True))
            return [answered(call, {"content": results[i]}) for i, call in enumerate(calls)]
        message = "the results cannot be assigned to them" if calls else "a result answers no call"
        self.note("W521", f"{where}.observations", message, "They are left out.")
        return calls


def _answer(step: Mapping[str, Any], calls: list[Call]) -> Json:
    """The answer that a step gives, or None."""
    output = step.get("action_output")
    if not step.get("is_final_answer"):
        # The output of a step with an error is the answer of an agent that ran out of steps.
        return output if step.get("error") else None
    given = [call.args.get("answer") for call in calls if call.tool == FINAL_ANSWER]
    candidates = (output, *given, step.get("observations"))
    return next((answer for answer in candidates if answer is not None), None)


def _detects(value: object) -> bool:
    steps = value.get("steps") if isinstance(value, Mapping) else value
    first = steps[0] if isinstance(steps, list | tuple) and steps else None
    return isinstance(first, Mapping) and (
        first.keys() == {"system_prompt"} or any(wanted <= first.keys() for wanted in _STEPS)
    )


def _read(value: Any, name: str | None) -> NotedTrace:
    around = value if isinstance(value, Mapping) else {}
    reader = _MemoryReader(CALLS)
    reader.read(around.get("steps", value), "steps")
    return reader.trace(name, scalars(around, ("state",)))


SMOLAGENTS: Final = Format("smolagents", "steps", _detects, _read)
