"""Checks on each tier: what holds commands of the worker holds them; without a sandbox a person is asked first."""

from __future__ import annotations

from pathlib import Path

import lumen_machine
import pytest
from lumen_until import until

from lumen_tui.storage.layout import Layout
from lumen_tui.store import approvals


def on(court, *settings: str) -> None:
    """Put settings into the section [sandbox], which is the last one."""
    with court.layout.config.open("a") as stream:
        stream.write("".join(f"{line}\n" for line in settings))


def asked(layout: Layout) -> list[str]:
    return [one.id for one in approvals.every(layout) if approvals.decision(layout, one.id) is None]


@pytest.mark.parametrize("tier", lumen_machine.TIERS)
def test_a_check_is_held_by_the_tier_of_its_worker(court, tier):
    if tier not in lumen_machine.holding():
        pytest.skip(f"{tier} does not hold on this machine")
    on(court, f'tier = "{tier}"')
    outside = court.root / "outside"
    task = court.task("a", [f"command: touch {outside}"])
    other = court.task("b", ["command: touch inside"])
    court.start()
    assert court.verdict(task) == ("failed", "disproved")
    assert court.verdict(other) == ("done", "proved")
    assert not outside.exists()
    assert (court.work / "b" / "inside").exists()


@pytest.mark.parametrize(("answer", "verdict"), [("allow", "proved"), ("deny", "claimed")])
def test_without_a_sandbox_a_person_is_asked_before_a_check_runs(court, answer, verdict):
    on(court, 'tier = "ask"')
    made: Path = court.work / "a" / "made"
    task = court.task("a", [f"command: touch {made}"])
    court.start()
    until(lambda: asked(court.layout), instead=lambda: court.events(task))
    assert not made.exists()
    court.do(f"approval.{answer}", approval_ids=asked(court.layout), reason="no")
    assert court.verdict(task) == ("done", verdict)
    assert made.exists() == (answer == "allow")


def test_below_the_tier_that_is_required_neither_the_worker_nor_a_check_begins(court):
    on(court, 'tier = "ask"', 'require = "landlock"')
    made = court.work / "a" / "made"
    task = court.task("a", [f"command: touch {made}"])
    court.start()
    assert court.verdict(task) == ("failed", "")
    assert "landlock" in court.ended(task).reason
    assert court.prompts == {}
    assert not made.exists()
    assert asked(court.layout) == []
