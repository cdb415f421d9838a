"""Probes that a text itself suggests: it names a path, a version, a port, a unit or an address."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

from lumen_tui.model.facts import Probe, check_probe, parse_probe, probe_words

_URL = re.compile(r"https?://[^\s\"'<>`)\]]+[^\s\"'<>`)\].,;:!?]")
_PATH = re.compile(r"(?<![\w./:~-])(~?/(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*[\w@+-]|~?/\w+)")
_VERSION = re.compile(r"(?<![\w./-])v?(\d+(?:\.\d+){1,3})(?![\w./-]*\w)")
_PORT = re.compile(
    r"\bports?\s+(?:number\s+)?(\d{2,5})\b|\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0):(\d{2,5})\b", re.IGNORECASE
)
_UNIT = re.compile(r"(?<![\w./-])([\w@-]+\.(?:service|socket|timer))\b")
_PROGRAM = re.compile(
    r"\b([a-z][a-z0-9+_-]{1,30})`?\s+(?:version\s+|is\s+(?:at\s+)?(?:version\s+)?)?v?(\d+(?:\.\d+){1,3})\b",
    re.IGNORECASE,
)
_UNITS = "/sys/fs/cgroup/system.slice"  # a unit that is active has a folder here
_MOST_SUGGESTED = 4


def suggest(text: str) -> list[Probe]:
    """At most four probes, the most telling first. Whether they hold nobody has looked."""
    probes: dict[str, Probe] = {}
    for words in _words(text[:20_000]):
        try:
            probe = parse_probe(words, f"p{len(probes) + 1}")
            check_probe(probe)
        except ValueError:
            continue
        probes.setdefault(probe_words(probe), probe)
        if len(probes) >= _MOST_SUGGESTED:
            break
    return list(probes.values())


def _words(text: str) -> Iterator[str]:
    bare = _URL.sub(" ", text)
    paths = _PATH.findall(bare)
    versions = _VERSION.findall(bare)
    for address in _URL.findall(text):
        yield f"http {address} = 200"
    for path in paths:
        yield from (f"text {path} = {version}" for version in versions[:1])
        yield f"file {path}"
    for plain, local in _PORT.findall(bare):
        yield f"port {plain or local}"
    for unit in _UNIT.findall(bare):
        yield f"file {_UNITS}/{unit}"
    for program, version in _PROGRAM.findall(bare):
        if not paths and shutil.which(program.lower()):
            yield rf"output {program.lower()} --version ~ (?<![\d.]){re.escape(version)}(?![\d])"
