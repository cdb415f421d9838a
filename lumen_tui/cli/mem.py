"""The `mem:` spellings: the documented commands of the LumenFlow memory layer, told in the words of our own.

Each is one row of a table: our command, and the flags it takes. `profile` and `index` are commands of this module.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lumen_tui.cli.session import Session, document, say, table, talk
from lumen_tui.engine.actions import checks, knowledge, places
from lumen_tui.engine.outcome import ActionError
from lumen_tui.model import times
from lumen_tui.model.text import one_line, safe
from lumen_tui.store import nodes
from lumen_tui.store import sessions as stored
from lumen_tui.store.layout import Layout

if TYPE_CHECKING:
    from lumen_tui.cli.parser import Group, Parser


class Spelling(NamedTuple):
    """`flags` are words such as `-n/--note`, with `!` behind one that takes no value; the last name is ours.

    `words` names what else it takes: one text (also behind the flag of that name), or several with a `*`.
    """

    ours: tuple[str, ...]
    flags: str
    words: str = ""
    run: Callable[[Session, Namespace], int] | None = None  # where our command alone would not do


_D, _B, _LOOK = "-d/--base-dir -q/--quiet!", "-b/--base-dir -q/--quiet!", "--dry-run! --json!"
_START = f"--wu -a/--agent-type -c/--context-tier {_D}"
_TIMES = ("since", "ttl", "unread_ttl")  # written as the library `ms` reads them


def spelled(words: list[str]) -> str:
    """The documented name at the beginning of the words, or nothing where they are ours."""
    if not words or (words[0] == "signal-cleanup" and {"-h", "--help"} & set(words)):
        return ""  # that one is ours as well
    name = words[0].replace("-", ":", 1) if words[0].startswith(("mem-", "signal-", "state-")) else words[0]
    if " ".join(words[:2]) in _ROWS:
        return " ".join(words[:2])
    if name in _ROWS:
        return name
    if name.startswith(("mem:", "state:", "signal:")):
        from lumen_tui.cli.parser import Usage

        raise Usage(f"there is no command {words[0]!r}; the documented ones are known", checks.nearest(name, _ROWS))
    return ""


def run(name: str, words: list[str], root: Path, operator: str) -> int:
    """Carry out a documented command; `words` are those behind its name."""
    from lumen_tui.cli.parser import build_parser

    row = _ROWS[name]
    given = _parser(name, row).parse_args(words)
    session = Session(_base(given.base_dir) if given.base_dir else root, operator)
    with _hushed(given.quiet, whole=name == "mem:init"):
        if row.run is not None:
            session.must_exist()
            return row.run(session, given)
        args = build_parser().parse_args(_ours(row, given))
        if not args.without_state:
            session.must_exist()
        return int(args.run(session, args) or 0)


def _flags(row: Spelling) -> Iterator[tuple[list[str], bool]]:
    """The names of each flag, and whether it takes a value."""
    for word in row.flags.split():
        yield word.rstrip("!").split("/"), not word.endswith("!")


def _parser(name: str, row: Spelling) -> Parser:
    from lumen_tui.cli.parser import Parser

    parser = Parser(
        prog=f"lumen-tui {name}", description=f"As documented; here it is `lumen-tui {' '.join(row.ours)}`."
    )
    parser.set_defaults(base_dir="", quiet=False)
    for names, takes in _flags(row):
        parser.add_argument(*names, **({"default": None} if takes else {"action": "store_true"}))
    if row.words:
        parser.add_argument("words", nargs="*", metavar=row.words.rstrip("*"))
    return parser


def _text(given: Namespace, row: Spelling) -> list[str]:
    """What stands without a flag, or behind the flag that means the same."""
    found = list(getattr(given, "words", ()))
    behind = getattr(given, row.words, None) if row.words else None
    if behind is not None and found:
        raise ActionError(f"--{row.words} was given and {found[0]!r} as well: one of both")
    if len(found) > 1 and not row.words.endswith("*"):
        raise ActionError(f"one {row.words} is taken, and {found[1]!r} came behind it: put it in quotes")
    return [behind] if behind is not None else found


def _ours(row: Spelling, given: Namespace) -> list[str]:
    """The words of our own command."""
    made = list(row.ours)
    for names, takes in _flags(row):
        key = names[-1].lstrip("-").replace("-", "_")
        value = getattr(given, key)
        if value in (None, False) or key in ("base_dir", "quiet", row.words):
            continue
        made += [f"{names[-1]}={_time(value) if key in _TIMES else value}"] if takes else [names[-1]]
    text = _text(given, row)
    return [*made, *(["--", *text] if text else [])]


_MS = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)\Z", re.IGNORECASE)
_UNITS = (("ms", "ms"), ("mil", "ms"), ("s", "s"), ("mo", ""), ("m", "m"), ("h", "h"), ("d", "d"), ("w", "w"))
_MOMENT = 1e11  # milliseconds; a bare number above is a date and not an age


def _time(text: str) -> str:
    """A time as the library `ms` writes it (`2 hours`, or milliseconds since 1970) in our words."""
    found = _MS.match(text.strip())
    if not found:
        return text
    number, word = float(found[1]), found[2].lower()
    if not word:  # an age without a unit is refused, as everywhere
        return times.iso(number / 1000) if number >= _MOMENT else text
    if word in ("y", "yr", "yrs", "year", "years"):
        return f"{number * 365.25}d"
    unit = next((ours for begin, ours in _UNITS if word.startswith(begin)), "")
    return f"{found[1]}{unit}" if unit else text


def _base(text: str) -> Path:
    """The state folder that a base folder means: itself, or the one below it."""
    folder = Path(text).expanduser().absolute()
    below = [folder / ".lumenflow", folder / "state"]
    for place in (folder, *below):
        if Layout(place).exists():
            return place
    return below[0] if below[0].is_dir() else folder


@contextlib.contextmanager
def _hushed(quiet: bool, *, whole: bool) -> Iterator[None]:
    """Without the words beside the result, with `whole` without the result too; errors come through."""
    with contextlib.ExitStack() as stack:
        if quiet:
            stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        if quiet and whole:
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        yield


def _create(session: Session, given: Namespace) -> int:
    """`create`, with the work unit of the open session where none is named."""
    row = _ROWS["mem:create"]
    wanted = given.session or ("" if given.wu else os.environ.get("LUMEN_SESSION", ""))
    by = given.__dict__["from"] or session.operator
    mine = places.named(session.store, wanted) if wanted else stored.newest(session.layout, by)
    if given.wu is None and mine is not None:
        given.wu = mine.active_wu
    given.session = None
    if not _text(given, row):
        raise ActionError("a title is needed: say in a few words what was noticed")
    return _plainly(session, row, given)


def _plainly(session: Session, row: Spelling, given: Namespace) -> int:
    from lumen_tui.cli.parser import build_parser

    args = build_parser().parse_args(_ours(row, given))
    return int(args.run(session, args) or 0)


def _triage(session: Session, given: Namespace) -> int:
    """`triage`, with a look before a judgement, and that as JSON."""
    named = given.promote or given.archive
    if given.promote and given.archive:
        raise ActionError("--promote and --archive exclude each other: one of both")
    if not named or not (given.dry_run or given.json):
        given.list = given.dry_run = False
        return _plainly(session, _ROWS["mem:triage"], given)
    found = checks.node_ids(session.store, named)
    if given.promote and not given.lane:
        raise ActionError("--promote needs --lane: the stream of work it goes to")
    to = {"lane": given.lane, "title": given.title or "", "wu_id": given.wu_id or ""}
    why = {"reason": checks.reason(given.reason or "") if given.archive else ""}
    verb, facts = ("triage.promote", to) if given.promote else ("triage.archive", why)
    if not given.dry_run:
        document(session.perform(verb, node_ids=found, **facts))
        return 0
    title = one_line(str(nodes.find(session.layout.memory, found)[found[0]][1].get("content", "")), 100)
    plan = {"dry_run": True, "verb": verb, "id": found[0], **facts, "title": facts.get("title") or title}
    document(plan) if given.json else say(f"would {verb.partition('.')[2]} {found[0]} “{plan['title']}”")
    return 0


def _index(session: Session, given: Namespace) -> int:
    folder = Path(given.base_dir or ".").expanduser().absolute()
    return _run_index(session, str(Path.cwd() if folder == session.root else folder), given)


def declare(commands: Group) -> None:
    """The commands that only these spellings had."""
    known = commands.add(
        "profile", run_profile, "What the project knows, the most used first.", "profile --tag pattern"
    )
    known.add_argument("-l", "--limit", type=int, default=20, metavar="N", help="at most so many [20]")
    known.add_argument("-t", "--tag", default="", help="only with this tag")
    known.add_argument("--raw", action="store_true", help="only what the nodes say")
    known.add_argument("--json", action="store_true", help="one JSON document")
    index = commands.add("index", run_index, "Take README and the like in as project-wide nodes.", "index --dry-run")
    index.add_argument("folder", nargs="?", default="", help="of the project [this one]")
    index.add_argument("-n", "--dry-run", action="store_true", help="only look")
    index.add_argument("--json", action="store_true", help="one JSON document")


def run_profile(session: Session, args: Namespace) -> int:
    found = knowledge.profile(session.store, limit=args.limit, tag=args.tag)
    if args.json:
        document(found)
    elif args.raw:
        for one in found:
            say(safe(one.content) + "\n")
    else:
        table([(one.id, f"{one.uses} uses", one.last_used[:10], " ".join(one.tags), one.content) for one in found])
    if not found:
        talk("nothing is kept for the whole project; `promote ID --tag pattern` keeps something")
    return 0 if found else 3


def run_index(session: Session, args: Namespace) -> int:
    return _run_index(session, args.folder or str(Path.cwd()), args)


def _run_index(session: Session, folder: str, args: Namespace) -> int:
    found = knowledge.documents(session.store, folder)
    fresh = any(one.state != "unchanged" for one in found)
    done = session.perform("memory.index", folder=folder) if fresh and not args.dry_run else None
    if args.json:
        document({"dry_run": args.dry_run, "documents": found, "action_id": done.action_id if done else ""})
        return 0
    table([(one.name, one.state, one.node_id) for one in found])
    if done:
        talk(done.summary)
    return 0


_ROWS: dict[str, Spelling] = {
    "mem:init": Spelling(("init",), _D),
    "mem:start": Spelling(("start",), _START),
    "mem:ready": Spelling(("ready",), f"--wu -t/--type -f/--format {_D}"),
    "mem:checkpoint": Spelling(
        ("checkpoint",),
        f"-n/--note -s/--session --wu -p/--progress --next-steps -t/--trigger --git-diff-stat --from {_D}", "note",
    ),
    "mem:signal": Spelling(
        ("signal",), f"-m/--message --wu -l/--lane --to --type -p/--priority --from {_D}", "message"
    ),
    "mem:inbox": Spelling(
        ("inbox",), f"--wu -l/--lane -s/--since -w/--watch! --no-mark! -c/--count! --reader --json! {_D}"
    ),
    "mem:create": Spelling(
        ("create",),
        f"-t/--title --type -d/--discovered-from --wu -s/--session --tags -p/--priority --from {_B}", "title",
        _create,
    ),
    "mem:triage": Spelling(
        ("triage",),
        f"-l/--list! -p/--promote -a/--archive -r/--reason --title --lane --wu-id --wu --tag {_LOOK} {_B}", "",
        _triage,
    ),
    "mem:summarize": Spelling(("summarize",), f"--wu {_LOOK} {_B}"),
    "mem:cleanup": Spelling(("cleanup",), f"--ttl --session-id --decay! {_LOOK} {_B}"),
    "signal:cleanup": Spelling(("signal-cleanup",), f"--ttl --unread-ttl --max-entries --force! {_LOOK} {_B}"),
    "mem:context": Spelling(
        ("context",), f"--wu -m/--max-size -l/--lane --max-recent-summaries --max-project-nodes -f/--format {_D}"
    ),
    "mem:recover": Spelling(("recover",), f"--wu -m/--max-size -f/--format {_D}"),
    "mem:promote": Spelling(("promote",), f"-n/--node -w/--wu -t/--tag {_LOOK} {_D}", "node"),
    "mem:profile": Spelling(("profile",), f"-l/--limit -t/--tag --json! --raw! {_D}"),
    "mem:delete": Spelling(("delete",), f"--tag --older-than {_LOOK} {_D}", "ids*"),
    "mem:export": Spelling(("export",), f"--wu -t/--type -l/--lifecycle -f/--format {_D}"),
    "mem:index": Spelling(("index",), f"-n/--dry-run! --json! {_B}", "", _index),
    "state:doctor": Spelling(("doctor",), f"--fix! --json! {_B}"),
    "session start": Spelling(("start",), _START),
    "session stop": Spelling(("session", "end"), _D, "id"),
    "session status": Spelling(("session", "show"), f"--json! {_D}", "id"),
    "session handoff": Spelling(("handoff",), f"-n/--note --to --wu -s/--session {_D}", "note"),
}  # fmt: skip
