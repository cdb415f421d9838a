"""write_file, edit_file and apply_patch: exact, whole or nothing, only where the role may write."""

from __future__ import annotations

import os
import stat

import pytest
from lumen_rows import each_row

from lumen_tui.tools.base import ToolError
from lumen_tui.tools.files import patching, writing
from lumen_tui.tools.files.writing import FileWrite

TWO = """--- a/{0}/one
+++ b/{0}/one
@@ -1,2 +1,2 @@
 a
-b
+B
--- a/{0}/two
+++ b/{0}/two
@@ -1,1 +1,2 @@
 c
+d
"""


@pytest.fixture
def box(make_box):
    return make_box("any", write=True)


def test_a_new_file_with_its_folders(box, granted):
    assert box.call("write_file", {"path": f"{granted}/a/b/new.py", "content": "x = 1\n"}).ok
    assert (granted / "a" / "b" / "new.py").read_text() == "x = 1\n"
    assert stat.S_IMODE((granted / "a" / "b" / "new.py").stat().st_mode) == 0o644
    again = box.call("write_file", {"path": f"{granted}/a/b/new.py", "content": "y"})
    assert "is there already" in again.text
    assert box.call("write_file", {"path": f"{granted}/a/b/new.py", "content": "y", "overwrite": True}).ok


def test_a_relative_path_is_the_tasks_own(box, state):
    assert box.call("write_file", {"path": "notes.md", "content": "mine\n"}).ok
    assert (state.layout.task("tsk-a") / "files" / "notes.md").read_text() == "mine\n"
    assert box.call("read_file", {"path": "notes.md"}).text == "mine"


def test_an_edit_must_fit_exactly_once(box, granted):
    file = granted / "f"
    file.write_text("one two one\n")
    for old, why in (("one", "is there 2 times"), ("three", "is not in the file"), ("two", "")):
        result = box.call("edit_file", {"path": str(file), "old_string": old, "new_string": "2"})
        assert result.ok == (not why)
        assert why in result.text
    assert file.read_text() == "one 2 one\n"


def test_line_endings_mode_and_bytes_are_kept(box, granted):
    file = granted / "f"
    file.write_bytes("\ufeffa\r\nb\r\nc\r\n".encode())
    file.chmod(0o750)
    assert box.call("edit_file", {"path": str(file), "old_string": "a\nb\n", "new_string": "a\nB\nextra\n"}).ok
    assert file.read_bytes() == "\ufeffa\r\nB\r\nextra\r\nc\r\n".encode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o750
    file.write_bytes(b"mixed\r\nlines\n")
    assert box.call("read_file", {"path": str(file)}).ok
    assert box.call("edit_file", {"path": str(file), "old_string": "lines\n", "new_string": "ends\n"}).ok
    assert file.read_bytes() == b"mixed\r\nends\n"
    file.write_bytes(b"\xff\xfe")
    assert box.call("read_file", {"path": str(file)}).ok
    assert "not UTF-8" in box.call("edit_file", {"path": str(file), "old_string": "a", "new_string": "b"}).text


def test_a_patch_is_applied_as_a_whole_or_not_at_all(box, granted):
    (granted / "one").write_text("a\nb\n")
    (granted / "two").write_text("c\n")
    relative = TWO.format(str(granted)[1:])  # counts from the task's own files
    assert "does not exist" in box.call("apply_patch", {"patch": relative}).text
    wrong = TWO.format(granted).replace("\n c\n", "\n x\n")
    assert "does not fit" in box.call("apply_patch", {"patch": wrong}).text
    assert (granted / "one").read_text() == "a\nb\n"
    assert box.call("apply_patch", {"patch": TWO.format(granted)}).data["paths"] == [
        str(granted / "one"),
        str(granted / "two"),
    ]
    assert (granted / "one").read_text() == "a\nB\n"
    assert (granted / "two").read_text() == "c\nd\n"


def test_where_one_file_cannot_be_written_the_others_go_back(granted):
    (granted / "one").write_text("a")
    changes = [FileWrite(str(granted / "one"), b"a", b"b"), FileWrite("/proc/no-such-place/new", None, b"x")]
    with pytest.raises(ToolError, match="nothing was changed"):
        writing.carry_out(changes)
    assert (granted / "one").read_text() == "a"
    assert os.listdir(granted) == ["one"]


def test_what_was_changed_meanwhile_is_not_overwritten(granted):
    (granted / "one").write_text("theirs")
    with pytest.raises(ToolError, match="was changed meanwhile"):
        writing.carry_out([FileWrite(str(granted / "one"), b"mine", b"new")])
    assert (granted / "one").read_text() == "theirs"


def test_a_link_put_in_the_way_is_not_followed(granted, tmp_path):
    (tmp_path / "outside").mkdir()
    (granted / "sub").symlink_to(tmp_path / "outside")
    with pytest.raises(ToolError, match="Not a directory"):
        writing.carry_out([FileWrite(str(granted / "sub" / "x"), None, b"x")])
    assert os.listdir(tmp_path / "outside") == []


