"""The reference stories: what happens in each, in the words of those who send and order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import Struct

from benchmarks.agent.office import Office

_STEP = 300.0  # seconds between two beats, and between two signals of the noisy day
_DAY = 288  # beats of a day
_ROUTINE = (
    "backup of the database ended well, 4.1 GB in 3 m 20 s",
    "build 8812 of main is green, 1,204 tests in 6 m 11 s",
    "certificate of api.example.org is good for another 61 days",
    "queue depth is 14, usual for this hour",
    "disk of build-2 is at 71 %",
    "12 dependencies are up to date, none has a known hole",
)


class Story(Struct, frozen=True):
    """One story: its name, what it is in a few words, and what happens."""

    name: str
    what: str
    tell: Callable[[Office], Awaitable[None]]
    settings: str = ""


def make_project(folder: Path) -> None:
    """Write the folder that the workers look at: 12 logs of about 4 KB, 60 pages of 18 KB, and settings."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in range(12):
        lines = [
            f"2026-11-22T09:{12 + line % 40:02d}:07Z GET /report 504 timeout after 30 s upstream=10.0.{part}.{line}"
            for line in range(45)
        ]
        (folder / f"part-{part:02d}.log").write_text("\n".join(lines) + "\n")
    for page in range(60):
        lines = [
            f"2026-11-22T09:{12 + line % 40:02d}:07Z GET /report 504 timeout after 30 s upstream=10.0.{page}.{line}"
            for line in range(230)
        ]
        (folder / f"page-{page:02d}.log").write_text("\n".join(lines) + "\n")
    (folder / "settings.toml").write_text("[http]\nrequest_timeout = 30\nretries = 2\n")


async def whole(office: Office) -> None:
    """An order, a plan, two tasks, their results, the answer."""
    office.say(
        "#0001 ORDER: find out why reports time out since Monday, and which setting to change", by="ann", order=True
    )
    await office.beat()


async def idle(office: Office) -> None:
    """A day without news."""
    for _ in range(_DAY):
        office.clock.pass_time(_STEP)
        await office.beat()


async def noisy(office: Office) -> None:
    """A signal at each beat of a day: most need nothing, one in 24 a task, one in 48 a plan; two alarms, two orders."""
    for number in range(_DAY):
        office.clock.pass_time(_STEP)
        words, by, priority, order = _signal(number)
        office.say(f"#{number:04d} {words}", by=by, priority=priority, order=order)
        await office.beat()


def _signal(number: int) -> tuple[str, str, str, bool]:
    if number in (100, 220):
        return "ORDER: look into the slow reports once more and say what changed since the last look", "ann", "", True
    if number in (60, 200):
        return "DOWN: api.example.org does not answer on port 443 from two places", "monitor", "P0", False
    if number % 48 == 30:
        return "which of the two release plans do we follow? both branches are ready", "release-bot", "", False
    if number % 24 == 12:
        return "FAILED: nightly report timed out after 30 s, 29 times between 09:12 and 10:40", "report-bot", "", False
    return _ROUTINE[number % len(_ROUTINE)], ("ci", "backup", "monitor")[number % 3], "", False


async def twelve(office: Office) -> None:
    """Three tasks of twelve steps each, one after the other."""
    for number in range(3):
        office.task(f"Survey the logs in {office.store.root.parent / 'project'}, pass {number + 1}", "researcher")
        await office.beat(loops=1)


_SURVEYOR = """+++
purpose = "Reads through all that there is."
tier = "sonnet"
tools = ["list_dir", "grep", "read_file", "write_result"]

[limits]
max_steps = 80
max_output_bytes = 4000000
+++

You read through everything, in order, and report what is in it.
"""


async def sixty(office: Office) -> None:
    """A task of sixty steps, each with a result of 18 KB; the operator says something to it while it works."""
    office.store.layout.role("surveyor").write_text(_SURVEYOR)
    name = office.task(f"Read all logs in {office.store.root.parent / 'project'}", "surveyor")
    office.during[10] = lambda: office.tell(name, "Name the hosts by subnet, and leave out 10.0.7.*.")
    await office.beat(loops=1)


_NO_TIER = '[models]\nhaiku = "elsewhere:small"\n[models.endpoints.elsewhere]\nbase_url = "http://127.0.0.1:9/v1"\n'
_LARGE = "[models.endpoints.anthropic]\nwindow = 1000000\n"
STORIES = (
    Story("whole story", "order, plan, two tasks, results, answer", whole),
    Story("idle day", "288 beats without news", idle),
    Story("noisy day", "288 signals, one at each beat", noisy),
    Story("twelve steps", "three tasks of twelve steps", twelve),
    Story("60, summed up", "sixty steps, a window of 200,000 tokens", sixty),
    Story("60, cut", "the same without a cheap tier: old results are cut", sixty, _NO_TIER),
    Story("60, no cut", "the same with a window of 1,000,000 tokens", sixty, _LARGE),
)
