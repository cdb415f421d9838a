"""Secrets masked in every record before it becomes a line of a journal, and in documents that hold text.

What this process masked is counted, so that a command can report it. Where the process is `verbatim` nothing is masked,
and a record that would have been carries a mark, so that later writers leave it as it is.
"""

from __future__ import annotations

from lumen_tui.model import jsontext, secrets
from lumen_tui.model.jsontext import dumps
from lumen_tui.model.secrets.redaction import redact, redact_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MARK = "verbatim"
_HIDDEN = (b"\\u", b"verbatim")  # escaped letters, or the mark: the quick check does not see these
_MARKED = b'"verbatim":true'  # cannot come from a text: the quotes in one are escaped
_MOST_COUNTED = 10_000


class Redaction:
    """The secrets that this process masked, and whether it masks at all."""

    def __init__(self) -> None:
        self.verbatim = False
        self._rules: dict[int, str] = {}  # by the hash of the secret: one that is written twice is one

    def count(self, rule: str, secret: str) -> None:
        """Count one masked secret."""
        if len(self._rules) < _MOST_COUNTED:
            self._rules[hash(secret)] = rule

    @property
    def rules(self) -> list[str]:
        """The rule of each masked secret, in alphabetical order."""
        return sorted(self._rules.values())


PROCESS = Redaction()


def clean(text: str) -> str:
    """Return a text for a state file, with its secrets masked."""
    return text if PROCESS.verbatim else redact(text, PROCESS.count)


def clean_value(value: object) -> Any:
    """Return a JSON value for a state file, with the secrets in every text masked."""
    return value if PROCESS.verbatim else redact_value(value, clean)


def clean_line(line: bytes) -> bytes:
    """Return a JSON object of ours with its secrets masked, unless it is marked verbatim."""
    if _MARKED in line or not secrets.may_hold(line):
        return line
    record = jsontext.decode(line)
    return line if record is None else _cleaned(line, record)


def clean_foreign(line: bytes) -> bytes:
    """Return a JSON object from elsewhere with its secrets masked, whether or not it is marked verbatim."""
    if not secrets.may_hold(line) and not any(sign in line for sign in _HIDDEN):
        return line
    record = jsontext.decode(line)
    if record is None:
        return line
    if record.pop(MARK, None) is not None:
        line = dumps(record).encode()
    return _cleaned(line, record)


def _cleaned(line: bytes, record: dict[str, object]) -> bytes:
    count = None if PROCESS.verbatim else PROCESS.count
    redacted = redact_value(record, lambda text: redact(text, count))
    if redacted == record:
        return line
    return dumps({**record, MARK: True} if PROCESS.verbatim else redacted).encode()
