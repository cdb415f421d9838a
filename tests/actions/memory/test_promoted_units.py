"""Where a promoted work unit came from: as documented, and in files of before."""

from __future__ import annotations

import json
import tomllib

import pytest

from lumen_tui.storage import frontmatter
from lumen_tui.store.work import views, work_units

BEFORE = """+++
id = "WU-043"
title = "Race in the session manager"
lane = "Framework: Core"
type = "bug"
priority = "P1"
status = "ready"
discovered_in = "{node}"
{during}created_at = "2026-11-21T03:57:11.571Z"
created_by = "ana"
+++

Race in the session manager
"""


@pytest.fixture
def node(desk) -> str:
    desk.do("wu.new", title="Session handling", id="WU-042", lane="Framework: Core")
    content = "Race in the session manager"
    return desk.do("node.create", content=content, type="bug", priority="P1", wu_id="WU-042").target


def up(cli, wu_id: str) -> list[tuple[str, str]]:
    """What `why` says that a work unit came from."""
    code, out, err = cli("why", wu_id, "--json")
    assert code == 0, err
    return [(step["link"], step["id"]) for step in json.loads(out)["up"]]


def test_a_promoted_unit_names_the_unit_and_the_node_as_documented(desk, cli, node):
    assert cli("triage", "--promote", node, "--lane", "Framework: Core")[0] == 0
    front = frontmatter.split(desk.layout.work_unit("WU-043").read_text())[0]
    assert (front["discovered_in"], front["discovery"]) == ("WU-042", node)
    assert "found_during" not in front
    alone = desk.do("node.create", content="on no work unit").target
    assert cli("triage", "--promote", alone, "--lane", "Framework: Core")[0] == 0
    front = frontmatter.split(desk.layout.work_unit("WU-044").read_text())[0]
    assert (front.get("discovered_in"), front["discovery"]) == (None, alone)


@pytest.mark.parametrize("during", ["", 'found_during = "WU-042"\n'])
@pytest.mark.parametrize("odd", [False, True])
def test_a_file_of_before_is_read_by_all_as_one_of_today_and_stays_as_it_is(desk, cli, node, during, odd):
    text = BEFORE.format(node=node, during=during)
    if odd:  # written by hand: the full reader has it then
        text = text.replace('status = "ready"', "status = 'ready'")
    path = desk.layout.work_unit("WU-043")
    path.write_text(text)
    path.chmod(0o600)
    unit = "WU-042" if during else ""
    for read in (work_units.read_unit(desk.layout, "WU-043"), work_units.read_tracked(desk.layout, "WU-043"),
                 views.read_unit(str(desk.root), "WU-043")):  # fmt: skip
        assert (read.discovered_in, read.discovery) == (unit, node)
    shown = json.loads(cli("wu", "show", "WU-043", "--json")[1])
    assert (shown.get("discovered_in", ""), shown["discovery"]) == (unit, node)
    table = cli("wu", "show", "WU-043")[1]
    assert node in table
    assert (f"discovered_in  {unit}" in table) == bool(unit)
    known = ("promoted from", node)
    assert known in up(cli, "WU-043")
    assert (("found during", "WU-042") in up(cli, "WU-043")) == bool(unit)
    assert [one["id"] for one in json.loads(cli("why", node, "--json")[1])["down"]] == ["WU-043"]
    assert path.read_text() == text
    assert cli("doctor")[0] == 0
    desk.do("wu.claim", wu_id="WU-043")
    kept = tomllib.loads(path.read_text().split("+++")[1])
    assert (kept["discovered_in"], kept.get("found_during", "")) == (node, unit)
    desk.do("undo")
    assert work_units.read_tracked(desk.layout, "WU-043").discovery == node


def test_a_promotion_that_an_earlier_version_left_half_is_finished_and_undone(desk, cli, node):
    desk.layout.work_unit("WU-043").write_text(BEFORE.format(node=node, during='found_during = "WU-042"\n'))
    done = desk.do("triage.promote", node_ids=node, lane="Framework: Core")
    assert done.target == "WU-043", "no second one is made"
    desk.do("undo")
    assert desk.status(node) == "open"
    assert work_units.read_unit(desk.layout, "WU-043") is None
