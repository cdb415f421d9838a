"""Files of two gigabytes: read in part, refused with the next step, and never held in memory. They are sparse."""

from __future__ import annotations

import resource

import pytest

SIZE = 2 << 30


@pytest.fixture
def large(state):
    """A text of two gigabytes where one may write, of which only the beginning and the end are on disk."""
    path = state.layout.task("tsk-a") / "files" / "large.log"
    path.parent.mkdir()
    with path.open("wb") as stream:
        stream.write(b"a line\n" * 5_000)
        stream.truncate(SIZE)
        stream.seek(0, 2)
        stream.write(b"the end\n")
    return path


@pytest.fixture
def call(make_box):
    box = make_box(write=True)
    return lambda name, **arguments: box.call(name, arguments)


@pytest.fixture(autouse=True)
def bounded():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 256 * 1024, "kilobytes"


def test_it_is_read_in_part(call, large):
    first = call("read_file", path=str(large))
    assert first.ok
    assert first.text.startswith("a line\n")
    assert first.text.endswith("call read_file with offset=1001")
    last = call("read_file", path=str(large), byte_offset=SIZE)
    assert last.text == "the end\n"


def test_what_is_not_text_in_it_is_called_that(call, large):
    beyond = call("read_file", path=str(large), offset=4_900)
    assert (beyond.ok, beyond.text) == (False, "this is a binary file; use disk_usage for its size")


def test_a_search_in_it_says_what_to_do_instead(call, large):
    alone = call("grep", pattern="the end", path=str(large))
    assert not alone.ok
    assert "2.0 GiB, and grep looks through files up to 256.0 MiB: use grep in the shell, or read_file" in alone.text
    among = call("grep", pattern="the end", path=str(large.parent))
    assert among.ok
    assert "1 file left out as larger than 256.0 MiB" in among.text


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("edit_file", {"old_string": "the end", "new_string": "x"}),
        ("write_file", {"content": "x", "overwrite": True}),
        ("apply_patch", {}),
    ],
)
def test_it_is_not_changed_as_a_whole(call, large, name, arguments):
    patch = f"--- a/{large.name}\n+++ b/{large.name}\n@@ -1,1 +1,1 @@\n-a line\n+b\n"
    told = call(name, **({"patch": patch} if name == "apply_patch" else {"path": str(large), **arguments}))
    assert not told.ok
    assert "files up to 4,194,304 are changed" in told.text
    assert large.stat().st_size == SIZE + 8


def test_it_is_listed_and_measured(call, large):
    assert "2,147,483,656" in call("glob", pattern="*.log", path=str(large.parent)).text
    assert "2.0 GiB" in call("list_dir", path=str(large.parent)).text
    assert "2,147,483,656 bytes (2.0 GiB) by apparent size" in call("disk_usage", path=str(large)).text
