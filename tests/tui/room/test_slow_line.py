"""The room on a line that carries few bytes: what is newest comes first, and nothing piles up."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from lumen_modem import Modem
from lumen_terminal import Terminal

from lumen_tui.tui.patches.flow_control import FlowControl


@pytest.fixture
def modem(state: Path, terminals: list[Terminal]) -> Iterator[Modem]:
    terminals.append(terminal := Terminal(state))
    modem = Modem(terminal)
    modem.until(lambda: "something noticed" in modem.text)
    yield modem
    modem.rate = math.inf
    modem.press("q")


def test_on_a_slow_line_the_last_key_is_answered_before_what_it_made_old(modem: Modem) -> None:
    modem.rate, before = 960, modem.count
    modem.press("345612" * 6 + "t")
    modem.until(lambda: "New task" in modem.text)
    assert modem.count - before < 6_000
    modem.press("\x1b")
    modem.until(lambda: "slow line" in modem.text)
    modem.until(lambda: modem.text.isascii())
    modem.rate = math.inf
    turns = cycle("t\x1b")

    def again() -> bool:
        modem.press(next(turns))
        for _ in range(20):
            modem.carry()
        return "fast again" in modem.text

    modem.until(again)
    modem.until(lambda: "╭" in modem.text)


def test_a_terminal_that_never_answers_is_sent_everything() -> None:
    flow = FlowControl()
    assert flow.sent(100_000, 1.0)
    assert flow.most(1.1) == math.inf


def answered(flow: FlowControl, at: float) -> bool:
    return flow.answered(at, at)


def quick(flow: FlowControl) -> None:
    """Let a terminal answer at once, twice."""
    for at in (1.0, 2.0):
        flow.sent(400, at)
        answered(flow, at + 0.02)


def test_what_is_on_its_way_is_bounded() -> None:
    flow = FlowControl()
    quick(flow)
    sent = 0
    while flow.most(3.0):
        flow.sent(400, 3.0)
        sent += 400
    assert sent <= 2_400
    answered(flow, 3.1)
    assert flow.most(3.1)


def test_an_answer_that_is_late_is_awaited() -> None:
    flow = FlowControl()
    quick(flow)
    flow.sent(400, 3.0)
    assert flow.most(3.2) == math.inf
    assert flow.most(4.0) == 0


def test_an_answer_that_never_comes_makes_nobody_wait_for_ever() -> None:
    flow = FlowControl()
    quick(flow)
    flow.sent(400, 3.0)
    assert flow.most(3.0 + flow.patience) == math.inf


@pytest.mark.parametrize("rate", [120, 960, 1920])
def test_a_slow_line_is_known_by_its_answers_and_gets_half_a_second_at_a_time(rate: int) -> None:
    flow, now = FlowControl(), 3.0
    quick(flow)
    for count in (2_000, 400, 400, 400):
        flow.sent(count, now)
        while answered(flow, now := now + 0.02 + count / rate):
            count = 0
    assert flow.slow
    assert flow.most(now) == pytest.approx(max(160, rate / 2), rel=0.3)


def test_a_far_terminal_is_not_slow() -> None:
    flow, now = FlowControl(), 1.0
    for _ in range(20):
        flow.sent(400, now)
        now += 0.7
        answered(flow, now)
    assert not flow.slow


def test_a_line_is_quick_again_after_three_quick_answers() -> None:
    flow, now = FlowControl(), 3.0
    quick(flow)
    flow.sent(2_000, now)
    answered(flow, now := now + 4)
    assert flow.slow
    assert answered(flow, now + 0.02) is False, "how far it is"
    for turn in range(3):
        assert flow.slow, turn
        flow.sent(300, now)
        while answered(flow, now := now + 0.03):
            pass  # it asks how far the terminal is
    assert not flow.slow
    assert flow.most(now) == math.inf


def test_that_the_room_is_busy_does_not_make_its_line_slow() -> None:
    flow, now = FlowControl(), 3.0
    quick(flow)
    for _ in range(5):
        flow.sent(800, now)
        while flow.answered(now + 0.02, now := now + 2):
            pass
    assert not flow.slow
