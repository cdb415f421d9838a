"""Lines as they are drawn, at the widths at which they have to say less."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from lumen_rows import each_row
from rich.cells import cell_len
from rich.segment import Segment

from lumen_tui.model.records import Alike, AuditEntry, DiscoveryRow, Node
from lumen_tui.model.relay import Submission, SubmissionStatus
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.times import MINUTE, iso
from lumen_tui.queries.judged import Judged
from lumen_tui.queries.queue_conditions import spend_report
from lumen_tui.storage.layout import Layout
from lumen_tui.tui import theme
from lumen_tui.tui.chrome import Notice, footer, squeezed
from lumen_tui.tui.kit.header import header
from lumen_tui.tui.kit.reasons import REASONS
from lumen_tui.tui.kit.verdict import shown_answers
from lumen_tui.tui.room_commands import COMMANDS
from lumen_tui.tui.screens.budget import page
from lumen_tui.tui.screens.journal import DeedRows
from lumen_tui.tui.screens.relays import RelayRows
from lumen_tui.tui.screens.triage_page import DiscoveryContext, item_page

NOW = 1_800_000_000.0


def text(line: list[Segment]) -> str:
    return "".join(segment.text for segment in line)


@pytest.mark.parametrize("look", [theme.NO_APPEARANCE, theme.Appearance(theme.NO_APPEARANCE.ink, theme.ASCII)])
def test_a_header_without_the_agents_name_does_not_begin_with_a_mark(busy_snapshot: Snapshot, look: Any) -> None:
    snapshot = msgspec.structs.replace(
        busy_snapshot, demo="demo, recorded 2026-11-20", read_only="the room was opened with --read-only"
    )
    drawn = [text(header(snapshot, NOW, width, look, here=False)) for width in range(30, 140)]
    assert any(line.startswith("demo ") for line in drawn)
    assert not any(line.strip().startswith(look.shapes.sep) for line in drawn)


def test_a_day_without_a_call_had_no_tokens(tmp_path: Any) -> None:
    layout = Layout(tmp_path / "state")
    layout.create()
    lines = [text(line) for line in page(spend_report(layout, NOW), NOW, 78, theme.NO_APPEARANCE)]
    assert next(line for line in lines if line.startswith("last 24 hours")).rstrip().endswith("  no tokens")


def test_an_action_without_a_reason_has_the_room_of_one() -> None:
    summary = "fact noted: “The API of the shop runs on port 8080”"
    deed = AuditEntry(id="act-1", at=iso(NOW), by="ann", verb="fact.add", summary=summary)
    rows = DeedRows(theme.NO_APPEARANCE, NOW)
    assert summary in text(rows.line(deed, 76, False, False))
    assert "because" in text(rows.line(msgspec.structs.replace(deed, reason="because"), 76, False, False))


def test_the_age_of_a_submission_is_not_cut() -> None:
    sent = Submission("rly-1", iso(NOW - 59 * MINUTE), "ann", "hello", "", 0, SubmissionStatus.SENT, 1)
    assert text(RelayRows(theme.NO_APPEARANCE, NOW).line(("outbox", sent), 76, False, False)).endswith("59 min")


@each_row("title", ["short", "a title that is much longer than any window " * 4, "宽" * 60])
@each_row("said", ["“{}” kept, listed again in 7 days", "undone: “{}” merged into “{}”"])
def test_a_notice_keeps_what_was_done_and_shortens_the_titles(said: str, title: str) -> None:
    for width in range(60, 140):
        drawn = squeezed(said.format(title, title), width)
        assert cell_len(drawn) <= width
        assert re.sub("“[^”]*”", "“{}”", drawn) == said
        assert all(title.startswith(part.removesuffix("…").rstrip()) for part in re.findall("“([^”]*)”", drawn))


def test_a_notice_without_a_title_is_cut_with_a_mark() -> None:
    assert squeezed("nothing in quotes, and no room", 12) == "nothing in …"


@pytest.mark.parametrize("reasons", [REASONS["triage.archive"], REASONS["approval.deny"]])
def test_all_answers_to_a_question_of_a_digit_are_read_at_80_columns(reasons: tuple[str, ...]) -> None:
    asked = f"Deny builder's call  {shown_answers(reasons, None)}  r another"
    [*segments] = footer(list(COMMANDS), {}, Notice(asked), 80, theme.NO_APPEARANCE)
    assert all(reason in text(segments) for reason in (*reasons, "r another"))


def test_only_discoveries_with_a_title_like_it_are_called_alike() -> None:
    row = DiscoveryRow(Node("mem-1", "discovery", "Sessions end at once", iso(NOW)), NOW)
    others = tuple(
        Alike(f"mem-{score}", f"likeness {score}", "P1", "WU-1", ("bug",), NOW, score) for score in (87, 50, 49, 0)
    )
    page = item_page(row, DiscoveryContext(others), (), Judged(), NOW, 80, 40, theme.NO_APPEARANCE)
    drawn = "\n".join(map(text, page))
    assert "likeness 87" in drawn
    assert "likeness 50" in drawn
    assert "likeness 49" not in drawn
    assert "likeness 0" not in drawn
