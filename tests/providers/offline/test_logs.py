"""Logs that are longer than what is looked at line by line, and logs whose lines tell no level."""

from __future__ import annotations

from pathlib import Path


def _long(folder: Path, stamps: tuple[str, ...]) -> None:
    lines = [
        f"{stamp} {level} x: request {n}\n" for stamp in stamps for n in range(3000) for level in ("ERROR", "INFO")
    ]
    (folder / "long.log").write_text("".join(lines))


def test_one_day_of_a_long_log_is_counted(ask, tmp_path: Path) -> None:
    _long(tmp_path, ("2026-03-01 10:00:00", "2026-03-02 10:00:00", "2026-03-03 10:00:00"))
    assert "3,000 lines of 18,000 in 1 text file have the level ERROR on 2026-03-02" in ask(
        "how many errors on 2026-03-02 in long.log", tmp_path
    )
    assert "9,000 lines of 18,000" in ask("how many errors are in long.log?", tmp_path)


def test_a_long_log_whose_days_are_in_several_places_is_not_guessed_at(ask, tmp_path: Path) -> None:
    _long(tmp_path, ("2026-03-01 10:00:00", "[main] 2026-03-02 10:00:00", "2026-03-02 10:00:00"))
    assert ask("how many errors on 2026-03-02 in long.log", tmp_path) is None


def test_words_such_as_failed_are_no_errors_where_no_line_tells_its_level(ask, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("copied 3 files\nlogin failed for bob\n")
    assert ask("how many errors are in job.log?", tmp_path) is None
    (tmp_path / "job.log").write_text("copied 3 files\nstatus installed liberror-perl:all\n")
    assert "No errors in " in ask("how many errors are in job.log?", tmp_path)
