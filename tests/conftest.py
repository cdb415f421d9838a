"""What all areas share: the local server that speaks the model APIs."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import benchmarks  # noqa: F401 - `lumen_tui.worker` takes the current folder off sys.path before all is collected

for _folder in ("apiserver", "support"):
    sys.path.append(str(Path(__file__).resolve().parent / _folder))

if TYPE_CHECKING:
    from lumen_apiserver import ApiServer

gc.disable()  # until all is collected: what is imported and collected stays
sys.dont_write_bytecode = False  # pytest rewrites two hundred files; where they did not change, only once

# Fixtures of tests that stay in one process: a vendor's library, or the trees of all modules, takes seconds to load.
_TOGETHER = {"api", "sources"}
_ROWS_MISSING = 7  # beside pytest's own exit codes: no second try of what failed makes up for it
_RUNNING_TEST = "PYTEST_CURRENT_TEST"  # pytest's own, which changes while a test runs
_MANY_FILES = 100  # open in this process: a user has 128 inotify instances for all of them
_MORE_FILES = 30  # than the last collection left, from which another is worth its second
_LONGEST_ID = 60  # characters: the name of the running test goes to every process that it starts


def pytest_configure() -> None:
    import lumen_certs
    import lumen_disk
    import lumen_origin
    import lumen_program
    import lumen_sweeps
    import lumen_timeout
    import lumen_tree

    lumen_sweeps.draw_seed()
    lumen_tree.name_it()
    lumen_program.name_run()
    lumen_disk.never_wait()
    lumen_origin.forget_agents()
    lumen_certs.none_needed()
    lumen_timeout.install()


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # the process that began it all
        import lumen_tree

        lumen_tree.remove()


def pytest_itemcollected(item: pytest.Item) -> None:
    """`-m sweep` is what `make sweeps` runs."""
    import lumen_proof

    lumen_proof.note(item)
    fixtures = getattr(item, "fixturenames", ())
    if "sampled" in fixtures:
        item.add_marker("sweep")
    for name in _TOGETHER.intersection(fixtures):
        item.add_marker(pytest.mark.xdist_group(name))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    import lumen_proof
    import lumen_sweeps

    items[:], other_rows = lumen_proof.chosen(items)
    items[:], others = lumen_sweeps.split(items)
    items.sort(key=lambda item: item.get_closest_marker("long") is None)  # or all wait for one at the end
    config.hook.pytest_deselected(items=[*others, *other_rows])


def pytest_collection_finish() -> None:
    """Only where a test opens a room: a process that tests the store alone does not load one."""
    gc.freeze()  # six thousand tests and their modules are not walked through again, here and in forks
    gc.enable()
    if "textual" in sys.modules:
        import lumen_quiet
        import lumen_styles

        lumen_quiet.install()
        lumen_styles.install()
    if "hypothesis" in sys.modules:
        import hypothesis.core
        import lumen_sweeps

        hypothesis.core.global_force_seed = lumen_sweeps.seed()


def _proof(reporter: Any) -> Any:
    import lumen_proof

    outcomes = ("passed", "failed", "error", "skipped")
    return lumen_proof.tally((outcome, report) for outcome in outcomes for report in reporter.getreports(outcome))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A row of the proof that must run and did not fails the run."""
    import lumen_proof

    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    required = os.environ.get("LUMEN_MUST_RUN")
    if not required or reporter is None or hasattr(session.config, "workerinput"):
        return
    for sentence in lumen_proof.missing(_proof(reporter), Path(required)):
        reporter.write_line(sentence, red=True)
        session.exitstatus = _ROWS_MISSING


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Which points the sweeps took, what was skipped and why, and what the machine has on which that depends."""
    import lumen_machine
    import lumen_proof
    import lumen_sweeps

    if proved := _proof(terminalreporter):
        if where := os.environ.get("LUMEN_PROOF"):
            terminalreporter.write("".join(f"{row}\n" for row in lumen_proof.publish(proved, where)))
        terminalreporter.write_line(lumen_proof.left_out(proved))
    if lumen_sweeps.FULL:
        lines = lumen_sweeps.table(terminalreporter.getreports("passed"))
        terminalreporter.write("".join(f"{line}\n" for line in lines))
    else:
        terminalreporter.write_line(f"sweeps took a sample: LUMEN_SEED={lumen_sweeps.seed()} takes it again")

    skipped = Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()))
    for reason, count in skipped.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason.removeprefix('Skipped: ')}")
    for line in lumen_machine.summary():
        terminalreporter.write_line(line)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Long texts, such as a hundred thousand brackets, are named by their beginning and their length."""
    if not isinstance(val, (str, bytes)) or len(val) <= _LONGEST_ID:
        return None
    return f"{val[:20]!r}… {len(val)}"


@pytest.fixture(autouse=True)
def fresh_process() -> Iterator[None]:
    """What a test leaves to its process, which is that of all tests: umask, masked secrets, and its environment.

    A program that one test puts first on PATH would otherwise stand in for the real one in those after it.
    """
    os.umask(0o022)
    if (redaction := sys.modules.get("lumen_tui.storage.redaction")) is not None:
        redaction.PROCESS._rules.clear()
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys() - {_RUNNING_TEST}:
        del os.environ[name]
    os.environ.update({name: value for name, value in before.items() if name != _RUNNING_TEST})


_held = [0]  # files that the last collection did not free


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture(autouse=True)
def what_is_left_open_is_freed() -> Iterator[None]:
    """Rooms that a test opened in this process, and whatever else still holds many files open.

    Commands that ran in this process have frozen what was there, so that no collection would come to it.
    """
    yield
    if (quiet := sys.modules.get("lumen_quiet")) is not None:
        quiet.free_rooms()
    if _open_files() > max(_MANY_FILES, _held[0] + _MORE_FILES):
        gc.unfreeze()
        gc.collect()
        _held[0] = _open_files()  # what no collection frees is not looked for again and again: it takes a second each


@pytest.fixture
def sampled(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> Callable[..., list[Any]]:
    """The points of a sweep that this run takes, at most so many: `for point in sampled(points, 16): ...`."""
    import lumen_sweeps

    def choose(points: list[Any], most: int) -> list[Any]:
        taken = lumen_sweeps.sample(points, most, request.node.name)
        record_property(lumen_sweeps.TAKEN, f"{len(taken)} of {len(points)}")
        return taken

    return choose


@pytest.fixture
def inotify(tmp_path: Path) -> None:
    """The system gives a user so many instances (128 mostly), and other programs may hold them all."""
    from lumen_tui.storage.watch import Notices

    try:
        Notices([tmp_path]).close()
    except OSError as error:
        pytest.skip(f"inotify has nothing left here: {error}")


@pytest.fixture
def sandbox() -> None:
    """For what takes place only where a sandbox holds: without one every command asks."""
    import lumen_machine

    tier = lumen_machine.choice()
    if tier.tier == "ask":
        pytest.skip(f"no sandbox holds on this machine: {tier.reason}")


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """A server that speaks the Anthropic and OpenAI APIs; what it answers, see tests/apiserver/lumen_apiserver."""
    from lumen_apiserver import ApiServer

    server = ApiServer()
    yield server
    server.close()
