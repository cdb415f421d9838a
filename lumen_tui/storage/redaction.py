"""Secrets are taken out of every record before it becomes a line of a journal, and out of documents that hold words.

What was masked in this process is counted, so that a command can say so. Where it is `verbatim` nothing is masked, and
a record that would have been says that it stands as it was given: whoever writes it again leaves it so.
"""

from __future__ import annotations

from lumen_tui.model.jsontext import dumps
from lumen_tui.model.secrets import screen
from lumen_tui.model.secrets.redaction import redact, redact_value
from lumen_tui.storage import raw_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MARK = "verbatim"
_HIDDEN = (b"\\u", b"verbatim")  # letters written as codes, or the mark: the quick look cannot tell of these
_MARKED = b'"verbatim":true'  # cannot come from a text: the quotes in one are escaped
_MOST_COUNTED = 10_000


class Redaction:
    """What this process masked, and whether it masks at all."""

    def __init__(self) -> None:
        self.verbatim = False
        self._rules: dict[int, str] = {}  # by the hash of the secret: one that is written twice is one

    def count(self, rule: str, secret: str) -> None:
        """One more was masked."""
        if len(self._rules) < _MOST_COUNTED:
            self._rules[hash(secret)] = rule

    @property
    def rules(self) -> list[str]:
        """The rule of each secret that was masked, in the order of the alphabet."""
        return sorted(self._rules.values())


PROCESS = Redaction()


def clean(text: str) -> str:
    """Words for a state file, without their secrets."""
    return text if PROCESS.verbatim else redact(text, PROCESS.count)


def clean_value(value: Any) -> Any:
    """A JSON value for a state file, every text in it without its secrets."""
    return value if PROCESS.verbatim else redact_value(value, clean)


def clean_line(line: bytes) -> bytes:
    """A JSON object of ours without the secrets in it; one that says that it is verbatim stays."""
    if _MARKED in line or not screen.may_hold(line):
        return line
    record = raw_json.decode(line)
    return line if record is None else _cleaned(line, record)


def clean_foreign(line: bytes) -> bytes:
    """A JSON object from elsewhere without the secrets in it: it cannot say of itself that it is verbatim."""
    if not screen.may_hold(line) and not any(sign in line for sign in _HIDDEN):
        return line
    record = raw_json.decode(line)
    if record is None:
        return line
    if record.pop(MARK, None) is not None:
        line = dumps(record).encode()
    return _cleaned(line, record)


def _cleaned(line: bytes, record: dict[str, Any]) -> bytes:
    count = None if PROCESS.verbatim else PROCESS.count
    redacted = redact_value(record, lambda text: redact(text, count))
    if redacted == record:
        return line
    return dumps({**record, MARK: True} if PROCESS.verbatim else redacted).encode()
