"""When tasks that ended wake the main agent: pure rules."""

from lumen_tui.model.gathering import GatheringEnd, Member, wake_at

NOW = 1_000_000.0


def test_what_ends_within_the_window_is_heard_of_together():
    assert wake_at([GatheringEnd(NOW), GatheringEnd(NOW + 10)], NOW + 10, window=15, bound=600) == NOW + 15


def test_a_group_is_awaited_until_its_bound():
    assert wake_at([GatheringEnd(NOW, awaited=True)], NOW + 1, window=15, bound=600) == NOW + 600
    assert wake_at([GatheringEnd(NOW, awaited=True), GatheringEnd(NOW + 5)], NOW + 6, window=15, bound=600) == NOW + 20


def test_the_first_failure_of_a_group_ends_the_wait():
    ended = [GatheringEnd(NOW, awaited=True), GatheringEnd(NOW + 30, failed=True, awaited=True)]
    assert wake_at(ended, NOW + 31, window=15, bound=600) == NOW + 45


def test_a_clock_that_was_set_back_holds_nothing_up():
    assert wake_at([GatheringEnd(NOW + 5_000)], NOW, window=15, bound=600) == NOW
    assert wake_at([], NOW, window=15, bound=600) == NOW


def test_who_was_made_together():
    loop = Member("loop-000012", NOW)
    assert loop.together(Member("loop-000012", NOW + 9_000))
    assert not loop.together(Member("loop-000013", NOW))
    assert Member("ann", NOW).together(Member("ann", NOW + 59))
    assert not Member("ann", NOW).together(Member("ann", NOW + 61))
    assert not Member("", NOW).together(Member("", NOW))
