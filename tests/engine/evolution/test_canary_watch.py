"""After a promotion the engine watches real tasks, and rolls back by itself where they are clearly worse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from lumen_tui.engine.events import EventLog, recent_events
from lumen_tui.engine.evolution.canary import Canary
from lumen_tui.model.evolution import Trust
from lumen_tui.model.evolved_edits import EditKind, EvolvedEdit
from lumen_tui.model.search_weights import SHIPPED
from lumen_tui.model.snapshot import Need
from lumen_tui.model.tasks import Exit, Spec, TaskEvent
from lumen_tui.model.times import iso
from lumen_tui.model.trials import EvolutionCandidate, candidate_id
from lumen_tui.queries.search.search import weights_in_force
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.store.evolution import candidates, champions
from tests.actions.conftest import ActionsFolder
from tests.actions.test_promotion import NAME, folder_at, passed


class Watched:
    """A state folder with a promotion, tasks that end, and what watches them."""

    def __init__(self, root: Path) -> None:
        self.desk: ActionsFolder = folder_at(root)
        self.layout, self.log = self.desk.layout, EventLog(self.desk.store)
        self._ended = 0
        self.end(8)
        self.desk.now += 10
        self.desk.do("evolution.promote", candidate=NAME)
        self.promoted = self.layout.champion.read_bytes()
        self.canary = Canary(self.desk.store, self.log)

    def end(self, count: int, status: str = "done", reason: str = "", denials: int = 0, role: str = "builder") -> None:
        for _ in range(count):
            self.desk.now += 10
            self._ended += 1
            name = f"tsk-{self._ended}"
            folder = self.layout.task(name)
            folder.mkdir()
            (folder / "spec.json").write_bytes(msgspec.json.encode(Spec(name, "build", role=role)))
            refused = TaskEvent(iso(self.desk.now), "result", tool="shell", ok=False, data={"refused": True})
            (folder / "events.jsonl").write_bytes((msgspec.json.encode(refused) + b"\n") * denials)
            ended = Exit(name, status, iso(self.desk.now), reason=reason)
            (folder / "exit.json").write_bytes(msgspec.json.encode(ended))

    def look(self) -> bool:
        """Whether the promotion is still in force after a look."""
        self.canary.note_ended(True, self.desk.now)
        return self.layout.champion.exists() and self.layout.champion.read_bytes() == self.promoted

    @property
    def told(self) -> list[str]:
        return [event.text for event in recent_events(self.desk.store, 50) if event.kind == "evolution"]


@pytest.fixture
def work(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "state")


def test_good_tasks_leave_it_in_force(work: Watched) -> None:
    for _ in range(25):
        work.end(1)
        assert work.look()
    assert work.told == []


@pytest.mark.parametrize(
    "breach",
    [{"status": "failed", "reason": "disproved: make test"}, {"status": "lost"}, {"denials": 6}],
    ids=["claims", "deaths", "refusals"],
)
def test_a_breach_rolls_back_says_why_and_stays_back(work: Watched, breach: dict[str, object]) -> None:
    work.end(1)
    assert work.look()
    work.end(6, **breach)  # type: ignore[arg-type]
    assert not work.look()
    assert not work.layout.champion.exists()
    last = champions.ledger(work.layout)[-1]
    assert (last.step, last.by) == ("rollback", "evolution")
    assert "in 0 of 8 before" in last.reason
    assert work.told == [f"rolled back to root by itself: {last.reason}"]
    work.end(5, **breach)  # type: ignore[arg-type]
    work.look()
    assert len(champions.ledger(work.layout)) == 2


WEIGHT = EvolvedEdit("", EditKind.WEIGHT, name="recency", value=0.05)


def test_a_weight_of_the_search_is_watched_by_the_tasks_of_all_roles_and_taken_back(tmp_path: Path) -> None:
    work = Watched(tmp_path / "state")
    work.desk.do("evolution.rollback")
    made = EvolutionCandidate(candidate_id(WEIGHT), iso(work.desk.now), "ana", WEIGHT, "w", trust=Trust.PERSON)
    candidates.write(work.layout, [made])
    candidates.report(work.layout, passed(work.layout, WEIGHT))
    work.desk.now += 10
    work.desk.do("evolution.promote", candidate=made.id)
    work.promoted = work.layout.champion.read_bytes()
    assert weights_in_force(work.layout).recency == 0.05
    work.end(6, "lost", role="main")  # the main agent's loops are no tasks
    assert work.look()
    for role in ("builder", "researcher", "critic") * 2:
        work.end(1, "lost", role=role)
    assert not work.look()
    assert weights_in_force(work.layout) == SHIPPED
    last = champions.ledger(work.layout)[-1]
    assert (last.step, last.by, last.candidate) == ("rollback", "evolution", made.id)


def test_what_was_taken_back_needs_a_person_until_one_has_seen_it(work: Watched) -> None:
    def needs() -> list[str]:
        listed = SnapshotReader(work.layout.root).snapshot(work.desk.now).attention
        return [need.text for need in listed if need.need is Need.ROLLED_BACK]

    assert needs() == []
    work.end(6, "lost")
    work.look()
    (text,) = needs()
    assert "taken back by itself: workers died in 6 of 6 tasks since" in text
    action = champions.ledger(work.layout)[-1].id
    work.desk.do("attention.dismiss", targets=action)
    assert needs() == []
    work.desk.do("undo")
    assert len(needs()) == 1
    work.desk.do("undo", action_id=action)  # a person brings the change back: nothing is to be seen to
    assert needs() == []


def test_other_roles_and_tasks_behind_the_watched_ones_say_nothing(work: Watched) -> None:
    work.end(10, "lost", role="researcher")
    assert work.look()
    work.end(20)
    work.end(10, "lost")
    assert work.look()


def test_a_person_who_rolled_back_or_undid_it_is_not_overruled(work: Watched) -> None:
    work.desk.do("evolution.rollback")
    work.desk.do("undo")
    work.end(6, "lost")
    assert work.look()
    assert [promotion.step for promotion in champions.ledger(work.layout)] == ["promote", "rollback", "undo"]


def test_a_new_engine_goes_on_watching_and_damage_is_said_once(work: Watched) -> None:
    work.end(6, "lost")
    again = Canary(work.desk.store, work.log)
    version = next(work.layout.champions.iterdir())
    whole = version.read_bytes()
    version.write_bytes(b"{")
    again.note_ended((), work.desk.now)
    again.note_ended(True, work.desk.now)
    assert len(work.told) == 1
    assert "cannot be watched" in work.told[0]
    version.write_bytes(whole)
    again.note_ended(True, work.desk.now)
    assert not work.layout.champion.exists()


def test_what_was_rolled_back_by_itself_can_be_undone_by_a_person(work: Watched) -> None:
    work.end(6, "lost")
    assert not work.look()
    action = champions.ledger(work.layout)[-1].id
    work.desk.do("undo", action_id=action)
    assert work.layout.champion.read_bytes() == work.promoted


async def test_the_beat_of_an_engine_looks_by_itself(world: Any) -> None:
    work = Watched(world.root)
    work.end(6, "lost")
    world.clock.wall = work.desk.now + 60
    await world.beat()
    assert not work.layout.champion.exists()
    assert any("by itself" in text for text in work.told)
