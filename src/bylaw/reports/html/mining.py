"""The page on mined rules: the evidence for each, and buttons to keep or drop it."""

from __future__ import annotations

from typing import Final

from bylaw.mining.candidate import KINDS
from bylaw.mining.mine import MinedProcedure
from bylaw.mining.procedure_file import counterexample_text, evidence_text, to_yaml
from bylaw.reports.html.markup import facts
from bylaw.reports.html.page import asset, page
from bylaw.reports.provenance import Provenance
from bylaw.terminal import counted

STYLES: Final = ("theme.css", "header.css", "cards.css", "bench.css", "mine.css")
SCRIPTS: Final = ("dom.js", "mine.js")


def render_mined(mined: MinedProcedure, origin: Provenance | None = None) -> str:
    """The page."""
    rules = [
        {
            **each.to_dict(),
            "about": KINDS[each.kind].meaning,
            "sentence": evidence_text(each, mined),
            "counterexample": counterexample_text(each),
        }
        for each in mined.rules
    ]
    runs = [counted(mined.good, "good run")]
    if mined.bad:
        runs.append(counted(mined.bad, "bad run"))
        runs.append(f"{mined.explained} of the bad runs break a rule")
    return page(
        "mine.html",
        title="Mined rules" if mined.name == "mined" else f"Rules mined for {mined.name}",
        data={"name": mined.name, "rules": rules, "yaml": to_yaml(mined)},
        styles=[asset(name) for name in STYLES],
        scripts=[asset(name) for name in SCRIPTS],
        provenance=origin or Provenance(),
        head=facts(runs),
    )
