"""The shop that the recorded agent looks after: its files and work units, what is noticed and what is said."""

from __future__ import annotations

import subprocess
from pathlib import Path

from msgspec import Struct

UNITS = (
    ("WU-042", "Sessions survive a restart", "Core", "P1"),
    ("WU-061", "One retry budget for a whole task", "Core", "P1"),
    ("WU-074", "Health page with today's figures", "Data", "P2"),
    ("WU-088", "Release 2.4", "Core", "P1"),
    ("WU-093", "Settings page", "UI", "P2"),
    ("WU-098", "One way to parse dates", "Data", "P3"),
    ("WU-100", "One port for validation", "Core", "P2"),
    ("WU-101", "Move the session store", "Data", "P1"),
    ("WU-104", "Export of orders as CSV", "Data", "P3"),
)
ACCEPTANCE = ("the test suite is green", "the page of the operator's guide says how it is used")


class ShopOrder(Struct, frozen=True):
    """One task of the recording: what is asked of whom, what the script looks at, and what it answers."""

    objective: str
    role: str
    looks: tuple[tuple[str, dict[str, object]], ...]
    result: str
    wu_id: str = ""
    discovers: str = ""
    isolate: str = ""
    fails: str = ""


def _grep(pattern: str, path: str) -> tuple[str, dict[str, object]]:
    return "grep", {"pattern": pattern, "path": path}


def _read(path: str) -> tuple[str, dict[str, object]]:
    return "read_file", {"path": path}


_LIST = ("list_dir", {"path": "src"})
ORDERS = (
    ShopOrder("Count the errors of the last night by component", "analyst",
          (_grep("ERROR", "log/app.log"), _read("log/app.log")),
          "Two errors, both of the fetcher: a reset connection at 10:02 and a 429 at 10:08.", "WU-061",
          "A 429 is retried without a pause"),
    ShopOrder("Find every place that parses a date", "researcher", (_LIST, _grep("strptime|fromisoformat", "src")),
          "Two ways in four modules: `strptime` in orders.py and report.py, `fromisoformat` in the others.", "WU-098"),
    ShopOrder("Is the settings page ready to be reviewed?", "reviewer", (_LIST, _read("src/settings.py")),
          "Almost: the form saves, but an empty name is taken without a word.", "WU-093",
          "The settings form takes an empty name"),
    ShopOrder("Which modules changed since release 2.3?", "researcher", (_LIST, _grep("2\\.3", "CHANGES.md")),
          "retry.py, session.py and settings.py; the other modules are as they were.", "WU-088"),
    ShopOrder("Say how the session store is used, and by whom", "researcher", (_grep("session", "src"),
          _read("src/session.py")), "Three callers: the login, the cart and the nightly export.", "WU-101",
          "The nightly export opens a session and never closes it"),
    ShopOrder("Write the notes of release 2.4 from CHANGES.md", "writer", (_read("CHANGES.md"),),
          "The notes are in notes.md: retries have one budget, sessions survive a restart.", "WU-088"),
    ShopOrder("Find dead code in src", "analyst", (_LIST, _grep("^def ", "src")),
          "Nothing calls `legacy_total` in orders.py; all other functions have a caller.", "WU-098",
          "legacy_total in orders.py is called by nobody"),
    ShopOrder("What are the largest files of the shop?", "researcher", (("disk_usage", {"path": "."}),),
          "data/part-0.bin with 2.4 MB, then data/part-1.bin; the log is third.", ""),
    ShopOrder("Review the retry budget once more", "reviewer", (_read("src/retry.py"), _grep("retry", "src")),
          "It holds: one budget for a task, and each attempt takes from it.", "WU-061"),
    ShopOrder("Which settings does nobody read?", "analyst", (_read("src/settings.py"), _grep("SETTINGS\\[", "src")),
          "`theme_legacy` and `cache_dir`: both are set and read nowhere.", "WU-093",
          "Two settings are set and read nowhere"),
)  # fmt: skip
FAILURES = (
    ShopOrder("Fetch the status page of the payment provider", "researcher", (_LIST,), "", "", fails="refused"),
    ShopOrder("Trace the slow checkout through every module", "researcher", (_LIST,), "", "WU-042", fails="steps"),
)
CHANGES = (
    ShopOrder("Give each retry a pause that doubles", "builder", (_read("src/retry.py"),),
          "retry.py waits 1, 2, 4 seconds now, 30 at most.", "WU-061", isolate="copy"),
)  # fmt: skip
EDIT = {"path": "src/retry.py", "old_string": "PAUSE = 0\n",
        "new_string": "PAUSE = 1.0  # seconds, doubled with each try\nLONGEST = 30.0\n"}  # fmt: skip

