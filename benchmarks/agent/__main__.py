"""`make agent-report`: what the reference stories cost, each figure beside its goal."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

for _folder in ("apiserver", "support"):
    sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / _folder))

from lumen_apiserver import ApiServer  # noqa: E402 - the folders above hold them
from lumen_clock import MovedClock  # noqa: E402

from benchmarks.agent.bill import Call, total  # noqa: E402
from benchmarks.agent.cuts import after_cuts  # noqa: E402
from benchmarks.agent.model import Mind  # noqa: E402
from benchmarks.agent.office import Office  # noqa: E402
from benchmarks.agent.stories import STORIES, Story, make_project  # noqa: E402

_HEAD = f"{'story':14} {'who':22} {'calls':>6} {'tokens in':>11} {'cached':>11} {'share':>6} {'out':>8} {'dollars':>9}"


def run(story: Story, root: Path) -> tuple[list[Call], int, list[str]]:
    """Tell one story on a new folder; return its calls, how many loops there were, and what a cut left."""
    server, clock = ApiServer(), MovedClock()
    project = root / "project"
    make_project(project)
    mind = Mind(str(project))
    server.otherwise(mind.answer)
    office = Office(root / "state", server, clock, story.settings)
    try:
        asyncio.run(story.tell(office))
    finally:
        office.close()
        server.close()
    return office.calls, office.loops, after_cuts(server.asked, office.calls)


def rows(story: Story, calls: list[Call]) -> list[str]:
    """Return the lines of one story: everybody together, then each role and model."""
    groups = [("all", calls)]
    for role in ("main", "worker", "summary"):
        for model in sorted({call.model for call in calls if call.role == role}):
            name = f"{role}, {model.removeprefix('claude-')}"
            groups.append((name, [call for call in calls if (call.role, call.model) == (role, model)]))
        groups.append((role, [call for call in calls if call.role == role]))
    found = []
    for name, part in groups:
        sums = total(part)
        if part or name == "all":
            found.append(
                f"{story.name if name == 'all' else '':14} {name:22} {sums.calls:6,} {sums.prompt:11,} {sums.read:11,} "
                f"{sums.share:6.1%} {sums.output:8,} {sums.usd:9.4f}"
            )
    return found


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="make agent-report", description=__doc__)
    parser.add_argument("--only", default="", help="a part of a story's name")
    chosen = parser.parse_args().only
    print(_HEAD)
    for story in STORIES:
        if chosen not in story.name:
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="lumen-report-") as folder:
            calls, loops, left = run(story, Path(folder))
        for line in [*rows(story, calls), *left]:
            print(line)
        largest = max((call.fresh + call.written + call.read for call in calls), default=0)
        print(
            f"{'':14} {loops} loops, the largest request {largest:,} tokens, told in {time.monotonic() - began:.0f} s"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
