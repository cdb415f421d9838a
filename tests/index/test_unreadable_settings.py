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
from lumen_tui.store.config import load_and_keep, load_config
from lumen_tui.store.layout import Layout
from lumen_tui.store.reader import Reader
from lumen_tui.tools.sandbox import selftest
from lumen_tui.tools.sandbox.tiers import REFUSED, Results, choose

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
    assert "holds as it was last read" in problems[0].hint
    layout.config.unlink()
    layout.config.write_text("[budget]\nday_usd = 9.0\n")
    assert load_and_keep(layout)[0].budget.day_usd == 9.0


def test_where_nothing_is_known_the_strictest_holds(layout: Layout) -> None:
    _break(layout.config)
    layout.operator.write_text('[[allow]]\ntool = "shell"\nrole = "builder"\npattern = "make test"\n')
    config, problems = load_config(layout)
    held = Results("", (selftest.Tested("bubblewrap", True),))
    assert choose(config.sandbox, held).tier == REFUSED
    cap = budget.day_cap(Book(), config.budget, "2026-11-21")
    assert budget.short_of(cap, Amount(tokens=500))
    assert {"write", "shell", "web_fetch", "custom"} <= set(config.approvals.ask)
    assert (config.web.hosts, config.allow) == ((), ())
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
    held = Results("", (selftest.Tested("bubblewrap", True),))
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
    reader = Reader(layout.root)
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
