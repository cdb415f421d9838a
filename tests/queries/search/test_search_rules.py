"""Queries and ranks as values."""

from __future__ import annotations

import pytest
from lumen_rows import each_row

from lumen_tui.model.searching import Hit, Parts, close_up, excerpt, parse, score, spread, why

NOW = 1_790_000_000.0
DAY = 86_400.0


def test_words_phrases_and_what_is_left_out() -> None:
    wish = parse('the Session "pool exhausted" of !noise', NOW)
    assert (wish.terms, wish.without) == (("session", "pool exhausted"), ("noise",))
    assert parse("foo-bar", NOW).terms == ("foo bar", "foo", "bar")
    assert parse("to be or not to be", NOW).terms == ("to", "be", "or", "not")


def test_filters() -> None:
    wish = parse('tag:Bug wu:wu-7 lane:"Core API" type:note,fact kind:procedural since:300d until:2026-01-31 in:x', NOW)
    assert (wish.tags, wish.wus, wish.lane) == (("bug",), ("WU-7",), "Core API")
    assert (wish.types, wish.kinds) == (("note", "fact"), ("procedural",))
    assert (wish.since, wish.until) == (NOW - 300 * DAY, 1_769_904_000.0)
    assert len(wish.problems) == 1 and "in:conversations" in wish.problems[0]
    assert parse("in:conversations x", NOW).conversations


@each_row("query", ["since:soon", "type:foo", "kind:odd", "since:9999999-01-01", "until:2026-99-99"])
def test_what_cannot_be_understood_is_said(query: str) -> None:
    assert query.partition(":")[2][:40] in parse(query, NOW).problems[0]


@each_row("ends", ["since:2026-02-02 until:2026-02-01", "until:30d since:7d", "since:7d until:7d"])
def test_a_stretch_of_time_that_holds_nothing_is_no_question(ends: str) -> None:
    assert "nothing can lie between them" in parse(f"lock {ends}", NOW).problems[0]
    assert not parse("lock since:2026-02-01 until:2026-02-01", NOW).problems, "one whole day"


@each_row("query", ["", "  ", '""', "!", "***", "tag:", ":", '"', "!!", "()", "\x00\x1b"])
def test_a_query_that_asks_for_nothing(query: str) -> None:
    wish = parse(query, NOW)
    assert wish.empty and not wish.problems


def test_the_word_that_is_being_typed() -> None:
    assert parse("session lo", NOW, typing=True).begun == "lo"
    assert parse("session lock ", NOW, typing=True).begun == ""
    assert parse("session tag:x", NOW, typing=True).begun == ""
    assert parse("session lo", NOW).begun == ""


def test_scripts_without_blanks() -> None:
    assert parse("数据库 lock", NOW).terms == ("数", "据", "库", "lock")
    assert close_up(spread("the 数据库 lock")).replace(" ", "") == "the数据库lock"


def test_a_score_says_what_it_is_made_of() -> None:
    total, parts = score(4.0, 8.0, 0.5, 30 * DAY)
    assert (parts.bm25, parts.relevance, parts.importance, parts.recency) == (4.0, 0.5, 0.5, 0.5)
    assert total == pytest.approx(0.5)
    assert score(0.0, 0.0, 0.5, -5)[1].recency == 1.0
    hit = Hit("mem-a", "note", "semantic", NOW, "", (), total, parts, matched=("lock",))
    assert why(hit) == "lock · bm25 4.0 · importance 0.50 · recency 0.50 · score 0.50"
    near = Hit("mem-b", "note", "semantic", NOW, "", (), 0.3, Parts(), neighbour_of="mem-a", link="related")
    assert why(near) == "beside mem-a (related) · score 0.30"


def test_an_excerpt_shows_the_densest_place() -> None:
    text = [("word " * 60, False), ("lock", True), (" and the ", False), ("pool", True), (". " + "more " * 60, False)]
    found = excerpt(text, 80)
    assert [piece.strip() for piece, marked in found if marked] == ["lock", "pool"]
    assert found[0][0].startswith("… ") and found[-1][0].endswith(" …")
    assert "".join(piece for piece, _ in excerpt([("a\n\tb  ", False), ("c", True), ("d", False)])) == "a b cd"
    assert excerpt([]) == ()
