"""Every screen of the room by its name, and the keys that open it from the gallery."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from lumen_cells import picture
from lumen_quiet import rest
from lumen_robot import Robot

SIZES = ((120, 40), (80, 24))
# What is pressed to get there, by the name of the picture; `rest` is no key.
SCREENS = {
    "room": "",
    "zoom loop": "1 z",
    "zoom wake": "2 z",
    "zoom workers": "3 z",
    "zoom signals": "4 z",
    "zoom discoveries": "5 z",
    "zoom decay": "6 z",
    "sorted workers": "3 z o o",
    "sorted signals": "4 z o",
    "sorted discoveries": "5 z o",
    "loop": "1 enter",
    "task": "3 j j j enter",
    "failed task": "3 j j j j enter",
    "signal": "4 enter",
    "discovery": "5 enter",
    "node": "6 enter",
    "approval": "! enter",
    "question": "! j enter",
    "deny": "n d",
    "needs": "!",
    "snoozed": "! x",
    "marked": "5 space space",
    "filter": "5 slash c a r t",
    "promote": "5 p",
    "archive": "5 a",
    "similar": "5 s",
    "archived": "6 x",
    "protected": "6 number_sign",
    "decay in a month": "6 shift+right shift+right shift+right shift+right",
    "task form": "t",
    "signal form": "i",
    "roles": "h",
    "role": "h enter",
    "hire form": "h h",
    "budget": "dollar_sign",
    "evolution": "E",
    "trials": "E Z",
    "trial": "E Z enter",
    "trial not measured": "E Z j j j",
    "blocks": "quotation_mark",
    "facts": "F",
    "relays": "O",
    "schedules": "C",
    "schedule form": "C t",
    "changes": "V",
    "change lines": "V enter",
    "chat": "I",
    "why": "3 w",
    "journal": "J",
    "log": "L",
    "since": "at",
    "loops": "H",
    "capsule": "H enter x",
    "task form refused": "t enter",
    "signal form refused": "i enter",
    "hire form refused": "h h 3 f2",
    "schedule form refused": "C t f2",
    "raise refused": "dollar_sign equals_sign f2",
    "note refused": "S f2 f2",
    "message refused": "3 M f2",
    "limits refused": "3 j enter equals_sign f2",
    "pause refused": "P tab tab tab x f2",
    "kill refused": "ctrl+k x f2",
    "answer refused": "! j r f2",
    "block form refused": "quotation_mark t f2",
    "hand-over note refused": "vertical_line e f2",
    "setting refused": "comma slash h e a r t enter enter ctrl+u x f2",
    "filter without a hit": "5 slash q q x x z",
    "help without a hit": "question_mark q q x x z",
    "palette without a hit": "ctrl+p q q x x z",
    "command line refused": "colon t a s k space q q enter",
    "own commands": "underscore",
    "help": "question_mark",
    "palette": "ctrl+p",
    "command line": "colon t a s k space",
    "command log": "semicolon",
    "work units": "W",
    "work unit": "W enter",
    "settings": "comma",
    "charts": "percent_sign",
    "problems": "X",
    "pause": "P",
    "kill": "ctrl+k",
    "quit": "rest q",  # what the selected row adds is behind it, and comes no more once it is there
    "past": "tilde",
    "past an hour before": "tilde shift+left",
    "past zoomed": "tilde shift+left 3 z",
    "past asked": "tilde tilde",
    "since then": "tilde shift+left at",
}
# What is opened on the first day, when all of it is empty; and in trouble, where it says so.
FIRST_DAY = (
    "room", "zoom loop", "zoom wake", "zoom workers", "zoom signals", "zoom discoveries", "zoom decay", "needs",
    "roles", "budget", "evolution", "trials", "blocks", "facts", "relays", "schedules", "changes", "chat", "journal",
    "log", "since", "loops", "own commands", "command log", "work units", "settings", "charts", "past",
)  # fmt: skip
TROUBLE = (
    "room", "zoom loop", "zoom workers", "needs", "problems", "approval", "deny", "failed task", "work units", "roles",
    "budget", "facts", "relays", "settings", "charts", "log", "past",
)  # fmt: skip
_LOOKS_AGAIN = 0.25  # seconds
_NOT_YET = ("Reading", "Looking…", "Operators: 0 rooms")  # this one is there, once it has been noticed


async def _steady(robot: Robot) -> None:
    """Wait until nothing is added to the screen any more: some look for more once the cursor has rested."""
    shown = ""
    while shown != (shown := picture(robot.app)):
        await robot.pilot.pause(_LOOKS_AGAIN)
        await rest()


@asynccontextmanager
async def opened(app: Any, size: tuple[int, int], keys: str = "") -> AsyncIterator[Robot]:
    """A room that has read all and settled, with the keys pressed."""
    async with app.run_test(size=size) as pilot:
        robot = Robot(app, pilot)
        await robot.until(lambda: app.room.snapshot.root and app.room.snapshot.loading == 1)
        for key in keys.split():
            await (_steady(robot) if key == "rest" else robot.press(key))
        await robot.until(lambda: not any(word in robot.text for word in _NOT_YET))
        await _steady(robot)
        yield robot
