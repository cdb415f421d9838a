"""Each kind of damage to each journal: it spoils what it hit and no more, is named by file and place, and is mended.

The journals are those that the doctor reads, so that a new one is in by itself; what verbs did not write into one is
made from the type of its lines.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import msgspec.inspect as kinds_of
import pytest
from lumen_lived import live
from lumen_program import lumen

from lumen_tui.__main__ import main
from lumen_tui.engine.doctor.disk import DoctorFinding, kinds
from lumen_tui.engine.doctor.examine import examine
from lumen_tui.model.digests import sha256
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage import chain_check, damage, files
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.sealer import Sealer
from lumen_tui.storage.store import Store
from tests.storage.damages import CONTENTS, PLACES, Harmed, displace, put_back
from tests.storage.test_wrong_bytes import VERBS

NOW = 1_800_000_000.0
AT = "2027-01-15T08:00:00.000Z"
FEWEST = 4  # lines of a journal
JOURNALS = {str(path.relative_to("/s")): kind for path, kind in kinds(Layout(Path("/s"))).items()}
WRITES = (
    "signal hello", "create another", "checkpoint again", "inbox", "fact add New -p port:1", "decay", "cleanup",
    "signal cleanup", "task new look-around", "pause loop", "resume loop", "undo", "doctor --fix", "doctor",
)  # fmt: skip
FOLLOW = {"orphaned receipts", "unfinished actions"}  # what the loss of a line can leave in another journal


def specimen(kind: kinds_of.Type, number: int) -> Any:
    """A value of this type; of a record with the fields that must be there."""
    match kind:
        case kinds_of.StructType(fields=fields, array_like=True):
            return [_field(field, number) for field in fields]
        case kinds_of.DictType(value_type=kinds_of.CustomType()):  # any fields
            return {"at": f"2026-11-22T08:00:{number:02}Z", "text": f"word-{number}"}
        case kinds_of.StructType(fields=fields):
            needed = [field for field in fields if field.required or field.name in ("id", "at")]
            return {field.encode_name: _field(field, number) for field in needed}
        case kinds_of.StrType():
            return f"word-{number}"
        case kinds_of.IntType() | kinds_of.FloatType():
            return number
        case kinds_of.BoolType():
            return False
        case kinds_of.EnumType(cls=cls):
            return next(iter(cls)).value
        case kinds_of.LiteralType(values=values):
            return values[0]
        case kinds_of.UnionType(types=types):
            return specimen(types[0], number)
        case kinds_of.ListType() | kinds_of.VarTupleType() | kinds_of.SetType() | kinds_of.FrozenSetType():
            return []
        case kinds_of.TupleType(item_types=types):
            return [specimen(type_, number) for type_ in types]
    return {}


def _field(field: kinds_of.Field, number: int) -> Any:
    is_time = field.name == "at" or field.name.endswith("_at")
    is_text = isinstance(field.type, kinds_of.StrType)
    return f"2026-11-22T08:00:{number:02}Z" if is_time and is_text else specimen(field.type, number)


def record_for(root: Path, name: str, number: int) -> Any:
    """A record for this journal; a receipt is one of a signal that is there."""
    made = specimen(kinds_of.type_info(JOURNALS[name]), number)
    if "signal_id" in made:
        signals = [json.loads(line)["id"] for line in lines_of(root / "memory/signals.jsonl")]
        made["signal_id"] = signals[number % len(signals)]
    return made


def fill_up(root: Path, name: str) -> None:
    """Let a journal have enough lines to tell where the damage is."""
    there = sum(1 for _ in Journal(root / name).lines())
    Journal(root / name).append_all(record_for(root, name, number) for number in range(there, FEWEST))


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed state folder in which everything was done once, and every journal has lines."""
    root = tmp_path_factory.mktemp("lived") / "state"
    live(root, NOW)
    layout = Layout(root)
    for name in JOURNALS:
        fill_up(root, name)
    assert Sealer(layout).seal(NOW) == []
    assert examine(Store(root), now=NOW).left == []
    return root


