"""`host`, the service on a machine that does tasks for an engine elsewhere, and `hosts`, the engine's side of them."""

from __future__ import annotations

import os
import signal
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, say, table, talk
from lumen_tui.engine.service_manager import ServiceManager
from lumen_tui.model import extras, ids, times
from lumen_tui.model.hosting import ANY, HostEntry, resources_of
from lumen_tui.model.requests.hosts import CordonHost, DrainHost, RemoveHost, UncordonHost
from lumen_tui.queries.host_views import HostView, host_views
from lumen_tui.storage import files
from lumen_tui.store.settings import hosts
from lumen_tui.store.settings.config import load_config

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup
    from lumen_tui.hosts.certificates import Authority


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    _declare_host(commands)
    group = commands.group("hosts", "Other machines that do tasks.", alone="list")
    listing = group.add("list", run_list, "Each host: whether it takes tasks, and what runs there.", "hosts list")
    listing.json()
    text = "Register a host and write its certificate, for you to copy there."
    add = group.add("add", run_add, text, "hosts add attic")
    text = "Write another certificate for a host, or with --engine for the engine itself."
    cert = group.add("cert", run_cert, text, "hosts cert attic")
    add.add_argument("name", metavar="NAME", help="the host, as you will call it")
    cert.add_argument("name", metavar="NAME", nargs="?", default="", help="the host, as `hosts list` names it")
    cert.add_argument("--engine", action="store_true", help="the engine's own instead")
    for command in (add, cert):
        command.add_argument("--out", default="", metavar="FILE", help="where it is written [NAME.pem]")
        command.json()
    group.verb("cordon", CordonHost, "Let no new task begin there.", 'hosts cordon attic -r "new disk"')
    group.verb("uncordon", UncordonHost, "Let tasks begin there again.", "hosts uncordon attic")
    group.verb("drain", DrainHost, "Let what runs there end, then the host itself.", "hosts drain attic")
    group.verb("remove", RemoveHost, "Forget a host.", "hosts remove attic")


def _declare_host(commands: CommandGroup) -> None:
    from lumen_tui.cli.parser import words_of

    text = "Do tasks for an engine elsewhere, in the foreground. SIGTERM ends it; the tasks go on."
    example = "host --cert attic.pem --scheduler tls://lumen.example.org:8786 --slots 4"
    host = commands.add("host", run_host, text, example)
    host.add_argument("--cert", required=True, metavar="FILE", help="what `hosts add` wrote for this host")
    host.add_argument("--scheduler", required=True, metavar="ADDRESS", help="where the engine's hosts join, tls://…")
    host.add_argument("--folder", default="", metavar="DIR", help="where its tasks are [lumen-host at home]")
    host.add_argument("--slots", type=int, default=1, metavar="N", help="tasks at once [1]")
    host.add_argument("--roles", type=words_of, default=[], metavar="NAME,…", help="of these roles only [any]")
    help_text = "what a task may ask for with --resource, such as gpu=2,tape"
    host.add_argument("--resources", type=words_of, default=[], metavar="NAME[=N],…", help=help_text)
    host.add_argument(
        "--port", type=int, default=0, metavar="N", help="at which the engine's machine asks it [any free]"
    )
    host.set_defaults(without_state=True)


def host_folder(named: str) -> Path:
    """Return where a host keeps its tasks."""
    return Path(named or "~/lumen-host").expanduser().absolute()


def run_host(_: Session, args: Namespace) -> int:
    import asyncio  # 20 ms, which the commands of `hosts` do without

    try:
        from lumen_tui.hosts.program import CannotServe, HostOptions, serve_host
    except ImportError as error:
        raise ActionError(extras.missing("a host", error.name, "hosts")) from error
    try:
        resources = resources_of(args.resources)
    except ValueError as error:
        raise ActionError(str(error)) from error
    folder, roles = host_folder(args.folder), tuple(args.roles)
    options = HostOptions(folder, Path(args.cert), args.scheduler, args.slots, roles, resources, args.port)
    manager = ServiceManager.of(os.environ)

    async def serve() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await serve_host(options, stop, manager)

    try:
        asyncio.run(serve())
    except CannotServe as error:
        raise ActionError(str(error)) from error
    except ImportError as error:
        raise ActionError(extras.missing("a host", error.name, "hosts")) from error
    return 0


def run_list(session: Session, args: Namespace) -> int:
    views, fault = host_views(session.layout, session.now)
    if args.json:
        document([_facts(view) for view in views])
        return 0
    table([_row(view, session.now) for view in views])
    if not views:
        talk("no host is registered: `hosts add NAME` registers one (docs/hosts.md)")
    elif fault:
        talk(f"no host can be reached: {fault}")
    return 0 if views else 3


