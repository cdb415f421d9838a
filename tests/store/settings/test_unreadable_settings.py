"""Settings that cannot be read never open what they had closed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lumen_tui.model import budget
from lumen_tui.model.approvals import AllowRule
from lumen_tui.model.config import Config
from lumen_tui.model.spendbook import Amount, Book
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.loading import load_and_keep
from lumen_tui.tools.sandbox import tiers
from lumen_tui.tools.sandbox.tiers import REFUSED, SelfTestResults, choose

MINE = """
[sandbox]
require = "landlock"
memory_mb = 512
[budget]
day_usd = 0.5
roles = { reviewer = { usd = 0.1 } }
[approvals]
ask = ["write", "custom:high"]
expires_minutes = 5.0
[web]
hosts = ["docs.python.org"]
[workers]
limit = 7
"""


def _break(path: Path) -> None:
    path.write_text(MINE + "[budget\n")


def _not_text(path: Path) -> None:
    path.write_bytes(MINE.encode() + b"# \xff\n")


def _link(path: Path) -> None:
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


BREAKS: dict[str, Callable[[Path], None]] = {"broken TOML": _break, "not text": _not_text, "a link": _link}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    found = Layout(tmp_path / "state")
    found.create()
    return found


def protection(config: Config) -> tuple[object, ...]:
    return config.sandbox, config.budget, config.approvals, config.web, config.allow


@pytest.mark.threat("S4", "settings that are slips or cannot be read: what protects stays closed")
@pytest.mark.parametrize("how", BREAKS)
def test_what_protects_holds_as_it_was_last_read(layout: Layout, how: str) -> None:
    layout.config.write_text(MINE)
    layout.operator.write_text('[[allow]]\ntool = "shell"\nrole = "builder"\npattern = "make test"\n')
    before, _ = load_and_keep(layout)
    BREAKS[how](layout.config)
    config, problems = load_and_keep(layout)
    assert protection(config) == protection(before)
    assert (config.sandbox.require, config.budget.day_usd) == ("landlock", 0.5)
    assert config.allow == (AllowRule("shell", "builder", "make test"),)
    assert config.workers == Config().workers  # all else is not in force
    assert [problem.where.partition(":")[0] for problem in problems] == ["lumen.toml"]
    assert "hold as they were last read" in problems[0].hint
    layout.config.unlink()
    layout.config.write_text("[budget]\nday_usd = 9.0\n")
    assert load_and_keep(layout)[0].budget.day_usd == 9.0


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("day_usd = 0.5", 'day_usd = "0.5"'), ("usd = 0.1", "usd = -1"),
        ('ask = ["write", "custom:high"]', 'ask = ["wirte"]'), ("expires_minutes = 5.0", "expires_minutes = 0"),
    ],
)  # fmt: skip
def test_one_wrong_limit_stays_as_it_was(layout: Layout, good: str, bad: str) -> None:
    layout.config.write_text(MINE)
    before, _ = load_and_keep(layout)
    layout.config.write_text(MINE.replace(good, bad).replace("limit = 7", "limit = 8"))
    for _ in range(2):  # what is wrong is not kept as what was good
        config, problems = load_and_keep(layout)
        assert (config.budget, config.approvals.expires_minutes) == (before.budget, before.approvals.expires_minutes)
        assert {*before.approvals.ask} <= {*config.approvals.ask}
        assert config.workers.limit == 8  # the rest is in force
        assert problems[0].hint.endswith(("as it could last be read", "every change asks until it is fixed"))
    layout.config.write_text(MINE.replace("day_usd = 0.5", "day_usd = 9.0"))
    assert load_and_keep(layout)[0].budget.day_usd == 9.0


def test_a_wrong_limit_of_which_nothing_is_known_stops_what_it_limits(layout: Layout) -> None:
    layout.config.write_text('[budget]\nday_usd = "a dollar"\nday_minutes = 5.0\n[approvals]\nask = 3\n')
    config, problems = load_and_keep(layout)
    assert "closed" in budget.short_of(budget.day_cap(Book(), config.budget, "2026-11-21"), Amount(tokens=500))
    assert budget.blocked(Book(), config.budget, "2026-11-21") == (
        "today's budget is closed, as one of the limits in the settings cannot be read: fix it"
    )
    assert config.budget.day_minutes == 5.0
    assert {"write", "shell"} <= {*config.approvals.ask}
    assert [problem.where for problem in problems] == ["lumen.toml:2", "lumen.toml:5"]
    assert "no model call is made until it is fixed" in problems[0].hint
    assert "every change asks until it is fixed" in problems[1].hint


@pytest.mark.threat("S4", "settings that are slips or cannot be read: what protects stays closed")
def test_a_wrong_limit_of_the_sandbox_hides_what_was_hidden_and_opens_no_folder(layout: Layout) -> None:
    layout.config.write_text('[sandbox]\nwritable = ["~/a"]\nhidden = ["~/keys"]\nmemory_mb = 512\n')
    load_and_keep(layout)
    layout.config.write_text('[sandbox]\nhidden = "~/keys"\nmemory_mb = 256\n')
    found = load_and_keep(layout)[0].sandbox
    assert (found.writable, found.hidden, found.memory_mb) == ((), ("~/keys",), 256)


@pytest.mark.threat("S4", "settings that are slips or cannot be read: what protects stays closed")
def test_a_misspelled_sandbox_runs_no_command(layout: Layout) -> None:
    layout.config.write_text('[sanbox]\nrequire = "landlock"\n')
    config, problems = load_and_keep(layout)
    assert problems[0].what == "sanbox.require: there is no section [sanbox]; did you mean sandbox.require?"
    assert problems[0].hint == "no command of a worker is run until it is fixed"
    assert choose(config.sandbox, SelfTestResults("", (tiers.TierTest("bubblewrap", True),))).tier == REFUSED


@pytest.mark.threat("S4", "settings that are slips or cannot be read: what protects stays closed")
def test_where_nothing_is_known_the_strictest_holds(layout: Layout) -> None:
    _break(layout.config)
    layout.operator.write_text('[[allow]]\ntool = "shell"\nrole = "builder"\npattern = "make test"\n')
    config, problems = load_config(layout)
    held = SelfTestResults("", (tiers.TierTest("bubblewrap", True),))
    assert choose(config.sandbox, held).tier == REFUSED
    cap = budget.day_cap(Book(), config.budget, "2026-11-21")
    assert budget.short_of(cap, Amount(tokens=500))
    assert {"write", "shell", "web_fetch", "custom"} <= set(config.approvals.ask)
    assert (config.web.closed, config.allow) == (True, ())
    assert problems[0].where == "lumen.toml:15"
    assert "no command of a worker is run, no model call is made" in problems[0].hint


def test_a_file_that_was_never_there_is_known_to_be_empty(layout: Layout) -> None:
    load_and_keep(layout)
    _break(layout.config)
    assert protection(load_config(layout)[0]) == protection(Config())


def test_a_misspelt_floor_in_the_copy_stays_closed(layout: Layout) -> None:
    layout.config.write_text('[sandbox]\nrequire = "landlok"\n')
    load_and_keep(layout)
    _break(layout.config)
    held = SelfTestResults("", (tiers.TierTest("bubblewrap", True),))
    assert choose(load_config(layout)[0].sandbox, held).tier == REFUSED


def test_the_copy_is_private_and_a_reader_makes_none(layout: Layout) -> None:
    layout.config.write_text(MINE)
    load_config(layout)
    assert os.listdir(layout.index) == []
    load_and_keep(layout)
    assert {path.stat().st_mode & 0o777 for path in layout.index.iterdir()} == {0o600}


@pytest.mark.parametrize("table", ["models.roles", "budget.roles"])
def test_a_role_that_there_is_not_is_a_problem_with_the_nearest_names(layout: Layout, table: str) -> None:
    value = '"opus"' if table == "models.roles" else "{ usd = 1.0 }"
    layout.config.write_text(f"[{table}]\nreviewr = {value}\nmain = {value}\nscribe = {value}\n")
    (layout.roles / "scribe.md").write_text('+++\npurpose = "p"\n+++\n\nDo it.\n')
    said = [problem.what for problem in load_config(layout)[1]]
    assert len(said) == 1
    assert said[0].startswith(f"{table}.reviewr: there is no such role; did you mean reviewer")


def test_a_hire_takes_the_problem_away(layout: Layout) -> None:
    layout.config.write_text('[models.roles]\nscribe = "opus"\n')
    reader = SnapshotReader(layout.root)
    assert any("models.roles.scribe" in problem.what for problem in reader.snapshot(1.0).problems)
    (layout.roles / "scribe.md").write_text('+++\npurpose = "p"\n+++\n\nDo it.\n')
    assert not any("models.roles.scribe" in problem.what for problem in reader.snapshot(2.0).problems)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('sonet = ["ollama:qwen3"]', "models.fallback.sonet: no tier and no setting of a model has this name; did you"),
        ('sonnet = ["claude"]', "models.fallback.sonnet: claude cannot take over a conversation"),
        ('sonnet = ["sonnet"]', "models.fallback.sonnet: 'sonnet' stands by for itself"),
        ('sonnet = ["hiku"]', "models.fallback.sonnet: 'hiku' is no tier; did you mean haiku?"),
        ('sonnet = [""]', "models.fallback.sonnet: it holds an empty name"),
        ('"nowhere:x" = ["haiku"]', "models.fallback.nowhere:x: 'nowhere:x' begins with no known endpoint"),
    ],
)
def test_a_chain_that_can_hardly_be_meant_is_a_problem(layout: Layout, text: str, said: str) -> None:
    layout.config.write_text(f"[models.fallback]\n{text}\n")
    found = [problem.what for problem in load_config(layout)[1]]
    assert len(found) == 1
    assert found[0].startswith(said)


def test_a_chain_that_is_meant_is_none(layout: Layout) -> None:
    text = 'sonnet = ["anthropic:claude-sonnet-5", "haiku", "ollama:qwen3:8b"]\n"groq:llama" = ["haiku"]\n'
    layout.config.write_text(f"[models.fallback]\n{text}")
    assert load_config(layout)[1] == []


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("help = 7", "keys.help: text in quotes is needed, not 7"),
        ('help = ["x"]', "keys.help: text in quotes is needed, not a list"),
    ],
)
def test_one_wrong_key_spoils_only_itself(layout, line, what):
    layout.config.write_text(f'[keys]\nundo = "ctrl+z"\n{line}\nquit = "ctrl+q"\n')
    config, problems = load_config(layout)
    assert config.keys == {"undo": "ctrl+z", "quit": "ctrl+q"}
    assert [(one.where, one.what) for one in problems] == [("lumen.toml:3", what)]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "[room]\ntheme = dark\n",
            "what follows the = is no value: text goes in quotes, true and false are written small",
        ),
        ("[room]\n= 3\n", "this is neither a [section] nor a name = value"),
    ],
)
def test_what_is_no_toml_is_told_in_plain_words(layout, text, what):
    layout.config.write_text(text)
    _, problems = load_config(layout)
    assert [(one.where, one.what) for one in problems] == [("lumen.toml:2", what)]
