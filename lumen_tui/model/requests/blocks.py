"""Requests about memory blocks, agent files and relays."""

from collections.abc import Sequence
from typing import Annotated

from lumen_tui.model.requests.base import Arg, Request


class NewBlock(Request, tag="block.new", frozen=True, kw_only=True):
    """Make a block. Omitted fields get their defaults."""

    name: Annotated[str, Arg("its name", place="NAME")]
    text: Annotated[str, Arg("the text", place="TEXT")] = ""
    description: Annotated[str, Arg("what it is for, in a line", "-d")] = ""
    limit: Annotated[int, Arg("characters it may have [20000]", metavar="N")] = 0
    read_only: Annotated[bool, Arg("agents may not write it")] = False
    agent: bool = False


class AppendToBlock(Request, tag="block.append", frozen=True, kw_only=True):
    """Append a text on a line of its own."""

    name: Annotated[str, Arg("its name", place="NAME")]
    text: Annotated[str, Arg("the text", place="TEXT")]
    agent: bool = False


class ReplaceInBlock(Request, tag="block.replace", frozen=True, kw_only=True):
    """Replace one piece of text, which must occur exactly once."""

    name: Annotated[str, Arg("its name", place="NAME")]
    old: Annotated[str, Arg("the exact text that is there once", place="OLD")]
    new: Annotated[str, Arg("the text that takes its place; an empty one takes it out", place="NEW")]
    agent: bool = False


class PatchBlock(Request, tag="block.patch", frozen=True, kw_only=True):
    """Apply a unified diff. A hunk that does not fit is an error, and nothing is written."""

    name: Annotated[str, Arg("its name", place="NAME")]
    diff: str
    agent: bool = False


class RethinkBlock(Request, tag="block.rethink", frozen=True, kw_only=True):
    """Replace the whole text of a block. `base` is the step that was read: refused if there is a newer one."""

    name: Annotated[str, Arg("its name", place="NAME")]
    text: Annotated[str, Arg("the text", place="TEXT")]
    base: Annotated[int | None, Arg("the step that you read: refused where there is a newer one", metavar="STEP")] = (
        None
    )
    agent: bool = False


class AdjustBlock(Request, tag="block.adjust", frozen=True, kw_only=True):
    """Change the fields of a block other than its text."""

    name: Annotated[str, Arg("its name", place="NAME")]
    limit: Annotated[int | None, Arg("characters it may have", metavar="N")] = None
    description: Annotated[str | None, Arg("what it is for, in a line", "-d", metavar="TEXT")] = None
    read_only: Annotated[
        bool | None, Arg("agents may not write it", opposite=("--writable", "agents may write it"))
    ] = None


class LockBlock(Request, tag="block.lock", frozen=True, kw_only=True):
    """Lock a block: nobody, agent or person, writes it until it is unlocked."""

    name: Annotated[str, Arg("its name", place="NAME")]


class UnlockBlock(Request, tag="block.unlock", frozen=True, kw_only=True):
    """Unlock a block."""

    name: Annotated[str, Arg("its name", place="NAME")]


class RestoreBlock(Request, tag="block.restore", frozen=True, kw_only=True):
    """Restore a text byte for byte: that of a step, or the one at a time. Limit and lock stay."""

    name: Annotated[str, Arg("its name", place="NAME")]
    step: Annotated[int, Arg("that of this step", metavar="N")] = 0
    at: Annotated[str, Arg("the one that held at this time", metavar="TIME")] = ""


class SubmitToRelay(Request, tag="relay.submit", frozen=True, kw_only=True):
    """Submit a text to a relay, which may hold it; the answer says what moved since. The same `key` submits once."""

    relay_name: Annotated[str, Arg("the relay", place="NAME")]
    text: Annotated[str, Arg("the text", place="TEXT")]
    base: Annotated[int, Arg("the position up to which you have read", metavar="N")]
    key: Annotated[str, Arg("the same key is the same submission, however often it comes")] = ""


class ReleaseTexts(Request, tag="relay.release", frozen=True, kw_only=True):
    """Release held texts, after everything that is there."""

    ids: Annotated[str | Sequence[str], Arg("their ids, or the beginning of them", place="ID")]
    note: Annotated[str, Arg("why", "-r", "--reason")] = ""


class DropTexts(Request, tag="relay.drop", frozen=True, kw_only=True):
    """Drop held texts; undo puts them back to be decided again."""

    ids: Annotated[str | Sequence[str], Arg("their ids, or the beginning of them", place="ID")]
    reason: Annotated[str, Arg("why", "-r")] = ""
