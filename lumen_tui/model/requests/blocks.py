"""Requests about memory blocks, agent files and relays."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.model.requests.base import Request


class NewBlock(Request, tag="block.new", frozen=True, kw_only=True):
    """Make a block. Omitted fields get their defaults."""

    name: str
    text: str = ""
    description: str = ""
    limit: int = 0
    read_only: bool = False
    agent: bool = False


class AppendToBlock(Request, tag="block.append", frozen=True, kw_only=True):
    """Append a text on a line of its own."""

    name: str
    text: str
    agent: bool = False


class ReplaceInBlock(Request, tag="block.replace", frozen=True, kw_only=True):
    """Replace one piece of text, which must occur exactly once."""

    name: str
    old: str
    new: str
    agent: bool = False


class PatchBlock(Request, tag="block.patch", frozen=True, kw_only=True):
    """Apply a unified diff. A hunk that does not fit is an error, and nothing is written."""

    name: str
    diff: str
    agent: bool = False


class RethinkBlock(Request, tag="block.rethink", frozen=True, kw_only=True):
    """Replace the whole text of a block. `base` is the step that was read: refused if there is a newer one."""

    name: str
    text: str
    base: int | None = None
    agent: bool = False


class AdjustBlock(Request, tag="block.adjust", frozen=True, kw_only=True):
    """Change the fields of a block other than its text."""

    name: str
    limit: int | None = None
    description: str | None = None
    read_only: bool | None = None


class LockBlock(Request, tag="block.lock", frozen=True, kw_only=True):
    """Lock a block: nobody, agent or person, writes it until it is unlocked."""

    name: str


class UnlockBlock(Request, tag="block.unlock", frozen=True, kw_only=True):
    """Unlock a block."""

    name: str


class RestoreBlock(Request, tag="block.restore", frozen=True, kw_only=True):
    """Restore a text byte for byte: that of a step, or the one at a time. Limit and lock stay."""

    name: str
    step: int = 0
    at: str = ""


class SubmitToRelay(Request, tag="relay.submit", frozen=True, kw_only=True):
    """Submit a text to a relay, which may hold it; the answer says what moved since. The same `key` submits once."""

    relay_name: str
    text: str
    base: int
    key: str = ""


class ReleaseTexts(Request, tag="relay.release", frozen=True, kw_only=True):
    """Release held texts, after everything that is there."""

    ids: str | Sequence[str]
    note: str = ""


class DropTexts(Request, tag="relay.drop", frozen=True, kw_only=True):
    """Drop held texts; undo puts them back to be decided again."""

    ids: str | Sequence[str]
    reason: str = ""
