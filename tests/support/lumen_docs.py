"""`make pictures`: the pictures of the tour and of other pages in docs/, drawn from what the demo opens with."""

from __future__ import annotations

import asyncio
import html
import os
import re
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
KEPT = REPO / "tests/tui/room/__snapshots__/test_pictures"
# The file in docs/, what is pressed to get there, and the picture in text that is kept of the same screen.
TOUR = {
    "room": ("", "room"),
    "triage": ("5 enter", "discovery"),
    "needs": ("exclamation_mark", "needs"),
    "task": ("3 j j j enter", "task"),
    "unit": ("W enter", "work unit"),
    "charts": ("percent_sign", "charts"),
    "approval": ("exclamation_mark enter", "approval"),
    "question": ("exclamation_mark j enter", "question"),
}
_TEXT = re.compile(r"<text[^>]*>(.*?)</text>")
_PADDED = re.compile(r' x="([\d.]+)"([^>]*?) textLength="([\d.]+)"([^>]*)>((?:&#160;)*)([^<]*?)((?:&#160;)*)</text>')
_CELL = 12.2  # pixels of one in Textual's pictures
_SIZE = (120, 40)
_SECONDS = 3.0  # of rest before a picture is taken: what is looked for meanwhile is on it


def path_of(name: str) -> Path:
    return REPO / "docs" / f"{name}.svg"


def letters_of_drawing(svg: str) -> str:
    """Return what is written in a picture, without spaces."""
    body = svg.partition('-matrix">')[2]
    return "".join("".join(html.unescape(part).split()) for part in _TEXT.findall(body)).replace("\xa0", "")


def letters_of_text(picture: str) -> str:
    """Return the same of a picture in text, whose lines end before its legend."""
    lines = picture.split("\n")[: _SIZE[1]]
    return "".join("".join(line.split()) for line in lines)


def placed(svg: str) -> str:
    """Begin each text at its first letter: some viewers leave out the spaces before it, and the columns move."""

    def letters(match: re.Match[str]) -> str:
        left, between, length, behind, before, text, after = match.groups()
        blanks = [part.count(";") for part in (before, after)]
        x, wide = float(left) + blanks[0] * _CELL, float(length) - sum(blanks) * _CELL
        return f' x="{x:g}"{between} textLength="{wide:g}"{behind}>{text}</text>' if text else match[0]

    return _PADDED.sub(letters, svg)


async def _draw() -> None:
    from lumen_gallery import gallery
    from lumen_quiet import rest

    with gallery() as opened:
        for name, (keys, _) in TOUR.items():
            app = opened.room()
            async with app.run_test(size=_SIZE) as pilot:
                while not app.room.snapshot.root or app.room.snapshot.loading < 1:
                    await pilot.pause(0.01)
                for key in keys.split():
                    await pilot.press(key)
                await asyncio.sleep(_SECONDS)
                await rest()
                path_of(name).write_text(placed(opened.named(app.export_screenshot(title="lumen-tui"))))


def main() -> int:
    """Draw all of them."""
    sys.path[:0] = [str(REPO / "tests/support"), str(REPO)]
    import lumen_origin
    import lumen_quiet

    lumen_origin.forget_agents()
    lumen_quiet.install()
    os.environ.pop("NO_COLOR", None)
    asyncio.run(_draw())
    return 0


if __name__ == "__main__":
    sys.exit(main())
