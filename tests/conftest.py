"""What all areas share: the local server that speaks the model APIs."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

for _folder in ("apiserver", "support"):
    sys.path.append(str(Path(__file__).resolve().parent / _folder))

if TYPE_CHECKING:
    from lumen_apiserver import ApiServer

sys.dont_write_bytecode = False  # pytest rewrites two hundred files; where they did not change, only once

_LONGEST_ID = 60  # characters: the name of the running test goes to every process that it starts


def pytest_configure() -> None:
    import lumen_certs
    import lumen_disk

    lumen_disk.never_wait()
    lumen_certs.none_needed()


def pytest_collection_finish() -> None:
    """Only where a test opens a room: a process that tests the store alone does not load one."""
    if "textual" in sys.modules:
        import lumen_quiet
        import lumen_styles

        lumen_quiet.install()
        lumen_styles.install()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """On which machine this was: what was skipped depends on it, and how commands of workers were walled in."""
    import lumen_machine

    skipped = Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()))
    for reason, count in skipped.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason.removeprefix('Skipped: ')}")
    for line in lumen_machine.told():
        terminalreporter.write_line(line)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Long texts, such as a hundred thousand brackets, are named by their beginning and their length."""
    if not isinstance(val, (str, bytes)) or len(val) <= _LONGEST_ID:
        return None
    return f"{val[:20]!r}… {len(val)}"


@pytest.fixture(autouse=True)
def usual_umask() -> None:
    """`main` closes it for its whole process, which here is that of all tests."""
    os.umask(0o022)


@pytest.fixture
def walls() -> None:
    """For what takes place only where a sandbox holds: without one every command asks."""
    import lumen_machine

    tier = lumen_machine.choice()
    if tier.tier == "ask":
        pytest.skip(f"no sandbox holds on this machine: {tier.why}")


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """A server that speaks the Anthropic and OpenAI APIs; what it answers, see tests/apiserver/lumen_apiserver."""
    from lumen_apiserver import ApiServer

    server = ApiServer()
    yield server
    server.close()
