"""What a host answers, and to whom; every refusal says by name what is wrong and begins nothing."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from lumen_remote import sent_home

from lumen_tui import __version__
from lumen_tui.hosts import service as host_service
from lumen_tui.hosts.certificates import HOST, BadCertificate, Credentials
from lumen_tui.hosts.messages import Begin, Describe, Discard, End, HostRequest, Look, Tell
from lumen_tui.hosts.remote_task import HostFolder
from lumen_tui.hosts.service import HostCaller, HostService
from lumen_tui.model.frames import HostOrder
from lumen_tui.model.tasks import Run
from lumen_tui.storage.clock import SystemClock

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
Made = Callable[..., HostService]


@pytest.fixture
def serve(host: HostFolder, issuer: Any) -> Made:
    def make(name: str = "attic", **how: Any) -> HostService:
        usual = {"slots": 2, "roles": (), "resources": {"gpu": 1}, "tier": "landlock", "keys": lambda spec: KEYS}
        return HostService(host, issuer.give(name), SystemClock(), **{**usual, **how})

    return make


def caller(issuer: Any, service: HostService, who: Credentials | None = None) -> HostCaller:
    async def send(name: str, sealed: bytes) -> bytes:
        return await service.answer(sealed)

    return HostCaller(who or issuer.engine(), SystemClock(), send)


async def test_a_host_describes_itself(serve, issuer):
    answer = await caller(issuer, serve(roles=("builder",))).ask("attic", Describe())
    facts = answer.facts
    assert (facts.name, facts.version, facts.slots, facts.roles) == ("attic", __version__, 2, ("builder",))
    assert facts.tier == "landlock" and facts.workers == () and facts.free > 0
    assert abs(facts.now - time.time()) < 5


async def test_a_task_is_begun_followed_and_comes_home(home, serve, issuer):
    engine, task_id = caller(issuer, serve()), home.task()
    answer = await engine.ask("attic", Begin(home.order(task_id)))
    assert answer.refused == "" and answer.state.attempt == 1
    copier, alive = home.copier(task_id), True
    while alive or copier.seq < answer.state.last:
        answer = await engine.ask("attic", Look(task_id, 1, copier.seq, 5.0))
        copier.take(answer.frames)
        alive = answer.state.alive
    there = serve()._folder.root / "tasks" / task_id / "1/state/tasks" / task_id
    assert sent_home(home.layout.task(task_id)) == sent_home(there)
    assert b'"done"' in (home.layout.task(task_id) / "exit.json").read_bytes()


async def test_another_service_on_the_same_folder_goes_on_where_the_first_was(home, serve, issuer, server):
    server.script = [0.5]
    task_id = home.task("anything")
    await caller(issuer, serve()).ask("attic", Begin(home.order(task_id)))
    again = caller(issuer, serve())
    await home.link(again, "attic", task_id).follow()
    answer = await again.ask("attic", Look(task_id, 1))
    assert home.copier(task_id).seq == answer.state.last and len(server.asked) == 1


async def test_a_look_waits_for_news_and_no_longer_than_asked(home, serve, issuer, server):
    server.script = [30.0]
    engine, task_id = caller(issuer, serve()), home.task("anything")
    await engine.ask("attic", Begin(home.order(task_id)))
    last = 0
    while answer := await engine.ask("attic", Look(task_id, 1, last, 1.0)):
        if not answer.frames:
            break
        last = answer.frames[-1].seq
    assert answer.state.alive and answer.state.last == last
    ended = await engine.ask("attic", End(task_id, 1, "the test is over"))
    assert not ended.state.alive


REFUSALS = [
    ({"roles": ("builder", "analyst")}, "attic has no role researcher: builder, analyst"),
    ({"tier": "ask"}, "attic has no sandbox that holds"),
    ({"tier": "refused"}, "attic has no sandbox that holds"),
    ({"slots": 0}, "attic has 0 at work, and 0 slots"),
]


@pytest.mark.parametrize(("how", "words"), REFUSALS)
async def test_what_a_host_cannot_do_it_refuses_by_name(home, host, serve, issuer, how, words):
    task_id = home.task()
    answer = await caller(issuer, serve(**how)).ask("attic", Begin(home.order(task_id)))
    assert words in answer.refused
    assert host.attempts(task_id) == []


async def test_a_host_without_room_on_its_disk_begins_nothing(home, host, serve, issuer, monkeypatch):
    total = shutil.disk_usage(host.root)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: total._replace(free=1024))
    answer = await caller(issuer, serve()).ask("attic", Begin(home.order(home.task())))
    assert "the disk of attic is full: 0 MiB are free" in answer.refused and host.alive() == []


async def test_a_second_task_waits_for_a_slot_and_the_first_is_still_reached(home, serve, issuer, server):
    server.script = [30.0]
    engine, first = caller(issuer, serve(slots=1)), home.order(home.task("anything"))
    await engine.ask("attic", Begin(first))
    second = await engine.ask("attic", Begin(home.order(home.task("anything else"))))
    assert "attic has 1 at work, and 1 slots" in second.refused
    assert (await engine.ask("attic", Begin(first))).state.alive
    await engine.ask("attic", End(first.task_id, 1, "the test is over"))


async def test_what_two_tasks_take_of_a_host_is_never_more_than_it_has(home, serve, issuer, server):
    server.script = [30.0]
    engine, first = caller(issuer, serve()), home.order(home.task("anything", host="any", resources=["gpu"]))
    await engine.ask("attic", Begin(first))
    second = await engine.ask("attic", Begin(home.order(home.task("more", host="any", resources=["gpu"]))))
    assert second.refused == "attic: 1 of 1 gpu are at work"
    third = await engine.ask("attic", Begin(home.order(home.task("more", host="any", resources=["tape=2"]))))
    assert third.refused == "attic: it has no tape"
    await engine.ask("attic", End(first.task_id, 1, "the test is over"))


async def test_an_attempt_that_is_laid_out_and_never_started_is_laid_out_once_more(home, host, serve, issuer):
    """As a failure of the whole machine leaves it: none of what it was given has to be durable."""
    service, task_id = serve(), home.task()
    task = await host.begin(home.order(task_id))
    (task.folder / "spec.json").write_bytes(b"")
    answer = await caller(issuer, service).ask("attic", Begin(home.order(task_id)))
    assert answer.refused == "" and answer.state.alive
    await home.link(caller(issuer, service), "attic", task_id).follow()
    assert b'"done"' in (home.layout.task(task_id) / "exit.json").read_bytes()


async def test_limits_that_changed_while_nobody_asked_for_an_attempt_come_with_the_next_order(
    home, host, serve, issuer, server
):
    server.script = [30.0]
    engine, task_id = caller(issuer, serve()), home.task("anything")
    await engine.ask("attic", Begin(home.order(task_id)))
    home.do("task.limit", task_id=task_id, steps=7)
    await engine.ask("attic", Begin(home.order(task_id)))
    assert host.find(task_id, 1).spec.steps == 7
    await engine.ask("attic", End(task_id, 1, "the test is over"))


async def test_attempts_that_are_over_are_let_go_and_found_again(home, serve, issuer, monkeypatch):
    """A host does thousands of tasks, each with files that are open while it works."""
    monkeypatch.setattr(host_service, "_KEPT", 0.0)
    service = serve()
    engine, tasks = caller(issuer, service), [home.task() for _ in range(3)]
    for task_id in tasks:
        await engine.ask("attic", Begin(home.order(task_id)))
        await home.link(engine, "attic", task_id).follow()
        while (await engine.ask("attic", Look(task_id, 1, 0))).state.alive:
            continue
    await engine.ask("attic", Begin(home.order(home.task())))
    assert service._open.keys() & {(task_id, 1) for task_id in tasks} == set()
    assert (await engine.ask("attic", Look(tasks[0], 1))).frames


async def test_what_has_ended_is_named_once_nobody_asks_for_it_and_removed_when_the_engine_says_so(
    home, host, serve, issuer, server, monkeypatch
):
    monkeypatch.setattr(host_service, "_KEPT", 0.0)
    service = serve()
    engine, ended = caller(issuer, service), home.task()
    await engine.ask("attic", Begin(home.order(ended)))
    await home.link(engine, "attic", ended).follow()
    server.script = [30.0]
    working = home.task("anything")
    await engine.ask("attic", Begin(home.order(working)))
    while (await engine.ask("attic", Look(ended, 1))).state.alive:
        continue
    facts = (await engine.ask("attic", Describe())).facts
    assert facts.kept == ((ended, 1),) and [key[:2] for key in facts.workers] == [(working, 1)]
    (host.root / "tasks" / ended / "1" / "elsewhere").symlink_to("/etc")
    for _ in range(2):
        assert not (await engine.ask("attic", Discard(((ended, 1), (working, 1))))).refused
    assert host.attempts(ended) == [] and not (host.root / "tasks" / ended).exists()
    assert list((host.root / "gone").glob("*")) == []
    assert (await engine.ask("attic", Describe())).facts.kept == ()
    assert (await engine.ask("attic", Look(working, 1))).state.alive
    await engine.ask("attic", End(working, 1, "the test is over"))


async def test_what_stays_for_good_does_not_stand_before_what_may_go(home, host, serve, issuer, monkeypatch):
    monkeypatch.setattr(host_service, "_KEPT", 0.0)
    engine, tasks = caller(issuer, serve()), {home.task() for _ in range(2)}
    for task_id in tasks:
        await engine.ask("attic", Begin(home.order(task_id)))
        await home.link(engine, "attic", task_id).follow()
    while host.alive():
        continue
    monkeypatch.setattr(host_service, "_MOST_NAMED", 1)
    named = {name for _ in range(60) for name, _ in (await engine.ask("attic", Describe())).facts.kept}
    assert named == tasks


async def test_nothing_outside_of_a_hosts_tasks_is_removed(host, serve, issuer):
    (host.root / "1").mkdir()
    answer = await caller(issuer, serve()).ask("attic", Discard((("..", 1), ("tsk-none", 1))))
    assert "task id" in answer.refused and (host.root / "1").is_dir()


async def test_an_attempt_that_is_over_is_not_begun_again_though_the_host_has_it_open(home, serve, issuer, server):
    server.script = [30.0, 30.0]
    engine, task_id = caller(issuer, serve()), home.task("anything")
    first = home.order(task_id)
    await engine.ask("attic", Begin(first))
    files = {**first.files, f"tasks/{task_id}/run.1.json": msgspec.json.encode(Run(1, "2026-01-01T00:00:00Z"))}
    assert (await engine.ask("attic", Begin(HostOrder(task_id, 2, first.role, files)))).state.alive
    assert not (await engine.ask("attic", Look(task_id, 1))).state.alive
    late = await engine.ask("attic", Begin(first))
    assert late.refused == f"attempt 1 at {task_id} is over: attempt 2 began here" and late.state is None
    await engine.ask("attic", End(task_id, 2, "the test is over"))


@pytest.mark.threat("S9", "hosts that are not obeyed, certificates of others")
async def test_only_the_engine_is_obeyed(home, host, serve, issuer, forger):
    service, task_id = serve(), home.task()
    order = Begin(home.order(task_id))
    with pytest.raises(BadCertificate, match="host cellar speaks as if it were the engine"):
        await caller(issuer, service, issuer.give("cellar")).ask("attic", order)
    with pytest.raises(BadCertificate, match="another authority"):
        await caller(issuer, service, forger.engine()).ask("attic", order)
    assert host.attempts(task_id) == []


async def test_a_request_for_another_host_is_not_carried_out(home, host, serve, issuer):
    task_id = home.task()
    with pytest.raises(BadCertificate, match="a request for cellar, and this is attic"):
        await caller(issuer, serve("attic")).ask("cellar", Begin(home.order(task_id)))
    assert host.attempts(task_id) == []


@pytest.mark.threat("S9", "hosts that are not obeyed, certificates of others")
async def test_a_host_does_not_answer_in_the_name_of_another(serve, issuer):
    """The way leads to another host, which says what the one asked would say."""
    engine, cellar = issuer.engine(), issuer.give("cellar")
    honest = serve("attic")

    async def send(name: str, sealed: bytes) -> bytes:
        _, body = engine.open(await honest.answer(sealed), HOST, time.time())
        return cellar.seal(body)

    with pytest.raises(BadCertificate, match="cellar answered in the place of attic"):
        await HostCaller(engine, SystemClock(), send).ask("attic", Describe())


@pytest.mark.threat("S9", "hosts that are not obeyed, certificates of others")
async def test_an_old_answer_is_no_answer(serve, issuer):
    service, kept = serve(), []

    async def send(name: str, sealed: bytes) -> bytes:
        kept.append(await service.answer(sealed))
        return kept[0]

    engine = HostCaller(issuer.engine(), SystemClock(), send)
    await engine.ask("attic", Describe())
    with pytest.raises(BadCertificate, match="attic gave the answer to another request"):
        await engine.ask("attic", Describe())


async def test_a_request_of_another_version_is_named(serve, issuer):
    engine = issuer.engine()
    for body in (b"", b"\xc1", msgspec.msgpack.encode({"host": "attic", "nonce": "1", "demand": {"type": "Format"}})):
        with pytest.raises(BadCertificate, match="a request of another version"):
            await serve().answer(engine.seal(body))
    good = msgspec.msgpack.encode(HostRequest("attic", "1", Describe()))
    assert await serve().answer(engine.seal(good))


@pytest.mark.parametrize("task_id", ["tsk-none", "../../etc", "", "TSK"])
async def test_what_did_not_begin_here_is_refused(serve, issuer, task_id):
    engine = caller(issuer, serve())
    for demand in (Look(task_id, 1), Tell(task_id, 1, "stop.json", b"{}"), End(task_id, 1, "x")):
        answer = await engine.ask("attic", demand)
        assert answer.refused and answer.state is None
