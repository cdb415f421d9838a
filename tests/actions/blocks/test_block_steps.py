"""Blocks: every way of writing, limits, locks, history, undo, edits by hand, and kills in between."""

from __future__ import annotations

import msgspec
import pytest
from blocks_folder import Memory

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import times
from lumen_tui.model.blocks import LIMIT, MOST_BLOCKS, BadEdit, difference, weaker
from lumen_tui.storage import files
from lumen_tui.store.memory import block_files, blocks
from lumen_tui.store.memory.blocks import Stale, Write


def test_the_standard_blocks_are_there_and_empty(memory: Memory) -> None:
    found = blocks.read_all(memory.layout)
    assert [(one.name, one.chars, one.step) for one in found] == [("persona", 0, 0), ("human", 0, 0)]
    assert not memory.layout.block_history.exists()


def test_append_replace_patch_and_rethink(memory: Memory) -> None:
    memory.do("block.append", name="human", text="Ann likes short answers.")
    memory.do("block.append", name="human", text="She works in Kyiv.")
    memory.do("block.replace", name="human", old="Kyiv", new="Lviv")
    before = memory.block().text
    memory.do("block.patch", name="human", diff=difference(before, before + "\nNo calls on Fridays.", "a", "b"))
    assert memory.block().text == "Ann likes short answers.\nShe works in Lviv.\nNo calls on Fridays."
    memory.do("block.rethink", name="human", text="Ann, in Lviv.\n")
    assert memory.block().text == "Ann, in Lviv.\n"
    assert [one.how for one in memory.steps()] == ["append", "append", "replace", "patch", "rethink"]


@pytest.mark.parametrize("diff", ["", "@@ -1 +1 @@\n-Bob\n+Eve\n", "nonsense", "--- a\n+++ a\n@@ -9 +9 @@\n-x\n+y\n"])
def test_a_patch_that_does_not_fit_changes_nothing(memory: Memory, diff: str) -> None:
    memory.do("block.append", name="human", text="Ann")
    with pytest.raises(ActionError):
        memory.do("block.patch", name="human", diff=diff)
    assert memory.block().text == "Ann"


def test_a_hunk_without_a_file_header_is_a_patch_too(memory: Memory) -> None:
    memory.do("block.append", name="human", text="Ann\n")
    memory.do("block.patch", name="human", diff="@@ -1 +1 @@\n-Ann\n+Anna\n")
    assert memory.block().text == "Anna\n"


@pytest.mark.parametrize(("old", "said"), [("Bob", "nearest line"), ("a", "3 times"), ("", "empty"), ("Lviv", "same")])
def test_replace_must_match_once(memory: Memory, old: str, said: str) -> None:
    memory.do("block.append", name="human", text="Boba and Lviva a")
    memory.do("block.rethink", name="human", text="Bobb\nand Lviv a a")
    with pytest.raises(ActionError, match=said):
        memory.do("block.replace", name="human", old="Bob b" if old == "Bob" else old, new="Lviv")


def test_the_limit_holds_for_every_way_of_writing(memory: Memory) -> None:
    memory.do("block.new", name="notes", text="x" * 90 + "END", limit=100)
    tries = (
        ("block.append", {"text": "y" * 10}), ("block.replace", {"old": "END", "new": "y" * 11}),
        ("block.rethink", {"text": "y" * 101}), ("block.adjust", {"limit": 92}),
        ("block.patch", {"diff": difference("x" * 90 + "END", "x" * 101, "a", "b")}),
    )  # fmt: skip
    for verb, arguments in tries:
        with pytest.raises(ActionError, match="limit is"):
            memory.do(verb, name="notes", **arguments)
    with pytest.raises(ActionError, match="limit is 20,000"):
        memory.do("block.new", name="other", text="y" * (LIMIT + 1))
    memory.do("block.rethink", name="notes", text="é" * 100)
    assert memory.block("notes").chars == 100
    assert len(memory.steps("notes")) == 2


def test_what_is_not_there_is_not_written_by_a_slip(memory: Memory) -> None:
    with pytest.raises(ActionError, match="there is no block humans"):
        memory.do("block.append", name="humans", text="x")
    with pytest.raises(ActionError, match="not usable"):
        memory.do("block.new", name="../evil", text="x")
    memory.do("block.new", name="notes")
    with pytest.raises(ActionError, match="there is a block notes already"):
        memory.do("block.new", name="notes")


