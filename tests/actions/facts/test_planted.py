"""20 facts over real things, half of which are made false behind the agent's back: all of those are found, no other."""

import hashlib
import json
import math
from pathlib import Path

from lumen_tui.model.freshness import Phase, per_beat


def _plant(world, site, other_site, repository, second_repository) -> tuple[list[str], list[str]]:
    """The ids of ten facts that stay true, and of ten that `_falsify` makes false."""
    folder: Path = world.folder
    for name in ("true", "false"):
        made = folder / name
        made.mkdir()
        (made / "there").write_text("x")
        (made / "notes.txt").write_text("the region is eu-west\nworkers = 4\n")
        (made / "config.json").write_text(json.dumps({"servers": [{"port": 8080}], "name": "api"}))
        (made / "whole").write_text("the whole content\n")
    hosts = [f"127.0.0.1:{one.server_port}" for one in (site, other_site)]
    web = f'[web]\nhosts = {json.dumps(hosts)}\nprivate = ["127.0.0.1"]\n'
    world.settings(f"{web}[freshness]\nseconds = 60\neach_seconds = 6\n")
    digest = hashlib.sha256(b"the whole content\n").hexdigest()
    listed = "config.json notes.txt there whole"
    return tuple(
        [
            world.fact(f"{name}: a marker stands there", f"file {folder}/{name}/there"),
            world.fact(f"{name}: nothing is locked", f"file {folder}/{name}/locked = absent"),
            world.fact(f"{name}: the region is eu-west", f"text {folder}/{name}/notes.txt = region is eu-west"),
            world.fact(f"{name}: there are 4 workers", rf"text {folder}/{name}/notes.txt ~ ^workers = (\d+) = 4"),
            world.fact(f"{name}: port 8080 in the config", f"json {folder}/{name}/config.json servers[0].port = 8080"),
            world.fact(f"{name}: the file is unchanged", f"hash {folder}/{name}/whole = {digest}"),
            world.fact(f"{name}: it has four entries", f"output ls {folder}/{name} = {listed}"),
            world.fact(f"{name}: grep finds the api", f"exit grep -q api {folder}/{name}/config.json = 0"),
            world.fact(f"{name}: the site answers", f"http {place.url('/a')} = 200"),
            world.fact(f"{name}: nobody has committed", f"git {repo.folder} HEAD = {repo.head}"),
        ]
        for name, place, repo in (("true", site, repository), ("false", other_site, second_repository))
    )  # type: ignore[return-value]


def _falsify(world, other_site, second_repository) -> None:
    made: Path = world.folder / "false"
    (made / "there").unlink()
    (made / "locked").write_text("")
    (made / "notes.txt").write_text("the region is us-east\nworkers = 6\n")
    (made / "config.json").write_text(json.dumps({"servers": [{"port": 9090}], "name": "web"}))
    (made / "whole").write_text("another content\n")
    other_site.status["/a"] = 503
    second_repository.commit("behind the agent's back")


async def test_every_false_fact_is_flagged_in_time_and_no_true_one(
    world, site, other_site, repository, second_repository, sandbox
) -> None:
    true, false = _plant(world, site, other_site, repository, second_repository)
    config = world.engine().config.freshness
    front = math.ceil(per_beat(config.seconds, config.each_seconds, config.per_beat) / 2)  # the half of a beat in turn
    promised = math.ceil(20 / front)
    assert promised == 4
    for _ in range(promised):
        await world.beat()
    assert {world.state(one).phase(world.clock.wall) for one in (*true, *false)} == {Phase.FRESH}

    _falsify(world, other_site, second_repository)
    for _ in range(promised):
        await world.beat()

    assert [world.state(one).fact.claim for one in false if not world.state(one).drifted] == []
    assert [world.state(one).fact.claim for one in true if world.state(one).drifted] == []
    assert {world.state(one).phase(world.clock.wall) for one in true} == {Phase.FRESH}
    assert len(world.events("fact_drifted")) == 10
    assert world.events("probe_failed") == []


async def test_what_was_seen_takes_the_place_of_the_old_value_which_is_kept(
    world, site, other_site, repository, second_repository
) -> None:
    _, false = _plant(world, site, other_site, repository, second_repository)
    world.layout.claude_md.write_text("Remember: false: port 8080 in the config.\n")
    world.do("wu.new", title="Watch it", lane="Core", body=f"see {false[0]}")
    await world.beat()
    _falsify(world, other_site, second_repository)
    for _ in range(4):
        await world.beat()

    old = world.state(false[4])
    new = world.state(old.fact.superseded_by)
    assert (old.fact.status, old.fact.claim, old.fact.probes[0].expect) == (
        "superseded", "false: port 8080 in the config", "8080",
    )  # fmt: skip
    assert (new.fact.claim, new.fact.supersedes, new.fact.was) == (
        "false: port 9090 in the config",
        old.fact.id,
        "8080",
    )
    assert new.phase(world.clock.wall) is Phase.FRESH
    assert sorted(world.attention()) == sorted([false[0], false[4]])
    world.do("fact.confirm", fact_ids=new.fact.id)
    world.do("fact.retire", fact_ids=false[0])
    assert world.attention() == []