@pytest.fixture(scope="module")
def bare(lived: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its journals and the chain over them in a folder without anything else, which is quick to copy and to examine."""
    root = tmp_path_factory.mktemp("bare") / "state"
    layout = Layout(root)
    layout.create()
    for name in JOURNALS:
        shutil.copy(lived / name, root / name)
        os.chmod(root / name, 0o600)
    assert Sealer(layout).seal(NOW) == []
    assert examine(Store(root), now=NOW).left == []
    return root


def test_no_journal_is_left_out() -> None:
    """But for the chain, whose damage is a row of its own, and for what was damaged already."""
    layout = Layout(Path("/s"))
    named = {str(path.relative_to("/s")) for path in layout.files() if path.suffix == ".jsonl"}
    assert named - set(JOURNALS) == {"seals.jsonl", "seals.1.jsonl", "quarantine/quarantine.jsonl"}
    assert len(CONTENTS) + len(PLACES) >= 50


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def harm(path: Path, kind: str) -> Harmed:
    """Let a journal come to harm; a file that is gone is gone."""
    harmed = CONTENTS[kind](path.read_bytes().split(b"\n")[:-1])
    path.unlink() if harmed.content is None else path.write_bytes(harmed.content)
    return harmed


def named(findings: list[DoctorFinding], name: str) -> list[DoctorFinding]:
    return [finding for finding in findings if finding.where.partition(":")[0] == name]


def readable(path: Path) -> list[bytes]:
    return [line.rstrip(b"\r") for line in Journal(path).lines()]


def check_one(bare: Path, store: Store, name: str, kind: str) -> None:
    """One journal comes to one kind of harm, is examined, mended and written to."""
    path = store.root / name
    before = lines_of(path)
    harmed = harm(path, kind)
    kept = [line for number, line in enumerate(before) if number not in harmed.lost]
    found = examine(store, now=NOW).left
    ill = named(found, name)
    assert ill, "it is named"
    assert not [finding for finding in found if finding not in ill and finding.check not in FOLLOW]
    if harmed.named:
        assert [finding for finding in ill if finding.check in ("damaged lines", "torn ends")], ill
    spoilt = [
        line for line in (harmed.content or b"").split(b"\n") if line.strip() and line.rstrip(b"\r") not in before
    ]
    left = examine(store, now=NOW, fix=True).left
    assert {finding.check for finding in left} <= {"history"}, left
    another = record_for(bare, name, 50)
    Journal(path).append(another)
    there = readable(path)
    assert [line for line in kept if line not in there] == []
    assert there[-1] == msgspec.json.encode(another)
    quarantined = {digest for where, _, digest in damage.known_lines(store.layout) if where == name}
    gone = [line for line in spoilt if line not in there and sha256(line) not in quarantined]
    assert gone == [] or not harmed.named, "what could not be read is kept"
    chain_check.accept(store.root, AT, "by the test")
    assert examine(store, now=NOW).left == []


def tried(bare: Path, folder: Path, points: list[tuple[str, str]], check: Any) -> str:
    """Each (journal, kind) in a folder of its own; what did not hold, all of it."""
    wrong = []
    for name, kind in points:
        root = folder / "state"
        shutil.copytree(bare, root)
        try:
            check(bare, Store(root), name, kind)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are tried as well
            wrong.append(f"{kind}, {name}: {error!r}"[:400])
        shutil.rmtree(root)
    return "\n".join(wrong)


@pytest.mark.fault("R7", "each kind of damage to each journal")
def test_damage_spoils_what_it_hit_and_no_more(bare: Path, tmp_path: Path, sampled: Any) -> None:
    points = [(name, kind) for kind in CONTENTS for name in JOURNALS]
    assert tried(bare, tmp_path, sampled(points, 40), check_one) == ""


def check_place(bare: Path, store: Store, name: str, place: str) -> None:
    """Something else stands in the place of a journal, until it is put back."""
    path = store.root / name
    before = path.read_bytes()
    displace(path, place)
    assert named(examine(store, now=NOW).left, name), "it is named"
    with pytest.raises(files.StoreError):
        Journal(path).append(record_for(bare, name, 50))
    for finding in named(examine(store, now=NOW, fix=True).findings, name):
        assert not finding.repaired, "only a person knows what is to be there"
    put_back(path)
    assert path.read_bytes() == before
    Journal(path).append(record_for(bare, name, 50))
    assert examine(store, now=NOW).left == []


@pytest.mark.fault("R7", "each kind of damage to each journal")
@pytest.mark.parametrize("place", PLACES)
def test_what_stands_in_its_place_is_named_and_written_into_by_nobody(
    bare: Path, tmp_path: Path, place: str, sampled: Any
) -> None:
    probe = tmp_path / "probe.jsonl"
    probe.touch()
    displace(probe, place)  # skips where this user cannot make one
    points = [(name, place) for name in JOURNALS]
    assert tried(bare, tmp_path, sampled(points, 3), check_place) == ""


@pytest.mark.fault("R7", "each kind of damage to each journal")
def test_modes_that_are_too_wide_are_named_and_closed(bare: Path, tmp_path: Path) -> None:
    root = tmp_path / "state"
    shutil.copytree(bare, root)
    for name in JOURNALS:
        (root / name).chmod(0o666)
    assert {finding.where for finding in examine(Store(root), now=NOW).left} == {*JOURNALS}
    assert examine(Store(root), now=NOW, fix=True).left == examine(Store(root), now=NOW).left == []
    assert {(root / name).stat().st_mode & 0o777 for name in JOURNALS} == {0o600}


@pytest.mark.fault("R7", "each kind of damage to each journal")
@pytest.mark.sweep(most=3)
@pytest.mark.parametrize("kind", CONTENTS)
def test_every_verb_and_the_room_and_an_engine_get_past_all_at_once(
    lived: Path, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "state"
    shutil.copytree(lived, root)
    for name in JOURNALS:
        harm(root / name, kind)
    assert SnapshotReader(root).snapshot(NOW).root == str(root)
    for words in (*VERBS, *WRITES):
        code = main(["--state", str(root), *(word.replace(":", " ") for word in words.split())])
        errors = capsys.readouterr().err
        assert code in (0, 1, 3) and "Traceback" not in errors, (words, code, errors[-500:])
    beat = lumen(["--state", str(root), "--engine-only", "--once"], env=dict(os.environ), cwd=tmp_path, stdin="")
    assert beat.returncode in (0, 1) and "Traceback" not in beat.stderr, beat.stderr[-500:]
