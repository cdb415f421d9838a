"""`search`, `archive insert`, `archive list`, `recall` as they are typed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from lumen_tui.__main__ import main

HEAVY = ("textual", "rich", "anthropic", "argparse", "lumen_tui.actions.registry")


@pytest.fixture
def run(filled: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("LUMEN_STATE", str(filled.root))
    monkeypatch.setenv("LUMEN_OPERATOR", "ann")
    monkeypatch.delenv("CLAUDECODE", raising=False)

    def command(*words: str) -> tuple[int, str, str]:
        code = main(list(words))
        return code, *capsys.readouterr()

    return command


def test_search_says_what_why_and_whose(run: Any) -> None:
    code, out, err = run("search", "session", "locks")
    head, excerpt, why = out.splitlines()[:3]
    assert code == 0 and err == ""
    assert head.startswith("mem-lock  discovery  ") and "WU-001" in head and "#bug" in head
    assert excerpt == "    Two workers lock the session file"
    assert why.startswith("    session locks · bm25 ") and "importance 0.50" in why


def test_search_as_json(run: Any) -> None:
    code, out, _ = run("search", "--json", "nginx", "--kind", "procedural")
    hit = json.loads(out)["hits"][0]
    assert code == 0 and hit["marked"] == ["nginx"] and hit["tags"] == ["nginx"]
    assert set(hit["parts"]) == {"bm25", "relevance", "importance", "recency", "beside"}


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("search", "nothingislikethis"), 0, "nothing found"),
        (("search",), 2, "say what to look for"),
        (("search", "x", "--since", "soon"), 2, "no age and no date"),
        (("search", "x", "--limit", "0"), 2, "from 1 to"),
        (("search", "x", "--type", "odd"), 2, "is unknown"),
        (("search", "x", "--odd"), 2, "--odd"),
        (("archive", "insert", " "), 2, "empty"),
        (("archive", "insert", "x", "--kind", "odd"), 2, "is unknown"),
        (("archive", "withdraw", "arc-zz"), 3, "no note"),
        (("archive", "list", "--tag", "none"), 3, "no note of the archive has tag none"),
        (("recall", "WU-9x"), 2, "WU-9X"),
        (("recall", "frobnicators"), 0, "nothing is known"),
    ],
)
def test_what_is_said_beside_the_result(run: Any, words: tuple[str, ...], code: int, says: str) -> None:
    found, _, err = run(*words)
    assert (found, says in err) == (code, True), err


def test_options_are_filters(run: Any) -> None:
    assert run("search", "certificate", "--until", "2026-08-01")[1].count("bm25") == 1
    assert "mem-lock" in run("search", "--tag", "bug")[1]
    assert "mem-lock" not in run("search", "lock", "--type", "signal")[1]


def test_what_is_not_shown_is_counted(run: Any, filled: Any) -> None:
    for number in range(12):
        filled.insert(f"giraffe number {number}")
    _, out, err = run("search", "giraffe")
    assert (out.count("bm25"), "2 more: -n 200 shows more" in err) == (10, True)
    assert "more" not in run("search", "giraffe", "-n", "12")[2]
    assert "… and 9 more" in run("search", "giraffe", "-n", "3", "--json")[2]


@pytest.mark.parametrize("limit", ["0", "-1", "201", "1.5", "x", " 5", "+5", "9" * 30, "\u0663"])
def test_a_number_of_hits_that_is_none_is_refused(run: Any, limit: str) -> None:
    assert run("search", "certificate", f"--limit={limit}")[::2] == (
        2, f"lumen-tui: --limit {limit[:20]!r}: a number from 1 to 200\n",
    )  # fmt: skip


def test_the_archive_is_searched_by_itself(run: Any) -> None:
    _, out, _ = run("archive", "search", "certificate", "--since", "2026-01-01")
    assert out.count("bm25") == out.count(" archival ") == 1


def test_a_note_goes_in_and_is_listed(run: Any, filled: Any) -> None:
    words = ("archive", "insert", "Vacuum on Sundays", "-t", "db", "-i", "0.7", "--kind", "procedural", "-s", "ops")
    code, out, _ = run(*words)
    assert code == 0 and out.startswith("arc-")
    listed = run("archive", "list", "--tag", "db")[1]
    assert listed.split()[:3] == [out.strip(), "procedural", "0.70"] and "Vacuum on Sundays" in listed
    filled.task("tsk-dry", "measure", "11 %")
    assert run("archive", "insert", "Air is dry", "--task", "tsk-dry")[0] == 0
    assert "agent (tsk-dry)" in run("archive", "list")[1] and run("undo")[0] == 0
    assert run("archive", "mem-lock", "-r", "old")[0] == 0  # that `archive` is another one
    assert run("undo")[0] == 0 and run("undo")[0] == 0
    assert run("archive", "list", "--tag", "db")[0] == 3


def test_recall_tells_of_the_work_then_how_then_elsewhere(run: Any, filled: Any) -> None:
    filled.do("wu.new", title="Renew the certificate", lane="Ops")
    filled.node("mem-own", "The key lies in the vault", wu_id="WU-001", type="checkpoint")
    code, out, _ = run("recall", "wu-001")
    assert code == 0
    heads = [line for line in out.splitlines() if line and line[0] != " "]
    assert heads[1:] == ["Of this work", "How such things are done", "Elsewhere about the same"]
    assert out.count("mem-own") == 1 and "mem-cert" in out
    assert json.loads(run("recall", "certificate", "--json")[1])["sections"]


def test_search_starts_light(filled: Any) -> None:
    code = (
        "import sys; from lumen_tui.__main__ import main; "
        f"main(['--state', {str(filled.root)!r}, 'search', 'certificate']); "
        f"sys.exit(any(name in sys.modules for name in {HEAVY!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and "mem-cert" in done.stdout, done.stderr
