"""E47x: mistakes at the gates of other programs: hooks, MCP, gateways."""

from __future__ import annotations

from typing import Final

from bylaw.codes.code import Code

PROTOCOL_CODES: Final = {
    "E470": Code(
        "the record of a session cannot be used",
        "Hooks keep the state of each session in a folder of their own. The file was damaged or "
        "changed, belongs to another procedure, cannot be written, or is held by another process "
        "for too long. Calls of the session are refused.",
        "echo damaged > ~/.local/state/bylaw/sessions.sqlite",
        "bylaw doctor claude-code",
    ),
    "E471": Code(
        "an event or request cannot be read",
        "A gate takes what the other program sends: a hook event of Claude Code, a guardrail "
        "request of LiteLLM, a message of MCP. What cannot be read is refused.",
        "echo '{' | bylaw hook claude-code -p coding.yaml",
        'echo \'{"hook_event_name": "SessionStart", "session_id": "s"}\' | '
        "bylaw hook claude-code -p coding.yaml",
    ),
    "E472": Code(
        "the gate has no record of a session",
        "A session must be seen from its start: otherwise rules about what came before could not "
        "be kept. It began before the gate was installed, or its record was removed.",
        "bylaw install claude-code -p coding.yaml --yes   # while a session is open",
        "/clear, or a new session of claude",
    ),
    "E473": Code(
        "settings of another program cannot be used",
        "The file is not JSON, or not as the program writes it. Nothing was changed. Correct it, "
        "and repeat the command.",
        'echo "{hooks: }" > .claude/settings.json',
        'echo "{}" > .claude/settings.json',
    ),
    "E474": Code(
        "the procedure has changed since the gate was installed",
        "The digest of the file stands where the gate is installed, so that an agent cannot choose "
        "its own rules by editing the file. If the edit is meant, install the gate again.",
        "bylaw hook claude-code -p edited.yaml --pin 0123…",
        "bylaw install claude-code -p edited.yaml --yes",
    ),
    "E475": Code(
        "a server behind the gate cannot be used",
        "`bylaw mcp` starts the server that it stands before, or forwards to its address. The "
        "command cannot be started, or the address is not one.",
        "bylaw mcp -p desk.yaml -- no-such-server",
        "bylaw mcp -p desk.yaml -- python server.py",
    ),
}
