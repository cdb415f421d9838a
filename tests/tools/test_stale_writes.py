"""Two workers in one folder: none writes over what the other changed without having seen it."""

from __future__ import annotations

import random

import pytest
from lumen_sweeps import seed


@pytest.fixture
def box(make_box):
    return make_box("any", write=True)


def change(box, tool, path, **more):
    given = {
        "write_file": {"path": path, "content": "all new\n", "overwrite": True},
        "edit_file": {"path": path, "old_string": "two", "new_string": "2"},
        "apply_patch": {"patch": f"--- {path}\n+++ {path}\n@@ -2,1 +2,1 @@\n-two\n+2\n"},
    }[tool]
    return box.call(tool, {**given, **more})


@pytest.mark.parametrize("tool", ["write_file", "edit_file", "apply_patch"])
def test_a_file_that_changed_since_it_was_read_is_refused_with_what_changed(box, granted, tool):
    file = granted / "f"
    file.write_text("one\ntwo\nthree\n")
    assert box.call("read_file", {"path": str(file)}).ok
    file.write_text("one\ntwo\nthree\nof somebody else\n")
    refused = change(box, tool, str(file))
    assert not refused.ok
    assert "changed by somebody else since you read it; nothing was written" in refused.text
    assert "+of somebody else" in refused.text
    assert file.read_text().endswith("of somebody else\n")
    assert change(box, tool, str(file)).ok  # it has seen it now


def test_what_it_wrote_itself_is_known_to_it(box, granted):
    file = granted / "f"
    assert box.call("write_file", {"path": str(file), "content": "one\ntwo\n"}).ok
    assert change(box, "edit_file", str(file)).ok
    assert change(box, "write_file", str(file)).ok
    file.write_text("mine now\n")
    assert "+mine now" in change(box, "write_file", str(file)).text


def test_a_long_difference_is_cut_and_must_be_read(box, granted):
    file = granted / "f"
    file.write_text("two\n")
    box.call("read_file", {"path": str(file)})
    file.write_text("two\n" + "".join(f"line {number}\n" for number in range(5000)))
    for _ in range(2):
        refused = change(box, "edit_file", str(file))
        assert "Read it again" in refused.text
        assert len(refused.text) < 5000
    box.call("read_file", {"path": str(file), "limit": 1})
    assert change(box, "edit_file", str(file)).ok


def test_a_file_that_is_gone_is_not_made_again_unseen(box, granted):
    file = granted / "f"
    file.write_text("two\n")
    box.call("read_file", {"path": str(file)})
    file.unlink()
    assert "is gone since you read it" in change(box, "write_file", str(file)).text
    assert change(box, "write_file", str(file)).ok


def test_one_that_was_never_read_is_replaced_only_where_that_is_said(box, granted):
    file = granted / "f"
    file.write_text("two\n")
    assert "is there already" in change(box, "write_file", str(file), overwrite=False).text
    assert change(box, "write_file", str(file)).ok


def test_binary_and_odd_content_is_refused_without_it(box, granted):
    file = granted / "f"
    file.write_bytes(b"two\n")
    box.call("read_file", {"path": str(file)})
    file.write_bytes(b"two\0\xff\x1b[2J\n")
    refused = change(box, "write_file", str(file))
    assert not refused.ok
    assert "\x1b" not in refused.text


def test_two_workers_take_turns_at_random_and_no_line_is_lost(make_box, granted):
    """Each appends lines by whole writes of what it last knew; a refusal makes it read again."""
    chance = random.Random(seed())  # noqa: S311 - not for cryptography
    file = granted / "f"
    file.write_text("")
    boxes = [make_box("any", write=True), make_box("any", write=True)]
    known, wanted = ["", ""], []
    for box in boxes:
        box.call("read_file", {"path": str(file)})
    for number in range(30):  # as many steps as a box has
        who = chance.randrange(2)
        if chance.random() < 0.4:
            known[who] = file.read_text()
            boxes[who].call("read_file", {"path": str(file)})
            continue
        line = f"{who}-{number}\n"
        given = {"path": str(file), "content": known[who] + line, "overwrite": True}
        if boxes[who].call("write_file", given).ok:
            known[who] += line
            wanted.append(line)
        else:
            known[who] = file.read_text()
            boxes[who].call("read_file", {"path": str(file)})
    lines = file.read_text().splitlines(keepends=True)
    assert [line for line in wanted if line not in lines] == []
