"""The chain of hashes over the journals: what is changed behind its back is found and located, and nothing else is."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import lumen_sweeps
import msgspec
import pytest
from lumen_kills import killed_before, state_calls

from lumen_tui.model.seals import Seal, SealKind
from lumen_tui.storage import chain_check, files, noted_heads, repair, rewriting, sealer, seals
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.sealer import Sealer

NOW = 1_800_000_000.0
AT = "2027-01-15T08:00:00.000Z"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A state folder in which three journals have grown over ten beats."""
    made = Layout(tmp_path / "state")
    made.create()
    grow(made, Sealer(made), range(10))
    return made


def grow(layout: Layout, sealing: Sealer, beats: range) -> None:
    for beat in beats:
        for journal in (layout.signals, layout.receipts, layout.memory):
            Journal(journal).append_all(
                {"id": f"{journal.stem}-{beat}-{line}", "text": "x" * line} for line in range(3)
            )
        assert sealing.seal(NOW + beat) == []


def faults(layout: Layout) -> list[str]:
    report = chain_check.look_through(layout.root)
    return [f"{fault.journal}: {fault}" for fault in report.faults] + [seal.why for seal in report.unsound]


def test_what_nobody_touched_is_sound_and_nothing_new_writes_nothing(layout: Layout) -> None:
    before = layout.seals.read_bytes()
    assert faults(layout) == []
    assert Sealer(layout).seal(NOW) == []
    assert layout.seals.read_bytes() == before
    assert chain_check.look_through(layout.root).seals == 10


def flipped(data: bytes, chance: random.Random) -> tuple[bytes, int]:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :], at


def removed(data: bytes, chance: random.Random) -> tuple[bytes, int]:
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    return b"".join(lines[:at] + lines[at + 1 :]), sum(map(len, lines[:at]))


def inserted(data: bytes, chance: random.Random) -> tuple[bytes, int]:
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    return b"".join([*lines[:at], b'{"id":"forged"}\n', *lines[at:]]), sum(map(len, lines[:at]))


def swapped(data: bytes, chance: random.Random) -> tuple[bytes, int]:
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines) - 1)
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return b"".join(lines), sum(map(len, lines[:at]))


def cut(data: bytes, chance: random.Random) -> tuple[bytes, int]:
    at = chance.randrange(len(data))
    return data[:at], at


TRIED = 400 if lumen_sweeps.FULL else 25


@pytest.mark.threat("S13", "a byte flipped, a line removed, inserted, swapped, an end cut off", attempts=TRIED)
@pytest.mark.parametrize("tamper", [flipped, removed, inserted, swapped, cut])
@pytest.mark.parametrize("in_place", [True, False])
def test_a_change_anywhere_is_found_and_located(layout: Layout, tamper: Callable, in_place: bool) -> None:
    chance = random.Random(lumen_sweeps.seed())  # noqa: S311
    for journal in [chance.choice([layout.signals, layout.receipts, layout.memory]) for _ in range(TRIED)]:
        good = journal.read_bytes()
        bad, at = tamper(good, chance)
        put(journal, bad, in_place=in_place)
        fault = chain_check.look_through(layout.root).faults[0]
        assert (fault.journal, fault.sealed_at > "2027") == (str(journal.relative_to(layout.root)), True)
        assert fault.begin <= at < fault.end or (fault.begin <= at <= fault.end and tamper is cut), (tamper, at, fault)
        assert fault.end - fault.begin <= len(good) // 5
        put(journal, good, in_place=in_place)
    assert faults(layout) == []


def put(path: Path, data: bytes, *, in_place: bool) -> None:
    if in_place:
        path.write_bytes(data)
    else:
        files.replace(path, data)


