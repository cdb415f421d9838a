"""Facts: nodes that claim something about the live system, with the probes that can confirm it from outside.

A fact is a note of the whole project with the tag `fact`; what makes it one is `metadata.fact`.
"""

import os
import re
import shlex
from collections.abc import Mapping
from enum import StrEnum

import msgspec
from msgspec import Struct

from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.records import Node
from lumen_tui.model.text import one_line
from lumen_tui.model.times import DAY

TAG = "fact"
MOST_PROBES = 8  # of one fact
LONGEST = 1000  # characters of a target, a pattern or an expected value
SPANS = {"quick": 3 * DAY, "steady": 30 * DAY, "lasting": 180 * DAY}  # class -> seconds that a confirmation holds
KINDS = ("file", "hash", "text", "json", "output", "exit", "http", "git", "port")
COMMANDS = frozenset({"output", "exit"})
_PATHS = frozenset({"file", "hash", "text", "json", "git"})
_PORT = lazy_re(r"(?:\S*:)?(?!0+$)0*(?:[1-5]?\d{1,4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])")
_MARK = lazy_re(r" ([=~])(?: |$)")
_LEARNS = frozenset({"hash", "json", "output", "git"})
_DEFAULTS = {"file": "exists", "exit": "0", "http": "200", "port": "open"}
_HELP = (
    "write KIND TARGET [AT] [~ REGEX] [= EXPECTED], such as `text /etc/os-release = Debian`, `json /srv/package.json "
    "version`, `output uname -r`, `http http://localhost:8080/ = 200`, `git ~/site HEAD`, `port 5432`"
)


class Outcome(StrEnum):
    """What a probe found. A probe that could not look says nothing about the fact."""

    HOLDS = "holds"
    DRIFTED = "drifted"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"  # a person's confirmation, taken back


class Probe(Struct, frozen=True, omit_defaults=True):
    """A cheap check. `at` is a path in JSON or a git revision; `expect` is compared as text."""

    id: str
    kind: str
    target: str
    at: str = ""
    pattern: str = ""
    expect: str = ""

    @property
    def expected(self) -> str:
        """What has to be there; empty where being there is enough."""
        return self.expect or _DEFAULTS.get(self.kind, "")

    @property
    def learns(self) -> bool:
        """Whether it takes what is there now for what is expected."""
        groups = bool(self.pattern) and re.compile(self.pattern).groups > 0
        return not self.expect and (groups or (self.kind in _LEARNS and not self.pattern))


class Reading(Struct, frozen=True):
    """What one look of a probe gave. `value` is what is there now, where that can be said."""

    outcome: Outcome
    evidence: str
    value: str = ""


def failed(reason: str) -> Reading:
    """Return the reading of a look that found nothing out: the fact is neither confirmed nor drifted by it."""
    return Reading(Outcome.FAILED, one_line(reason, 300))


class Confirmation(Struct, frozen=True, omit_defaults=True):
    """One line of confirmations.jsonl. Only probes and persons write here, never the agent."""

    fact_id: str
    at: str
    outcome: str
    probe_id: str = ""
    kind: str = "probe"  # probe | person
    evidence: str = ""
    value: str = ""
    by: str = ""
    used_by: tuple[str, ...] = ()  # what relies on a fact that drifted
    schema: int = 1


class Fact(Struct, frozen=True):
    """A claim. `written` in seconds since 1970."""

    id: str
    claim: str
    span_class: str = "steady"
    source: str = ""
    probes: tuple[Probe, ...] = ()
    written: float = 0.0
    by: str = ""
    status: str = "open"  # open | superseded | archived | deleted
    wu_id: str = ""
    supersedes: str = ""
    superseded_by: str = ""
    was: str = ""  # the value that the superseded fact named
    observation: str = ""  # of evolution, from which it was made

    @property
    def span(self) -> float:
        """Seconds for which a confirmation holds."""
        return SPANS[self.span_class]

    @property
    def title(self) -> str:
        """The first line of the claim."""
        return self.claim.partition("\n")[0]


class _Meta(Struct):
    """metadata.fact"""

    class_: str = msgspec.field(name="class", default="steady")
    source: str = ""
    probes: tuple[Probe, ...] = ()
    supersedes: str = ""
    was: str = ""
    observation: str = ""


def fact_of(node: Node) -> Fact | None:
    """Return the fact that a node holds, None for other nodes. What a person broke in it falls back to the defaults."""
    raw = node.metadata.get("fact")
    if not isinstance(raw, Mapping):
        return None
    try:
        meta = msgspec.convert(dict(raw), _Meta)
    except msgspec.ValidationError:
        meta = _Meta(source=str(raw.get("source", "")))
    probes = tuple(probe for probe in meta.probes[:MOST_PROBES] if probe.kind in KINDS)
    became = node.metadata.get("superseded_by")
    return Fact(
        node.id,
        node.content,
        meta.class_ if meta.class_ in SPANS else "steady",
        meta.source,
        probes,
        node.created,
        node.created_by,
        node.status,
        node.wu_id,
        meta.supersedes,
        became if isinstance(became, str) else "",
        meta.was,
        meta.observation,
    )


