"""The ways out of the sandbox in attacks.txt, and what lives on if it can."""

from __future__ import annotations

import sysconfig
from pathlib import Path

SECRET = "SECRET-CANARY-4711"


def _attacks() -> dict[str, str]:
    found: dict[str, str] = {}
    for part in Path(__file__).with_name("attacks.txt").read_text().split("\n\n"):
        title, _, script = part.strip().partition("\n")
        if title.startswith("# "):
            assert title not in found, f"twice: {title}"
            found[title.removeprefix("# ")] = script
    return found


ATTACKS = _attacks()


def got_through(text: str) -> bool:
    """Whether the program said so; a traceback that shows its source says nothing (Python 3.13 shows that of `-c`)."""
    return "GOT-THROUGH" in text.splitlines()


def places(machine):
    import lumen_tui

    package = lumen_tui.__file__.rpartition("/")[0]
    machine.values |= {"package": package, "site": sysconfig.get_path("purelib")}


SURVIVORS = {
    "a background process": "sleep 61.5@n@ &",
    "nohup": "nohup sleep 61.5@n@ >/dev/null 2>&1 &",
    "a new session": "setsid sleep 61.5@n@ >/dev/null 2>&1 &",
    "a daemon by two forks": "(setsid sh -c 'sleep 61.5@n@ & exit' >/dev/null 2>&1 &)",
    "one that ignores signals": "(trap '' TERM HUP; setsid sh -c \"trap '' TERM; sleep 61.5@n@\") >/dev/null 2>&1 &",
    "one with its output closed": "exec >&- 2>&-; setsid sleep 61.5@n@ &",
}  # fmt: skip
