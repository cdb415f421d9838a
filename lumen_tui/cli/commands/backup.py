"""`backup` and `restore`: the state folder in one file, taken while it is in use, and put back."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui import STATE_SCHEMA
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, by_agent, document, say, talk
from lumen_tui.storage import directories, schema
from lumen_tui.storage.files import StoreError
from lumen_tui.store.settings.config import load_config

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup
    from lumen_tui.model.backups import BackupManifest

_STAMP = "%Y%m%dT%H%M%SZ"
_MOST_NAMED = 5


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    text = "Write the whole state folder to one file, while everything runs."
    backup = commands.add("backup", run_backup, text, "backup ~/backups/")
    backup.add_argument("path", metavar="PATH", help="a new file, or a folder (FOLDER/) for one named by the time")
    backup.add_argument(
        "--recipient", action="append", default=[], metavar="KEY", help="encrypt it with age for this public key"
    )
    backup.json()
    text = "Put a backup in the place of the state folder, once it is proven whole; what was there stays beside it."
    restore = commands.add("restore", run_restore, text, "restore lumen-20260301T070000Z.tar.gz --replace")
    restore.add_argument("path", metavar="PATH", help="the file that `backup` wrote")
    restore.add_argument("--identity", default="", metavar="FILE", help="the age key of an encrypted one")
    restore.add_argument("--replace", action="store_true", help="there is a state folder: put the backup in its place")
    restore.dry_run()
    restore.json()
    restore.set_defaults(without_state=True)
    text = "Bring the state folder of an earlier version to the form of this one, after a backup, as an engine does."
    upgrade = commands.add("upgrade", run_upgrade, text, "upgrade --dry-run")
    upgrade.dry_run()
    upgrade.json()


def run_backup(session: Session, args: Namespace) -> int:
    from lumen_tui.storage.backup import write_backup

    recipients = tuple(args.recipient) or load_config(session.layout)[0].backup.recipients
    now = session.now
    path = _target(args.path, now, encrypted=bool(recipients))
    if path.resolve().is_relative_to(session.root.resolve()):
        raise ActionError(f"{path} is in the state folder itself: name one outside, best on another disk")
    manifest = write_backup(session.layout, str(path), recipients, now)
    if args.json:
        document({"path": str(path), "encrypted": bool(recipients), **_facts(manifest)})
        return 0
    say(f"{path}: {len(manifest.files):,} files, {manifest.size:,} bytes{', encrypted' if recipients else ''}")
    _tell_skipped(manifest)
    return 0


def _target(name: str, now: float, *, encrypted: bool) -> Path:
    """Return the file that is to be written; a folder, as a name with / at its end is one, is made where it is missing.

    Raise ActionError where the file is there already.
    """
    path = Path(name).expanduser().absolute()
    if name.endswith("/"):
        directories.make_folder(path)
    if path.is_dir():
        stamp = time.strftime(_STAMP, time.gmtime(now))
        path = path / f"lumen-{stamp}.tar.gz{'.age' if encrypted else ''}"
    if os.path.lexists(path):
        raise ActionError(f"{path} is there already: name a new file, or a folder")
    if not path.parent.is_dir():
        raise ActionError(f"there is no folder {path.parent}: make it first")
    return path


def _facts(manifest: BackupManifest) -> dict[str, object]:
    return {
        "at": manifest.at,
        "program": manifest.program,
        "root": manifest.root,
        "files": len(manifest.files),
        "bytes": manifest.size,
        "held_ms": manifest.held_ms,
        "skipped": manifest.skipped,
    }


def _tell_skipped(manifest: BackupManifest) -> None:
    if manifest.skipped:
        names = ", ".join(manifest.skipped[:_MOST_NAMED])
        talk(f"lumen-tui: not in it, as they are no plain files of yours: {names}")


def run_restore(session: Session, args: Namespace) -> int:
    from lumen_tui.storage import restoring

    if by_agent():
        raise ActionError("`restore` is the operator's word: an agent does not replace what it is judged by")
    path, root = str(Path(args.path).expanduser().absolute()), session.root
    if args.dry_run:
        manifest, before = restoring.check_backup(path, args.identity), ""
    else:
        if _holds_something(root) and not args.replace:
            raise ActionError(f"{root} is there: --replace puts the backup in its place and keeps it beside")
        with restoring.nobody_at_work(session.layout):
            stamp = time.strftime(_STAMP, time.gmtime(session.now))
            manifest, before = restoring.restore(root, path, args.identity, stamp)
        schema.heed(session.layout.schema)  # which may be older than what was there
        session.note("restore", f"the state of {manifest.at} was restored", "the earlier state is a folder of its own")
    if args.json:
        document({"restored": "" if args.dry_run else str(root), "before": before, **_facts(manifest)})
        return 0
    whole = f"{len(manifest.files):,} files, {manifest.size:,} bytes, of {manifest.at}"
    say(f"{path} is whole: {whole}" if args.dry_run else f"{root} is what it was: {whole}")
    if before:
        say(f"the state before is in {before}")
    _tell_skipped(manifest)
    return 0


def run_upgrade(session: Session, args: Namespace) -> int:
    from lumen_tui.engine import upgrading
    from lumen_tui.storage.restoring import nobody_at_work

    if args.dry_run:
        upgrade = upgrading.pending(session.layout)
    else:
        with nobody_at_work(session.layout):
            upgrade = upgrading.upgrade(session.store, session.now)
    if args.json:
        document({"schema": STATE_SCHEMA, "upgrade": upgrade and upgrade._asdict()})
    elif upgrade is None:
        say(f"{session.root} has the form of this version (state schema {STATE_SCHEMA})")
    elif args.dry_run:
        say(f"state schema {upgrade.before} would become {STATE_SCHEMA}, after a backup: {'; '.join(upgrade.steps)}")
    else:
        say(upgrade.summary)
    return 0


def _holds_something(root: Path) -> bool:
    try:
        return any(root.iterdir())
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(f"{root} cannot be looked into: {error.strerror}") from error
