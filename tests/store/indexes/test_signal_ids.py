"""Ids of signals that are kept name the lines that a scan of the journal finds."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import pytest

from lumen_tui.cli.main import main
from lumen_tui.model.ids import Ambiguous
from lumen_tui.model.records import Signal
from lumen_tui.storage import files, kept
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.memory import nodes
from lumen_tui.store.signals import signal_ids
from lumen_tui.store.signals.signal_ids import SignalIds


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(kept.KeptIndex, "LEAST", 1)
    Layout(tmp_path / "state").create()
    return Store(tmp_path / "state")


def add(store: Store, name: str, text: str = "m") -> None:
    store.signals.append(Signal(name, text, "2026-11-21T10:00:00Z"))


def answer(ask) -> object:
    try:
        return ask()
    except Ambiguous as several:
        return several.candidates
    except LookupError:
        return None


@pytest.mark.parametrize("seed", range(4))
def test_the_kept_ids_answer_as_a_scan_does_whatever_is_added_rewritten_or_damaged(store, seed):
    chance = random.Random(seed)  # noqa: S311 - a test that can be repeated
    path = store.layout.signals
    for step in range(80):
        roll = chance.random()
        if roll < 0.7:
            add(
                store,
                f"sig-{chance.randrange(400):03d}{chance.choice(['', 'a', 'ab'])}",
                f"no {step}, sig-001 and more",
            )
        elif roll < 0.8:
            files.append(path, chance.choice([b'{"id": broken\n', b'{"id":"\\n","message":"x"}\n', b"[]\n", b"\n"]))
        elif path.exists():
            store.signals.rewrite(lambda lines: [line for line in lines if chance.random() < 0.9])
        if chance.random() < 0.5 and path.exists():
            with closing(SignalIds(store.layout)) as kept_ids:
                for text in (
                    f"sig-{chance.randrange(400):03d}",
                    f"{chance.randrange(40):02d}",
                    "sig-",
                    "0",
                    "x",
                    "399a",
                ):
                    name = answer(lambda text=text: kept_ids.resolve(text))
                    assert name == answer(lambda text=text: nodes.resolve(path, text, "sig")), (seed, step, text)
                    if isinstance(name, str):
                        assert kept_ids.record(name) == nodes.find(path, [name])[name][1]
                assert kept_ids.record("sig-none") is None and not kept_ids.kept.news.endswith("damaged")


def test_the_second_command_reads_no_line_that_was_read_before(store, monkeypatch):
    for number in range(50):
        add(store, f"sig-{number:05d}")
    SignalIds(store.layout).close()
    monkeypatch.setattr(signal_ids, "_decode", lambda line: pytest.fail("a line was read again"))
    with closing(SignalIds(store.layout)) as kept_ids:
        assert kept_ids.resolve("sig-00007") == "sig-00007"
        record = kept_ids.record("sig-00007")
        assert record is not None and record["message"] == "m"


def test_spoilt_ids_are_read_again(store, sampled):
    for number in range(20):
        add(store, f"sig-{number:05d}")
    SignalIds(store.layout).close()
    path = store.layout.index / "ids-of-signals.columns"
    whole = path.read_bytes()
    for at in sampled(list(range(len(whole))), 20):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with closing(SignalIds(store.layout)) as kept_ids:
            assert [kept_ids.resolve(f"0000{n}") for n in range(10)] == [f"sig-0000{n}" for n in range(10)]
            assert kept_ids.kept.news
        assert path.read_bytes() == whole


def test_why_says_that_it_made_them_again(store, capsys):
    for number in range(20):
        add(store, f"sig-{number:05d}")
    words = ["--state", str(store.root), "--operator", "ana", "why", "sig-00007"]
    assert main(words) == 0 and capsys.readouterr().err == ""
    path = store.layout.index / "ids-of-signals.columns"
    path.write_bytes(path.read_bytes()[:-1])
    assert main(words) == 0
    assert capsys.readouterr().err == f"lumen-tui: index/{path.name} is damaged: it is made again\n"


def test_a_folder_without_signals_has_none(store):
    with closing(SignalIds(store.layout)) as kept_ids, pytest.raises(LookupError):
        kept_ids.resolve("sig-1")