def test_a_locked_block_is_written_by_nobody_and_a_read_only_one_by_no_agent(memory: Memory) -> None:
    memory.do("block.new", name="rules", text="a", read_only=True)
    with pytest.raises(ActionError, match="read-only for agents"):
        memory.do("block.append", name="rules", text="b", agent=True)
    memory.do("block.append", name="rules", text="b")
    memory.do("block.lock", name="rules")
    for verb, arguments in (("append", {"text": "c"}), ("rethink", {"text": "c"}), ("restore", {"step": 1})):
        with pytest.raises(ActionError, match="locked by ana"):
            memory.do(f"block.{verb}", by="bob", name="rules", **arguments)
    with pytest.raises(ActionError, match="locked by ana"):
        memory.do("block.adjust", name="rules", read_only=False)
    memory.do("block.unlock", name="rules")
    memory.do("block.adjust", name="rules", read_only=False)
    memory.do("block.append", name="rules", text="c", agent=True)
    assert memory.block("rules").text == "a\nb\nc"


def test_history_gives_every_text_back_byte_for_byte(memory: Memory) -> None:
    texts = ["", "a", "a\n", "a\n\n", "+++\nx = 1\n+++\n", " \t\r\nb", "\u2028é\U0001f600", "\r"]
    for text in texts[1:]:
        memory.do("block.rethink", name="human", text=text)
        assert memory.block().text == text
    for number, text in enumerate(texts[1:], start=1):
        if memory.block().text != text:
            memory.do("block.restore", name="human", step=number)
        assert memory.block().text == text
        assert block_files.stored_text(memory.layout, memory.steps()[number - 1]).encode() == text.encode()


def test_restore_by_time(memory: Memory) -> None:
    for text in ("one", "two", "three"):
        memory.do("block.rethink", name="human", text=text)
    memory.do("block.restore", name="human", at=times.iso(memory.now - 0.5))
    assert memory.block().text == "two"
    with pytest.raises(ActionError, match="no text at 1970"):
        memory.do("block.restore", name="human", at="1970-01-01T00:00:00Z")
    with pytest.raises(ActionError, match="is no time"):
        memory.do("block.restore", name="human", at="yesterday")
    with pytest.raises(ActionError, match="blocks history"):
        memory.do("block.restore", name="human", step=99)


def test_undo_and_redo_of_each_verb(memory: Memory) -> None:
    memory.do("block.new", name="notes", text="a", limit=50)
    memory.do("block.append", name="notes", text="b")
    memory.do("block.lock", name="notes")
    memory.do("undo")
    assert memory.block("notes").fields.locked == ""
    memory.do("undo")
    assert memory.block("notes").text == "a"
    memory.do("undo")
    assert memory.block("notes").at == ""
    assert not memory.file("notes").exists()
    for _ in range(3):
        memory.do("redo")
    assert (memory.block("notes").text, memory.block("notes").fields.locked) == ("a\nb", "ana")
    assert memory.block("notes").fields.limit == 50


def test_undo_refuses_what_was_changed_since(memory: Memory) -> None:
    memory.do("block.append", name="human", text="a")
    memory.by_hand("a\n", "b\n")
    with pytest.raises(ActionError, match="changed since"):
        memory.do("undo")


def test_an_edit_by_hand_is_seen_and_becomes_a_step(memory: Memory) -> None:
    memory.do("block.append", name="human", text="Ann")
    memory.by_hand("Ann", "Anna")
    seen = memory.block()
    assert (seen.text, seen.by_hand, seen.by) == ("Anna", True, "a person")
    assert len(memory.steps()) == 1
    blocks.take_in(memory.layout, memory.now)
    assert [(one.how, one.by, one.trust) for one in memory.steps()][1] == ("hand", "a person", "person")
    assert not memory.block().by_hand
    blocks.take_in(memory.layout, memory.now)
    assert len(memory.steps()) == 2


def test_a_file_laid_there_by_hand_is_a_block_and_one_taken_away_is_gone(memory: Memory) -> None:
    memory.file("plans").write_text("no front matter\n")
    memory.do("block.append", name="plans", text="more")
    assert memory.block("plans").text == "no front matter\nmore"
    memory.file("plans").unlink()
    blocks.take_in(memory.layout, memory.now)
    assert memory.steps("plans")[-1].how == "removed"
    memory.do("block.restore", name="plans", step=2)
    assert memory.block("plans").text == "no front matter\nmore"


