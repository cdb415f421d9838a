"""Relays on disk: one journal each, read and appended under its own lock, so that two contributors take turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from lumen_tui.model import ids, relay, times
from lumen_tui.model.decoding import UNDECODABLE, decode_safe, lazy_decoder
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.problem import Problem
from lumen_tui.model.relay import Box, Submission, SubmissionAnswer, SubmissionStatus
from lumen_tui.storage import directories, files
from lumen_tui.storage.damage import Damage
from lumen_tui.storage.journal import PIECE, Follower, Journal, encode, whole_lines
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines
from lumen_tui.store.memory import nodes

FOLDER = "relay"
_decoder = lazy_decoder(Submission)
_NAME = lazy_re(ids.NAME)
Actions = Callable[[list[tuple[Submission | None, Submission]]], bytes]  # (before, after) of all -> lines of actions


def folder(layout: Layout) -> Path:
    """Return the folder of the relays."""
    return layout.root / FOLDER


def path_of(layout: Layout, name: str) -> Path:
    """Return the path of a relay's journal. BadId for a name that is no slug."""
    return folder(layout) / f"{ids.check_name(name, 'relay')}.jsonl"


def names(layout: Layout) -> list[str]:
    """Return the names of all relays, sorted."""
    return sorted(path.stem for path in folder(layout).glob("*.jsonl") if _NAME.fullmatch(path.stem))


def _box(name: str, lines: Iterable[bytes]) -> Box:
    box = Box(name)
    for line in lines:
        try:
            box.take(_decoder.decode(line))
        except UNDECODABLE:
            continue  # the doctor and the room's problems name damaged lines
    return box


def read(layout: Layout, name: str) -> Box | None:
    """Return the current content of a relay; None where there is none."""
    path = path_of(layout, name)
    return _box(name, Journal(path).lines()) if path.exists() else None


def _no_actions(_: list[tuple[Submission | None, Submission]]) -> bytes:
    return b""


def submit(
    layout: Layout,
    name: str,
    text: str,
    *,
    by: str,
    base: int,
    now: float,
    key: str = "",
    actions: Actions = _no_actions,
) -> SubmissionAnswer:
    """Add a text to a relay, or hold it for a person. relay.Refused where it makes no sense. The answer is on disk."""
    path = path_of(layout, name)
    if base and not path.exists():
        raise relay.BadSubmission(f"there is no relay {name!r}: one begins with a text on base 0")
    directories.make_folder(folder(layout))
    with files.locked_log(path) as fd:
        box = _box(name, whole_lines(fd))
        decision = relay.judge(box, text, by=by, base=base, key=key)
        if decision.known is not None:
            return relay.answer(box, decision.known, base=base, repeated=True)
        at = times.iso(now)
        position = 0 if decision.reasons else box.position + 1
        submission = Submission(
            ids.new_id("rly"),
            at,
            by,
            text,
            relay.content_hash(text),
            base,
            SubmissionStatus.HELD if decision.reasons else SubmissionStatus.SENT,
            position,
            key,
            decision.reasons,
        )
        replaced = [
            _turned(earlier, SubmissionStatus.REPLACED, by, at, f"{relay.REPLACED_AS}{submission.id}")
            for earlier in decision.replaces
        ]
        _write(layout, fd, [(None, submission), *zip(decision.replaces, replaced, strict=True)], actions)
        box.take(submission)
    return relay.answer(box, submission, base=base)


def _turned(
    submission: Submission, status: SubmissionStatus, by: str, at: str, note: str, position: int = 0
) -> Submission:
    return msgspec.structs.replace(
        submission, status=status, position=position, updated_by=by, updated_at=at, note=note
    )


def _write(layout: Layout, fd: int, changed: list[tuple[Submission | None, Submission]], actions: Actions) -> None:
    nodes.append_both(layout, fd, b"".join([encode(after) for _, after in changed]), actions(changed))


def change(
    layout: Layout,
    name: str,
    submission_ids: Iterable[str],
    decide: Callable[[Submission | None, str], SubmissionStatus],
    *,
    by: str,
    now: float,
    note: str = "",
    actions: Actions = _no_actions,
) -> list[Submission]:
    """Give submissions the status that `decide` returns; where it raises, nothing is written."""
    path = path_of(layout, name)
    with files.locked_log(path) as fd:
        box = _box(name, whole_lines(fd))
        changed: list[tuple[Submission | None, Submission]] = []
        for submission_id in submission_ids:
            submission = box.by_id.get(submission_id)
            status = decide(submission, submission_id)
            if submission is None:
                continue
            box.position += status is SubmissionStatus.SENT
            position = box.position if status is SubmissionStatus.SENT else 0
            changed.append((submission, _turned(submission, status, by, times.iso(now), note, position)))
        _write(layout, fd, changed, actions)
    return [after for _, after in changed]


def everything(layout: Layout) -> Iterator[tuple[str, Submission]]:
    """Yield (relay, submission) of every submission in every relay."""
    for name in names(layout):
        if (box := read(layout, name)) is not None:
            for submission in box.by_id.values():
                yield name, submission


class RelayIndex:
    """Follows the relays; each line is read once. Texts are safe. Not for use by two threads at once."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._boxes: dict[str, Box] = {}
        self._followers: dict[str, tuple[Follower, Damage, int]] = {}
        self.revision = 0

    def close(self) -> None:
        """Close the relays."""
        for follower, _, _ in self._followers.values():
            follower.close()

    def refresh(self) -> bool:
        """Read what is new; return whether there was anything."""
        news = False
        for name in names(self._layout):
            if name not in self._followers:
                follower = Follower(path_of(self._layout, name))
                self._followers[name] = follower, Damage(f"{FOLDER}/{name}.jsonl", follower), -1
            if self._followers[name][0].pending():
                self._follow(name)
                news = True
        self.revision += news
        return news

    def _follow(self, name: str) -> None:
        follower, damage, generation = self._followers[name]
        while True:
            offset, data = follower.poll(PIECE)
            if follower.generation != generation:
                generation = follower.generation
                self._boxes[name] = Box(name)
            self._followers[name] = follower, damage, generation
            if not data:
                return
            for at, line in split_lines(data, offset):
                try:
                    self._boxes[name].take(decode_safe(line, Submission))
                except (*UNDECODABLE, ids.BadId) as error:
                    damage.add(at, str(error))

    @property
    def boxes(self) -> list[Box]:
        """All relays by name, as of the last refresh."""
        return [self._boxes[name] for name in sorted(self._boxes)]

    def held(self) -> list[tuple[str, Submission]]:
        """Return (relay, submission) of what waits for a person, the oldest first."""
        waiting = [(box.name, submission) for box in self.boxes for submission in box.held]
        return sorted(waiting, key=lambda pair: pair[1].since)

    @property
    def problems(self) -> list[Problem]:
        """Damaged lines."""
        return [problem for _, damage, _ in self._followers.values() for problem in damage.problems()]
