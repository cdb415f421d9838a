"""A folder of an agent's work, recorded once: packed into an archive, and unpacked as if that work had ended just now.

A time in the store's own form (ISO 8601 in UTC, with milliseconds) is moved wherever it stands, also within texts that
the audit log keeps for undo and within the last lines that cursors remember. It stays as long as it was, so that
offsets in other records stay right. The clocks of steps and the days of the ledger have forms of their own.
"""

from __future__ import annotations

import io
import lzma
import os
import re
import tarfile
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

from lumen_tui.model import times
from lumen_tui.model.patterns import lazy_re
from lumen_tui.storage.layout import Layout

ARCHIVE = Path(__file__).with_name("recording.tar.xz")
_ABOUT = "about.json"
_TIME = lazy_re(rb"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_CLOCK = lazy_re(rb'(?<="type":"clock","at":)\d{10}\.\d+')
_ARCHIVED = lazy_re(rb"tasks/archive/\d{4}/\d\d/([\w-]+)")
_OF_STORE = frozenset({".json", ".jsonl", ".md", ".toml"})
# Whoever needs them makes them, as lock files: how far transcripts were read is by their inodes, which are others then.
_DERIVED = ("state/index", "state/locks", "state/evolved/read.jsonl")
_OVER = lazy_re(r"state/tasks/archive/.*/steps\.jsonl")  # from which a task could go on
_TRANSCRIPTS, _NEWEST = "state/transcripts", 60  # the most of a recording, and seldom read: the last ones are kept
_LEDGER = "spend"
_TEXT = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0}]


class About(Struct, frozen=True):
    """When the work that is in an archive ended, and in which folder it was done."""

    at: float
    base: str


class _Day(Struct, frozen=True):
    """What the day of a line of the ledger follows from: its own time, or that of the hold with its id."""

    id: str = ""
    kind: str = ""
    at: str = ""
    day: str = ""


class _End(Struct, frozen=True):
    """What the month of an archived task follows from."""

    finished_at: str


def move_times(data: bytes, seconds: float) -> bytes:
    """Return the text of a file of the store with each time in it moved."""

    def later(match: re.Match[bytes]) -> bytes:
        return times.iso(times.parse_iso(match[0].decode()) + seconds).encode()

    def clock(match: re.Match[bytes]) -> bytes:
        return repr(round(float(match[0]) + seconds, 6)).ljust(len(match[0]), "0").encode()[: len(match[0])]

    return _CLOCK.sub(clock, _TIME.sub(later, data))


def move_ledger(data: bytes, seconds: float) -> bytes:
    """Return the lines of the ledger moved; the day of a call is that on which its hold was made."""
    days: dict[str, str] = {}
    lines = []
    for line in move_times(data, seconds).splitlines(keepends=True):
        entry = msgspec.json.decode(line, type=_Day)
        day = days.setdefault(entry.id, entry.at[:10])
        lines.append(line.replace(f'"day":"{entry.day}"'.encode(), f'"day":"{day}"'.encode()) if entry.day else line)
    return b"".join(lines)


def move_file(name: str, data: bytes, seconds: float) -> bytes:
    """Return the content of the file `name` of a state folder, moved where it is one of the store's own forms."""
    path = PurePosixPath(name)
    if path.suffix not in _OF_STORE:
        return data
    return move_ledger(data, seconds) if path.stem.startswith(_LEDGER) else move_times(data, seconds)


def pack(base: Path, at: float) -> bytes:
    """Return the archive of a folder that holds `state` and what its work was about."""
    buffer = io.BytesIO()
    with lzma.open(buffer, "wb", filters=_TEXT) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        about = msgspec.json.encode(About(at, str(base)))
        head = tarfile.TarInfo(_ABOUT)
        head.size = len(about)
        archive.addfile(head, io.BytesIO(about))
        for path in _packed(base):
            archive.add(path, path.relative_to(base).as_posix(), recursive=False, filter=_plain)
    return buffer.getvalue()


def _packed(base: Path) -> list[Path]:
    """Return the files and empty folders that go into an archive; those of one name side by side, as they are alike."""
    transcripts = sorted((base / _TRANSCRIPTS).glob("*"), key=os.path.getmtime)
    left_out = set(transcripts[:-_NEWEST])
    paths = [
        path
        for path in base.rglob("*")
        if path not in left_out
        and path.suffix != ".lock"
        and (path.is_file() or not any(path.iterdir()))
        and not (name := path.relative_to(base).as_posix()).startswith(_DERIVED)
        and not _OVER.fullmatch(name)
    ]
    return sorted(paths, key=lambda path: (path.name, path))


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out who recorded it, and parts of a second."""
    member.mtime = int(member.mtime)
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def unpack(archive: Path, base: Path, now: float) -> float:
    """Unpack into the folder `base`, moved so that its work ended `now`; return when it was recorded."""
    with tarfile.open(archive, "r:xz") as opened:
        members = [(member, _content(opened, member)) for member in opened]
    about = msgspec.json.decode(members.pop(0)[1], type=About)
    seconds = now - about.at
    months = _months(members, seconds)

    def current(match: re.Match[bytes]) -> bytes:
        return b"tasks/archive/%s/%s" % (months.get(match[1], match[0][14:21]), match[1])

    for member, data in members:
        name = _ARCHIVED.sub(current, member.name.encode()).decode()
        if member.isdir():
            _make_folder(base / name)
            continue
        if name.startswith("state/"):
            data = move_file(name, _ARCHIVED.sub(current, data), seconds)
        _write(base / name, data.replace(about.base.encode(), str(base).encode()), member, seconds)
    Layout(base / "state").create()
    return about.at


def _content(opened: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = opened.extractfile(member)
    return stream.read() if stream is not None else b""


def _months(members: list[tuple[tarfile.TarInfo, bytes]], seconds: float) -> dict[bytes, bytes]:
    """Return by task the month in which it is archived once the time of its end has moved."""
    months = {}
    for member, data in members:
        match = _ARCHIVED.search(member.name.encode())
        if match and member.name.endswith("/exit.json"):
            ended = times.parse_iso(msgspec.json.decode(data, type=_End).finished_at) + seconds
            months[match[1]] = times.iso(ended)[:7].replace("-", "/").encode()
    return months


def _make_folder(path: Path) -> None:
    """Make a folder, and those above that are missing, closed to other users."""
    if not path.exists():
        _make_folder(path.parent)
        path.mkdir(mode=0o700)


def _write(path: Path, data: bytes, member: tarfile.TarInfo, seconds: float) -> None:
    _make_folder(path.parent)
    path.write_bytes(data)
    path.chmod(0o700 if member.mode & 0o100 else 0o600)
    changed = member.mtime + seconds
    os.utime(path, (changed, changed))
