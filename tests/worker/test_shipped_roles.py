"""The roles that ship: they parse, their prompts say something, and what they promise is enforced."""

from __future__ import annotations

import pytest

from lumen_tui.model.roles import ALL_TOOLS
from lumen_tui.model.tasks import Spec
from lumen_tui.storage.shipped import shipped
from lumen_tui.store.settings.roles import read_role_file
from lumen_tui.tools.policy.rules import derive

NAMES = ("researcher", "builder", "reviewer", "analyst")


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_role_is_complete(name):
    role = read_role_file(shipped("roles") / f"{name}.md", "shipped")
    assert role.purpose.endswith(".")
    assert 15 <= len(role.prompt.splitlines()) <= 45
    for heading in ("How you work", "What a good result looks like", "What you never do", "How you report"):
        assert heading in role.prompt
    for tool in ("write_result", "signal", "discover"):
        assert tool in role.tools
        assert tool in role.prompt
    assert set(role.tools) <= set(ALL_TOOLS)


@pytest.mark.parametrize("name", NAMES)
def test_only_the_builder_changes_anything(name):
    rules = derive(read_role_file(shipped("roles") / f"{name}.md", "shipped"), Spec(id="a", objective="o"))
    assert (rules.write, rules.shell) == ((True, "any") if name == "builder" else (False, "read"))
    assert not rules.network