def _facts(view: HostView) -> dict[str, object]:
    sighting, facts = view.host.sighting, view.host.sighting.facts
    return {
        "name": view.host.name,
        "state": view.state,
        "reason": view.closed,
        "slots": view.host.slots,
        "tasks": [{"id": task.view.id, "behind": task.behind} for task in view.tasks],
        "roles": list(facts.roles) if facts else [],
        "resources": facts.resources if facts else {},
        "version": facts.version if facts else "",
        "sandbox": facts.tier if facts else "",
        "free": facts.free if facts else 0,
        "clock_skew": sighting.skew,
        "heard": times.iso(sighting.heard) if sighting.heard else "",
    }


def _row(view: HostView, now: float) -> list[str]:
    facts, heard = view.host.sighting.facts, view.host.sighting.heard
    roles = ", ".join(facts.roles) or "any role" if facts else ""
    seen = f"heard {times.span(max(0.0, now - heard))} ago" if heard else "never heard"
    return [view.host.name, view.state, f"{len(view.tasks)}/{view.host.slots}", roles, seen, view.closed]


def run_add(session: Session, args: Namespace) -> int:
    name = ids.check_name(args.name, "host")
    if name in (ANY, "engine"):
        raise ActionError(f"{name!r} means something else: choose another name")
    if any(entry.name == name for entry in hosts.entries(session.layout)):
        raise ActionError(f"there is a host {name}: `hosts cert {name}` writes it another certificate")
    path = _out(args, name)
    authority = _authority(session)
    if not session.layout.engine_certificate.exists():
        _issue(session, authority, "engine", session.layout.engine_certificate)
    _issue(session, authority, name, path)
    entry = HostEntry(name, times.iso(session.now), session.operator)
    hosts.change(session.layout, name, lambda _: entry)
    session.note("host.add", f"registered host {name}", f"`hosts remove {name}` forgets it")
    _report(args, name, path, f"host {name} is registered")
    talk(_next_steps(session, name, path))
    return 0


def run_cert(session: Session, args: Namespace) -> int:
    if bool(args.name) == args.engine:
        raise ActionError("name a host, or give --engine")
    if args.name and all(entry.name != args.name for entry in hosts.entries(session.layout)):
        raise ActionError(f"there is no host {args.name!r}: `hosts add` registers one", missing=True)
    path = session.layout.engine_certificate if args.engine else _out(args, args.name)
    _issue(session, _authority(session), args.name or "engine", path)
    whose = f"host {args.name}" if args.name else "the engine"
    session.note("host.cert", f"wrote a certificate for {whose}", "remove the file to be rid of it")
    _report(args, args.name, path, f"a new certificate for {whose} is written")
    return 0


def _out(args: Namespace, name: str) -> Path:
    """Return where a certificate goes: never over a file that is there."""
    path = Path(args.out or f"{name}.pem").absolute()
    if os.path.lexists(path):
        raise ActionError(f"{path} is there already: move it away, or give --out")
    return path


def _authority(session: Session) -> Authority:
    """Return the authority, made if need be. Only the operator makes certificates."""
    from lumen_tui.servers.access import AccessRefused, at_terminal

    try:
        at_terminal()
    except AccessRefused as error:
        raise ActionError(str(error)) from error
    try:
        from lumen_tui.hosts.certificates import Authority  # behind that, as cryptography takes 35 ms
    except ImportError as error:
        raise ActionError(extras.missing("a host", error.name, "hosts")) from error
    authority = Authority(session.layout.host_authority)
    authority.create(session.now)
    return authority


def _issue(session: Session, authority: Authority, name: str, path: Path) -> None:
    from lumen_tui.hosts.certificates import ENGINE, HOST, BadCertificate

    try:
        pem = authority.issue(name, ENGINE if path == session.layout.engine_certificate else HOST, session.now)
    except BadCertificate as error:
        raise ActionError(str(error)) from error
    files.replace(path, pem)  # 0600


def _report(args: Namespace, name: str, path: Path, text: str) -> None:
    document({"name": name, "certificate": str(path)}) if args.json else say(f"{text}: {path}")


def _next_steps(session: Session, name: str, path: Path) -> str:
    listen = load_config(session.layout)[0].hosts.listen
    address, _, port = listen.rpartition(":")
    shown = os.uname().nodename if address in ("0.0.0.0", "[::]") else address  # noqa: S104 - compared, not bound
    order = f"lumen-tui host --cert {path.name} --scheduler tls://{shown}:{port}"
    return f"copy {path.name} to {name}, delete it here, and there run:\n  {order}"
