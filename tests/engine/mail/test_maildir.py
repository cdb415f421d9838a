"""What comes into a Maildir is taken in once and moved to cur/, and what is no message is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from lumen_kills import killed_before, state_calls
from lumen_smtp import letter

from lumen_tui.engine.mail.maildir import MaildirFollower
from lumen_tui.model.mail_config import MailSource
from lumen_tui.store import mail_sources
from tests.engine.mail.conftest import intake, sweep, words


class Maildir:
    """A Maildir below the state folder's neighbour, filled as a mail server does: written elsewhere, then renamed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("new", "cur", "tmp"):
            (root / name).mkdir(parents=True)

    def put(self, text: str, name: str) -> None:
        (self.root / "tmp" / name).write_bytes(letter(text, "bo@example.org").as_bytes())
        os.rename(self.root / "tmp" / name, self.root / "new" / name)

    def names(self, folder: str) -> list[str]:
        return sorted(path.name for path in (self.root / folder).iterdir())


@pytest.fixture
def maildir(inbox, tmp_path: Path) -> Maildir:
    made = Maildir(tmp_path / "Maildir")
    inbox.settings(more=f'maildir = "{made.root}"\n')
    return made


def source(inbox) -> MailSource:
    return mail_sources.read_source(inbox.world.layout.mail_maildir) or MailSource("")


async def test_what_is_there_and_what_comes_is_one_signal_each_and_moved_as_seen(inbox, maildir) -> None:
    maildir.put("from before", "1.a.host")
    await inbox.beat()
    await inbox.until(lambda: words(inbox) == ["from before"])
    maildir.put("later", "2.b.host:2,")
    await inbox.until(lambda: len(maildir.names("cur")) == 2)
    assert words(inbox) == ["from before", "later"]
    assert maildir.names("new") == []
    assert maildir.names("cur") == ["1.a.host:2,S", "2.b.host:2,S"]


async def test_a_name_that_cur_has_already_hides_no_message(inbox, maildir) -> None:
    (maildir.root / "cur" / "1.a.host:2,S").write_text("an older one")
    maildir.put("new", "1.a.host")
    await inbox.beat()
    await inbox.until(lambda: maildir.names("new") == [])
    assert (maildir.root / "cur" / "1.a.host:2,S").read_text() == "an older one"
    assert maildir.names("cur") == ["1.a.host.1:2,S", "1.a.host:2,S"]


async def test_a_message_that_is_too_large_is_told_once_and_kept_where_it_came(inbox, maildir) -> None:
    inbox.settings(more=f'maildir = "{maildir.root}"\nmost_mb = 0.01\n')
    maildir.put("x" * 70 + "\n" + "y" * 20_000, "1.big.host")
    maildir.put("small", "2.small.host")
    await inbox.beat()
    await inbox.until(lambda: words(inbox) == ["small"])
    assert [(line.outcome, line.why) for line in inbox.lines()] == [
        ("refused", "it has more than 0.01 MB"), ("received", ""),
    ]  # fmt: skip
    assert (maildir.root / "cur" / "1.big.host:2,S").stat().st_size > 20_000


@pytest.mark.parametrize("kind", ["symlink", "fifo", "folder", "no Maildir"])
async def test_what_is_no_message_is_named_and_what_can_be_mended_goes_on(inbox, maildir, kind: str) -> None:
    path, named = maildir.root / "new" / "1.odd.host", "1.odd.host"
    if kind == "symlink":
        path.symlink_to("/etc/passwd")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path, named = maildir.root / "new", "is no Maildir: it has no new/"
        path.rename(maildir.root / "away")
    maildir.put("beside it", "1.z.host") if kind != "no Maildir" else None
    await inbox.beat()
    await inbox.until(lambda: source(inbox).problem)
    assert named in source(inbox).problem
    assert source(inbox).lasting
    assert words(inbox) == (["beside it"] if kind != "no Maildir" else [])
    if kind == "no Maildir":
        (maildir.root / "away").rename(path)
    else:
        path.rename(maildir.root / "away")
    maildir.put("after it", "2.fine.host")
    await inbox.beat()
    await inbox.until(lambda: words(inbox)[-1:] == ["after it"] and not source(inbox).problem)


async def test_settings_that_change_follow_another_maildir(inbox, maildir, tmp_path: Path) -> None:
    await inbox.beat()
    await inbox.until(lambda: source(inbox).looked_at)
    other = Maildir(tmp_path / "Other")
    inbox.settings(more=f'maildir = "{other.root}"\n')
    other.put("there", "1.o.host")
    await inbox.beat()
    await inbox.until(lambda: words(inbox) == ["there"])
    inbox.settings()
    await inbox.beat()
    assert inbox.world.engine().mail._followers == {}


@pytest.mark.fault("R1", "SIGKILL before each write of mail, schedules and what hosts send")
def test_a_kill_before_any_write_takes_each_message_once(inbox, maildir) -> None:
    """Each point at which an engine that takes from a Maildir can be killed, those in the Maildir among them."""
    root = maildir.root.parent
    maildir.put("number 0", "0.n.host")
    look(inbox)
    maildir.put("number 1", "1.n.host")
    calls = len(state_calls(root, lambda: look(inbox)))
    assert calls > 12
    killed = 0
    for call in range(calls):
        number = call + 2
        maildir.put(f"number {number}", f"{number}.n.host")
        killed += killed_before(call, root, lambda: look(inbox))
        sweep(inbox)
        look(inbox)
    assert killed == calls
    assert words(inbox) == [f"number {number}" for number in range(calls + 2)]
    assert maildir.names("new") == []
    assert len(maildir.names("cur")) == calls + 2


class _OneLook(MaildirFollower):
    """Looks once and ends, in the thread that calls."""

    def rest(self, seconds: float, *others: int) -> None:
        self._over.set()


def look(inbox) -> None:
    follower = _OneLook(intake(inbox), None)
    follower.run()
    assert not follower.state.problem, follower.state.problem