@pytest.mark.parametrize(
    "path",
    ["{state}/operator.toml", "{state}/roles/builder.md", "{state}/tasks/tsk-a/spec.json", "{state}/approvals/x.json",
     "{tmp}/outside", "/etc/passwd", "{granted}/../outside", "{granted}/.git/hooks/pre-commit", "{granted}/.env",
     "../spec.json", "../../../operator.toml", "{granted}/link", "{granted}", "", "a\0b", "{granted}/hard"],
)  # fmt: skip
def test_what_may_not_be_written(box, granted, state, tmp_path, path):
    (tmp_path / "outside").write_text("safe")
    (granted / "link").symlink_to(tmp_path / "outside")
    os.link(tmp_path / "outside", granted / "hard")
    named = path.format(state=state.root, tmp=tmp_path, granted=granted)
    assert not box.call("write_file", {"path": named, "content": "x", "overwrite": True}).ok
    assert (tmp_path / "outside").read_text() == "safe"
    assert not (state.layout.operator).exists()


def test_a_role_that_only_reads_has_none_of_them(make_box, granted):
    box = make_box("read", write=False)
    assert "not among those" in box.call("write_file", {"path": f"{granted}/x", "content": "x"}).text
    assert os.listdir(granted) == []


def patched(old: str, patch: str) -> str:
    (found,) = patching.parse(f"--- a/f\n+++ b/f\n{patch}")
    return patching.apply(found, old)


@each_row(
    ("old", "patch", "new"),
    [
        ("a\nb\nc\n", "@@ -2 +2 @@\n-b\n+B\n", "a\nB\nc\n"),
        ("x\na\nb\nc\n", "@@ -2,2 +2,2 @@\n b\n-c\n+C\n", "x\na\nb\nC\n"),  # moved, but in one place only
        ("a\n", "@@ -1,0 +2,1 @@\n+b\n", "a\nb\n"),
        ("a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", "a\n"),
        ("a\n", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", "a"),
        ("-- x\n", "@@ -1 +1 @@\n--- x\n+++ y\n", "++ y\n"),
        ("a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "a\n\nc\n"),  # an empty line that lost its blank
        ("a\x0cb\nc\n", "@@ -2 +2 @@\n-c\n+d\n", "a\x0cb\nd\n"),
        ("1\n2\n3\n4\n", "@@ -1 +1 @@\n-1\n+one\n@@ -4 +4 @@\n-4\n+four\n", "one\n2\n3\nfour\n"),
    ],
)
def test_a_hunk_is_applied(old, patch, new):
    assert patched(old, patch) == new


@each_row(
    ("text", "why"),
    [
        ("", "no file in it"), ("hello", "`--- path` is missing"), ("--- a/f\nx", r"`\+\+\+ path` is missing"),
        ("--- a/f\n+++ b/f\n", "a hunk"), ("--- a/f\n+++ b/f\n@@ nonsense @@\n", "not a hunk's header"),
        ("--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n-a\n+b\n", "counts 2 old and 1 new lines"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n*a\n", "begins with"), ("--- /dev/null\n+++ /dev/null\n", "both sides"),
        ("--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", "renames"), ("rename from a\nrename to b\n", "renames"),
        ("GIT binary patch\n", "binary"), ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n" * 2, "is in it twice"),
    ],
)  # fmt: skip
def test_a_patch_that_cannot_be_read_says_where(text, why):
    with pytest.raises(patching.BadPatch, match=why):
        patching.parse(text)


@each_row(
    ("old", "patch", "why"),
    [
        ("a\nx\na\nx\n", "@@ -9,2 +9,2 @@\n a\n-x\n+y\n", "fits in 2 places"),
        ("b\n", "@@ -1 +1 @@\n-a\n+b\n", "does not fit"),
        ("a\n", "@@ -5,0 +6,1 @@\n+b\n", "no line 5"), ("", "@@ -1 +1 @@\n-a\n+b\n", "does not fit"),
    ],
)  # fmt: skip
def test_a_hunk_that_does_not_fit_is_no_guess(old, patch, why):
    with pytest.raises(patching.BadPatch, match=why):
        patched(old, patch)


def test_a_patch_makes_and_removes_files(box, state):
    files = state.layout.task("tsk-a") / "files"
    assert box.call("apply_patch", {"patch": "--- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+hello\n"}).ok
    assert (files / "new").read_text() == "hello\n"
    assert "is there already" in box.call(
        "apply_patch", {"patch": "--- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+hello\n"}
    ).text  # fmt: skip
    gone = box.call("apply_patch", {"patch": "--- a/new\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-hello\n"})
    assert gone.text.startswith("removed")
    assert not (files / "new").exists()


def test_a_new_file_is_as_closed_as_its_folder(tmp_path):
    for mode, wanted in ((0o700, 0o600), (0o755, 0o644)):
        folder = tmp_path / oct(mode)
        folder.mkdir()
        folder.chmod(mode)
        writing.carry_out([FileWrite(str(folder / "made"), None, b"x")])
        assert (folder / "made").stat().st_mode & 0o777 == wanted
