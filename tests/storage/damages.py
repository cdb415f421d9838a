"""The ways in which a journal comes to harm: what becomes of its bytes, or what stands in its place.

Each takes the lines that were acknowledged and returns what the file holds then, with the numbers of the lines that are
beyond reading. All others have to be there afterwards.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

Lines = list[bytes]
EVERY = frozenset(range(10_000))


class Harmed(NamedTuple):
    """What a journal holds after it came to harm."""

    content: bytes | None  # None where the file is gone
    lost: frozenset[int] = frozenset()  # numbers of the lines that nobody can read any more
    named: bool = True  # whether a line of it is no record; else only the chain of hashes can tell


def _text(lines: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _instead(change: Callable[[bytes], bytes]) -> Callable[[Lines], Harmed]:
    """The line in the middle is changed so that it is no record any more."""

    def harm(lines: Lines) -> Harmed:
        at = len(lines) // 2
        return Harmed(_text([*lines[:at], change(lines[at]), *lines[at + 1 :]]), frozenset({at}))

    return harm


def _between(make: Callable[[bytes], bytes], *, named: bool = True) -> Callable[[Lines], Harmed]:
    """Something that nobody wrote stands between two lines; it is made from a record under another id."""

    def harm(lines: Lines) -> Harmed:
        at = len(lines) // 2
        return Harmed(_text([*lines[:at], make(lines[at]), *lines[at:]]), named=named)

    return harm


def _whole(change: Callable[[bytes], bytes | None], lost: frozenset[int], *, named: bool = True) -> Any:
    """The whole file is changed."""
    return lambda lines: Harmed(change(_text(lines)), lost, named)


def _cut_in_the_middle(lines: Lines) -> Harmed:
    """From before the last byte of a line to behind the first of the next: less would be mended by chance."""
    at = len(lines) // 2
    joined = lines[at - 1][:-1] + lines[at][1:]
    return Harmed(_text([*lines[: at - 1], joined, *lines[at + 1 :]]), frozenset({at - 1, at}))


def _zeros_over_lines(lines: Lines) -> Harmed:
    """A block that the disk never got, from within one line to within the next."""
    at = len(lines) // 2
    before, after = lines[at - 1], lines[at]
    half, rest = len(before) // 2, len(after) // 2
    blank = before[:half] + b"\0" * (len(before) - half + 1 + rest) + after[rest:]
    return Harmed(_text([*lines[: at - 1], blank, *lines[at + 1 :]]), frozenset({at - 1, at}))


def _two_in_a_line(lines: Lines) -> Harmed:
    at = len(lines) // 2
    return Harmed(_text([*lines[: at - 1], lines[at - 1] + lines[at], *lines[at + 1 :]]), frozenset({at - 1, at}))


def _swapped(lines: Lines) -> Harmed:
    return Harmed(_text([lines[-1], *lines[1:-1], lines[0]]), named=False)


def _flipped(line: bytes) -> bytes:
    """One bit of a letter within a text: JSON still, and not what was written."""
    at = line.rindex(b'"') - 1
    return line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :]


def _last_line_gone(lines: Lines) -> Harmed:
    return Harmed(_text(lines[:-1]), frozenset({len(lines) - 1}), named=False)


def _flip_one(lines: Lines) -> Harmed:
    at = next(number for number, line in enumerate(lines) if re.search(rb'\w"[^"]*$', line))
    return Harmed(_text([*lines[:at], _flipped(lines[at]), *lines[at + 1 :]]), frozenset({at}), named=False)


def _other(line: bytes, change: Callable[[Any], Any]) -> bytes:
    """The record with every value but its id changed, under an id of its own."""
    record = json.loads(line)
    return json.dumps({key: _other_id(key, value, change) for key, value in record.items()}).encode()


def _other_id(key: str, value: Any, change: Callable[[Any], Any]) -> Any:
    return f"{str(value).partition('-')[0]}-harmed" if key in ("id", "begun") else change(value)


def _moved(year: str) -> Callable[[bytes], bytes]:
    """The record at another time, in words and in seconds."""
    seconds = 9e15 if year.startswith("9") else -9e15
    return lambda line: _other(
        line,
        lambda value: (
            f"{year}-01-01T00:00:00Z"
            if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT", value)
            else seconds
            if isinstance(value, float)
            else value
        ),
    )


def _every(value: str) -> Callable[[bytes], bytes]:
    """A record in which each value is this one, as it is written."""
    return lambda line: b"{%s}" % b",".join(b'"%s":%s' % (key.encode(), value.encode()) for key in json.loads(line))


def _twice_each_key(line: bytes) -> bytes:
    other = _other(line, lambda value: value)
    return other[:-1] + b"," + other[1:]


def _in_a_text(odd: bytes) -> Callable[[bytes], bytes]:
    """Odd bytes at the end of the last text of the record."""
    return lambda line: line[: line.rindex(b'"')] + odd + line[line.rindex(b'"') :]


def _one_more(value: bytes) -> Callable[[bytes], bytes]:
    """A record under another id with a field that nobody knows, of this value."""
    return lambda line: _other(line, lambda value: value)[:-1] + b',"unknown":%s}' % value


CONTENTS: dict[str, Callable[[Lines], Harmed]] = {
    "cut off at its start": lambda lines: Harmed(_text(lines)[len(lines[0]) // 2 :], frozenset({0})),
    "cut off in the middle": _cut_in_the_middle,
    "cut off at its end": lambda lines: Harmed(
        _text(lines)[: -len(lines[-1]) // 2 - 1], frozenset({len(lines) - 1})
    ),
    "the last newline is missing": lambda lines: Harmed(_text(lines)[:-1]),
    "lines taken out": lambda lines: Harmed(
        _text([lines[0], lines[-1]]), frozenset(range(1, len(lines) - 1)), named=False
    ),
    "its last line is gone": _last_line_gone,
    "empty": _whole(lambda _: b"", EVERY, named=False),
    "gone": _whole(lambda _: None, EVERY, named=False),
    "zeros in a line": _instead(lambda line: line[:5] + b"\0" * 40 + line[5:]),
    "zeros over two lines": _zeros_over_lines,
    "zeros at the end": lambda lines: Harmed(_text(lines) + b"\0" * 4096),
    "nothing but zeros": _whole(lambda data: b"\0" * len(data), EVERY),
    "a byte order mark": lambda lines: Harmed(b"\xef\xbb\xbf" + _text(lines), frozenset({0})),
    "CRLF": _whole(lambda data: data.replace(b"\n", b"\r\n"), frozenset(), named=False),
    "CR alone": _whole(lambda data: data.replace(b"\n", b"\r") + b"\n", EVERY),
    "UTF-16": _whole(lambda data: data.decode(errors="replace").encode("utf-16"), EVERY),
    "gzip": _whole(gzip.compress, EVERY),
    "a byte that is no UTF-8": _instead(_in_a_text(b"\xff")),
    "Latin-1": _instead(_in_a_text("caf\xe9 ".encode("latin-1"))),
    "overlong UTF-8": _instead(_in_a_text(b"\xc0\xaf")),
    "a surrogate in UTF-8": _instead(_in_a_text(b"\xed\xa0\x80")),
    "a surrogate as an escape": _between(_one_more(rb'"\ud800"')),
    "a control character in a text": _instead(_in_a_text(b"\x1b[2J\x07")),
    "a bit that flipped": _flip_one,
    "swapped lines": _swapped,
    "a doubled line": lambda lines: Harmed(_text([lines[0], *lines]), named=False),
    "blank lines": lambda lines: Harmed(b"\n\n" + _text(lines).replace(b"\n", b"\n\n"), named=False),
    "two records in a line": _two_in_a_line,
    "a giant line": _between(lambda _: b'{"id":"%s"}' % (b"x" * 2_000_000)),
    "deep nesting": _between(lambda _: b'{"id":"deep","unknown":' + b"[" * 100_000),
    "deep nesting that is closed": _between(_one_more(b"[" * 5_000 + b"]" * 5_000)),
    "a huge whole number": _between(_every("1" + "0" * 400), named=False),
    "a number beyond all": _between(_every("1e400")),
    "NaN": _between(_one_more(b"NaN")),
    "Infinity": _between(_one_more(b"-Infinity")),
    "duplicate keys": _between(_twice_each_key, named=False),
    "wrong types": _between(_every('[{"a":[null]}]'), named=False),
    "nothing but null": _between(_every("null"), named=False),
    "no object": _between(lambda _: b"[]\nnull\n5\n\"text\""),
    "no fields": _between(lambda _: b"{}", named=False),
    "a time before all": _between(_moved("-999"), named=False),
    "a time far ahead": _between(_moved("9999"), named=False),
    "a trailing comma": _instead(lambda line: line[:-1] + b",}"),
    "single quotes": _instead(lambda line: line.replace(b'"', b"'")),
    "marks of a merge": lambda lines: Harmed(_text([b"<<<<<<< HEAD", *lines, b"=======", b">>>>>>> other"])),
    "numbers before the lines": _instead(lambda line: b"  12\t" + line),
    "records of another journal": _between(lambda _: b'{"wu":"WU-1","nonce":[1],"speed":2.5}', named=False),
    "random bytes": _between(lambda _: bytes(range(256)).replace(b"\n", b"")),
}  # fmt: skip


def _aside(path: Path) -> Path:
    return path.with_name(f"{path.name}.aside")


def _link(path: Path) -> None:
    path.symlink_to(_aside(path))


def _hard_link(path: Path) -> None:
    path.hardlink_to(_aside(path))


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's path has to be short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def _device(path: Path) -> None:
    try:
        os.mknod(path, 0o666 | 0o020000, os.makedev(1, 5))  # /dev/zero: reading it would never end
    except PermissionError:
        pytest.skip("only root can make a device")


def _foreign(path: Path) -> None:
    path.write_bytes(_aside(path).read_bytes())
    path.chmod(0o600)
    try:
        os.chown(path, 12345, 12345)
    except PermissionError:
        pytest.skip("only root can give a file away")


PLACES: dict[str, Callable[[Path], object]] = {
    "a folder": Path.mkdir,
    "a folder with something in it": lambda path: (path / "inner").mkdir(parents=True),
    "a pipe": os.mkfifo,
    "a link to it": _link,
    "a link to nowhere": lambda path: path.symlink_to("nowhere"),
    "a second name of it": _hard_link,
    "a socket": _socket,
    "a device": _device,
    "a file of another user": _foreign,
}


def displace(path: Path, place: str) -> None:
    """Put something else in the place of a journal, which goes aside."""
    path.rename(_aside(path))
    PLACES[place](path)


def put_back(path: Path) -> None:
    """Take away what stands in its place, and have the journal there again."""
    if path.is_dir() and not path.is_symlink():
        for inner in path.iterdir():
            inner.rmdir()
        path.rmdir()
    else:
        path.unlink()
    _aside(path).rename(path)
