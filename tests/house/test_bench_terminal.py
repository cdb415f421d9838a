"""What a benchmark takes for the answer to a key."""

from __future__ import annotations

import sys

from benchmarks.terminal import Terminal

# A program that answers a key as Textual does: the shape of the mouse, and when the screen is made, its frame.
SLOW = r"""
import os, sys, time, tty
tty.setraw(0)
os.write(1, b"ready")
os.read(0, 1)
os.write(1, b"\x1b]22;default\x07")
time.sleep(0.3)
os.write(1, b"\x1b[?2026h" + b"frame" * 10 + b"\x1b[?2026l")
os.read(0, 1)
os.write(1, b"\x1b]22;default\x07")
os.read(0, 1)
"""


def test_the_shape_of_the_mouse_is_no_answer_to_a_key() -> None:
    terminal = Terminal([sys.executable, "-c", SLOW])
    try:
        terminal.until("ready", 30.0)
        taken, count = terminal.react(b"?", timeout=30.0)
        assert taken >= 300
        assert count > 50
        assert terminal.react(b"?", timeout=0.5)[0] == 0.0
    finally:
        terminal.leave()