SIGNALS = (
    ("agent-c", "Validation started", "WU-100", ""), ("agent-b", "Form saves; its tests are next", "WU-093", ""),
    ("ci", "Build 8812 of main is green, 1,204 tests in 6 m 11 s", "", ""),
    ("agent-c", "Completed validation logic", "WU-100", ""), ("backup", "Database saved, 4.1 GB in 3 m 20 s", "", ""),
    ("agent-b", "Tests written, starting integration", "WU-093", ""),
    ("monitor", "Checkout answers in 2.1 s, twice as slow as yesterday", "WU-042", "P1"),
    ("agent-a", "Export needs a decision on the separator", "WU-104", ""),
    ("ci", "Build 8840 of main is red: test_login_timeout", "WU-042", "P1"),
    ("agent-b", "80 % done, integration tests left", "WU-093", ""),
)  # fmt: skip
URGENT = ("agent-a", "New validation port: ValidationService; WU-101 must rebase", "WU-100", "P0")

NOTICED = (
    ("Race condition in the session manager when two agents start at once", "bug", "P0", "WU-042"),
    ("Refresh token is logged in clear", "bug", "P0", "WU-042"),
    ("SQL is put together from text in /search", "bug", "P0", ""),
    ("Retry budget is per call, not per task", "idea", "P1", "WU-061"),
    ("Flaky test: test_login_timeout fails once in twenty runs", "bug", "P1", "WU-042"),
    ("Config loader ignores SHOP_HOME", "bug", "P1", ""),
    ("Unbounded queue between fetcher and parser", "bug", "P1", "WU-061"),
    ("Health page shows yesterday's figures", "bug", "P1", "WU-074"),
    ("Deprecated OpenSSL call in the payment client", "idea", "P1", ""),
    ("Checkout loads all orders of a customer", "bug", "P1", ""),
    ("Two ways to parse dates", "question", "P2", "WU-098"),
    ("README misses the port", "idea", "P3", ""),
    ("Cache keys do not carry the version", "bug", "P2", ""),
    ("The export writes a header in every part", "bug", "P2", "WU-104"),
    ("Emoji break the columns of the report", "bug", "P2", ""),
    ("مشكلة في عرض النص من اليمين إلى اليسار", "bug", "P2", "WU-093"),
    ("Staging and production differ in their time zone", "bug", "P2", ""),
    ("The build downloads the same wheel twice", "idea", "P3", ""),
    ("Session table has no index on expires_at", "idea", "P1", "WU-101"),
    ("Bulk endpoint takes 500 at most and says nothing beyond", "bug", "P2", ""),
    ("Log rotation keeps 400 files", "idea", "P3", ""),
    ("An empty cart can be checked out", "bug", "P1", ""),
    ("Prices are rounded before the discount", "bug", "P1", ""),
    ("The settings form loses unsaved text on a resize", "bug", "P2", "WU-093"),
    ("Two services bind port 8080 in the compose file", "bug", "P2", ""),
    ("Nobody reads the weekly report", "question", "P3", ""),
    ("A stopped worker leaves its temporary folder", "bug", "P2", ""),
    ("Search is case-sensitive for umlauts", "bug", "P2", ""),
    ("The API answers 200 with an error inside", "bug", "P1", "WU-100"),
    ("Names longer than 64 characters are cut in the database", "bug", "P2", ""),
    ("Feature flag new_checkout has been on for a year", "idea", "P3", ""),
    ("The nightly job overlaps with the backup", "bug", "P1", ""),
    ("Invoices have no page numbers", "idea", "P3", ""),
    ("Passwords of test accounts are in the repository", "bug", "P0", ""),
    ("Integration tests need the network", "idea", "P2", ""),
    ("Webhook retries for ever", "bug", "P1", "WU-061"),
    ("Locale tests pass only with C.UTF-8", "bug", "P3", ""),
    ("Complaint numbers can repeat after midnight", "bug", "P1", ""),
    ("The health check opens a new connection each second", "idea", "P2", "WU-074"),
    ("Dashboard colours mean different things on two pages", "idea", "P3", "WU-074"),
)
DOUBLES = (
    ("Race condition in session manager on parallel start", 0), ("Refresh token is logged in clear text", 1),
    ("SQL put together from text in the search", 2), ("Retry budget counts per call and not per task", 3),
    ("Flaky: test_login_timeout", 4), ("Config loader does not honour SHOP_HOME", 5),
    ("Queue between fetcher and parser has no bound", 6), ("Health page shows the figures of yesterday", 7),
    ("Three ways to parse dates", 10), ("README does not name the port", 11), ("Cache keys without the version", 12),
    ("Export writes its header in each part", 13), ("Emoji break the column of the report", 14),
    ("Webhook retries without an end", 35), ("Complaint numbers repeat after midnight", 37),
)  # fmt: skip
COMPONENTS = ("checkout", "search", "export", "login", "cart", "invoice")
DEFECTS = (
    ("{} logs a customer's address", "bug", "P1"), ("{} has no time limit for its query", "bug", "P2"),
    ("{} reads the settings at every request", "idea", "P3"), ("{} swallows a broken pipe", "bug", "P2"),
    ("{} is not covered by the smoke test", "idea", "P3"), ("{} answers slowly after midnight", "question", "P2"),
    ("{} keeps a lock while it waits for the network", "bug", "P1"), ("{} has two names for one field", "idea", "P3"),
)  # fmt: skip
NOTES = (
    ("The API of the settings page changed", 99.4), ("Token refresh is silent", 96.5),
    ("OTel propagates better through headers", 94.6), ("Checks by hand were slower than the schema", 92.8),
    ("The build needs 4 GB", 60.0), ("Retries double the wait", 45.0), ("Locale tests need C.UTF-8", 30.0),
    ("Staging runs on the new kernel", 21.0), ("Cache keys carry the version", 14.0), ("Use the bulk endpoint", 7.0),
    ("Lane Core waits for the port", 3.0), ("Two reviewers for auth", 0.5),
)  # fmt: skip
TAUGHT = (
    "Always run the tests with pytest -n 2 before you push.", "No, never commit to main; use a branch.",
    "The shop's API listens on port 8765.",
)  # fmt: skip


