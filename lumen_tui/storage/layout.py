"""The paths below the state folder, whether that folder may be trusted, and a light handle for its readers."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from lumen_tui.model import ids, lanes
from lumen_tui.storage import directories, files

FOLDERS = (
    "tasks",
    "tasks/archive",
    "trees",
    "work",
    "memory",
    "sessions",
    "stamps",
    "locks",
    "loops",
    "loops/capsules",
    "evolved",
    "evolved/skills",
    "evolved/strategies",
    "evals",
    "evals/work",
    "roles",
    "roles/retired",
    "prompts",
    "approvals",
    "approvals/done",
    "mail",
    "mail/new",
    "mail/kept",
    "mail/out",
    "custom-tools",
    "accepted",
    "accepted/definitions",
    "transcripts",
    "relay",
    "hosts",
    "hosts/authority",
    "index",
    "quarantine",
    "blocks",
    "blocks/texts",
)
_FILES = (".toml", ".json", ".jsonl", ".md", ".lock", ".log", ".pem")  # endings of what is no folder
DEMO_MARK = "demo.json"
# The folder, and what may be in it before its first use: a checkout has that with the modes of git.
_SEED = ("", "README.md", "lumen.toml", "evolved", "evolved/constitution.md")
_OWN_LOCKS = (
    "answers",
    "mail",
    "changes",
    "replays",
    "evals",
    "evolved-skills",
    "trees",
    "work",
    "roles",
    "operator",
    "sessions",
    "traces",
    "trial",
    "hosts",
)  # empty files, held while something changes
_OPEN_IT = "it and the folders above it must be open to you (chmod u+rwx)"


class Layout:
    """The paths of one state folder. Checked ids become paths here, those of blocks and relays in their own modules."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.backups = root / "backups"  # what upgrades saved
        self.schema = root / "schema.json"
        self.config = root / "lumen.toml"
        self.operator = root / "operator.toml"
        self.loop_state = root / "loop-state.json"
        self.wake_state = root / "wake-state.md"
        self.heartbeat = root / "heartbeat.json"
        self.engine_lock = root / "engine.lock"
        self.commands = root / "commands.jsonl"
        self.command_receipts = root / "command-receipts.jsonl"
        self.events = root / "events.jsonl"
        self.earlier_events = root / "events.1.jsonl"
        self.actions = root / "actions.jsonl"
        self.personnel = root / "personnel.jsonl"
        self.packets = root / "loops" / "packets.jsonl"
        self.open_loop = root / "loops" / "current.json"
        self.transcripts = root / "transcripts"
        self.sessions = root / "sessions"
        self.current_session = root / "sessions" / "current.json"
        self.ended_sessions = root / "sessions" / "ended"
        self.hook_events = root / "sessions" / "hook-events.jsonl"
        self.hooks_lock = root / "sessions" / "hooks.lock"
        self.hooks_log = root / "sessions" / "hooks.log"
        self.stamps = root / "stamps"
        self.tasks = root / "tasks"
        self.open_changes = root / "tasks" / ".changes"
        self.trees = root / "trees"
        self.trees_lock = root / "locks" / "trees.lock"
        self.changes_lock = root / "locks" / "changes.lock"
        self.archive = root / "tasks" / "archive"
        self.replays = root / "replays"  # shadows of replays that run now, state folders of trials
        self.replays_lock = root / "locks" / "replays.lock"
        self.work = root / "work"
        self.roles = root / "roles"
        self.prompts = root / "prompts"  # a person's own, over those that ship
        self.retired_roles = root / "roles" / "retired"
        self.quarantine = root / "quarantine" / "quarantine.jsonl"
        self.index = root / "index"
        self.engine_log = root / "engine.log"
        self.demo_mark = root / DEMO_MARK
        self._name_memory(root / "memory")
        self._name_controls(root)

    def _name_memory(self, memory: Path) -> None:
        self.memory = memory / "memory.jsonl"
        self.signals = memory / "signals.jsonl"
        self.receipts = memory / "signal-receipts.jsonl"
        self.relationships = memory / "relationships.jsonl"
        self.touches = memory / "touches.jsonl"
        self.confirmations = memory / "confirmations.jsonl"
        self.memory_archive = memory / "archive.jsonl"
        self.cleanups = memory / "cleanups"
        self.archival = memory / "archival.jsonl"
        self.blocks = self.root / "blocks"
        self.block_history = self.blocks / "history.jsonl"
        self.block_pending = self.blocks / "pending.json"
        self.block_texts = self.blocks / "texts"

    def _name_controls(self, root: Path) -> None:
        self.capsules = root / "loops" / "capsules"
        self.operator_tokens = root / "operator-tokens.json"
        self.hosts = hosts = root / "hosts"
        self.host_registry = hosts / "hosts.json"
        self.host_sightings = hosts / "seen.json"
        self.host_authority = hosts / "authority"
        self.engine_certificate = hosts / "engine.pem"
        self.link_lock = hosts / "link.lock"
        self.link_log = hosts / "link.log"
        self.access = root / "access.json"  # hashes of the tokens of other programs
        self.operators = root / "sessions" / "operators"
        self.rooms = root / "sessions" / "rooms"
        self.approvals = root / "approvals"  # tool calls that wait for a person, with the answers
        self.done_approvals = root / "approvals" / "done"
        self.custom_tools = root / "custom-tools"
        self.skills = root / "skills"
        self.themes = root / "themes"  # a person's own colours of the room
        self.accepted = root / "accepted"  # definitions of tools that are not ours
        self.definition_texts = root / "accepted" / "definitions"
        self.accepted_tools = root / "accepted" / "accepted.json"  # those that a person accepted
        self.seals = root / "seals.jsonl"  # the chain of hashes over the journals, and its page before
        self.earlier_seals = root / "seals.1.jsonl"
        self.pause = root / "pause.json"
        self.pauses = root / "pauses.json"  # what is paused by itself: the loop, single roles
        self.kill = root / "kill.json"
        self.spend = root / "spend.jsonl"  # its earlier pages are beside it: store/ledger
        self.schedules = root / "schedules.jsonl"
        self.schedule_runs = root / "schedule-runs.jsonl"
        self.chat = root / "chat.jsonl"
        self.transitions = root / "attention.jsonl"
        self.told = root / "notifications.jsonl"
        self.traces = root / "traces.json"
        self.traces_lock = root / "locks" / "traces.lock"
        self.mail_log = root / "mail.jsonl"
        self.mail_new = root / "mail" / "new"  # what came in and was not dealt with yet
        self.mail_imap = root / "mail" / "imap.json"
        self.mail_maildir = root / "mail" / "maildir.json"
        self.mail_out = root / "mail" / "out"  # what the agent may send and was not sent yet
        self.mail_kept = root / "mail" / "kept"  # a folder for each message, with what came with it
        self.answers = root / "answers.jsonl"  # hashes of tokens that answer from elsewhere, and what became of them
        self._name_evolved(root, root / "evolved")

    def _name_evolved(self, root: Path, evolved: Path) -> None:
        self.evolved = evolved
        self.constitution = evolved / "constitution.md"
        self.approved_constitution = root / "constitution.json"
        self.persona = evolved / "persona.md"
        self.domain_knowledge = evolved / "domain-knowledge.md"
        self.task_patterns = evolved / "strategies" / "task-patterns.md"
        self.tool_preferences = evolved / "strategies" / "tool-preferences.md"
        self.error_recovery = evolved / "strategies" / "error-recovery.md"
        self.evolved_skills = evolved / "skills"  # a person's, and those of the version in force
        self.observations = evolved / "observations.jsonl"
        self.rejections = evolved / "rejections.jsonl"
        self.read_sessions = evolved / "read.jsonl"
        self.version = evolved / "version.json"
        self.versions_log = evolved / "versions.jsonl"
        self.versions = evolved / "versions"
        self.versions_git = evolved / "versions.git"
        self.claude_md = root / "CLAUDE.md"
        self.evals = root / "evals"  # a folder for each suite
        self.cases = self.evals / "work" / "cases.jsonl"  # of the suite that recorded work makes
        self.candidates = self.evals / "candidates.jsonl"
        self.case_runs = self.evals / "runs.jsonl"  # what each version did at each case
        self.trials = self.evals / "trials.jsonl"
        self.promotions = self.evals / "promotions.jsonl"
        self.abtests = self.evals / "abtests.jsonl"
        self.champions = self.evals / "versions"  # under their hashes
        self.trial_lock = root / "locks" / "trial.lock"  # held while a trial asks a model
        self.trial_now = self.evals / "trial.json"  # how far the one is that asks a model
        self.payer = root / "payer.json"  # of a trial's state folder: whose ledger pays
        self.champion = self.evals / "champion.json"  # the pointer: which version of the edits is in force

    def files(self) -> list[Path]:
        """Return every fixed path of a file, without folders."""
        paths = [path for path in vars(self).values() if isinstance(path, Path)]
        return [path for path in paths if path.suffix in _FILES]

    def task(self, task_id: str) -> Path:
        """Return the folder of a live task."""
        return self.tasks / ids.check_name(task_id, "task id")

    def transcript(self, session: str) -> Path:
        """Return the session file of one attempt at a task."""
        return self.transcripts / f"{ids.check_name(session, 'session')}.jsonl"

    def work_unit(self, wu_id: str) -> Path:
        return self.work / f"{ids.check_wu(wu_id)}.md"

    def unit_checked(self, wu_id: str) -> Path:
        return self.work / "checked" / f"{ids.check_wu(wu_id)}.json"

    def role(self, name: str) -> Path:
        return self.roles / f"{ids.check_name(name, 'role')}.md"

    def prompt(self, name: str) -> Path:
        """Return the file of a person's own prompt."""
        return self.prompts / f"{ids.check_name(name, 'prompt')}.md"

    def retired_role(self, name: str) -> Path:
        return self.retired_roles / f"{ids.check_name(name, 'role')}.md"

    def custom_tool(self, name: str) -> Path:
        return self.custom_tools / f"{ids.check_name(name, 'tool')}.toml"

    def approval(self, approval_id: str) -> Path:
        """Return the path of a request; its answer and the mark that a worker took it are beside it."""
        return self.approvals / f"{ids.check_name(approval_id, 'approval')}.json"

    def lock(self, name: str) -> Path:
        return self.root / "locks" / f"{ids.check_name(name, 'lock')}.lock"

    def lane_lock(self, lane: str) -> Path:
        """Return the lock file of a lane. An existing empty one is the program's own and never taken for a lane's."""
        slug = lanes.slug(lane)
        path = self.lock(slug)
        try:
            own = slug in _OWN_LOCKS or os.stat(path, follow_symlinks=False).st_size == 0
        except OSError:
            own = False
        return self.lock(f"{slug}-lane") if own else path

    def exists(self) -> bool:
        """Return whether the folder is initialised. Raise Refused where it cannot be read."""
        try:
            return (self.root / "memory").is_dir() and self.tasks.is_dir()
        except PermissionError as error:
            raise files.Refused(f"{self.root} cannot be looked into: {error.strerror}; {_OPEN_IT}") from error

    def absent(self) -> str:
        """Return why nothing can be done in the folder, and what to do; empty where it is a state folder."""
        if self.exists():
            return ""
        if not self.root.is_dir():
            return f"there is no state folder at {self.root}: make one with `lumen-tui init --state {self.root}`"
        return f"nothing was kept in {self.root} yet: make it a state folder with `lumen-tui init --state {self.root}`"

    def create(self, *, durable: bool = True) -> str:
        """Create the missing folders of the tree; return what was created as a sentence, or the empty string.

        A folder that becomes a state folder (the seed of a checkout, under any umask) is closed to others. A seed,
        recognised by its settings, was a state folder from the beginning for its user: its first use is not reported.
        What is not `durable` may be gone with the machine: for a folder of which nothing is kept then.
        Raise StoreError, as for one that a later version wrote.
        """
        new = not self.exists()
        existed = self.root.is_dir()
        seed = os.path.lexists(self.config)
        from lumen_tui.storage import schema  # loads msgspec, which hot verbs go without

        if reason := _unsafe_folder(self.root, within_reach=False) or schema.heed(self.schema):
            raise files.Refused(reason)
        directories.make_folder(self.root)
        if new and not set(os.listdir(self.root)).difference(_SEED):
            schema.begin(self.schema)
        if new:
            for name in _SEED:
                directories.close_to_others(self.root / name)
        for name in FOLDERS:
            directories.make_folder(self.root / name, durable=durable)
        if not new or seed:
            return ""
        return (
            f"{self.root} was made a state folder"
            if existed
            else f"there was no state folder at {self.root}: it was made"
        )


