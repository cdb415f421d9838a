"""A journal followed by inode and offset: each line once, whatever happens to the file."""

import os
from pathlib import Path

import pytest

from lumen_tui.storage import backwards, files
from lumen_tui.storage.journal import Follower, Journal

MIB = 1024 * 1024


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "signals.jsonl"


def lines(follower: Follower, limit: int = MIB) -> list[bytes]:
    """Everything new."""
    found = []
    while data := follower.poll(limit)[1]:
        found += data.splitlines()
    return found


def test_only_what_is_new_is_read(path: Path) -> None:
    follower = Follower(path)
    files.append(path, b"a\nb\n")
    assert follower.poll() == (0, b"a\nb\n")
    assert not follower.changed()
    files.append(path, b"c\n")
    assert follower.changed()
    assert follower.poll() == (4, b"c\n")
    assert follower.poll() == (6, b"")
    assert follower.generation == 0


def test_a_file_that_appears_later(path: Path) -> None:
    follower = Follower(path)
    assert not follower.changed()
    assert follower.poll() == (0, b"")
    files.append(path, b"a\n")
    assert follower.changed()
    assert lines(follower) == [b"a"]
    assert follower.generation == 0


def test_a_torn_tail_is_left_until_its_newline_comes(path: Path) -> None:
    path.write_bytes(b"a\nb")
    follower = Follower(path)
    assert lines(follower) == [b"a"]
    assert not follower.changed()
    with open(path, "ab") as file:
        file.write(b"c\n")
    assert lines(follower) == [b"bc"]


def test_a_rewrite_begins_a_new_generation(path: Path) -> None:
    files.append(path, b"a\nb\n")
    follower = Follower(path)
    lines(follower)
    Journal(path).rewrite(lambda old: [line.upper() for line in old])
    assert follower.changed()
    assert lines(follower) == [b"A", b"B"]
    assert follower.generation == 1


def test_two_rewrites_between_two_looks(path: Path) -> None:
    """The second new file gets the inode number of the first old one unless that is still open somewhere."""
    files.append(path, b"a\nb\n")
    follower = Follower(path)
    lines(follower)
    for word in (b"one", b"two"):
        Journal(path).rewrite(lambda _, word=word: [word] * 9)
    assert lines(follower) == [b"two"] * 9
    assert follower.generation == 1


def test_a_file_that_was_cut(path: Path) -> None:
    files.append(path, b"a\nb\nc\n")
    follower = Follower(path)
    lines(follower)
    os.truncate(path, 2)
    assert lines(follower) == [b"a"]
    assert follower.generation == 1


def test_a_file_that_went_and_came_back(path: Path) -> None:
    files.append(path, b"a\n")
    follower = Follower(path)
    lines(follower)
    path.unlink()
    assert lines(follower) == []
    files.append(path, b"b\n")
    assert lines(follower) == [b"b"]
    assert follower.generation >= 1


def test_a_limit_gives_whole_lines_and_in_the_end_all_of_them(path: Path) -> None:
    content = [b"%d" % number * 100 for number in range(9000)]
    files.append(path, b"\n".join(content) + b"\n", durable=False)
    assert path.stat().st_size > 2 * MIB
    assert lines(Follower(path), MIB) == content


@pytest.mark.fault("R7", "lines without end, of odd bytes, of a hundred megabytes")
@pytest.mark.parametrize(
    "oddity",
    [b"", b"\r", b"\x00" * 5000, b"\xff\xfe\xc3(", b"\xef\xbb\xbf{}", b"[" * 100_000, b'{"id":1e400}', b"\x1b]52;c;"],
    ids=["empty", "cr", "nul", "not utf-8", "bom", "nested", "huge number", "escape"],
)
def test_an_odd_line_is_handed_on_as_it_is(path: Path, oddity: bytes) -> None:
    files.append(path, b"before\n" + oddity + b"\nafter\n")
    assert Follower(path).poll() == (0, b"before\n" + oddity + b"\nafter\n")
    assert list(Journal(path).lines()) == [b"before", oddity, b"after"]


def test_windows_line_ends_stay_with_their_line(path: Path) -> None:
    files.append(path, b"a\r\nb\r\n")
    assert list(Journal(path).lines()) == [b"a\r", b"b\r"]


@pytest.mark.fault("R7", "lines without end, of odd bytes, of a hundred megabytes")
@pytest.mark.parametrize("length", [MIB + 2, 3 * MIB, 3 * MIB + 7])
def test_an_overlong_line_is_passed_over_and_named(path: Path, length: int) -> None:
    path.write_bytes(b"before\n" + b"x" * length + b"\nafter\nlast\n")
    follower = Follower(path)
    assert lines(follower, 4096) == [b"before", b"after", b"last"]
    assert follower.overlong == [7]
    assert not follower.changed()
    assert follower.offset == path.stat().st_size


@pytest.mark.fault("R7", "lines without end, of odd bytes, of a hundred megabytes")
def test_an_overlong_tail_waits_for_its_end(path: Path) -> None:
    path.write_bytes(b"x" * 2 * MIB)
    follower = Follower(path)
    assert lines(follower) == []
    assert follower.overlong == [0]
    files.append(path, b"after\n")
    assert lines(follower) == [b"after"]


@pytest.mark.fault("R7", "lines without end, of odd bytes, of a hundred megabytes")
def test_a_line_of_a_hundred_megabytes_costs_little_memory(crowd, path: Path) -> None:
    with open(path, "wb") as file:
        file.write(b"before\n")
        file.truncate(100 * MIB)  # a run of NUL
        file.seek(0, os.SEEK_END)
        file.write(b"\nafter\n")
    assert crowd.run("follow", str(path)) == 0, crowd.errors
    lines, overlong, grown = crowd.acknowledged()[0].split()
    assert (lines, overlong) == ("2", "1")
    assert int(grown) < 16
    path.unlink()


def test_a_long_line_is_read_in_one_go_by_a_rewrite(path: Path) -> None:
    """Its parts are joined once: a person's broken file must not cost minutes."""
    path.write_bytes(b"x" * 30 * MIB + b"\nafter\n")
    found = list(Journal(path).lines())
    assert [len(line) for line in found] == [30 * MIB, 5]
    path.unlink()


def test_append_all_is_one_write_and_one_offset(path: Path) -> None:
    journal = Journal(path)
    assert journal.append_all([]) == 0
    assert not path.exists()
    assert journal.append_all([{"n": 1}, {"n": 2}]) == 2
    assert journal.append({"n": 3}) == len(b'{"n":1}\n{"n":2}\n')
    assert list(journal.lines()) == [b'{"n":1}', b'{"n":2}', b'{"n":3}']


def test_a_rewrite_whose_change_fails_changes_nothing(path: Path) -> None:
    files.append(path, b"a\n")

    def broken(old: object) -> list[bytes]:
        raise KeyError("no")

    with pytest.raises(KeyError):
        Journal(path).rewrite(broken)
    assert path.read_bytes() == b"a\n"
    assert len(list(path.parent.iterdir())) == 1
    files.append(path, b"b\n")  # the lock was given back
    assert path.read_bytes() == b"a\nb\n"


def test_the_tail_of_a_file(path: Path) -> None:
    assert backwards.read_tail(path, 100) == b""
    path.write_bytes(b"first\nsecond\nthird\ntor")
    assert backwards.read_tail(path, 100) == b"first\nsecond\nthird\n"
    assert backwards.read_tail(path, 12) == b"third\n"
