"""Study 1: does keeping to the procedure go with success? Recorded runs of service agents.

    python benchmarks/service.py FOLDER [--alarms]

FOLDER has τ-bench runs: `retail-*.json` and `airline-*.json`, with a reward for each. Printed are
the odds of success of runs that keep a rule against those that break it, pooled over the files
(Mantel-Haenszel, 95 % intervals by Robins, Breslow and Greenland), and what a gate would have
refused before it happened. With --alarms, every refusal in a run that succeeded is shown.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable
from math import exp, log, sqrt
from pathlib import Path
from typing import Final, NamedTuple

from recorded import Replay, replayed, traces_in

from bylaw import Procedure, Trace

EXAMPLES: Final = Path(__file__).parent.parent / "examples"
_Z: Final = 1.959964


class Table(NamedTuple):
    """Runs by whether they keep to something, and whether they succeeded."""

    kept_won: int = 0
    kept_lost: int = 0
    broke_won: int = 0
    broke_lost: int = 0

    def plus(self, kept: bool, won: bool) -> Table:
        """The table with one more run."""
        place = (0 if kept else 2) + (0 if won else 1)
        return Table(*(number + (i == place) for i, number in enumerate(self)))


def odds_ratio(tables: Iterable[Table]) -> tuple[float, float, float] | None:
    """The pooled odds ratio and its interval; None if no file tells."""
    r = s = pr = ps = qs = 0.0
    for a, b, c, d in tables:
        n = a + b + c + d
        if not n:
            continue
        p, q, ri, si = (a + d) / n, (b + c) / n, a * d / n, b * c / n
        r, s = r + ri, s + si
        pr, ps, qs = pr + p * ri, ps + p * si + q * ri, qs + q * si
    if not r or not s:
        return None
    ratio = r / s
    error = sqrt(pr / (2 * r * r) + ps / (2 * r * s) + qs / (2 * s * s))
    return ratio, exp(log(ratio) - _Z * error), exp(log(ratio) + _Z * error)


def shown(tables: Iterable[Table]) -> str:
    """The odds ratio as text."""
    found = odds_ratio(tables)
    return "—" if found is None else "{:.1f} ({:.1f} to {:.1f})".format(*found)


def won(trace: Trace) -> bool:
    """Did the run succeed?"""
    return float(trace.labels.get("reward", trace.metrics.get("reward", 0))) == 1.0


def study(domain: str, folder: Path, *, alarms: bool) -> None:
    """Prints the tables of one domain."""
    procedure = Procedure.load(EXAMPLES / domain / "procedure.yaml")
    whole: dict[str, Table] = {}
    gated: dict[str, Table] = {}
    rules: dict[str, dict[str, Table]] = defaultdict(lambda: defaultdict(Table))
    for path in sorted(folder.glob(f"{domain}-*.json")):
        whole[path.name] = gated[path.name] = Table()
        for trace in traces_in(path):
            report, success = procedure.verify(trace), won(trace)
            broken = {each.constraint.name for each in report.constraints if each.passed is False}
            whole[path.name] = whole[path.name].plus(not broken, success)
            for constraint in procedure.constraints:
                kept = constraint.name not in broken
                table = rules[constraint.name][path.name]
                rules[constraint.name][path.name] = table.plus(kept, success)
            made = replayed(procedure, trace)
            gated[path.name] = gated[path.name].plus(not made.refused, success)
            if alarms and success and made.refused:
                _show_alarm(trace, made)
    print(f"\n{domain}: {len(procedure.constraints)} rules")
    for name, table in whole.items():
        a, b, c, d = table
        print(
            f"  {name}: {a + b + c + d} runs, {a + c} succeeded; keep all rules: {a + b}, of which "
            f"{a} succeeded; odds ratio {shown([table])}"
        )
        a, b, c, d = gated[name]
        print(
            f"    a gate touches {d} of {b + d} failed runs and {c} of {a + c} that succeeded; "
            f"odds ratio {shown([gated[name]])}"
        )
    print(
        f"  pooled: all rules {shown(whole.values())}; untouched by a gate {shown(gated.values())}"
    )
    print("  rules broken in at least five runs, by odds ratio of success:")
    rows = []
    for name, by_file in rules.items():
        broke = sum(t.broke_won + t.broke_lost for t in by_file.values())
        if broke >= 5:
            succeeded = sum(t.broke_won for t in by_file.values())
            rows.append((broke, succeeded, name, shown(by_file.values())))
    for broke, succeeded, name, ratio in sorted(rows, reverse=True):
        print(f"    {name}: broken in {broke}, of which {succeeded} succeeded; {ratio}")


def _show_alarm(trace: Trace, made: Replay) -> None:
    for decision in made.refused:
        rules = ", ".join(each.constraint.name for each in decision.violations)
        print(f"ALARM {trace.name} {decision.call.tool} {dict(decision.call.args)}: {rules}")


def main() -> None:
    """Runs the study."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--alarms", action="store_true")
    chosen = parser.parse_args()
    for domain in ("retail", "airline"):
        study(domain, chosen.folder, alarms=chosen.alarms)


if __name__ == "__main__":
    main()
