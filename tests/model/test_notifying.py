"""What a mouth tells: once, not again within a day, nothing in quiet hours, and a digest in place of a flood."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lumen_tui.model import times
from lumen_tui.model.config import Config
from lumen_tui.model.notify_config import Kind, NotifyConfig, quiet_until
from lumen_tui.model.notifying import Receipts, Telling, messages, receipts_for, telling
from lumen_tui.model.snapshot import Need
from lumen_tui.model.transitions import OpenItem, Transition, TransitionKind

NOON = times.epoch("2026-11-23T12:00:00Z")
NIGHT = times.epoch("2026-11-23T23:30:00Z")
RULES = NotifyConfig(quiet="22:00-07:00", through_quiet=("signal",))


def item(name: str, at: float = NOON, need: Need = Need.APPROVAL, **more: object) -> OpenItem:
    first = Transition(
        id=f"ntf-{name}-{at:.0f}", at=times.iso(at), kind=TransitionKind.APPEARED, item=f"{need}:{name}",
        need=need.value, target=name, text=f"{name} asks", **more,
    )  # fmt: skip
    return OpenItem((first,))


def aged(known: OpenItem, at: float, waited: float) -> OpenItem:
    later = replace(
        known.transitions[0], id=f"ntf-aged-{at:.0f}", at=times.iso(at), kind=TransitionKind.AGED, waited=waited
    )
    return OpenItem((*known.transitions, later))


class Mouth:
    """One mouth with its receipts, as `store.attention.receipts` has them."""

    def __init__(self, rules: NotifyConfig = RULES) -> None:
        self.rules, self.receipts = rules, Receipts()

    def tell(self, now: float, *items: OpenItem, offset: float = 0.0) -> Telling:
        told = telling(items, self.receipts, self.rules, now, offset)
        for receipt in receipts_for("terminal ana", told, items, now):
            self.receipts.take(receipt)
        return told

    def heard(self, now: float, *items: OpenItem) -> list[str]:
        return [transition.target for transition in self.tell(now, *items).transitions]


def test_each_transition_is_told_once_however_often_it_is_looked_at() -> None:
    mouth = Mouth()
    assert mouth.heard(NOON, item("a")) == ["a"]
    assert [mouth.heard(NOON + later, item("a")) for later in (1, 60, 3600, 90_000)] == [[]] * 4


def test_what_comes_and_goes_is_told_again_after_a_day_and_not_before() -> None:
    mouth = Mouth()
    assert mouth.heard(NOON, item("a")) == ["a"]
    assert mouth.heard(NOON + 3600, item("a", NOON + 3600)) == []
    assert mouth.heard(NOON + 90_000, item("a", NOON + 3600)) == []
    assert mouth.heard(NOON + 90_000, item("a", NOON + 90_000)) == ["a"]


def test_an_age_is_told_and_covers_what_was_not_told_before() -> None:
    mouth = Mouth()
    waits = aged(item("a"), NOON + 3600, 3600.0)
    told = mouth.tell(NOON + 3600, waits)
    assert [message.title for message in messages(told, "lumen")] == ["lumen: approval waits for 1 h 0 m"]
    assert mouth.heard(NOON + 3601, item("a")) == []


def test_quiet_hours_hold_back_all_but_what_may_break_them_until_they_end() -> None:
    mouth = Mouth()
    quiet = mouth.tell(NIGHT, item("a", NIGHT), item("s", NIGHT, Need.P0_SIGNAL))
    assert [transition.target for transition in quiet.transitions] == ["s"]
    assert quiet.again == times.epoch("2026-11-24T07:00:00Z")
    assert mouth.heard(quiet.again, item("a", NIGHT)) == ["a"]


def test_what_was_settled_in_quiet_hours_is_never_told() -> None:
    mouth = Mouth()
    held = mouth.tell(NIGHT, item("a", NIGHT))
    assert mouth.heard(held.again) == []


@pytest.mark.parametrize(
    ("clock", "offset", "ends"),
    [
        ("21:59", 0, ""),
        ("22:00", 0, "07:00"),
        ("06:59", 0, "07:00"),
        ("07:00", 0, ""),
        ("20:30", 2 * 3600, "05:00"),
        ("01:30", -5 * 3600, ""),
        ("05:30", -5 * 3600, "12:00"),
    ],
)
def test_quiet_hours_are_those_of_the_zone(clock: str, offset: float, ends: str) -> None:
    until = quiet_until("22:00-07:00", times.epoch(f"2026-11-23T{clock}:00Z"), offset)
    assert (times.iso(until)[11:16] if until else "") == ends


def test_quiet_hours_within_one_day_and_none_at_all() -> None:
    assert quiet_until("12:00-13:00", NOON) == NOON + 3600
    assert quiet_until("", NIGHT) == quiet_until("12:00-12:00", NOON) == 0


def test_a_flood_becomes_one_digest_that_counts_it() -> None:
    mouth = Mouth(NotifyConfig(most=5))
    many = [item(f"a{number}") for number in range(7)] + [item("s", need=Need.P0_SIGNAL)]
    told = mouth.tell(NOON, *many)
    (message,) = messages(told, "lumen")
    assert message.title == "lumen: 8 need you"
    assert message.body.startswith("7 approval, 1 signal: a0 asks; a1 asks; a2 asks")
    assert mouth.tell(NOON + 1, *many).transitions == ()


def test_after_a_digest_the_next_waits_for_five_minutes() -> None:
    mouth = Mouth(NotifyConfig(most=2))
    many = [item(f"a{number}") for number in range(3)]
    assert mouth.tell(NOON, *many).digest
    late = [*many, *(item(f"b{number}", NOON + 9) for number in range(4))]
    held = mouth.tell(NOON + 10, *late)
    assert (held.transitions, held.again) == ((), NOON + 300)
    assert len(mouth.tell(NOON + 301, *late).transitions) == 4


def test_messages_that_come_one_by_one_are_a_flood_too() -> None:
    mouth = Mouth(NotifyConfig(most=5))
    items = [item(f"a{number}", NOON + number) for number in range(40)]
    sent = [told for number in range(40) if (told := mouth.tell(NOON + number, *items[: number + 1])).transitions]
    assert [told.digest for told in sent] == [False] * 5 + [True]


def test_only_the_kinds_of_the_settings_are_told() -> None:
    mouth = Mouth(NotifyConfig(kinds=("approval",)))
    assert mouth.heard(NOON, item("a"), item("s", need=Need.P0_SIGNAL)) == ["a"]


def test_a_message_is_one_safe_line() -> None:
    hostile = OpenItem((replace(item("a").transitions[0], text="x\x1b]0;owned\x07\ny"),))
    (message,) = messages(Telling(hostile.transitions), "lu\x07men")
    assert message.body.isprintable() and message.title.isprintable()


def test_the_settings_know_every_kind_of_need() -> None:
    assert set(Kind.__args__) == {need.value for need in Need}
    assert set(Config().notify.kinds) < set(Kind.__args__)
