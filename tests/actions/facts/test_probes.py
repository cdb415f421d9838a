"""Probes over real things: what holds, what drifts, and what is stopped and says nothing about the fact."""

import os
import threading
import time
from pathlib import Path

import pytest
from lumen_rows import each_row
from lumen_until import until

from lumen_tui.model.facts import Outcome, Reading, parse_probe
from lumen_tui.tools.probes import batch
from lumen_tui.tools.probes.batch import ProbeJob, suggest


def look(world, *texts: str, seconds: float = 60.0, each: float = 3.0) -> list[Reading]:
    """What these probes find; each is a job of its own."""
    jobs = [ProbeJob("mem-a", parse_probe(text, f"p{number}")) for number, text in enumerate(texts, start=1)]
    return [reading for _, reading in batch.run(world.root, jobs, seconds=seconds, each=each)]


@pytest.mark.usefixtures("sandbox")
def test_what_holds_and_what_does_not(world, repository, tmp_path: Path) -> None:
    (tmp_path / "conf").write_text("port = 8080\n")
    (tmp_path / "a.json").write_text('{"a": [{"b": true}, 2]}')
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    holds = [
        f"file {tmp_path}/conf", f"file {tmp_path}/link = absent", f"text {tmp_path}/conf ~ ^port = (\\d+) = 8080",
        f"json {tmp_path}/a.json a[0].b = true", f"json {tmp_path}/a.json $.a[1] = 2", f"output cat {tmp_path}/conf",
        f"exit grep -q nothing {tmp_path}/conf = 1", f"git {repository.folder} = {repository.head[:12]}",
        f"output git -C {repository.folder} rev-parse HEAD = {repository.head}",
    ]  # fmt: skip
    drifts = [
        f"file {tmp_path}/gone", f"text {tmp_path}/conf = 9090", f"text {tmp_path}/gone = x",
        f"json {tmp_path}/a.json a[7]", f"hash {tmp_path}/conf = {'0' * 64}", f"exit test -f {tmp_path}/gone",
        f"git {repository.folder} = 0123456789",
    ]  # fmt: skip
    found = look(world, *holds, *drifts)
    assert [reading.outcome for reading in found] == [Outcome.HOLDS] * len(holds) + [Outcome.DRIFTED] * len(drifts)
    assert all(reading.evidence for reading in found)


def test_an_address_is_asked_only_where_the_operator_allows_it(world, site) -> None:
    assert look(world, f"http {site.url('/a')}")[0].outcome is Outcome.FAILED
    world.settings(f'[web]\nhosts = ["127.0.0.1:{site.server_port}"]\nprivate = ["127.0.0.1"]\n')
    good, bad = look(world, f"http {site.url('/a')}", f"http {site.url('/b')} = 404")
    assert (good.outcome, bad.outcome, bad.value) == (Outcome.HOLDS, Outcome.DRIFTED, "200")
    site.kind = "image/png"
    assert look(world, f"http {site.url('/a')}")[0].outcome is Outcome.HOLDS
    port = look(world, f"port {site.server_port}")[0]
    site.end()
    gone = look(world, f"http {site.url('/a')}", f"port {site.server_port}")
    assert port.outcome is Outcome.HOLDS
    assert [reading.outcome for reading in gone] == [Outcome.DRIFTED, Outcome.DRIFTED]


def test_what_hangs_floods_or_changes_things_is_stopped_and_failed(world, tmp_path: Path) -> None:
    (tmp_path / "trap").write_text("a" * 64 + "b\n")
    with (tmp_path / "huge").open("wb") as huge:
        huge.truncate(1 << 33)
    os.mkfifo(tmp_path / "pipe")
    bad = [
        rf"text {tmp_path}/trap ~ (a+)+$", f"text {tmp_path}/huge = x", f"hash {tmp_path}/huge", "text /dev/zero = x",
        f"text {tmp_path}/pipe = x", "output sleep 60", "output yes", f"exit touch {tmp_path}/made",
        f"output rm -rf {tmp_path}", "text /etc/shadow = root", f"text {world.root}/lumen.toml = x",
        f"output sh -c 'echo x > {tmp_path}/made; echo done' = done", "exit curl http://127.0.0.1:1/",
    ]  # fmt: skip
    found = look(world, *bad, each=0.7)
    assert [reading.evidence for reading in found if reading.outcome is Outcome.HOLDS] == []
    assert [(bad[n], r.evidence) for n, r in enumerate(found[:-1]) if r.outcome is not Outcome.FAILED] == []
    assert len(found) == len(bad)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["huge", "pipe", "state", "trap"]


def test_what_changes_from_one_look_to_the_next_has_not_drifted(world) -> None:
    assert look(world, "output date +%N = 1")[0].outcome is Outcome.FAILED


@pytest.mark.usefixtures("sandbox")
async def test_hanging_probes_hold_no_beat_and_keep_to_their_time(world) -> None:
    world.settings("[freshness]\nseconds = 1.0\neach_seconds = 0.5\n")
    facts = [world.fact(f"it sleeps {number}", f"exit sleep {60 + number}") for number in range(6)]
    engine = world.engine()
    world.clock.wall += 300
    began = time.monotonic()
    engine.beat(world.clock.wall)
    beat = time.monotonic() - began
    assert engine.freshness.busy
    engine.freshness.finish(world.clock.wall)
    assert beat < 2.0 < time.monotonic() - began + 2.0
    seen = [one for one in facts if world.state(one).probed]
    assert 1 <= len(seen) <= 2
    for _ in range(5):
        await world.beat()
    states = [world.state(one) for one in facts]
    assert all(state.failing and not state.drifted for state in states), "each had its turn, and none is called false"


@pytest.mark.usefixtures("sandbox")
def test_a_batch_is_ended_with_all_it_started(world) -> None:
    jobs = [ProbeJob("mem-a", parse_probe("exit sleep 4711", "p1"))]
    made = batch.Batch(world.root, jobs, seconds=60, each=60)
    waiter = threading.Thread(target=made.wait)
    waiter.start()
    until(lambda: _running("4711"))
    made.end()
    waiter.join(10)
    assert not waiter.is_alive()
    until(lambda: not _running("4711"))


def _running(word: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"sleep\0{word}" in path.read_text(errors="replace"):
                return True
        except OSError:
            continue
    return False


@each_row(
    ("text", "probes"),
    [
        ("nginx reads /etc/nginx/nginx.conf.", ["file /etc/nginx/nginx.conf"]),
        ("See https://example.org/status, it is up", ["http https://example.org/status = 200"]),
        ("The API listens on port 8080 (localhost:9090 too)", ["port 8080", "port 9090"]),
        ("sshd.service is enabled", ["file /sys/fs/cgroup/system.slice/sshd.service"]),
        ("/opt/app/VERSION holds 1.4.2", ["text /opt/app/VERSION = 1.4.2", "file /opt/app/VERSION"]),
        ("git version 2.39.1 is here", [r"output git --version ~ (?<![\d.])2\.39\.1(?![\d])"]),
        ("Nothing that could be looked at, and/or 3 of 4.", []),
    ],
)
def test_a_text_suggests_its_own_probes(text: str, probes: list[str]) -> None:
    from lumen_tui.model.facts import probe_words

    assert [probe_words(probe) for probe in suggest(text)] == probes
