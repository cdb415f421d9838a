"""Where everything stands below the state folder, and whether that folder may be trusted."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from lumen_tui.model import ids
from lumen_tui.store import files

FOLDERS = (
    "tasks", "tasks/archive", "work", "memory", "sessions", "stamps", "locks", "loops", "loops/capsules",
    "evolved", "evolved/strategies", "roles", "roles/retired", "approvals", "transcripts", "index", "quarantine",
)  # fmt: skip
DEMO_MARK = "demo.json"


@dataclass(frozen=True)
class Layout:
    """The paths of one state folder. Ids become paths here and nowhere else, after they were checked."""

    root: Path

    @property
    def config(self) -> Path:
        return self.root / "lumen.toml"

    @property
    def operator(self) -> Path:
        return self.root / "operator.toml"

    @property
    def loop_state(self) -> Path:
        return self.root / "loop-state.json"

    @property
    def wake_state(self) -> Path:
        return self.root / "wake-state.md"

    @property
    def heartbeat(self) -> Path:
        return self.root / "heartbeat.json"

    @property
    def engine_lock(self) -> Path:
        return self.root / "engine.lock"

    @property
    def commands(self) -> Path:
        return self.root / "commands.jsonl"

    @property
    def command_receipts(self) -> Path:
        return self.root / "command-receipts.jsonl"

    @property
    def events(self) -> Path:
        return self.root / "events.jsonl"

    @property
    def actions(self) -> Path:
        return self.root / "actions.jsonl"

    @property
    def personnel(self) -> Path:
        return self.root / "personnel.jsonl"

    @property
    def packets(self) -> Path:
        return self.root / "loops" / "packets.jsonl"

    @property
    def memory(self) -> Path:
        return self.root / "memory" / "memory.jsonl"

    @property
    def signals(self) -> Path:
        return self.root / "memory" / "signals.jsonl"

    @property
    def receipts(self) -> Path:
        return self.root / "memory" / "signal-receipts.jsonl"

    @property
    def relationships(self) -> Path:
        return self.root / "memory" / "relationships.jsonl"

    @property
    def touches(self) -> Path:
        return self.root / "memory" / "touches.jsonl"

    @property
    def tasks(self) -> Path:
        return self.root / "tasks"

    @property
    def archive(self) -> Path:
        return self.root / "tasks" / "archive"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def roles(self) -> Path:
        return self.root / "roles"

    @property
    def retired_roles(self) -> Path:
        return self.root / "roles" / "retired"

    @property
    def quarantine(self) -> Path:
        return self.root / "quarantine" / "quarantine.jsonl"

    @property
    def index(self) -> Path:
        return self.root / "index"

    @property
    def engine_log(self) -> Path:
        return self.root / "engine.log"

    @property
    def pause(self) -> Path:
        return self.root / "pause.json"

    @property
    def demo_mark(self) -> Path:
        return self.root / DEMO_MARK

    def task(self, task_id: str) -> Path:
        """The folder of a live task."""
        return self.tasks / ids.check_name(task_id, "task id")

    def work_unit(self, wu_id: str) -> Path:
        return self.work / f"{ids.check_wu(wu_id)}.md"

    def role(self, name: str) -> Path:
        return self.roles / f"{ids.check_name(name, 'role')}.md"

    def retired_role(self, name: str) -> Path:
        return self.retired_roles / f"{ids.check_name(name, 'role')}.md"

    def lock(self, name: str) -> Path:
        return self.root / "locks" / f"{ids.check_name(name, 'lock')}.lock"

    def exists(self) -> bool:
        """Whether the folder is there and has been initialised."""
        return (self.root / "memory").is_dir() and self.tasks.is_dir()

    def create(self) -> None:
        """Make the folder tree; fine where parts of it are there."""
        files.make_folder(self.root)
        for name in FOLDERS:
            files.make_folder(self.root / name)


def distrust(root: Path) -> str:
    """Why the state folder must not be used (a plain sentence), or the empty string."""
    try:
        found = os.stat(root)
    except FileNotFoundError:
        return f"{root} does not exist"
    except OSError as error:
        return f"{root} cannot be looked at: {error.strerror}"
    if not stat.S_ISDIR(found.st_mode):
        return f"{root} is not a folder"
    if found.st_uid != os.geteuid():
        return f"{root} belongs to user {found.st_uid}, not to you"
    if found.st_mode & 0o022:
        return f"{root} can be written by other users: chmod go-w {root}"
    return ""


def default_root(environ: dict[str, str], cwd: Path) -> Path:
    """`$LUMEN_STATE`, else `./state` in a checkout, else the platform's state directory."""
    if named := environ.get("LUMEN_STATE"):
        return Path(named).expanduser()
    if (cwd / "pyproject.toml").is_file() and (cwd / "lumen_tui").is_dir():
        return cwd / "state"
    base = environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "lumen"
