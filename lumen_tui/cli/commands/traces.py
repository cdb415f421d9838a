"""`traces export`: ended tasks to a collector of OpenTelemetry, once or for good."""

from __future__ import annotations

import os
import signal
import threading
from argparse import Namespace
from typing import TYPE_CHECKING

import msgspec

from lumen_tui import __version__
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, say, talk
from lumen_tui.storage import locks
from lumen_tui.store.settings.config import load_config

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup
    from lumen_tui.engine.traces import TraceExporter

_NOTHING = 3
_EVERY = 5.0  # seconds between two looks for what ended


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("traces", "Traces of OpenTelemetry, of ended tasks and their calls.", alone="status")
    text = "Send what ended since the last time to the collector of [traces]."
    export = group.add("export", run_export, text, "traces export --follow")
    export.add_argument("-f", "--follow", action="store_true", help="go on until interrupted, and try again by itself")
    export.dry_run()
    export.json()
    show = group.add("status", run_status, "How far a collector took them.", "traces status")
    show.json()


def run_status(session: Session, args: Namespace) -> int:
    from lumen_tui.engine.traces import TraceExporter

    cursor = TraceExporter(session.layout, load_config(session.layout)[0].traces).cursor()
    if args.json:
        document(cursor)
    elif not cursor.seq:
        say("nothing was sent yet: `lumen-tui traces export` sends it")
    else:
        gaps = f"; {cursor.gaps:,} events were gone before" if cursor.gaps else ""
        say(f"{cursor.sent:,} spans, up to event {cursor.seq:,} of {cursor.at}{gaps}")
    return 0


def run_export(session: Session, args: Namespace) -> int:
    from lumen_tui.engine.traces import TraceExporter

    config = load_config(session.layout)[0].traces
    exporter = TraceExporter(session.layout, config)
    if args.dry_run:
        from lumen_tui.model.traces import export_request

        request = export_request(exporter.batch().spans, __version__, "dry-run")
        document(msgspec.to_builtins(request))
        return 0
    if not config.endpoint:
        raise ActionError("no collector is set: endpoint in [traces] of lumen.toml (docs/traces.md)")
    lock = locks.try_lock(session.layout.traces_lock)
    if lock is None:
        raise ActionError("another `traces export` is at work on this state folder")
    try:
        return _follow(exporter) if args.follow else _once(exporter, as_json=args.json)
    finally:
        os.close(lock)


def _once(exporter: TraceExporter, *, as_json: bool) -> int:
    from lumen_tui.engine.mouths.sending import NotSent

    before = exporter.cursor().sent
    try:
        while _send_next(exporter):
            pass
    except NotSent as error:
        talk(f"lumen-tui: {error}; nothing is lost, the next export goes on from there")
        return 1
    sent = exporter.cursor().sent - before
    if as_json:
        document({"sent": sent})
    else:
        say(f"{sent:,} span{'' if sent == 1 else 's'} sent")
    return 0 if sent else _NOTHING


def _send_next(exporter: TraceExporter) -> bool:
    """Send one batch; return whether there is more."""
    batch = exporter.batch()
    if batch.cursor != exporter.cursor():
        exporter.send(batch)
    return batch.more


def _follow(exporter: TraceExporter) -> int:
    from lumen_tui.engine.mouths.sending import NotSent
    from lumen_tui.engine.traces import pause

    over, tries, due = threading.Event(), 0, True
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: over.set())
    while not over.is_set():
        wait = _EVERY
        try:
            due = (exporter.changed() or due) and _send_next(exporter)
            wait, tries = (0.0 if due else _EVERY), 0
        except NotSent as error:
            due, wait, tries = True, pause(tries), tries + 1
            talk(f"lumen-tui: {error}; again in {wait:.0f} s")
        over.wait(wait)
    return 0
