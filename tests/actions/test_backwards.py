from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lumen_tui.storage import backwards, files


def read(path: Path) -> list[tuple[int, bytes]]:
    fd = os.open(path, os.O_RDONLY)
    try:
        return list(backwards.lines(fd))
    finally:
        os.close(fd)


def forwards(data: bytes) -> list[tuple[int, bytes]]:
    found, start = [], 0
    while (end := data.find(b"\n", start)) >= 0:
        if end - start <= files.MAX_READ_LINE:
            found.append((start, data[start:end]))
        start = end + 1
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 50_000), max_size=12), st.binary(max_size=20))
def test_the_same_lines_as_forwards(tmp_path_factory, sizes, tail):
    path = tmp_path_factory.mktemp("log") / "log"
    data = b"".join([b"x" * size + b"\n" for size in sizes]) + tail.replace(b"\n", b"")
    path.write_bytes(data)
    assert read(path) == list(reversed(forwards(data)))


@pytest.mark.parametrize("size", [files.MAX_READ_LINE * 4, files.MAX_READ_LINE * 9 + 17])
def test_an_overlong_line_is_passed_over_and_hides_nothing(tmp_path, size):
    path = tmp_path / "log"
    path.write_bytes(b"a\nb\n" + b"x" * size + b"\nc\nd\n")
    assert [line for _, line in read(path)] == [b"d", b"c", b"b", b"a"]
    path.write_bytes(b"x" * size)
    assert read(path) == []


def test_line_at_checks_that_a_line_begins_there(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"first\n" + b"y" * 9000 + b"\ntorn")
    fd = os.open(path, os.O_RDONLY)
    try:
        assert backwards.line_at(fd, 0) == b"first"
        assert len(backwards.line_at(fd, 6)) == 9000
        for offset in (1, 9007, -1, 10**9):
            assert backwards.line_at(fd, offset) == b""
    finally:
        os.close(fd)
