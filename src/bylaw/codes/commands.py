"""E4xx: mistakes in commands."""

from __future__ import annotations

from typing import Final

from bylaw.codes.code import Code

COMMAND_CODES: Final = {
    "E401": Code(
        "the vocabulary cannot be imported",
        "--with takes module:name; the module is found on the Python path or in the current "
        "directory, and the name is a bylaw.Vocabulary in it.",
        "--with my_rules.py",
        "--with my_rules:vocabulary",
    ),
    "E402": Code(
        "the command cannot do that",
        "The arguments cannot be used together; --help shows the combinations that work.",
        "bylaw explain verify-first",
        "bylaw explain verify-first --procedure refund.yaml run.json",
    ),
    "E403": Code(
        "the output cannot be written",
        "The folder does not exist or may not be written to.",
        "bylaw view run.json --procedure refund.yaml -o missing/out.html",
        "bylaw view run.json --procedure refund.yaml -o out.html",
    ),
    "E410": Code(
        "a call was refused",
        "The gate refused a call. The message names the rules that it would break, and what to "
        "do instead.",
        'guard.propose([Call("refund")])   # verify was not called',
        'guard.propose([Call("verify")])',
    ),
    "E411": Code(
        "an audit log is not intact",
        "An entry was changed, removed, inserted or moved, or the file is not a log. Nothing "
        "more is written to it.",
        "a log that was edited",
        "a new file, and the old one kept as evidence",
    ),
    "E412": Code(
        "an audit log cannot be written",
        "No call is allowed without a record of it, so the run ends when the log cannot be "
        "written: the disk is full, the file is not writable, or another process writes to it.",
        'AuditLog("/full/disk/gate.jsonl")',
        'AuditLog("gate.jsonl")',
    ),
    "E413": Code(
        "a guard was asked for something out of order",
        "A guard decides one run: propose turns, record the results of calls that ran, then "
        "finish. After that there is nothing more to decide.",
        "guard.finish(); guard.propose([…])",
        "Guard(procedure).propose([…])",
    ),
    "E414": Code(
        "an argument of a guard is not valid",
        "A misspelt setting, level of hints or role, a limit below 1, a file name in place of a "
        "procedure, tools without names, or a value that is not a call. Nothing is guessed: a "
        "gate with another setting than intended would let calls pass.",
        'Guard(procedure, "softblock")',
        'Guard(procedure, "soft-block")',
    ),
    "E415": Code(
        "a key or an anchor of an audit log cannot be used",
        "An HMAC key is at least 16 secret bytes, an Ed25519 key a PEM file, and an anchor a line "
        "that `bylaw log anchor` printed.",
        'AuditLog("gate.jsonl", key=b"secret")',
        'AuditLog("gate.jsonl", key=Path("gate.key").read_bytes())',
    ),
    "E416": Code(
        "a value at a gate is not JSON",
        "Rules judge JSON: null, true, false, finite numbers, strings, and lists and dictionaries "
        "of these. An object of another type, also of a subclass, may show the gate something "
        "else than the tool. `wrap` and `run_turn` convert results; arguments are never converted.",
        'guard.propose([Call("pay", {"on": date.today()})])',
        'guard.propose([Call("pay", {"on": "2026-05-20"})])',
    ),
    "E417": Code(
        "a saved run cannot be restored",
        "It belongs to another procedure, setting, or set of metrics or labels, it was changed "
        "after it was saved, or it was not saved with the key that was given. The guard stays as "
        "it was.",
        "guard.restore(json.loads(edited))",
        "guard.restore(json.loads(saved))",
    ),
    "E418": Code(
        "a change of a run was interrupted",
        "Something was raised in the middle of `propose`, `record` or another change, such as "
        "Ctrl-C in a slow rule, and the rules may have seen half a call. The run has ended: every "
        "call is refused, and the report has no score. The same is said to a function of the "
        "vocabulary that uses the guard that calls it.",
        "guard.propose([…])   # interrupted; then guard.say(…)",
        "Guard(procedure).propose([…])",
    ),
    "E419": Code(
        "a file is not an audit log",
        "It does not begin as a log begins. A guard writes a log of its own, to a new file, and "
        "nothing is changed in a file that is something else.",
        'AuditLog("notes.txt")',
        'AuditLog("gate.jsonl")',
    ),
    "E420": Code(
        "there is no such template, model or library",
        "The message lists the known templates, difficulties, models or simulated agents, or "
        "gives the command that installs a missing library.",
        "bylaw bench run sim:golden",
        "bylaw bench run sim:gold",
    ),
    "E421": Code(
        "results cannot be used",
        "A results file has one line per run, as `bylaw bench run` writes it. Runs of a model "
        "under other conditions (hints, versions, model settings) belong in another file, and "
        "only one runner may write to a file.",
        "bylaw bench run sim:gold --hints none -o results.jsonl   # started with --hints rule",
        "bylaw bench run sim:gold --hints none -o without-hints.jsonl",
    ),
    "E430": Code(
        "a corpus could not be scored in parallel",
        "A worker process died (often because it ran out of memory), a cluster failed, or the "
        "vocabulary cannot be sent to other processes, because its functions are not at the top "
        "level of a module. With --out, the same command resumes the run.",
        "bylaw verify -p refund.yaml runs/ --out scores.parquet --jobs 64",
        "bylaw verify -p refund.yaml runs/ --out scores.parquet --jobs 8",
    ),
    "E431": Code(
        "an unfinished run cannot be resumed",
        "The output has an interrupted run with other rules, other files or another --max-line, "
        "or its journal is damaged. Finish it with its own command, or discard it.",
        "bylaw verify -p edited.yaml runs/ --out scores.parquet   # started with refund.yaml",
        "bylaw verify -p edited.yaml runs/ --out scores.parquet --restart",
    ),
    "E440": Code(
        "there is not enough memory for a model",
        "A shared GPU has less free memory than when the work began, or the batch does not fit. "
        "Results on disk and checkpoints are not lost: repeat the command with smaller numbers.",
        "bylaw train eval models/qwen-7b -o eval.jsonl",
        "bylaw train eval models/qwen-7b -o eval.jsonl --width 64 --precision bf16",
    ),
    "E499": Code(
        "the command failed because of a mistake in bylaw",
        "Something happened that the program does not expect. Your files are as they were. Please "
        "report it, with what is printed if the environment variable BYLAW_TRACEBACK is set.",
        "bylaw verify -p refund.yaml run.json",
        "BYLAW_TRACEBACK=1 bylaw verify -p refund.yaml run.json",
    ),
}
