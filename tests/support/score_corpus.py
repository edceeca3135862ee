"""A run over a corpus that can be killed: `python score_corpus.py JOBS OUT TRACE…`.

Every chunk is small and its rows are written at once, so the run can be killed at many points. It
prints `begun` when a chunk is done.
"""

from __future__ import annotations

import sys

import corpora

from bylaw.batch.corpus import CorpusProgress, LocalEngine, score_corpus
from bylaw.batch.input.chunks import Limits
from bylaw.batch.input.files import find_files
from bylaw.batch.output.results_file import ResultsFile

LIMITS = Limits(chunk=5_000)


def main(jobs: str, out: str, *paths: str) -> None:
    corpus = find_files(paths)
    output = ResultsFile(out, corpora.DESK, corpus, LIMITS, seconds=0)

    def watch(step: CorpusProgress) -> None:
        if not step.resumed:
            print("begun", flush=True)

    score_corpus(
        corpora.DESK,
        corpus,
        engine=LocalEngine(int(jobs)),
        limits=LIMITS,
        output=output,
        watch=watch,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
