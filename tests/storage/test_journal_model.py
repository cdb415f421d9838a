"""A journal against the simplest thing that could be right: a list of lines and what follows the last newline."""

import tempfile
from pathlib import Path

import lumen_sweeps
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lumen_tui.storage import files
from lumen_tui.storage.journal import Follower, Journal

texts = st.text(alphabet='ab\u00e9\n"\\{', max_size=12)
fragments = st.binary(min_size=1, max_size=12).filter(lambda data: b"\n" not in data)


class JournalMachine(RuleBasedStateMachine):
    """Appends, rewrites, crashes in the middle of a write, damage by hand, and a reader beside all that."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "journal.jsonl"
        self.journal = Journal(self.path)
        self.follower = Follower(self.path)
        self.seen: list[bytes] = []
        self.generation = 0
        self.lines: list[bytes] = []
        self.tail = b""
        self.made = False

    def _close_tail(self) -> None:
        if self.tail:
            self.lines.append(self.tail)
        self.tail = b""
        self.made = True

    @rule(records=st.lists(st.dictionaries(texts, texts, max_size=2), max_size=3))
    def append(self, records: list[dict[str, str]]) -> None:
        self.journal.append_all(records)
        if records:
            self._close_tail()
            self.lines += list(self._encoded(records))

    def _encoded(self, records: list[dict[str, str]]) -> list[bytes]:
        from lumen_tui.storage.journal import encode

        return [encode(record).rstrip(b"\n") for record in records]

    @rule(fragment=fragments)
    def crash_in_a_write(self, fragment: bytes) -> None:
        """What a killed writer leaves: some bytes of its line; the next one's bytes come after them."""
        with open(self.path, "ab") as file:
            file.write(fragment)
        self.tail += fragment
        self.made = True

    @rule(line=fragments)
    def damage_by_hand(self, line: bytes) -> None:
        with open(self.path, "ab") as file:
            file.write(line + b"\n")
        self.lines.append(self.tail + line)
        self.tail = b""
        self.made = True

    @rule(keep=st.integers(0, 3))
    def rewrite(self, keep: int) -> None:
        self.journal.rewrite(lambda lines: [line for at, line in enumerate(lines) if at % 4 != keep])
        self._close_tail()
        self.lines = [line for at, line in enumerate(self.lines) if at % 4 != keep]

    @rule()
    def rewrite_that_fails(self) -> None:
        def broken(lines: object) -> list[bytes]:
            raise OSError(28, "No space left on device")

        try:
            self.journal.rewrite(broken)
            raise AssertionError("it must be told")
        except files.NotWritten:
            self.made = True

    @rule(limit=st.sampled_from([1, 7, 1 << 20]))
    def read_on(self, limit: int) -> None:
        while True:
            _, data = self.follower.poll(limit)
            if self.follower.generation != self.generation:
                self.generation = self.follower.generation
                self.seen.clear()
            if not data:
                break
            self.seen += data.split(b"\n")[:-1]
        assert self.seen == self.lines

    @rule()
    def start_again(self) -> None:
        """A new reader sees what the old one saw."""
        self.follower, self.seen, self.generation = Follower(self.path), [], 0

    @invariant()
    def the_file_is_what_the_model_says(self) -> None:
        if not getattr(self, "made", False):
            return
        content = b"".join(line + b"\n" for line in self.lines) + self.tail
        assert self.path.read_bytes() == content
        assert list(self.journal.lines()) == self.lines
        assert [entry.name for entry in self.path.parent.iterdir()] == ["journal.jsonl"]

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()


EXAMPLES = 400 if lumen_sweeps.FULL else 40
TestJournal = pytest.mark.sweep(JournalMachine.TestCase)
TestJournal = pytest.mark.fault(
    "R14", "random acts on a journal with crashes, beside a model of it", attempts=EXAMPLES
)(TestJournal)
TestJournal.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