@pytest.mark.threat("S13", "the chain itself: a seal changed, removed, inserted, swapped", attempts=TRIED)
@pytest.mark.parametrize("tamper", [flipped, removed, inserted, swapped])
def test_a_change_of_the_chain_is_found(layout: Layout, tamper: Callable) -> None:
    """But for one of its newest line and the newline before it: what nothing follows is what a kept head is for."""
    chance, good = random.Random(lumen_sweeps.seed()), layout.seals.read_bytes()  # noqa: S311
    newest = good.splitlines(keepends=True)[-1]
    for _ in range(TRIED):
        bad, at = tamper(good, chance)
        layout.seals.write_bytes(bad)
        is_newest = tamper in (flipped, removed) and at >= len(good) - len(newest) - 1
        assert faults(layout) or is_newest, (tamper, at)
        assert seals.sha256(newest[:-1]) not in chain_check.look_through(layout.root).hashes or not is_newest


@pytest.mark.threat("S13", "a file removed, replaced by an earlier state, or forged through a rewrite", attempts=4)
def test_a_file_that_is_gone_or_older_or_was_cleaned_up_after_is_found(layout: Layout) -> None:
    good = layout.signals.read_bytes()
    layout.signals.unlink()
    assert faults(layout) == ["memory/signals.jsonl: it is gone"]
    put(layout.signals, good[:300].rpartition(b"\n")[0] + b"\n", in_place=False)
    assert "are not there any more" in faults(layout)[0]
    put(layout.signals, flipped(good, random.Random(1))[0], in_place=True)  # noqa: S311
    rewriting.lines(layout.signals, lambda lines: [line for line in lines if b"-9-" not in line])
    assert "are not what they were" in faults(layout)[0], "a clean-up hides it"
    assert chain_check.look_through(layout.root).unsound[0].journal == "memory/signals.jsonl"


def note(layout: Layout) -> None:
    """Note the head of the chain where an engine does after a beat."""
    head = msgspec.structs.replace(seals.head(layout.root), at=AT)
    files.replace(layout.heartbeat, msgspec.json.encode(head))


def chain_gone(layout: Layout) -> None:
    layout.seals.unlink()


def chain_cut_off_with_its_journals(layout: Layout) -> None:
    """Take the newest seal away, and of each journal what it sealed."""
    *before, newest = layout.seals.read_bytes().splitlines(keepends=True)
    layout.seals.write_bytes(b"".join(before))
    for part in seals.decode(newest).parts:
        os.truncate(layout.root / part.journal, part.begin)


def older_chain_with_its_journals(layout: Layout) -> None:
    """Put all journals and the chain back as they were five beats ago."""
    for _ in range(5):
        chain_cut_off_with_its_journals(layout)


def chain_made_anew(layout: Layout) -> None:
    """Change a journal, and seal all journals in a chain of its own."""
    put(layout.signals, flipped(layout.signals.read_bytes(), random.Random(4))[0], in_place=True)  # noqa: S311
    layout.seals.unlink()
    Sealer(layout).seal(NOW + 50)


CHAINS = [chain_gone, chain_cut_off_with_its_journals, older_chain_with_its_journals, chain_made_anew]
WHOLE_CHAIN = pytest.mark.threat("S13", "the chain taken away, cut off with its journals, or another in its place")


@WHOLE_CHAIN
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("tamper", CHAINS)
def test_a_chain_without_the_head_that_an_engine_noted_is_found(layout: Layout, tamper: Callable, turned: bool) -> None:
    if turned:
        assert sealer.turn(layout, AT)
        grow(layout, Sealer(layout), range(60, 66))
    note(layout)
    assert faults(layout) == []
    tamper(layout)
    (found,) = chain_check.look_through(layout.root).faults
    assert found.journal == seals.NAME and AT in str(found) and "taken away, cut off or replaced" in str(found)
    assert not sealer.turn(layout, AT), "a page is not turned over it"
    chain_check.accept(layout.root, AT, "by ana")
    assert faults(layout) == []
    assert Sealer(layout, noted_heads.noted(layout)).seal(NOW + 70) == []


