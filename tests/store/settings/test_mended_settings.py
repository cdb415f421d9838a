"""Settings that make no sense are named in plain words with what they may be, and fall back to their default."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest

from lumen_tui.model.config import Config
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.config_errors import value_at
from lumen_tui.store.settings.roles import parse_role
from lumen_tui.store.tasks.task_files import parse_spec
from lumen_tui.store.work.work_units import parse_unit

DEFAULTS = msgspec.to_builtins(Config())


@pytest.mark.parametrize(
    ("section", "line", "said"),
    [
        ("workers", "limit = -4", "workers.limit: -4 is out of range: 1 to 64"),
        ("heartbeat", "every_minutes = 0", "heartbeat.every_minutes: 0 is out of range: 0.1 to 1440"),
        ("heartbeat", "every_minutes = nan", "heartbeat.every_minutes: nan is out of range: 0.1 to 1440"),
        ("heartbeat", "jitter = 9", "heartbeat.jitter: 9 is out of range: 0 to 0.9"),
        (
            "memory.decay",
            "half_life_days = 0",
            "memory.decay.half_life_days: 0 is out of range: above 0 and up to 36500",
        ),
        ("memory.decay", "threshold = 7", "memory.decay.threshold: 7 is out of range: above 0 and below 1"),
        ("lanes", 'limits = { "UI" = 0 }', "lanes.limits.UI: 0 is out of range: 1 to 1000"),
        ("workers", 'limit = "three"', 'workers.limit: a whole number is needed, not "three"'),
        ("workers", "limit = true", "workers.limit: a whole number is needed, not true"),
        ("room", 'on_quit = "never"', 'room.on_quit: "never" is unknown: one of ask, stop, keep'),
        ("room", "on_quit = 3", "room.on_quit: ask, stop, keep is needed, not 3"),
        ("room", 'them = "x"', "room.them: there is no such setting; did you mean theme?"),
        ("agent", "name = [1]", "agent.name: text in quotes is needed, not a list"),
    ],
)
def test_a_senseless_setting_is_named_with_its_line_and_its_range(
    tmp_path: Path, section: str, line: str, said: str
) -> None:
    layout = Layout(tmp_path)
    layout.config.write_text(f"# mine\n[{section}]\n{line}\n")
    config, problems = load_config(layout)
    assert [(problem.where, problem.what) for problem in problems] == [("lumen.toml:3", said)]
    name = line.partition(" = ")[0]
    keys = (*section.split("."), name)
    assert value_at(msgspec.to_builtins(config), keys) == value_at(DEFAULTS, keys)


def test_the_line_is_that_of_the_right_table(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.config.write_text("[memory.decay]\nenabled = true\n[memory.progress_signals]\nenabled = 3\n")
    assert [problem.where for problem in load_config(layout)[1]] == ["lumen.toml:4"]


def test_the_rest_of_a_file_with_a_senseless_setting_is_in_force(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.config.write_text("[workers]\nlimit = 0\nretries = 2\n")
    config, _ = load_config(layout)
    assert (config.workers.limit, config.workers.retries) == (3, 2)


def _numbers(kind: type, above: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if hasattr(hint, "__struct_fields__"):
            found += _numbers(hint, f"{above}{name}.")
        elif "int" in str(hint) or "float" in str(hint):
            found.append((above + name, hint))
    return found


def test_every_number_of_the_settings_has_bounds_and_a_default_within_them() -> None:
    numbers = _numbers(Config)
    assert len(numbers) >= 15
    assert [name for name, hint in numbers if "Meta(" not in str(hint)] == []
    assert msgspec.convert(DEFAULTS, Config) == Config()


def test_role_work_unit_and_spec_say_in_plain_words_what_does_not_fit() -> None:
    with pytest.raises(BadFile, match=r'^limits\.max_steps: a whole number is needed, not "many"$') as caught:
        parse_role("x", '+++\npurpose = "p"\n[limits]\nmax_steps = "many"\n+++\n\nDo it.\n', "hired")
    assert caught.value.line == 4
    with pytest.raises(BadFile, match=r"^acceptance: a list is needed, not 3$") as caught:
        parse_unit("WU-001", '+++\ntitle = "t"\nacceptance = 3\n+++\n')
    assert caught.value.line == 3
    with pytest.raises(BadFile, match=r"objective: it is missing"):
        parse_spec(b'{"id":"tsk-a"}')
