"""A procedure on many traces: `input` reads a corpus, `scoring` scores it, `output` saves it.

Three words for portions of a corpus, each with one meaning:

- a *chunk* is some whole records, about 4 MiB: the unit of work and of resuming. It begins at a
  *cursor*;
- a *batch* is some traces that are evaluated together, in columns;
- a *part* is a numbered file of result rows, on disk before the run is finished.
"""