@WHOLE_CHAIN
@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("tamper", CHAINS)
def test_an_engine_seals_that_the_chain_is_another_and_all_that_is_there(
    layout: Layout, tamper: Callable, running: bool
) -> None:
    sealing = Sealer(layout)
    grow(layout, sealing, range(60, 61))
    note(layout)
    tamper(layout)
    if not running:
        sealing = Sealer(layout, noted_heads.noted(layout))
    (found,) = sealing.seal(NOW + 70)
    assert found.journal == seals.NAME
    assert sealing.seal(NOW + 71) == []
    note(layout)
    assert [seal.journal for seal in chain_check.look_through(layout.root).unsound] == [seals.NAME]
    assert set(seals.read_chain(layout.root).journals) >= {"memory/signals.jsonl", "memory/memory.jsonl"}
    chain_check.accept(layout.root, AT, "by ana")
    put(layout.memory, flipped(layout.memory.read_bytes(), random.Random(5))[0], in_place=True)  # noqa: S311
    assert [fault.journal for fault in chain_check.look_through(layout.root).faults] == ["memory/memory.jsonl"]


def test_more_journals_than_are_open_at_a_time_are_all_looked_at(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seals, "_OPEN", 2)
    changed = (layout.signals, layout.receipts, layout.memory)
    for journal in changed:
        put(journal, flipped(journal.read_bytes(), random.Random(3))[0], in_place=True)  # noqa: S311
    found = chain_check.look_through(layout.root).faults
    assert [fault.journal for fault in found] == sorted(os.path.relpath(path, layout.root) for path in changed)


def test_a_note_from_before_the_oldest_page_is_no_alarm(layout: Layout) -> None:
    note(layout)
    for beat in (60, 70, 80):
        assert sealer.turn(layout, AT)
        grow(layout, Sealer(layout), range(beat, beat + 2))
        assert faults(layout) == []


def test_an_engine_says_so_once_and_goes_on_sealing(layout: Layout) -> None:
    sealing = Sealer(layout)
    put(layout.signals, b"{}\n", in_place=False)
    found = sealing.seal(NOW)
    assert [str(fault) for fault in found] and found[0].journal == "memory/signals.jsonl"
    grow(layout, sealing, range(20, 22))
    assert len(faults(layout)) == 1
    chain_check.accept(layout.root, AT, "by ana")
    assert faults(layout) == []
    put(layout.signals, flipped(layout.signals.read_bytes(), random.Random(2))[0], in_place=True)  # noqa: S311
    assert "are not what they were" in faults(layout)[0]


def test_what_the_operator_accepts_is_sealed_as_it_is_and_stays_told(layout: Layout) -> None:
    put(layout.memory, b'{"id":"mine"}\n', in_place=False)
    layout.seals.write_bytes(b"".join(layout.seals.read_bytes().splitlines(keepends=True)[2:]))
    assert len(faults(layout)) == 2
    chain_check.accept(layout.root, AT, "by ana")
    report = chain_check.look_through(layout.root)
    assert (report.faults, report.unsound) == ((), ())
    assert [seal.why for seal in report.accepted] == ["by ana"]
    put(layout.memory, b'{"id":"none"}\n', in_place=True)
    assert faults(layout) != []