def test_an_edit_by_hand_over_an_agents_step_loses_nothing_and_says_so(memory: Memory) -> None:
    memory.do("block.append", name="human", text="Ann")
    opened = memory.file().read_text()
    memory.do("block.append", by="lumen", name="human", text="likes tea", agent=True)
    memory.file().write_text(opened.replace("Ann", "Anna"))
    blocks.take_in(memory.layout, memory.now)
    assert memory.block().text == "Anna"
    assert "written over step 2 by lumen" in memory.block().note
    assert block_files.stored_text(memory.layout, memory.steps()[1]) == "Ann\nlikes tea"


def test_a_stale_write_is_refused_with_what_changed(memory: Memory) -> None:
    memory.do("block.append", name="human", text="Ann")
    memory.do("block.append", by="bob", name="human", text="tea")
    with pytest.raises(ActionError, match=r"step 2 by bob \(append") as refusal:
        memory.do("block.rethink", name="human", text="Anna", base=1)
    assert "+tea" in str(refusal.value)
    assert memory.block().text == "Ann\ntea"
    memory.by_hand("tea", "coffee")
    with pytest.raises(ActionError, match="step 3 by a person"):
        memory.do("block.rethink", name="human", text="Anna", base=2)
    with pytest.raises(ActionError, match="no step 9"):
        memory.do("block.rethink", name="human", text="Anna", base=9)
    memory.do("block.rethink", name="human", text="Anna", base=3)
    assert memory.block().text == "Anna"


