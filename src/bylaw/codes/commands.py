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
    "E404": Code(
        "the baseline cannot be used",
        "A baseline is a report that `bylaw verify --format jsonl=FILE` wrote: a line for each "
        "trace, with a fingerprint for each violation.",
        "--baseline report.xml",
        "--baseline baseline.jsonl",
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
        "an argument of a function is not valid",
        "A text in place of a formula, a file name in place of a procedure, a value that is not a "
        "call, a misspelt setting, level of hints or role, a limit below 1. Nothing is guessed: a "
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
    "E422": Code(
        "a guard lacks the state of rules across runs",
        "A rule with `across: labels.customer` judges all runs of a customer together. Its state "
        "is shared: make one `SharedRules` of the same procedure and setting, and give it to every "
        "guard. Each run needs the label: a text that is not blank, or a whole number.",
        "Guard(procedure)",
        'Guard(procedure, labels={"customer": "c7"}, shared=shared)',
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
    "E450": Code(
        "the store of a gate cannot be used",
        "The file or the database in which a resident gate keeps its runs cannot be opened, read "
        "or written, or does not answer in time. As long as this lasts, the gate refuses every "
        "call. What it had acknowledged is in the store.",
        "bylaw serve -p refund.yaml --store postgresql://db-that-is-down/gate",
        "bylaw serve -p refund.yaml --store postgresql://db/gate",
    ),
    "E451": Code(
        "the address of a store is not one",
        "A store is a SQLite file, a PostgreSQL database, or memory.",
        "bylaw serve -p refund.yaml --store gate.db",
        "bylaw serve -p refund.yaml --store sqlite:gate.db",
    ),
    "E452": Code(
        "a run cannot be recovered from the store",
        "Its entries were changed, were sealed with another key, or are decided differently by "
        "this version of Bylaw than by the one that stored them. Nothing more is allowed in this "
        "run.",
        "bylaw serve -p refund.yaml --key-file another.key",
        "bylaw serve -p refund.yaml --key-file gate.key",
    ),
    "E453": Code(
        "a run belongs to another procedure",
        "A run is judged by one procedure from its beginning to its end. After an edit, the runs "
        "that were open need the old file.",
        "bylaw serve -p edited.yaml      # and a run that refund.yaml had begun",
        "bylaw serve -p refund.yaml",
    ),
    "E454": Code(
        "there is no such run",
        "It was never opened, or it belongs to somebody else: a run can only be used with the "
        "token that opened it.",
        "POST /v1/runs/my-own-id/propose",
        "POST /v1/runs",
    ),
    "E455": Code(
        "an operation is not for this token",
        "Persons approve and deny calls; the host of an agent proposes them. An agent that could "
        "approve its own calls would have no gate.",
        "POST /v1/runs/{run}/approve      # with an agent's token",
        "POST /v1/runs/{run}/approve      # with a person's token",
    ),
    "E456": Code(
        "an idempotency key was used for another request",
        "A key belongs to one request: if the answer was lost, the same request may be sent again "
        "under the same key, and is performed once.",
        "Idempotency-Key: 1      # on two different requests",
        "Idempotency-Key: 5f0c4f6e-…      # a new one for each request",
    ),
    "E457": Code(
        "a request failed because of a mistake in bylaw or in a registered function",
        "Something was raised that nobody expects. The request had no effect, and nothing was "
        "allowed.",
        "vocabulary.predicate(lambda trace, at, metrics: 1 / 0)",
        "vocabulary.predicate(checked)",
    ),
    "E458": Code(
        "a token file cannot be used",
        "It has one token a line: the role (agent or person), a name, and the token.",
        "desk 2f0c5d8e9b7a41c6a3d2",
        "agent desk 2f0c5d8e9b7a41c6a3d2",
    ),
    "E459": Code(
        "a token is missing or unknown",
        "Every request to a resident gate carries a token, which tells whose runs it may use.",
        "curl http://127.0.0.1:8700/v1/runs",
        "curl -H 'Authorization: Bearer TOKEN' http://127.0.0.1:8700/v1/runs",
    ),
    "E460": Code(
        "a request is too large",
        "A resident gate reads requests up to a size, which `--max-body` sets.",
        "POST /v1/runs/{run}/record      # with a result of 50 MB",
        "POST /v1/runs/{run}/record      # with the part of it that rules read",
    ),
    "E461": Code(
        "a request cannot be read",
        "Its body is not strict JSON in UTF-8, or it was not sent in time.",
        '{"calls": [{"tool": "search"},]}',
        '{"calls": [{"tool": "search"}]}',
    ),
    "E462": Code(
        "a server cannot listen on an address",
        "Another server listens on the port or the socket, or the address is not of this machine.",
        "bylaw serve -p refund.yaml --port 80",
        "bylaw serve -p refund.yaml --port 8700",
    ),
    "E463": Code(
        "a gate could not be asked",
        "A client of a resident gate got no answer, or none that it can trust. Proposed calls are "
        "refused then. For other operations the error is raised: repeat them.",
        'RemoteGuard("http://127.0.0.1:1", token).record(decision, result)',
        'RemoteGuard("http://127.0.0.1:8700", token).record(decision, result)',
    ),
    "E499": Code(
        "the command failed because of a mistake in bylaw",
        "Something happened that the program does not expect. Your files are as they were. Please "
        "report it, with what is printed if the environment variable BYLAW_TRACEBACK is set.",
        "bylaw verify -p refund.yaml run.json",
        "BYLAW_TRACEBACK=1 bylaw verify -p refund.yaml run.json",
    ),
}
