"""Requests about signals."""

from collections.abc import Sequence
from typing import Annotated

from lumen_tui.model.requests.base import Arg, Request


class SendSignal(Request, tag="signal.send", frozen=True, kw_only=True):
    """Append a signal. `to` names the intended agent; everybody can read it. The same `key` sends one."""

    message: Annotated[str, Arg("the note itself, one short paragraph", place="MESSAGE")]
    to: Annotated[str, Arg("the agent it is meant for; everybody can read it")] = ""
    wu_id: Annotated[str, Arg("the work unit it is about, or `none` [of your open session]", "--wu")] = ""
    lane: Annotated[str, Arg("[of the work unit]", "-l")] = ""
    priority: Annotated[str, Arg("P0 (needs a person at once) to P3", "-p")] = ""
    type: Annotated[str, Arg("its kind")] = "coordination"
    reply_to: Annotated[str, Arg("the signal it answers", metavar="ID")] = ""
    key: Annotated[str, Arg("the same key sends one signal, however often it is asked for")] = ""
    session_id: Annotated[str, Arg("the session [$LUMEN_SESSION, else yours]", "-s", "--session", metavar="ID")] = ""


class ReadSignals(Request, tag="signal.read", frozen=True, kw_only=True):
    """Mark these signals as read by the operator; nobody else's inbox changes."""

    signal_ids: Annotated[str | Sequence[str], Arg("mark these as read, and show nothing", "--read", metavar="ID")]


class ReadAllSignals(Request, tag="signal.read_all", frozen=True, kw_only=True):
    """Mark everything that is there now as read by the operator, with one receipt."""


class CleanUpSignals(Request, tag="cleanup.signals", frozen=True, kw_only=True):
    """Move signals whose retention is over to memory/archive.jsonl, and drop orphaned receipts."""

    ttl: Annotated[str, Arg("of what is read")] = "7d"
    unread_ttl: Annotated[str, Arg("of what is unread and not about active work")] = "30d"
    max_entries: Annotated[int, Arg("read ones kept at most", metavar="N")] = 500
    force: Annotated[bool, Arg("even right after the clock jumped")] = False
