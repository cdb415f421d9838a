"""`python -m benchmarks.compare REV`: this tree beside another revision of it, run in turns, figure by figure.

    make bench-compare REV=v0.3.0 ARGS="--only verbs --rounds 8"

The other one is checked out beside this one, with an environment of its own. A round measures both, one right after the
other and each second round the other way round, so that what else the machine does weighs on both; its ratio is ours
divided by theirs. A figure counts as changed where every round says so, and there were enough of them for that to be no
accident: one in 2^(rounds - 1) by the sign test.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.table import number

ROOT = Path(__file__).resolve().parents[1]
Rows = list[dict[str, object]]
_LEAST = 6  # rounds that have to agree: by accident they do in 1 of 32 figures
_WIDTHS = (5, 60, 12, 12, 8, 15, 10)
_HEADS = ("", "figure", "here", "there", "ratio", "of the rounds", "")


@dataclass
class Compared:
    """One figure on both sides, a pair for each round."""

    id: str
    what: str
    unit: str
    more_is_better: bool
    pairs: list[tuple[float, float]] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        """Ours divided by theirs, the smallest first."""
        return sorted(here / there for here, there in self.pairs if there)

    @property
    def verdict(self) -> str:
        """`better` or `worse` where all rounds agree, and there are enough of them."""
        ratios = self.ratios
        if len(ratios) < _LEAST or not (ratios[0] > 1 or ratios[-1] < 1):
            return ""
        return "better" if (ratios[0] > 1) == self.more_is_better else "worse"

    @property
    def cells(self) -> tuple[str, ...]:
        here, there = (f"{number(median(side))} {self.unit}" for side in zip(*self.pairs, strict=True))
        ratios = self.ratios
        if not ratios:
            return (self.id, self.what, here, there, "", "", "")
        span = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
        return (self.id, self.what, here, there, f"{median(ratios):.2f}x", span, self.verdict)


def compared(rounds: Iterable[tuple[Rows, Rows]]) -> list[Compared]:
    """Return the figures that both sides have, in our order, of rounds of (our rows, their rows)."""
    figures: dict[tuple[object, object], Compared] = {}
    for ours, theirs in rounds:
        there = {(row["id"], row["what"]): row for row in theirs if not row["skipped"]}
        for row in ours:
            key = (row["id"], row["what"])
            if row["skipped"] or key not in there:
                continue
            more = bool(row["more_is_better"])
            figure = figures.setdefault(key, Compared(str(row["id"]), str(row["what"]), str(row["unit"]), more))
            figure.pairs.append((float(str(row["value"])), float(str(there[key]["value"]))))
    return list(figures.values())


@contextmanager
def _checked_out(revision: str) -> Iterator[Path]:
    """Check a revision out into a folder of its own, with its environment, and take it away again."""
    with tempfile.TemporaryDirectory(prefix="lumen-bench-", dir="/var/tmp") as folder:
        tree = Path(folder) / "there"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), revision], check=True)
        try:
            subprocess.run(["make", "--silent", ".venv/.ready"], cwd=tree, check=True, stdout=subprocess.DEVNULL)
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=False)


def _rows(tree: Path, words: list[str]) -> Rows:
    command = [str(tree / ".venv/bin/python"), "-m", "benchmarks", "--json", *words]
    ran = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(f"the benchmarks of {tree} ended with {ran.returncode}:\n{ran.stderr[-2000:]}")
    rows: Rows = json.loads(ran.stdout)["rows"]
    return rows


def _rounds(there: Path, words: list[str], rounds: int) -> Iterator[tuple[Rows, Rows]]:
    for turn in range(rounds):
        order = (ROOT, there) if turn % 2 == 0 else (there, ROOT)
        rows = {tree: _rows(tree, words) for tree in order}
        print(f"round {turn + 1} of {rounds} is over", file=sys.stderr, flush=True)
        yield rows[ROOT], rows[there]


def _line(values: tuple[str, ...]) -> str:
    return "  ".join(value.ljust(width) for value, width in zip(values, _WIDTHS, strict=True)).rstrip()


def main() -> int:
    """Measure both and print the table; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__.partition("\n")[0])
    parser.add_argument("revision", help="what git knows: a commit, a tag, HEAD~3")
    parser.add_argument("--rounds", type=int, default=_LEAST, help=f"how often; fewer than {_LEAST} decide nothing")
    options, words = parser.parse_known_args()  # the others are those of the benchmarks
    known = ["git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", f"{options.revision}^{{commit}}"]
    if subprocess.run(known, stdout=subprocess.DEVNULL).returncode:
        parser.error(f"git knows no commit {options.revision!r}; `git log --oneline` lists them")
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    with _checked_out(options.revision) as there:
        figures = compared(_rounds(there, words or ["--quick"], options.rounds))
    print(_line(_HEADS), _line(tuple("-" * width for width in _WIDTHS)), sep="\n")
    for figure in figures:
        print(_line(figure.cells))
    changed = [figure.verdict for figure in figures if figure.verdict]
    print(f"\n{len(figures)} figures: {changed.count('better')} better, {changed.count('worse')} worse")
    return 0


if __name__ == "__main__":
    sys.exit(main())
