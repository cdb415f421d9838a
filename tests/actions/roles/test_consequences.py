"""What is said before a role is hired, adjusted or fired, and what becomes of one that was hired for a time."""

from __future__ import annotations

import msgspec
import pytest

from lumen_tui.__main__ import main
from lumen_tui.actions import role_preview
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.events import EventLog, recent_events
from lumen_tui.engine.monitors import RoleExpiry
from lumen_tui.model import times
from lumen_tui.model.analytics import Stats
from lumen_tui.model.config import ApprovalsConfig, Config, ModelsConfig, SandboxConfig
from lumen_tui.model.roles import ALL_TOOLS, REQUEST_HOST, Role, ToolRule, unreached
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.store.settings.roles import list_roles
from lumen_tui.store.tasks.role_stats import book

TEXT = '+++\npurpose = "Helps."\nuntil = "2027-01-22T08:00:00Z"\n+++\n\nHelp.\n'  # a week after NOW
BUILDER = msgspec.convert(
    {"name": "smith", "purpose": "builds", "tools": [tool for tool in ALL_TOOLS if tool != REQUEST_HOST],
     "shell": "any", "write": True, "writable": ["/srv/shop"], "prompt": "x"}, Role,
)  # fmt: skip


def said(role: Role, **fields) -> dict[str, str]:
    fields.setdefault("config", Config(models=ModelsConfig(provider="offline")))
    return dict(role_preview.consequences(role, role_preview.PreviewContext(**fields)))


def test_tools_walls_and_what_will_ask():
    rules = (ToolRule(kind="requires_approval", tool="shell", pattern="git push *"),)
    config = Config(
        models=ModelsConfig(provider="offline"), sandbox=SandboxConfig(writable=("/srv/all",)),
        approvals=ApprovalsConfig(ask=("write", "custom:high", "web_fetch")),
    )  # fmt: skip
    found = said(msgspec.structs.replace(BUILDER, rules=rules), config=config, sandbox="bubblewrap")
    assert found["commands"] == "any command, without network; bubblewrap"
    assert found["may change"] == "/srv/all, /srv/shop"
    assert found["asks for"] == "shell on git push *, write"
    assert "of no use to it: web_fetch" in found["tools"]
    assert found["a task costs"] == "no history yet"


def test_hosts_that_commands_reach_are_named_with_the_tier_that_they_need():
    role = msgspec.structs.replace(BUILDER, command_hosts=("pypi.org",))
    assert said(role, sandbox="bubblewrap")["commands"] == "any command, reaching pypi.org; bubblewrap"
    without = said(role, sandbox="landlock")["commands"]
    assert without == "any command, without network: reaching pypi.org needs bubblewrap; landlock"
    assert unreached([role], "bubblewrap") == unreached([BUILDER], "landlock") == ()
    (problem,) = unreached([role, BUILDER], "landlock")
    assert problem.where == "role smith" and "(pypi.org) need bubblewrap" in problem.what


def test_without_a_sandbox_every_command_asks():
    assert said(BUILDER, sandbox="ask")["asks for"] == "every command"
    reader = msgspec.structs.replace(BUILDER, shell="read")  # noqa: S604 - a field of a role
    assert said(reader, sandbox="ask")["asks for"] == "every command"
    assert said(Role("r", "reads"), sandbox="ask")["asks for"] == "nothing"


def test_a_role_whose_rules_cannot_be_kept_is_told_so():
    broken = Role("r", "x", rules=(ToolRule(kind="run_first", tool="shell"),))
    assert "shell must be called" in said(broken)["wrong"]


def test_the_model_of_a_role_and_the_setting_it_is_from():
    config = Config(models=ModelsConfig(provider="ollama", roles={"smith": "ollama:qwen3"}))
    assert role_preview.model_words(BUILDER, config) == "ollama: qwen3 (by [models.roles])"
    assert "no endpoint" not in role_preview.model_words(Role("r", ""), config)
    unknown = Config(models=ModelsConfig(provider="nowhere"))
    assert role_preview.model_words(BUILDER, unknown).startswith("none: ")


