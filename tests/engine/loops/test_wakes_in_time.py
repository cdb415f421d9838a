"""The main agent is woken by time: at the end of its sleep, and by what it schedules, within its bounds."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from lumen_apiserver import text, tool, tools, use

from lumen_tui.model.schedules import SLEEP
from lumen_tui.store.schedules import schedules
from lumen_tui.store.tasks import task_files


async def test_the_end_of_a_sleep_wakes_the_agent_without_any_news(office, api):
    api.when(lambda r: not r.called, tools(use("sleep", seconds=7200, reason="the build"), use("remember", text="x")))
    api.say(tool("deposit", wake_state="asleep"))
    api.say(tool("deposit", wake_state="awake"))
    office.do("signal.send", message="go")
    await office.beat()
    await office.loop_over(1)
    office.clock.pass_time(7000)
    assert (await office.beat()).skipped == "nothing new"
    office.crash()  # and an engine that was killed meanwhile changes nothing
    office.clock.pass_time(300)
    assert (await office.beat()).loop == 2
    packet = await office.loop_over(2)
    assert "Your sleep is over: the build" in packet.came_in[0]
    assert "Your sleep is over: the build" in api.asked[-1].first_text
    for _ in range(3):
        office.clock.pass_time(7200)
        assert (await office.beat()).skipped == "nothing new"
    assert not schedules.read(office.layout)[SLEEP].active


async def test_a_loop_before_its_end_takes_the_sleep_s_place(office, api):
    api.when(lambda r: not r.called, tools(use("sleep", seconds=7200, reason="quiet"), use("remember", text="x")))
    api.say(tool("deposit", wake_state="asleep"))
    office.do("signal.send", message="go")
    await office.beat()
    await office.loop_over(1)
    office.do("signal.send", message="you there", to="lumen")
    api.say(tool("deposit", wake_state="done"))
    await office.beat()
    await office.loop_over(2)
    assert not schedules.read(office.layout)[SLEEP].active
    office.clock.pass_time(8000)
    assert (await office.beat()).skipped == "nothing new"


async def test_a_sleep_until_a_time_ends_then_and_one_that_cannot_be_is_refused(office, api):
    config = office.layout.config
    config.write_text(config.read_text() + '[scheduling]\nzone = "Asia/Tokyo"\n')
    until = datetime.fromtimestamp(office.clock.now() + 3 * 3600, ZoneInfo("Asia/Tokyo"))
    calls = [
        use("sleep", until="2001-01-01 09:00", reason="x"), use("sleep", until="tomorrow", reason="x"),
        use("sleep", reason="x"), use("sleep", until="in 8d", reason="x"), use("sleep", seconds=1, reason="x"),
        use("sleep", until=f"{until:%Y-%m-%d %H:%M:%S}", reason="the meeting"),
    ]  # fmt: skip
    api.when(lambda r: not r.called, tools(*calls))
    api.say(tool("deposit", wake_state="asleep"))
    api.say(tool("deposit", wake_state="awake"))
    office.do("signal.send", message="go")
    await office.beat()
    await office.loop_over(1)
    told = api.asked[1].results[-6:]
    said = ("is over", "is no date", "one of them", "is not slept", "is not slept", "noted: you wake in ")
    assert [words in result for words, result in zip(said, told, strict=True)] == [True] * 6, told
    office.clock.pass_time(3 * 3600 - 120)
    assert (await office.beat()).skipped == "nothing new"
    office.clock.pass_time(180)
    assert (await office.beat()).loop == 2
    assert "Your sleep is over: the meeting" in (await office.loop_over(2)).came_in[0]


async def test_what_proves_its_task_done_goes_with_a_schedule_or_is_refused(office, api, tmp_path):
    nightly = {"when": "in 2h", "text": "Write the report", "makes": "task", "role": "researcher"}
    calls = [
        use("schedule", {**nightly, "name": "report", "accept": ["file: report.md"], "folder": str(tmp_path)}),
        use("schedule", {**nightly, "name": "own", "accept": ["fact: port 8080"]}),
        use("schedule", {**nightly, "name": "nowhere", "accept": ["file: x"], "folder": "no/such"}),
        use("schedule", {**nightly, "makes": "wake", "name": "for-nothing", "folder": str(tmp_path)}),
        use("schedule", {**nightly, "name": "unclear", "accept": ["looks good"]}),
        use("schedule", {"when": "in 2h", "text": "look", "name": "woken", "accept": ["file: x"]}),
    ]
    api.when(lambda r: not r.called, tools(*calls))
    api.say(tool("deposit", wake_state="scheduled"))
    office.do("signal.send", message="go")
    await office.beat()
    await office.loop_over(1)
    said = (
        "it is due first",
        "it is due first",
        "no folder 'no/such'",
        "leave it out",
        "looks good",
        "nothing can prove",
    )
    told = api.asked[1].results[-6:]
    assert [words in result for words, result in zip(said, told, strict=True)] == [True] * 6, told
    assert {made.name for made in schedules.read(office.layout).values() if made.active} == {"report", "own"}
    office.clock.pass_time(2 * 3600 + 1)
    api.otherwise = lambda request: text("not yet")
    await office.beat()
    made = (task_files.read_spec(office.layout, run.made) for run in schedules.valid_runs(office.layout).values())
    assert {spec.accept: spec.folder for spec in made if spec} == {
        ("file: report.md",): str(tmp_path),
        ("fact: port 8080",): "",
    }


async def test_a_follow_up_wakes_once_and_beyond_the_bounds_it_is_refused(office, api):
    office.layout.config.write_text(office.layout.config.read_text() + "[scheduling]\nagent_schedules = 2\n")
    calls = [
        use("schedule", {"name": "check-deploy", "when": "in 2h", "text": "Is the deployment through?"}),
        use("schedule", {"name": "too-often", "when": "every 5m", "text": "poll"}),
        use("schedule", {"name": "no-zone", "when": "0 9 * * *", "zone": "Moon/Base", "text": "look"}),
        use(
            "schedule",
            {"name": "nightly", "when": "0 3 * * *", "text": "Run the tests", "makes": "task", "role": "tester2"},
        ),
        use("schedule", {"name": "weekly", "when": "0 3 * * 1", "text": "Look back"}),
        use("schedule", {"name": "third", "when": "in 3d", "text": "one too many"}),
    ]
    api.when(lambda r: not r.called, tools(*calls))
    api.say(tool("deposit", wake_state="scheduled"))
    api.say(tool("deposit", wake_state="looked"))
    office.do("signal.send", message="go")
    await office.beat()
    await office.loop_over(1)
    answers = " ".join(text for request in api.asked for text in request.results)
    for words in ("15 minutes is your shortest", "no time zone 'Moon/Base'", "tester2", "the most there may be"):
        assert words in answers
    made = {one.name: one for one in schedules.read(office.layout).values() if one.active}
    assert set(made) == {"check-deploy", "weekly"}
    office.clock.pass_time(7300)
    assert (await office.beat()).loop == 2
    packet = await office.loop_over(2)
    assert "Is the deployment through?" in packet.came_in[0]
    office.clock.pass_time(7300)
    assert (await office.beat()).skipped == "nothing new"
