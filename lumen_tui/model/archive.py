"""A note of the archive: what is kept for good, beside the memory that fades. Checked here, also what is imported."""

from msgspec import Struct

from lumen_tui.model import ids, times
from lumen_tui.model.digests import sha256

KINDS = ("episodic", "semantic", "procedural")  # what happened, what is so, how something is done
TRUSTS = ("person", "agent", "worker", "imported", "untrusted")
LONGEST = 48_000  # bytes of UTF-8 in one note; a journal line has 64 KiB, and quotes are written longer
MOST_TAGS = 20
USUAL = 0.5  # importance, of 0 to 1, where nobody said
WITHDRAWN = "withdrawn"  # status of a note whose insertion was taken back


class Passage(Struct, frozen=True, omit_defaults=True):
    """One line of memory/archival.jsonl; the last line of an id is the valid one."""

    id: str
    content: str
    created_at: str
    kind: str = "semantic"
    tags: tuple[str, ...] = ()
    importance: float = USUAL
    source: str = ""  # where it is from, in words: a file, a page, a task
    trust: str = "person"  # whose word it is, one of TRUSTS
    created_by: str = ""
    wu_id: str = ""
    lane: str = ""
    session_id: str = ""
    task_id: str = ""  # the task, or loop of the main agent, that wrote it
    status: str = ""
    schema: int = 1


def new_id(key: str = "") -> str:
    """Return a fresh id, or the one that belongs to `key`: what is inserted twice under one key is one note."""
    if not key:
        return ids.new_id("arc")
    return f"arc-{sha256(key.encode('utf-8', 'replace'))[:16]}"


def passage(
    text: str,
    *,
    by: str,
    now: float,
    tags: tuple[str, ...] = (),
    importance: float = USUAL,
    kind: str = "semantic",
    source: str = "",
    trust: str = "person",
    wu_id: str = "",
    lane: str = "",
    session_id: str = "",
    task_id: str = "",
    key: str = "",
) -> Passage:
    """Return a new note, checked. ValueError (BadId is one) says what to write instead."""
    return Passage(
        id=new_id(key),
        content=_prose(text),
        created_at=times.iso(now),
        kind=_one_of(kind, KINDS, "kind"),
        tags=_labels(tags),
        importance=_share(importance),
        source=" ".join(source.split())[:400],
        trust=_one_of(trust, TRUSTS, "trust"),
        created_by=ids.check_label(by, "author"),
        wu_id=ids.check_wu(wu_id.upper()) if wu_id else "",
        lane=ids.check_label(lane, "lane") if lane else "",
        session_id=ids.check_file_name(session_id, "session id") if session_id else "",
        task_id=ids.check_name(task_id, "task id") if task_id else "",
    )


def _prose(text: str) -> str:
    scrubbed = text.encode("utf-8", "replace").decode().strip()
    if not scrubbed:
        raise ValueError("the note is empty: say it in a few words")
    if len(scrubbed.encode()) > LONGEST:
        raise ValueError(f"the note is longer than {LONGEST:,} bytes: insert it in parts")
    return scrubbed


def _one_of(value: str, known: tuple[str, ...], field: str) -> str:
    if value not in known:
        raise ValueError(f"{field} {value[:40]!r} is unknown: one of {', '.join(known)}")
    return value


def _share(importance: float) -> float:
    if not 0.0 <= importance <= 1.0:
        raise ValueError(f"importance {importance} is not usable: a number from 0 to 1, {USUAL} where nobody said")
    return round(importance, 3)


def _labels(tags: tuple[str, ...]) -> tuple[str, ...]:
    labels = tuple(dict.fromkeys(ids.check_label(tag.strip(), "tag") for tag in tags if tag.strip()))
    if len(labels) > MOST_TAGS:
        raise ValueError(f"a note has at most {MOST_TAGS} tags")
    return labels


def parts(text: str, most: int = LONGEST // 4) -> list[str]:
    """Return a text of any length as notes of at most `most` characters each, cut at paragraphs, lines or words."""
    pieces: list[str] = []
    remaining = text.strip()
    while len(remaining) > most:
        cut = next((at for mark in ("\n\n", "\n", " ") if (at := remaining.rfind(mark, most // 2, most)) > 0), most)
        pieces.append(remaining[:cut].rstrip())
        remaining = remaining[cut:].lstrip()
    return [*pieces, remaining] if remaining else pieces
