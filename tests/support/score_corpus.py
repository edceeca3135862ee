"""A run over a corpus that can be killed: `python score_corpus.py JOBS OUT TRACE…`.

Every piece is small and is put on disk at once, so that there are many moments to be killed at.
It prints `begun` when the first piece is done.
"""

from __future__ import annotations

import sys

import corpora

from bylaw.batch.corpus import Output, Step, score_corpus
from bylaw.batch.pieces import Limits
from bylaw.batch.pipeline import Local
from bylaw.batch.sources import sources

LIMITS = Limits(piece=10_000)


def main(jobs: str, out: str, *paths: str) -> None:
    corpus = sources(paths)
    output = Output.to(out, corpora.DESK, corpus, LIMITS, seconds=0)

    def watch(step: Step) -> None:
        if not step.resumed:
            print("begun", flush=True)

    score_corpus(
        corpora.DESK, corpus, engine=Local(int(jobs)), limits=LIMITS, output=output, watch=watch
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
