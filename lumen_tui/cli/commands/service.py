"""`service show | install | remove`: the engine, `serve` or `host` as a service of systemd."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.commands.hooks import program
from lumen_tui.cli.commands.hosts import host_folder
from lumen_tui.cli.session import Session, document, say, talk
from lumen_tui.cli.units import MARK, ServiceUnit
from lumen_tui.model.ids import check_name
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories, files

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup

_NOTHING = 3
_PATIENCE = 120  # seconds for systemctl, which waits until the engine is ready
_NO_BUS = (
    "no service manager of yours is there: log in by ssh or at the console, not by su or sudo (as root "
    "`machinectl shell NAME@` does it), then install again; or --no-start writes the unit alone"
)


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("service", "The engine, a server or a host as a service of systemd.", alone="show")
    show = group.add("show", run_show, "Print the unit as it would be installed.", "service show")
    text = "Write the unit, enable and start it; what hangs or crashes is started again."
    install = group.add("install", run_install, text, "service install")
    remove = group.add("remove", run_remove, "Stop the service and take its unit away.", "service remove")
    for parser in (show, install, remove):
        parser.add_argument("--system", action="store_true", help="of the machine, as root; else of your own manager")
        parser.add_argument("--account", default="", metavar="USER", help="with --system: who runs it [you]")
        parser.add_argument("--name", default="", metavar="NAME", help="of the unit [lumen, lumen-serve, lumen-host]")
        other = parser.add_mutually_exclusive_group()
        text = "not the engine: `lumen-tui {}` (docs/{}.md)"
        other.add_argument(
            "--serve", action="store_const", dest="kind", const="serve", help=text.format("serve", "http")
        )
        other.add_argument("--host", action="store_const", dest="kind", const="host", help=text.format("host", "hosts"))
        parser.set_defaults(without_state=True)
    for parser in (show, install):
        parser.add_argument(
            "words",
            nargs="*",
            metavar="WORD",
            help="with --serve or --host, after `--`: its options, as -- --port 9000",
        )
    show.json()
    for parser in (install, remove):
        parser.add_argument("--no-start", action="store_true", help="only the file: call no systemctl")


def _account(args: Namespace) -> str:
    """Return who is to run the engine; empty under a user's own manager, which runs it as that user."""
    return (args.account or os.environ.get("SUDO_USER") or getpass.getuser()) if args.system else ""


def _unit(session: Session, args: Namespace) -> str:
    command = _command(args)
    root = command[command.index("--folder") + 1] if args.kind == "host" else str(session.root)
    try:
        return ServiceUnit(program(), root, _account(args), command).text()
    except ValueError as error:
        raise ActionError(str(error)) from error


def _command(args: Namespace) -> list[str]:
    """Return `serve` or `host` with its options; empty for an engine. UsageError, ActionError for others."""
    if not args.kind:
        if args.words:
            raise ActionError(
                f"{one_line(args.words[0], 60)} is an option of another command: say --serve or --host, too"
            )
        return []
    from lumen_tui.cli.parser import build_parser

    asked = build_parser(args.kind).parse_args([args.kind, *args.words])
    for path in filter(None, (asked.cert, asked.folder if args.kind == "host" else asked.key)):
        if not os.path.isabs(path):
            raise ActionError(f"{one_line(path, 200)}: a service starts in another folder, so name the whole path")
    return [args.kind, *args.words, *_folder_of(args, asked)]


def _folder_of(args: Namespace, asked: Namespace) -> list[str]:
    """Return the option that names the folder of a host where it is not among its words."""
    if args.kind != "host" or asked.folder:
        return []
    if args.system:
        raise ActionError(
            "say where the host keeps its tasks, a folder of its account: -- --folder /srv/lumen-host ..."
        )
    return ["--folder", str(host_folder(""))]


def _path(args: Namespace) -> Path:
    usual = f"lumen-{args.kind}" if args.kind else "lumen"
    name = f"{check_name(args.name or usual, 'unit')}.service"
    if args.system:
        return Path("/etc/systemd/system", name)
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config, "systemd", "user", name)


def run_show(session: Session, args: Namespace) -> int:
    path, text = _path(args), _unit(session, args)
    if args.json:
        document({"path": str(path), "unit": text})
        return 0
    talk(f"# {path}")
    say(text.rstrip())
    return 0


def run_install(session: Session, args: Namespace) -> int:
    path, text = _path(args), _unit(session, args)
    _must_be_ours(path)
    _make_state(session, args)
    directories.make_folder(path.parent)
    files.replace(path, text.encode())
    if args.system:
        path.chmod(0o644)
    say(f"{path} is written")
    if not args.system:
        talk("it runs while you are logged in; `loginctl enable-linger` lets it run from boot on")
    if args.kind == "serve":
        talk("a program needs a token: `lumen-tui access add NAME` makes one")
    return _systemctl(args, ["daemon-reload"], ["enable", "--now", path.name])


def run_remove(session: Session, args: Namespace) -> int:
    path = _path(args)
    if not path.exists():
        say(f"{path} is not there")
        return _NOTHING
    _must_be_ours(path)
    code = _systemctl(args, ["disable", "--now", path.name])
    directories.remove(path)
    say(f"{path} is removed; the {'' if args.kind == 'host' else 'state '}folder stays as it is")
    return _systemctl(args, ["daemon-reload"]) or code


def _make_state(session: Session, args: Namespace) -> None:
    """Make sure that there is a state folder of whoever runs the service: it starts on no other. A host has none."""
    if args.kind == "host":
        return
    if not args.system:
        session.make_sure()
    elif session.layout.absent():
        order = f"sudo -u {_account(args)} lumen-tui init --state {session.root}"
        raise ActionError(f"there is no state folder at {session.root}: make it as its account, `{order}`")


def _must_be_ours(path: Path) -> None:
    """Raise ActionError where a unit of somebody else has the name."""
    if not (files.read(path) or MARK.encode()).startswith(MARK.encode()):
        raise ActionError(f"{path} is not ours, so it stays as it is: choose another name with --name")


def _systemctl(args: Namespace, *orders: list[str]) -> int:
    """Give orders to the service manager; where that cannot be, say what to type and return 1."""
    if args.no_start:
        return 0
    manager = ["systemctl", *([] if args.system else ["--user"])]
    if shutil.which("systemctl") is None:
        talk("lumen-tui: systemctl is not installed, so nothing was started or stopped")
        return 1
    for order in orders:
        try:
            done = subprocess.run(
                [*manager, *order], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE
            )
            problem = done.stderr if done.returncode else ""
        except subprocess.TimeoutExpired:
            problem = f"no answer within {_PATIENCE} s"
        if problem:
            talk(f"lumen-tui: `{' '.join([*manager, *order])}` failed: {one_line(problem, 300)}")
            if "bus" in problem and not args.system:
                talk(_NO_BUS)
            return 1
    return 0
