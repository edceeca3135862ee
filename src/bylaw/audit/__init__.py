"""The audit log: what a gate decided, so that it can be proved later.

A log is a file of JSON lines, one entry a line. Every entry is chained to the one before it by a
hash, and may be sealed with a key. `entry` defines the line, `seal` the keys, `torn` the bytes that
an interrupted write leaves, `reader` and `check` read and verify, `anchor` is what to keep
elsewhere, `log_file` is the file itself, and `log` is the object that writes.

The first entry of each session of writing has the kind `open`: the format, the version of Bylaw,
the time source, and how entries are sealed. Each run has an entry `start` with its procedure's name
and hash. Its messages, decisions and results follow, each with a time and the run. `close` ends a
session that was not interrupted.
"""
