"""`search`: over memory, archive, signals, loops, tasks and conversations. Starts without the full parser."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from lumen_tui.model import searching, times
from lumen_tui.model.searching import Found, Hit, SearchQuery
from lumen_tui.model.text import one_line
from lumen_tui.storage.layout import Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from lumen_tui.cli.parser import CommandGroup, Parser
    from lumen_tui.cli.session import Session

OPTIONS = {
    "--type": "type", "--kind": "kind", "--tag": "tag", "--wu": "wu", "--lane": "lane", "-l": "lane",
    "--since": "since", "--until": "until", "--limit": "limit", "-n": "limit",
}  # fmt: skip
FLAGS = ("--conversations", "-c", "--json")
_BAD_INPUT, _NOT_FOUND = 2, 3


def declare(commands: CommandGroup) -> None:
    """Add the command of this module, for its help and for what the plain form leaves to the parser."""
    text = "Search what the agent knows, did and said; best first, each with the reason."
    search = commands.add("search", run_search, text, 'search "session lock" --type discovery --since 30d')
    search.add_argument("--type", default="", help=f"one of {', '.join(searching.TYPES)}; several with commas")
    search.add_argument("-c", "--conversations", action="store_true", help="search conversations instead")
    declare_filters(search)


def declare_filters(search: Parser) -> None:
    """Add the options of every search."""
    search.add_argument("query", nargs="*", metavar="QUERY", help='words; "in quotes" together, !word leaves out')
    search.add_argument("--kind", default="", help="episodic, semantic or procedural")
    search.add_argument("--tag", default="", help="only with this tag")
    search.add_argument("--wu", default="", help="only of this work unit")
    search.add_argument("-l", "--lane", default="", help="only of this lane")
    search.add_argument("--since", default="", help="an age such as 7d, or a date")
    search.add_argument("--until", default="", help="the same")
    search.add_argument("-n", "--limit", default="", metavar="N", help=f"at most so many [{searching.LIMIT}]")
    search.json()


def run_search(session: Session, args: Namespace) -> int:
    filters = {name: getattr(args, name) for name in set(OPTIONS.values()) if getattr(args, name)}
    return answer(session.layout, " ".join(args.query), filters, conversations=args.conversations, as_json=args.json)


def light(root: str, options: dict[str, str], flags: list[str], words: list[str]) -> int:
    """Run the plain form that `lumen_tui.hot` reads; return the exit code."""
    talk = "--conversations" in flags or "-c" in flags
    return answer(Layout(Path(root)), " ".join(words), options, conversations=talk, as_json="--json" in flags)


def answer(layout: Layout, text: str, filters: dict[str, str], *, conversations: bool, as_json: bool) -> int:
    """Print the results and return the exit code.

    It is 0 also without a hit, 2 for a query that cannot be parsed, 3 for one about an unknown work unit.
    """
    now = time.time()
    query = parse_query(text, filters, now, conversations=conversations)
    problems = query.problems or (
        ("say what to look for: some words, or a filter such as --tag",) if query.empty else ()
    )
    if problems:
        print("\n".join(f"lumen-tui: {problem}" for problem in problems), file=sys.stderr)
        return _BAD_INPUT
    from lumen_tui.queries.search.search import Searcher

    with Searcher(layout, with_units=True) as searcher:
        searcher.progress = _progress if sys.stderr.isatty() else None
        results = searcher.search(query, now)
    if as_json:
        import json  # 1 ms

        print(json.dumps(searching.document(text, results), indent=1))
    else:
        show(results, now)
    _print_notes(results, query.limit)
    return _NOT_FOUND if results.unknown else 0


def parse_query(query: str, options: dict[str, str], now: float, *, conversations: bool) -> SearchQuery:
    """Parse the query together with the options, which are filters as well."""
    limit = options.get("limit", "")
    if limit and not (limit.isascii() and limit.isdigit() and 0 < int(limit) <= searching.MOST):
        return SearchQuery(problems=(f"--limit {limit[:20]!r}: a number from 1 to {searching.MOST}",))
    words = searching.filtered(query, {name: value for name, value in options.items() if name != "limit"})
    words += " in:conversations" if conversations else ""
    return searching.parse(words, now, limit=int(limit) if limit else searching.LIMIT)


def show(results: Found, now: float) -> None:
    """Print each hit: a head, the excerpt with matches bold on a terminal, and the reason for its rank."""
    on, off = ("\x1b[1m", "\x1b[0m") if sys.stdout.isatty() and os.environ.get("TERM") != "dumb" else ("", "")
    for hit in results.hits:
        print(head(hit, now))
        print("    " + "".join(f"{on}{text}{off}" if matched else text for text, matched in hit.excerpt))
        print(f"    {searching.why(hit)}")


def head(hit: Hit, now: float) -> str:
    """Return the head of a hit: what it is, how old, and by whom."""
    age = times.age(now - hit.at) if hit.at else "?"
    labels = (hit.type, hit.kind if hit.type == "archival" else "", hit.status if hit.status != "open" else "")
    whose = " ".join(part for part in (f"by {hit.by}" if hit.by else "", f"({hit.trust})" if hit.trust else "") if part)
    tags = " ".join(f"#{tag}" for tag in hit.tags)
    where = f"from {hit.source}" if hit.source else ""
    session = f"in {hit.session}" if hit.session and hit.type == "archival" else ""
    parts = (hit.ref, " ".join(part for part in labels if part), age, hit.wu_id, hit.lane, session, whose, tags, where)
    return "  ".join(one_line(part, 120) for part in parts if part)


def _print_notes(results: Found, limit: int) -> None:
    """Print notes for people on standard error: no hits, more hits, ignored words."""
    if not results.hits:
        print("nothing found", file=sys.stderr)
    hidden = results.matches - sum(not hit.neighbour_of for hit in results.hits)
    if hidden > 0 and results.hits:
        more = f": -n {searching.MOST} shows more" if limit < searching.MOST else ""
        print(f"… and {hidden:,} more{more}", file=sys.stderr)
    if results.dropped:
        import shlex

        print(f"too common, ignored: {' '.join(map(shlex.quote, results.dropped))}", file=sys.stderr)
    for note in results.notes:
        print(note, file=sys.stderr)


_LARGE = 8 * 1024 * 1024  # bytes from which progress is shown


def _progress(read: int, total: int) -> None:
    end = "\n" if read >= total else ""
    if total >= _LARGE:
        print(f"\rindexing: {read >> 20:,} of {total >> 20:,} MB", end=end, file=sys.stderr, flush=True)
