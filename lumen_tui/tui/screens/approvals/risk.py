"""What a call would really do, in one text, and whether its risk is high enough to ask twice."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from lumen_tui.model.approvals import Approval, whole_call
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.tools.files.below import is_below

_SHELL = frozenset({"shell", "shell_start"})
_NAMES = {"bubblewrap": "bubblewrap", "landlock": "Landlock"}
_NONE = {
    "": "not known: no engine has told of its sandbox",
    "ask": "none: the command can do what you can",
    "refused": "none that are strong enough, so no command is run",
}
_CONTENT = frozenset({"text", "old", "new", "patch"})  # arguments that are never a path
_WORD = r"(?:^|[\s;&|(`'\"/])(?:{})(?=$|[\s;&|)`'\"])"
_REMOVES = re.compile(
    _WORD.format("rm|rmdir|unlink|shred|truncate|mkfs[.\\w]*|dd|wipefs|killall|pkill|kill|shutdown|reboot")
    + r"|\s-delete\b|\bgit\s+(?:clean|reset)\b|\bdrop\s+(?:table|database)\b|\s--(?:force|hard|purge)\b",
    re.I,
)
_NETWORK = re.compile(
    _WORD.format(
        "curl|wget|ssh|scp|sftp|rsync|ftp|nc|ncat|netcat|telnet|socat|pip3?|pipx|uv|npm|npx|yarn|pnpm|cargo|apt|apt-get"
        "|dnf|apk|docker|podman|kubectl|gh|aws|gcloud|terraform"
    )
    + r"|\bgit\s+(?:push|pull|fetch|clone|remote)\b|[a-z]+://|/dev/(?:tcp|udp)/",
    re.I,
)
_RIGHTS = re.compile(_WORD.format("sudo|su|doas|chmod|chown|crontab|systemctl|mount|umount|setfacl"), re.I)
_OUTSIDE = re.compile(r"(?:^|[\s=<>'\"(`:])(?:/(?!dev/null\b)|~|\$\{?HOME|\.\.(?:/|$|\s))")
_RISKS = (
    (_REMOVES, "it may remove something or end a process"),
    (_NETWORK, "it may reach the network"),
    (_RIGHTS, "it may change rights or the system"),
)
_OUT = "it reaches outside the task's own files, and outside the folders that its role may change"
_FILE_GONE = re.compile(r"^(?:\+\+\+ /dev/null|deleted file mode)", re.M)


class Walls(NamedTuple):
    """What stands around a worker's commands: the tier in force, empty where nobody told, and its role's network.

    `roots` are the folders that the operator gave the role to change.
    """

    tier: str = ""
    network: bool = True
    roots: tuple[str, ...] = ()

    @property
    def stand(self) -> bool:
        """Whether there are any."""
        return self.tier in _NAMES

    def words(self, tool: str) -> str:
        """One line for the page of a question."""
        if tool not in _SHELL:
            return "no command is run: the tool keeps to what its role may read and change"
        if not self.stand:
            return _NONE.get(self.tier, _NONE[""])
        return f"{_NAMES[self.tier]}, {'with the network open to this role' if self.network else 'without network'}"


def walls_of(request: Approval, snapshot: Snapshot) -> Walls:
    """The walls as the engine and the role say; a role that is not known may have the network."""
    beat = snapshot.engine.heartbeat
    role = next((one for one in snapshot.roles if one.name == request.role), None)
    roots = snapshot.config.sandbox.granted(role.writable) if role and role.write else ()
    return Walls(beat.sandbox if beat else "", role.network if role else True, roots)


NO_WALLS = Walls()


def high(request: Approval, walls: Walls = NO_WALLS) -> str:
    """Why a yes to this call wants a second key (network, outside its roots, delete), or the empty string.

    It goes by words, so it may ask once too often. What it misses still needs its one yes.
    """
    if request.tool in _SHELL:
        return _of_command(whole_call(request), request.folder, walls)
    if request.tool == "web_fetch":
        return "it reaches the network"
    if _FILE_GONE.search(request.diff) or _FILE_GONE.search(str(request.arguments.get("patch", ""))):
        return "it removes a file"
    if any(_leaves(value, walls.roots) for name, value in request.arguments.items() if name not in _CONTENT):
        return _OUT
    return "its risk is marked as high" if "risky" in request.risk else ""


def _of_command(command: str, folder: str, walls: Walls) -> str:
    """Behind walls without network a command reaches none, and behind any it changes nothing outside its roots."""
    shut = walls.stand and not walls.network
    found = [why for pattern, why in _RISKS if pattern.search(command) and not (shut and pattern is _NETWORK)]
    if _OUTSIDE.search(command) or _leaves(folder, walls.roots if walls.stand else ()):
        found.append("it may reach outside the task's own files")
    return ", ".join(found)


def _leaves(value: Any, roots: Sequence[str]) -> bool:
    """Whether an argument is a path neither within the task's own files nor below one of the roots."""
    if not isinstance(value, str) or len(value) >= 4096 or not re.match(r"/|~|(?:.*/)?\.\.(?:/|$)", value):
        return False
    return not any(_below(value, root) for root in roots)


def _below(path: str, root: str) -> bool:
    """By words: the tool itself follows links, and refuses what they lead out to."""
    place, top = (os.path.normpath(os.path.expanduser(text)) for text in (path, root))
    return os.path.isabs(place) and os.path.isabs(top) and is_below(place, top)