def test_an_edit_by_hand_over_the_limit_is_kept_and_told(memory: Memory) -> None:
    memory.do("block.new", name="notes", text="short", limit=10)
    memory.by_hand("short", "much too long", "notes")
    blocks.take_in(memory.layout, memory.now)
    assert memory.block("notes").over == 3
    assert "3 characters over its limit" in memory.block("notes").note
    with pytest.raises(ActionError, match="limit is 10"):
        memory.do("block.append", name="notes", text="!")
    memory.do("block.rethink", name="notes", text="short")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"+++\nlimit = \n+++\nx", "line 2"), (b"+++\nlimit = 5\nx", "not closed"), (b"\xff\xfe", "not UTF-8"),
        (b"+++\nlimit = 'big'\n+++\nx", "must be int"), (b"+++\nlimit = 0\n+++\nx", "limit is 1 to"),
        (b"+++\nread_only = 1\n+++\nx", "must be bool"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_hides_nothing_else(memory: Memory, data: bytes, said: str) -> None:
    memory.do("block.append", name="human", text="Ann")
    memory.do("block.append", name="persona", text="calm")
    memory.file().write_bytes(data)
    seen = memory.block()
    assert said in seen.problem
    assert seen.text == "Ann"
    with pytest.raises(ActionError, match="fix the file"):
        memory.do("block.append", name="human", text="tea")
    memory.do("block.append", name="persona", text="kind")
    assert memory.file().read_bytes() == data


def test_a_link_in_place_of_a_block_is_refused(memory: Memory) -> None:
    memory.do("block.append", name="human", text="Ann")
    memory.file().unlink()
    memory.file().symlink_to("/etc/hostname")
    assert "symbolic link" in memory.block().problem
    with pytest.raises((ActionError, files.StoreError), match="symbolic link"):
        memory.do("block.append", name="human", text="tea")


def test_a_write_that_was_killed_is_finished_by_the_next_one(memory: Memory) -> None:
    memory.do("block.append", name="human", text="Ann")
    known = block_files.history(memory.layout)
    step = msgspec.structs.replace(
        known["human"][0], step=2, by="lumen", how="append", trust="untrusted",
        text=block_files.keep_text(memory.layout, "Ann\ntea"), chars=7,
    )  # fmt: skip
    files.replace(memory.layout.block_pending, msgspec.json.encode(step))
    block_files.write_file(memory.layout, step, "Ann\ntea", lambda: True)  # killed before the history
    memory.do("block.append", name="persona", text="calm")
    assert [(one.by, one.trust) for one in memory.steps()] == [("ana", "person"), ("lumen", "untrusted")]
    assert memory.block().text == "Ann\ntea"
    assert not memory.layout.block_pending.exists()


def test_a_kill_behind_the_announcement_and_an_edit_by_hand_keep_both(memory: Memory) -> None:
    memory.do("block.append", name="human", text="Ann")
    step = msgspec.structs.replace(
        memory.steps()[0], step=2, by="lumen", text=block_files.keep_text(memory.layout, "Ann\ntea"), chars=7
    )
    files.replace(memory.layout.block_pending, msgspec.json.encode(step))
    memory.by_hand("Ann", "Anna")
    blocks.take_in(memory.layout, memory.now)
    assert [one.by for one in memory.steps()] == ["ana", "lumen", "a person"]
    assert memory.block().text == "Anna"


def test_a_damaged_line_and_a_lost_text_hide_only_themselves(memory: Memory) -> None:
    for text in ("one", "two", "three"):
        memory.do("block.rethink", name="human", text=text)
    lost = memory.steps()[0]
    block_files.text_path(memory.layout, lost.text).write_text("forged")
    with pytest.raises(files.StoreError, match="not what was kept"):
        memory.do("block.restore", name="human", step=1)
    lines = memory.layout.block_history.read_bytes().splitlines(keepends=True)
    memory.layout.block_history.write_bytes(lines[0] + b"{torn\n" + b"".join(lines[1:]))
    memory.do("block.restore", name="human", step=2)
    assert memory.block().text == "two"


def test_trust_is_that_of_the_weakest_part_until_a_person_rewrites(memory: Memory) -> None:
    def poison(before: blocks.Block) -> Write:
        return Write(before.text + "\nobey", before.fields, "web-reader", "append", "untrusted", person=False)

    memory.do("block.append", name="human", text="Ann")
    blocks.write(memory.layout, "human", poison, now=memory.now)
    memory.do("block.append", name="human", text="a person's line")
    assert memory.block().trust == "untrusted"
    assert memory.block().doubtful
    memory.do("block.rethink", name="human", text="Ann")
    assert memory.block().trust == "person"
    memory.do("block.restore", name="human", step=2)
    assert memory.block().trust == "untrusted"
    assert weaker("person", "what?") == "what?"


def test_the_same_call_twice_is_one_step(memory: Memory) -> None:
    def once(before: blocks.Block) -> Write:
        return Write(before.text + "x", before.fields, "lumen", "append", "agent", key="loop-1:abc", person=False)

    first = blocks.write(memory.layout, "human", once, now=memory.now)[1]
    assert blocks.write(memory.layout, "human", once, now=memory.now + 5)[1] == first
    assert memory.block().text == "x"


def test_there_is_a_most_number_of_blocks(memory: Memory) -> None:
    for number in range(MOST_BLOCKS):
        blocks.write(
            memory.layout, f"b{number}", lambda b: Write("x", b.fields, "ana", "new"), now=memory.now
        ) if number < 3 else memory.file(f"b{number}").write_text("x")
    blocks.take_in(memory.layout, memory.now)
    with pytest.raises(BadEdit, match="the most there may be"):
        blocks.write(memory.layout, "one-more", lambda b: Write("x", b.fields, "ana", "new"), now=memory.now)


def test_stale_is_a_plain_refusal() -> None:
    assert issubclass(Stale, ValueError)


def test_a_file_laid_there_without_front_matter_keeps_limit_and_purpose(memory: Memory) -> None:
    memory.do("block.new", name="plans", text="May", limit=50, description="what goes on")
    memory.file("plans").write_text("June\n")
    assert memory.block("plans").text == "June"
    memory.do("block.append", name="plans", text="July")
    fields = memory.block("plans").fields
    assert (fields.limit, fields.description) == (50, "what goes on")


def test_a_stale_write_on_a_text_that_is_the_same_again_says_so(memory: Memory) -> None:
    memory.do("block.new", name="plans", text="May")
    memory.do("block.rethink", name="plans", text="June")
    memory.do("block.restore", name="plans", step=1)
    with pytest.raises(ActionError, match="the same again: write on step 3"):
        memory.do("block.rethink", name="plans", text="July", base=1)


def test_an_undo_behind_an_edit_by_hand_names_whose_it_was(memory: Memory) -> None:
    memory.do("block.append", name="human", text="Ann likes short answers.")
    memory.by_hand("short", "long")
    with pytest.raises(ActionError, match="changed since by a person"):
        memory.do("undo")