def test_the_model_is_the_one_that_the_engine_would_ask_whatever_keys_are_here(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    told = role_preview.model_words(BUILDER, Config(), "anthropic")
    assert told.startswith("anthropic: ") and role_preview.model_words(BUILDER, Config()).startswith("offline")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "ours")
    assert role_preview.model_words(BUILDER, Config(), "offline").startswith("offline")
    assert role_preview.model_words(BUILDER, Config()) == told


def test_an_adjustment_says_only_what_becomes_different():
    around = role_preview.PreviewContext(config=Config(models=ModelsConfig(provider="offline")))
    after = msgspec.structs.replace(BUILDER, write=False)
    found = dict(role_preview.changed(BUILDER, after, around))
    assert found["may change"] == "nothing  (now: /srv/shop)"
    assert found["commands"].startswith("commands that only read")
    assert "model" not in found


def test_a_cheaper_model_is_not_credited_with_what_the_dear_one_cost():
    config = Config(models=ModelsConfig(provider="ollama", haiku="small", sonnet="large"))
    around = role_preview.PreviewContext(config=config, stats=Stats("smith", tasks=3, done=3, usd_median=0.5))
    before = msgspec.structs.replace(BUILDER, tier="sonnet")
    cheaper = dict(role_preview.changed(before, msgspec.structs.replace(before, tier="haiku"), around))
    assert cheaper["a task costs"].startswith("so far, on the model of now: median $0.50")
    same = dict(role_preview.changed(before, msgspec.structs.replace(before, write=False), around))
    assert same["a task costs"].startswith("median $0.50")


def test_firing_names_tasks_in_flight_and_what_is_orphaned(house):
    house.ended("old")
    house.do("task.new", objective="build it", role="builder", id="task-1")
    house.do("task.new", objective="look at it", role="reviewer", depends_on=["task-1"])
    house.layout.config.write_text('[models.roles]\nbuilder = "opus"\n')
    picture = SnapshotReader(house.root).snapshot(house.now)
    tasks = role_preview.unended(picture.tasks)
    lines = role_preview.firing("builder", tasks, picture.config, book(house.layout, house.now).role("builder"))
    text = "\n".join(lines)
    assert "1 task queued: they will not start until it is rehired." in text and "build it" in text
    assert "1 task of other roles depend on those" in text
    assert "still gives it opus" in text
    assert "So far 1 task, $0.01" in text


def test_a_hire_for_a_time_ends_by_itself_once_and_can_be_rehired_for_good(house):
    house.do("role.hire", name="aide", text=TEXT)
    log = EventLog(house.store, ())
    expiry = RoleExpiry(house.store, log)
    ends = times.epoch("2027-01-22T08:00:00Z")
    expiry.beat(ends - 1)
    assert "aide" in [role.name for role in list_roles(house.layout)[0]]
    expiry.beat(ends)
    expiry.beat(ends + 1)
    assert list_roles(house.layout)[1] == ["aide"]
    assert [event.kind for event in recent_events(house.store, 9)] == ["role_ended"]
    house.now = ends + 60
    house.do("role.rehire", name="aide")
    (role,) = [role for role in list_roles(house.layout)[0] if role.name == "aide"]
    assert (role.until, role.prompt.strip(), role.purpose) == ("", "Help.", "Helps.")
    expiry.beat(ends + 120)
    assert list_roles(house.layout)[1] == []


def test_an_end_that_is_no_time_is_refused_with_its_line(house):
    with pytest.raises(ActionError, match=r"line 3: until 'soon' is no time"):
        house.do("role.hire", name="aide", text=TEXT.replace("2027-01-22T08:00:00Z", "soon"))


def test_on_the_command_line_a_dry_run_changes_nothing(house, capsys):
    run = ["--state", str(house.root), "role"]
    assert main([*run, "hire", "aide", "--like", "builder", "--for", "7d", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "no history yet" in out and "in force" in out
    assert main([*run, "fire", "builder", "--dry-run"]) == 0
    assert "can be rehired" in capsys.readouterr().out
    assert main([*run, "hire", "aide", "--like", "builder", "--for", "5s"]) == 2
    assert [role.source for role in list_roles(house.layout)[0]].count("hired") == 0
    assert main([*run, "hire", "aide", "--like", "builder", "--for", "7d"]) == 0
    assert next(role.until for role in list_roles(house.layout)[0] if role.name == "aide")