def metadata(
    span_class: str,
    source: str,
    probes: tuple[Probe, ...],
    *,
    supersedes: str = "",
    was: str = "",
    observation: str = "",
) -> dict[str, object]:
    """Return the value of `metadata.fact`."""
    if span_class not in SPANS:
        raise ValueError(f"class {span_class!r} is unknown: one of {', '.join(SPANS)} (3, 30 and 180 days)")
    values = {"class": span_class, "source": one_line(source, 400), "supersedes": supersedes, "was": was}
    values["observation"] = observation
    return {key: value for key, value in values.items() if value} | {"probes": msgspec.to_builtins(probes)}


def parse_probe(text: str, probe_id: str, folder: str = "") -> Probe:
    """Parse a probe such as `json /srv/package.json version = 1.2`; ValueError says how to write one.

    A relative path is taken from `folder`, where one is given.
    """
    kind, _, remainder = text.strip().partition(" ")
    if kind not in KINDS:
        raise ValueError(f"there is no probe {kind!r} (one of {', '.join(KINDS)}): {_HELP}")
    remainder, pattern, expect = _split(kind, remainder)
    target, at = _target(kind, remainder.strip())
    if folder and kind in _PATHS and not target.startswith("~"):
        target = os.path.normpath(os.path.join(folder, target))
    probe = Probe(probe_id, kind, target, at.strip(), pattern.strip(), expect.strip())
    check_probe(probe)
    return probe


def _split(kind: str, text: str) -> tuple[str, str, str]:
    """Return the target, the pattern and the expected value. The last mark counts in a command, elsewhere the first."""
    if kind in COMMANDS:
        text, _, expect = _cut(text, " = ")
        return (*_cut(text, " ~ ")[::2], expect)
    first = next((match for match in _MARK.finditer(text) if _balanced(text[: match.start()])), None)
    if first is None:
        return text, "", ""
    head, tail = text[: first.start()], text[first.end() :]
    if first[1] == "=":
        return head, "", tail
    pattern, _, expect = _cut(tail, " = ")
    return (head, tail, "") if "(" in expect and "(" not in pattern else (head, pattern, expect)


def _balanced(text: str) -> bool:
    """Return whether no quote is open at its end."""
    try:
        shlex.split(text)
    except ValueError:
        return False
    return True


def absolute(text: str, folder: str) -> str:
    """A probe as text, with a path in it that is relative to this folder made absolute; ValueError as `parse_probe`."""
    return probe_words(parse_probe(text, "p1", folder))


def _cut(text: str, mark: str) -> tuple[str, str, str]:
    """Split as rpartition does, with the whole text first where the mark is missing."""
    head, separator, tail = text.rpartition(mark)
    return (head, separator, tail) if separator else (text, "", "")


def _target(kind: str, text: str) -> tuple[str, str]:
    """Return the target, and what follows it where the kind has something: commands keep all their words."""
    if kind in COMMANDS:
        return text, ""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"{one_line(text, 100)}: {error}") from None
    most = 2 if kind in ("json", "git") else 1
    if not 1 <= len(words) <= most:
        raise ValueError(f"{kind} takes {'a target and where in it' if most == 2 else 'one target'}: {_HELP}")
    return words[0], words[1] if len(words) > 1 else ("HEAD" if kind == "git" else "")


def check_probe(probe: Probe) -> None:
    """Raise ValueError where a probe can never say anything."""
    if not probe.target:
        raise ValueError(f"the probe names nothing to look at: {_HELP}")
    if probe.kind in _PATHS and not probe.target.startswith(("/", "~")):
        raise ValueError(f"{one_line(probe.target, 100)} is not an absolute path")
    if probe.kind == "port" and not _PORT.fullmatch(probe.target):
        raise ValueError(f"{one_line(probe.target, 100)} is not a port: write a number up to 65535")
    if probe.kind == "http" and not probe.target.lower().startswith(("http://", "https://")):
        raise ValueError(f"{one_line(probe.target, 100)} is not an address: it begins with http:// or https://")
    if max(map(len, (probe.target, probe.at, probe.pattern, probe.expect))) > LONGEST:
        raise ValueError(f"a part of a probe has at most {LONGEST} characters")
    if probe.kind == "text" and not (probe.pattern or probe.expect):
        raise ValueError("a text probe needs what to look for: `text PATH = WORDS` or `text PATH ~ REGEX`")
    if probe.pattern and probe.kind not in ("text", "output"):
        raise ValueError(f"a pattern fits `text` and `output`, not {probe.kind!r}")
    if probe.kind == "file" and probe.expected not in ("exists", "absent"):
        raise ValueError("a file probe expects `exists` or `absent`")
    try:
        re.compile(probe.pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"the pattern {one_line(probe.pattern, 100)!r} cannot be used: {error}") from None


def probe_words(probe: Probe) -> str:
    """Return a probe as it is written; `parse_probe` reads it again."""
    single = probe.kind in COMMANDS
    parts = [probe.kind, probe.target if single else shlex.quote(probe.target)]
    if probe.kind in ("json", "git") and probe.at:
        parts.append(shlex.quote(probe.at))
    parts += ["~", probe.pattern] if probe.pattern else []
    parts += ["=", probe.expect] if probe.expect else []
    return " ".join(parts)


def next_id(probes: tuple[Probe, ...]) -> str:
    """Return an id that no probe of the fact has."""
    taken = {probe.id for probe in probes}
    return next(name for number in range(1, MOST_PROBES + 2) if (name := f"p{number}") not in taken)