EXPORT = "data/export.csv"  # gone when the recording ends, and so the fact about it has drifted


def make_project(folder: Path) -> None:
    """Write the shop as a git repository with two commits on a branch that is not pushed yet."""
    lines = [f"2026-11-20T10:{i // 60:02d}:{i % 60:02d}Z INFO request {i} served in {i % 37} ms" for i in range(900)]
    lines[120] = "2026-11-20T10:02:00Z ERROR fetcher: connection reset by peer (attempt 1 of 3)"
    lines[480] = "2026-11-20T10:08:00Z ERROR fetcher: 429 Too Many Requests, giving up"
    texts = {"log/app.log": "\n".join(lines) + "\n", "CHANGES.md": "# Changes\n\n## 2.3\n\n- The cart remembers.\n",
             "README.md": "# Shop\n\nA small shop.\n", "src/settings.py": "SETTINGS = {'name': 'shop'}\n",
             "src/session.py": "def open_session(name):\n    return {'name': name}\n"}  # fmt: skip
    for index, name in enumerate(("orders", "report", "cart", "login")):
        texts[f"src/{name}.py"] = "".join(f"def {name}_{n}():\n    return {n}\n\n\n" for n in range(6 + 4 * index))
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "data").mkdir()
    (folder / EXPORT).write_text("order,total\n1,20.00\n")
    for index, size in enumerate((2_400_000, 910_000, 305_000)):
        (folder / "data" / f"part-{index}.bin").write_bytes(bytes(size))
    _commit(folder, "The shop")
    _git(folder, "init", "-q", "--bare", "--template=", str(folder.parent / "origin.git"))
    _git(folder, "remote", "add", "origin", str(folder.parent / "origin.git"))
    _git(folder, "push", "-q", "origin", "main")
    _git(folder, "checkout", "-q", "-b", "retry-budget")
    (folder / "src/retry.py").write_text("PAUSE = 0\nBUDGET = 3  # tries of a whole task\n")
    _commit(folder, "One retry budget for a whole task")


def _commit(folder: Path, message: str) -> None:
    if not (folder / ".git").exists():
        _git(folder, "init", "-q", "-b", "main", "--template=")
    _git(folder, "add", "-A")
    _git(folder, "-c", "user.name=ana", "-c", "user.email=ana@example.org", "commit", "-q", "-m", message)


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True)
