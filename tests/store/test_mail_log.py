"""mail.jsonl is read once, and what is read is what is on the disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lumen_tui.model.mail import RECEIVED, MailLine
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.store import mail

AT = "2026-11-24T00:00:00Z"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path / "state")
    made.create()
    return made


def put(layout: Layout, *names: str) -> None:
    Journal(layout.mail_log).append_all([MailLine(id=name, at=AT, outcome=RECEIVED) for name in names])


def names(layout: Layout) -> list[str]:
    return [line.id for line in mail.lines(layout)]


def test_only_what_is_new_is_decoded(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []
    decode = mail.decode_safe
    monkeypatch.setattr(mail, "decode_safe", lambda line, kind: decoded.append(line) or decode(line, kind))
    for number in range(20):
        put(layout, f"eml-{number}")
        assert names(layout) == [f"eml-{each}" for each in range(number + 1)]
    assert len(decoded) == 20


def test_what_another_process_writes_rewrites_and_removes_is_followed(layout: Layout) -> None:
    assert names(layout) == []
    put(layout, "eml-1", "eml-2")
    assert names(layout) == ["eml-1", "eml-2"]
    code = f"import sys; open({str(layout.mail_log)!r}, 'a').write(sys.argv[1])"
    line = f'{{"id":"eml-3","at":"{AT}","outcome":"received"}}\n'
    subprocess.run([sys.executable, "-c", code, f"no line\n{line}"], check=True)
    assert names(layout) == ["eml-1", "eml-2", "eml-3"]
    Journal(layout.mail_log).rewrite(lambda lines: list(lines)[1:2])
    assert names(layout) == ["eml-2"]
    layout.mail_log.unlink()
    assert names(layout) == []
    put(layout, "eml-4")
    assert names(layout) == ["eml-4"]


def test_who_gets_the_lines_may_change_the_list(layout: Layout) -> None:
    put(layout, "eml-1")
    mail.lines(layout).clear()
    assert names(layout) == ["eml-1"]


def test_another_folder_has_its_own(layout: Layout, tmp_path: Path) -> None:
    put(layout, "eml-1")
    assert names(layout) == ["eml-1"]
    other = Layout(tmp_path / "other")
    other.create()
    assert names(other) == []
    assert names(layout) == ["eml-1"]
