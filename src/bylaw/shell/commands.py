"""The simple commands of a script, each with what is known about it.

The walk follows the working directory and the variables that the script itself sets. Where
different ways through the script disagree about a variable, its value is unknown; of the working
directory all possibilities are kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from bylaw.frozen import replace
from bylaw.shell.expansion import KnownWord, expanded, value_of
from bylaw.shell.inside import RunsScript, RunsUnknown, RunsWords
from bylaw.shell.paths import joined
from bylaw.shell.programs import OTHER_NAMES, names
from bylaw.shell.reader import read_script
from bylaw.shell.script import (
    Assignment,
    Compound,
    Expansion,
    Redirection,
    ShellPipeline,
    ShellScript,
    ShellWord,
    SimpleCommand,
    Statement,
    Substitution,
    Unparsed,
)
from bylaw.shell.setting import CommandSetting, ShellState
from bylaw.shell.surveys import CHANGING, evaluates_text, simple_commands
from bylaw.shell.wrappers import inside

_JOINED: Final = {"&&": "and", "||": "or"}
_MAX_COMMANDS: Final = 500
_MAX_SCRIPTS: Final = 12
"""The deepest nesting of scripts in the words of commands."""
_MAX_UNROLLED: Final = 16
_PYTHON: Final = re.compile(r"python[\d.]*")
_COMMANDS_IN_ENVIRONMENT: Final = names(
    "GIT_SSH GIT_SSH_COMMAND GIT_PROXY_COMMAND GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR "
    "GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS PAGER EDITOR VISUAL BROWSER MANPAGER"
)
_CODE_IN_ENVIRONMENT: Final = names(
    "BASH_ENV ENV LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES PROMPT_COMMAND PERL5OPT "
    "PYTHONSTARTUP RUBYOPT NODE_OPTIONS GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_EXEC_PATH "
    "BASHOPTS SHELLOPTS"
)


class Commands:
    """Lists the commands of scripts."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []
        self.functions: set[str] = set()
        self.depth = 0
        self.via: tuple[str, ...] = ()
        """The programs that run the script that is being read."""

    def script(
        self, text: str, state: ShellState | None = None, within: tuple[str, ...] = ()
    ) -> None:
        """Adds the commands of a text."""
        state = state or ShellState({}, (".",))
        self.depth += 1
        if self.depth > _MAX_SCRIPTS:
            raise Unparsed("too deep", f"scripts nest more than {_MAX_SCRIPTS} deep")
        tree = read_script(text)
        if evaluates_text(tree):
            self.opaque("arithmetic", "text that is evaluated as arithmetic", text, within)
        self.statements(tree, state, within)
        self.depth -= 1

    def opaque(self, why: str, detail: str, source: str, within: tuple[str, ...]) -> None:
        """Adds something that cannot be read."""
        self._add({"kind": "opaque", "why": why, "detail": detail, "source": source}, within)

    def _add(self, entry: dict[str, Any], within: tuple[str, ...]) -> None:
        entry["within"] = list(dict.fromkeys(within))
        self.found.append(entry)
        if len(self.found) > _MAX_COMMANDS:
            raise Unparsed("too long", f"more than {_MAX_COMMANDS} commands")

    # ── lists ────────────────────────────────────────────────────────────────────────────

    def statements(self, script: ShellScript, state: ShellState, within: tuple[str, ...]) -> None:
        for statement in script:
            if statement.background:
                self.statement(statement, state.copy(), (*within, "background"))
            else:
                self.statement(statement, state, within)

    def statement(self, statement: Statement, state: ShellState, within: tuple[str, ...]) -> None:
        ends: list[ShellState] = []
        succeeded = failed = state
        for symbol, pipeline in statement.pipelines:
            if symbol == "&&":
                ends.append(failed)
                before = succeeded
            elif symbol == "||":
                ends.append(succeeded)
                before = failed
            else:
                before = state.copy()
            now = before.copy()
            inner = (*within, _JOINED[symbol]) if symbol else within
            failed = self.pipeline(pipeline, now, inner)
            succeeded = now
            if pipeline.negated:
                succeeded, failed = failed, succeeded
        state.variables, state.directories = succeeded.variables, succeeded.directories
        state.merge([*ends, failed])

    def pipeline(
        self, pipeline: ShellPipeline, state: ShellState, within: tuple[str, ...]
    ) -> ShellState:
        """The state after success is in `state`; the state after failure is returned."""
        within = (*within, "negated") if pipeline.negated else within
        if len(pipeline.commands) == 1:
            return self.command(pipeline.commands[0], state, within, None)
        fed_by: list[str] = []
        for number, command in enumerate(pipeline.commands):
            start = len(self.found)
            fed = fed_by.copy() if number else None
            self.command(command, state.copy(), (*within, "pipeline"), fed)
            fed_by += [entry.get("program") or "?" for entry in self.found[start:]]
        return state.copy()

    # ── commands ─────────────────────────────────────────────────────────────────────────

    def command(
        self,
        command: SimpleCommand | Compound,
        state: ShellState,
        within: tuple[str, ...],
        fed_by: list[str] | None,
    ) -> ShellState:
        if isinstance(command, SimpleCommand):
            return self.simple(command, state, within, fed_by)
        words = (*command.words, *(each.target for each in command.redirections))
        self.substitutions(words, state, within)
        self.redirected(command.redirections, state, within)
        if fed_by is None and any(each.operator[0] == "<" for each in command.redirections):
            fed_by = ["?"]
        match command.kind:
            case "group":
                start = len(self.found)
                self.statements(command.scripts[0][1], state, within)
                self._feed(start, fed_by)
            case "subshell":
                start = len(self.found)
                self.statements(command.scripts[0][1], state.copy(), (*within, "subshell"))
                self._feed(start, fed_by)
            case "function":
                self.functions.add(command.name or "")
                unknown = ShellState({"IFS": None}, state.directories)
                self.statements(command.scripts[0][1], unknown, (*within, "function"))
            case "if" | "case":
                self.branches(command, state, within)
            case "for" | "loop":
                start = len(self.found)
                self.loop(command, state, within)
                self._feed(start, fed_by)
        return state.copy()

    def _feed(self, start: int, fed_by: list[str] | None) -> None:
        """Commands in a compound command read what is fed to it."""
        if not fed_by:
            return
        for entry in self.found[start:]:
            if entry["kind"] == "command":
                entry["fed_by"] = list(dict.fromkeys([*fed_by, *entry["fed_by"]]))

    def branches(self, command: Compound, state: ShellState, within: tuple[str, ...]) -> None:
        ends: list[ShellState] = [state.copy()]
        for role, script in command.scripts:
            if role == "condition":
                self.statements(script, state, (*within, "condition"))
            else:
                branch = state.copy()
                self.statements(script, branch, (*within, "branch"))
                ends.append(branch)
        state.merge(ends)

    def loop(self, command: Compound, state: ShellState, within: tuple[str, ...]) -> None:
        before = state.copy()
        self._forget(command, state)
        values: list[KnownWord | None] = [None]
        if command.kind == "for":
            listed = [each for word in command.words for each in expanded(word, before.variables)]
            if listed and all(each.literal for each in listed) and len(listed) <= _MAX_UNROLLED:
                values = list(listed)
        for value in values:
            for role, script in command.scripts:
                inner = (*within, "loop" if role == "body" else "condition")
                turn = state.copy()
                if command.kind == "for":
                    turn.variables[command.name or ""] = value
                self.statements(script, turn, inner)
        state.merge([before])

    def _forget(self, command: Compound, state: ShellState) -> None:
        """Inside a loop, what the loop changes is unknown from the start."""
        for part in simple_commands(script for _, script in command.scripts):
            for assignment in part.assignments:
                state.variables[assignment.name] = None
            first = part.words[0].plain if part.words else None
            if first in ("cd", "pushd", "popd"):
                state.directories = None
            if first in CHANGING:
                self._changed(part, state)

    def _changed(self, command: SimpleCommand, state: ShellState) -> None:
        if command.words[0].plain in ("eval", "source", "."):
            state.variables = dict.fromkeys([*state.variables, "IFS", "HOME", "PWD"])
        for word in command.words[1:]:
            for name in re.findall(r"\w+", word.source):
                state.variables[name] = None

    # ── simple commands ──────────────────────────────────────────────────────────────────

    def simple(
        self,
        command: SimpleCommand,
        state: ShellState,
        within: tuple[str, ...],
        fed_by: list[str] | None,
    ) -> ShellState:
        values = [word for each in command.assignments for word in each.value]
        targets = [each.target for each in command.redirections]
        self.substitutions((*command.words, *values, *targets), state, within)
        words = [each for word in command.words for each in expanded(word, state.variables)]
        environment = {
            each.name: value_of(each.value[0], state.variables)
            for each in command.assignments
            if each.value
        }
        self._environment(environment, command.source, within)
        if not words:
            self.redirected(command.redirections, state, within)
            self._assign(command.assignments, state)
            return state.copy()
        before = state.copy()
        self.run(words, CommandSetting(command, environment, within, fed_by), state)
        first = words[0].text
        if first in CHANGING:
            self._changed(command, state)
            if first == "export" and not any(w.text.startswith("-") for w in words[1:]):
                self._assign(command.assignments, state)
        if first in self.functions or first == ".":
            state.variables = dict.fromkeys([*state.variables, "IFS", "HOME", "PWD"])
            state.directories = None
        return before if first in ("cd", "pushd", "popd") else state.copy()

    def _assign(self, assignments: Sequence[Assignment], state: ShellState) -> None:
        for each in assignments:
            value = value_of(each.value[0], state.variables) if each.simple else None
            known = value is not None and value.literal
            state.variables[each.name] = value if known else None

    def _environment(
        self, given: dict[str, KnownWord], source: str, within: tuple[str, ...]
    ) -> None:
        """Some variables name a command that the program will run."""
        for name, value in given.items():
            if name in _CODE_IN_ENVIRONMENT:
                self.opaque("environment", f"the variable {name} can run code", source, within)
            elif name in _COMMANDS_IN_ENVIRONMENT and value.text:
                self._script_text(value, source, (*within, "environment"))

    def _script_text(
        self, text: KnownWord, source: str, within: tuple[str, ...], state: ShellState | None = None
    ) -> None:
        if text.literal:
            self.script(text.text, state, within)
        else:
            self.opaque("text", "commands in a text that is not known", source, within)

    def run(
        self,
        words: list[KnownWord],
        setting: CommandSetting,
        state: ShellState,
        via: tuple[str, ...] = (),
    ) -> None:
        """Adds the command that some words are, and those that it runs."""
        first, rest = words[0], words[1:]
        source, within = setting.command.source, setting.within
        if not first.literal or first.glob:
            self.opaque("program", f"the program is not known: {first.text}", source, within)
            return
        name = first.text.rpartition("/")[2]
        name = "python" if _PYTHON.fullmatch(name) else OTHER_NAMES.get(name, name)
        if len(via) > 2 * _MAX_SCRIPTS:
            raise Unparsed("too deep", "commands that run commands, without end")
        listed = True
        stdin = setting.stdin(state)
        found = list(inside(name, rest, stdin))
        for each in found:
            match each:
                case RunsWords(inner, replaces, assigned):
                    changed = self._assigned_before(assigned, setting)
                    self.run(list(inner), changed, state, (*via, name))
                    listed = listed and not replaces
                case RunsScript(text, replaces, remote):
                    where = (*within, "remote") if remote else within
                    inner_state = state if name == "eval" else state.copy()
                    if name != "eval":  # another process: only exported variables are known there
                        inner_state.variables = {"IFS": None} if remote else {}
                    if remote:
                        inner_state.directories = None
                    around, self.via = self.via, (*self.via, *via, name)
                    self._script_text(text, source, where, inner_state)
                    self.via = around
                    listed = listed and not replaces
                case RunsUnknown(why, detail):
                    self.opaque(why, detail, source, within)
        if listed:
            entry = setting.entry(first.text, name, rest, (*self.via, *via), state)
            if first.text in self.functions:  # its body is listed, too
                entry = {**entry, "kind": "function", "program": None, "function": first.text}
            self._add(entry, within)
        if name == "cd" and not via:
            self._move(rest, state)
        elif name in ("pushd", "popd"):
            state.directories = None

    def _assigned_before(
        self, assigned: Sequence[KnownWord], setting: CommandSetting
    ) -> CommandSetting:
        """`env A=1 …`: the setting with more in its environment."""
        if not assigned:
            return setting
        given = dict(each.text.split("=", 1) for each in assigned)
        added = {name: KnownWord(value) for name, value in given.items()}
        self._environment(added, setting.command.source, setting.within)
        return replace(setting, environment={**setting.environment, **added})

    def _move(self, words: Sequence[KnownWord], state: ShellState) -> None:
        targets = [word for word in words if word.text == "-" or not word.text.startswith("-")]
        target = targets[0] if targets else KnownWord("~")
        if not target.literal or target.glob or target.text == "-" or "CDPATH" in state.variables:
            state.directories = None
        elif state.directories is not None or target.text.startswith(("/", "~")):
            around = state.directories or (".",)
            state.directories = tuple(dict.fromkeys(joined(d, target.text) for d in around))

    def redirected(
        self, redirections: Sequence[Redirection], state: ShellState, within: tuple[str, ...]
    ) -> None:
        """A redirection without a program still opens its files."""
        if redirections:
            empty = SimpleCommand((), (), tuple(redirections), "")
            entry = CommandSetting(empty, {}, within, None).entry("", "", [], (), state)
            if entry["reads"] or entry["writes"]:
                self._add(entry, within)

    def substitutions(
        self, words: Sequence[ShellWord], state: ShellState, within: tuple[str, ...]
    ) -> None:
        """Adds the commands that words run while they are expanded."""
        for word in words:
            for part in word.parts:
                match part:
                    case Substitution(script=script):
                        self.statements(script, state.copy(), (*within, "substitution"))
                    case Expansion(inner=inner):
                        self.substitutions(inner, state, within)


def plain_run(commands: Commands, words: Sequence[str]) -> None:
    """Adds the command that a program and its arguments are, without a shell around it."""
    source = " ".join(words)
    setting = CommandSetting(SimpleCommand((), (), (), source), {}, (), None)
    commands.run([KnownWord(word) for word in words], setting, ShellState({}, (".",)))
