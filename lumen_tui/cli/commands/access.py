"""`access add | list | revoke`: tokens with which other programs connect."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, say, table, talk
from lumen_tui.model import times
from lumen_tui.model.access import USUAL, Scope, checked_name, scopes_of

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup
    from lumen_tui.model.access import AccessToken

_LONGEST = 366 * times.DAY


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    from lumen_tui.cli.parser import seconds_of

    group = commands.group("access", "Other programs that may connect.", alone="list")
    add = group.add(
        "add", run_add, "A token for a program; it is shown this once.", "access add laptop --scope read --for 30d"
    )
    add.add_argument("name", metavar="NAME", help="the program, as journals name it")
    add.add_argument(
        "--scope", action="append", choices=tuple(Scope), metavar="SCOPE", help=f"{', '.join(Scope)} [read and act]"
    )
    add.add_argument(
        "--for", dest="seconds", type=seconds_of, default=30 * times.DAY, metavar="TIME", help="how long [30d]"
    )
    listing = group.add("list", run_list, "Who has a token, for what and until when.", "access list")
    revoke = group.add("revoke", run_revoke, "End the token of a program at once.", "access revoke laptop")
    revoke.add_argument("name", metavar="NAME", help="as `access list` names it")
    for command in (add, listing, revoke):
        command.json()


def run_add(session: Session, args: Namespace) -> int:
    from lumen_tui.servers.access import AccessRefused, at_terminal
    from lumen_tui.store.settings import access

    if not times.MINUTE <= args.seconds <= _LONGEST:
        raise ActionError("a token is valid for a minute at least and a year at most")
    name, scopes = checked_name(args.name), scopes_of(args.scope) if args.scope else USUAL
    try:
        at_terminal()
        token = access.add(session.layout, name, scopes, by=session.operator, now=session.now, seconds=args.seconds)
    except (AccessRefused, access.TokenRefused) as error:
        raise ActionError(str(error)) from error
    until = times.iso(session.now + args.seconds)
    words = ", ".join(scope for scope in Scope if scope in scopes)
    session.note("access.add", f"gave {name} access ({words}) until {until}", f"`access revoke {name}` ends it")
    document({"name": name, "token": token, "scopes": words.split(", "), "expires": until}) if args.json else say(token)
    talk(f"{name} may {words} until {until}. The token is not shown again: keep it where only {name} reads it")
    return 0


def run_list(session: Session, args: Namespace) -> int:
    from lumen_tui.store.settings import access

    tokens = access.listed(session.layout)
    if args.json:
        document([_facts(entry, session.now) for entry in tokens])
        return 0
    table([[str(value) for value in _facts(entry, session.now).values()] for entry in tokens])
    if not tokens:
        talk("no program has a token; `access add NAME` makes one")
    return 0


def _facts(entry: AccessToken, now: float) -> dict[str, str]:
    """Return what is shown of a token: never a hash."""
    return {
        "name": entry.name,
        "scopes": ", ".join(entry.scopes),
        "state": "valid" if now < entry.expires else "over",
        "expires": times.iso(entry.expires),
        "by": entry.by,
    }


def run_revoke(session: Session, args: Namespace) -> int:
    from lumen_tui.store.settings import access

    name = checked_name(args.name)
    if not access.revoke(session.layout, name):
        raise ActionError(f"no token is called {name}: `access list` names them", missing=True)
    summary = f"ended the access of {name}"
    session.note("access.revoke", summary, f"`access add {name}` gives it a new token")
    document({"name": name}) if args.json else say(summary)
    return 0