def distrust(root: Path) -> str:
    """Return why the state folder must not be used, as a sentence, or the empty string."""
    try:
        status = os.stat(root)
    except FileNotFoundError:
        return f"{root} does not exist"
    except OSError as error:
        return f"{root} cannot be looked at: {error.strerror}"
    if not stat.S_ISDIR(status.st_mode):
        return f"{root} is not a folder"
    if status.st_uid != os.geteuid():
        return f"{root} belongs to user {status.st_uid}, not to you"
    if status.st_mode & 0o022:
        return f"{root} can be written by other users: chmod go-w {root}"
    if above := files.shared_above(root):
        return f"{above}, which holds {root}, can be written by other users: chmod o-w {above}"
    return _unsafe_folder(root, within_reach=bool(status.st_mode & 0o011))


def _unsafe_folder(root: Path, *, within_reach: bool) -> str:
    """Return why a folder inside must not be used: it is a link, another's, or (within reach) writable by others."""
    for name in FOLDERS:
        path = f"{root}/{name}"
        try:
            status = os.lstat(path)
        except OSError:
            continue  # it is created where it is needed
        if stat.S_ISLNK(status.st_mode):
            return f"{path} is a link, and what is kept there would go elsewhere: put the folder itself in its place"
        if not stat.S_ISDIR(status.st_mode):
            continue  # its user reports it, and everything else goes on
        if status.st_uid != os.geteuid():
            return f"{path} belongs to user {status.st_uid}, not to you: chown it"
        if within_reach and status.st_mode & 0o022:
            return f"{path} can be written by other users: chmod go-w {path}"
    return ""


def from_home(path: str) -> Path:
    """Return the path with `~` expanded; an unknown user's `~name` stays as it is."""
    return Path(os.path.expanduser(path))


def default_root(environ: dict[str, str], cwd: Path) -> Path:
    """Return `$LUMEN_STATE`, else `./state` in a checkout, else the platform's state directory."""
    if root := environ.get("LUMEN_STATE"):
        return from_home(root)
    if (cwd / "pyproject.toml").is_file() and (cwd / "lumen_tui").is_dir():
        return cwd / "state"
    base = environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "lumen"


class Folder:
    """The paths of one state folder. Creating the object reads and creates no file."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)

    @property
    def root(self) -> Path:
        """The state folder."""
        return self.layout.root