def test_the_chain_is_read_no_second_time_for_the_heads_that_an_engine_noted(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealing = Sealer(layout)
    grow(layout, sealing, range(20, 22))
    note(layout)
    reads: list[str] = []
    real = seals.lines
    monkeypatch.setattr(seals, "lines", lambda root, name=seals.NAME: reads.append(name) or real(root, name))
    chain_check.accept(layout.root, AT, "by ana")
    assert reads.count(seals.NAME) == 2  # for what it says, and beside the journals
    reads.clear()
    assert sealing.seal(NOW + 30) == []
    assert reads == [seals.NAME]


def _compact(layout: Layout) -> None:
    rewriting.lines(layout.signals, lambda lines: [line for line in lines if b"-3-" not in line])


def _rewrite(layout: Layout) -> None:
    Journal(layout.receipts).rewrite(lambda lines: [line for line in lines if b"-1" not in line])


def _rotate(layout: Layout) -> None:
    seals.move(layout.memory, layout.memory.with_name("memory.1.jsonl"))


def _mend(layout: Layout) -> None:
    repair.quarantine(layout, layout.signals, lambda line: "torn" if b"torn" in line else "", AT)


def _beat(layout: Layout) -> None:
    Journal(layout.signals).append({"id": "new"})
    Sealer(layout).seal(NOW + 99)


def _turn(layout: Layout) -> None:
    assert sealer.turn(layout, AT)


WORK = [_compact, _rewrite, _rotate, _mend, _beat, _turn]


@pytest.mark.threat("S13", "no false alarm: a kill before each call of a rewrite, a rotation, a repair, a beat")
@pytest.mark.parametrize("work", WORK)
def test_a_kill_anywhere_raises_no_alarm(layout: Layout, tmp_path: Path, sampled, work: Callable) -> None:
    with layout.signals.open("ab") as torn:
        torn.write(b'{"id":"torn')
    ready = Path(shutil.copytree(layout.root, tmp_path / "ready"))
    calls = state_calls(layout.root, lambda: work(layout))
    assert faults(layout) == []
    for call in sampled(list(range(len(calls))), 4):
        shutil.rmtree(layout.root)
        shutil.copytree(ready, layout.root)
        assert killed_before(call, layout.root, lambda: work(layout))
        assert faults(layout) == [], calls[call]
        Sealer(layout).seal(NOW + 200)
        grow(layout, Sealer(layout), range(30, 32))
        work(layout)
        assert faults(layout) == [], calls[call]


def test_torn_ends_and_what_is_appended_after_are_no_change(layout: Layout) -> None:
    sealing = Sealer(layout)
    for tear in (b'{"id":"hal', b"\x00\xff", b""):
        with layout.signals.open("ab") as file:
            file.write(tear)
        assert sealing.seal(NOW) == []
        Journal(layout.signals).append({"id": "behind it"})
        assert sealing.seal(NOW) == []
    assert faults(layout) == []


def test_a_torn_seal_is_closed_off_and_breaks_nothing(layout: Layout) -> None:
    whole = layout.seals.read_bytes()
    for torn in (whole[:-1], whole[:-40], whole + b'{"number":11,"at"'):
        layout.seals.write_bytes(torn)
        grow(layout, Sealer(layout), range(40, 42))
        assert faults(layout) == []


def test_a_new_page_goes_on_from_the_old_one_and_knows_its_heads(layout: Layout) -> None:
    heads = [seals.sha256(line) for line in layout.seals.read_bytes().splitlines()]
    _compact(layout)
    assert sealer.turn(layout, AT)
    report = chain_check.look_through(layout.root)
    assert report.faults == () and set(heads) < report.hashes
    assert {seals.decode(line).kind for line in seals.lines(layout.root)} == {SealKind.CARRIED}
    grow(layout, Sealer(layout), range(50, 53))
    for journal in (layout.signals, layout.memory):
        put(journal, flipped(journal.read_bytes(), random.Random(3))[0], in_place=True)  # noqa: S311
    assert len(faults(layout)) == 2
    assert not sealer.turn(layout, AT), "a page is not turned over what was changed"


def test_a_page_is_not_turned_while_somebody_is_about_to_rewrite(layout: Layout) -> None:
    draft = Seal(0, AT, "", SealKind.REWRITTEN, journal="memory/signals.jsonl")
    seals.append(layout.root, seals.whole(layout.receipts, draft))
    with files.locked_log(layout.signals):
        assert not sealer.turn(layout, AT)
    assert sealer.turn(layout, AT)


def test_without_a_chain_a_rewrite_makes_none(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "state")
    layout.create()
    Journal(layout.signals).append({"id": "one"})
    _compact(layout)
    assert not layout.seals.exists()
