"""A task whose conversation outgrows its model's window: the earlier steps are summed up, and nothing else is lost."""

from __future__ import annotations

import json
import os
import signal

import pytest
from lumen_apiserver import held, text, tool
from lumen_apiserver.script import Rule

from lumen_tui.model.searching import parse
from lumen_tui.queries.queue_conditions import spend_report
from lumen_tui.queries.search.search import Searcher

WINDOW = 17_000
SETTINGS = f"[models.endpoints.anthropic]\nwindow = {WINDOW}\nmax_output = 2000\n"
WRITTEN = "**Done**: the pages were read. **Facts**: the port is 8443."
ROLE = """+++
purpose = "Reads."
tools = ["read_file", "grep", "write_result"]
[limits]
max_steps = 40
+++
Work.
"""
ASK = {"question": "Which port?", "default": "8080"}


def of_summary(request) -> bool:
    return "stands for the earlier steps" in request.system_text


@pytest.fixture
def pages(desk, api, tmp_path):
    """Eight pages of 8 KB, and a model with a window that holds half of them."""
    desk.layout.config.write_text(desk.layout.config.read_text() + SETTINGS)
    desk.layout.role("doer").write_text(ROLE)
    for number in range(8):
        (tmp_path / f"page-{number}").write_text(
            f"page {number}: " + f"word{number} " * 20 + "\n" + (f"word{number} " * 20 + "\n") * 54
        )
    api.window = WINDOW
    api.when(of_summary, text(WRITTEN), again=True)
    return [tool("read_file", path=str(tmp_path / f"page-{number}")) for number in range(8)]


def steps_of(api) -> list:
    return [request for request in api.asked if not of_summary(request)]


async def test_it_ends_well_and_the_whole_can_be_found_again(desk, api, pages):
    grep = tool("grep", pattern="word2 word2", path="outputs/1.txt")
    api.say(*pages, grep, tool("write_result", text="# Done\n"), text("ok"))
    task = desk.task()
    assert await desk.over(task) == "done", desk.seen()
    last = steps_of(api)[-1]
    assert "word2 word2" in last.results[0]
    assert "the port is 8443" in str(last.messages)
    assert "can be read whole (steps 1 to " in str(last.messages)
    assert " in outputs/1.txt" in str(last.messages)
    noted = [event["text"] for event in desk.events(task, "note") if "summed up by" in event["text"]]
    assert noted
    assert noted[0].startswith("the conversation came near the model's window: ")
    (written, *_) = desk.events(task, "summary")
    assert WRITTEN in written["text"]
    assert "summary 1 (shipped," in written["text"]
    with Searcher(desk.layout) as searcher:
        for words, by in (("8443", "worker"), ("word1", "output")):
            query = parse(f"in:conversations {words}", desk.clock.now())
            assert by in [hit.by for hit in searcher.search(query, desk.clock.now()).hits], words


async def test_it_is_booked_as_what_it_is_in_the_budget_of_its_task(desk, api, pages):
    api.say(*pages, tool("write_result", text="# Done\n"), text("ok"))
    task = desk.task()
    assert await desk.over(task) == "done", desk.seen()
    report = spend_report(desk.layout, desk.clock.now())
    summaries = sum(map(of_summary, api.asked))
    assert [(share.name, share.amount.calls) for share in report.purposes] == [("summary", summaries)]
    (spent,) = [share.amount for share in report.tasks if share.name == task]
    assert spent.calls == len(api.asked)
    assert desk.view(task).usage.tokens >= spent.tokens
    lines = [json.loads(line) for line in desk.layout.spend.read_text().splitlines()]
    held = [line for line in lines if line["kind"] == "hold" and line.get("purpose")]
    assert [(line["purpose"], line["task"], line["role"]) for line in held] == [("summary", task, "doer")] * summaries


async def test_without_room_in_its_budget_old_results_are_cut_and_the_task_goes_on(desk, api, pages):
    """The task may spend so little that a step fits and a summary beside it does not."""
    desk.layout.config.write_text(desk.layout.config.read_text() + '[models.prices."claude-haiku-5-5"]\n'
                                  "input = 100.0\noutput = 4000.0\n")  # fmt: skip
    desk.layout.role("doer").write_text(ROLE.replace('purpose = "Reads."', 'purpose = "Reads."\ntier = "sonnet"'))
    api.say(*pages, tool("write_result", text="# Done\n"), text("ok"))
    task = desk.task(budget={"usd": 2.0})
    assert await desk.over(task) == "done", desk.seen()
    assert not any(map(of_summary, api.asked))
    cut = [event["text"] for event in desk.events(task, "note") if "old tool results cut" in event["text"]]
    assert cut
    assert "(no summary: the task's budget has no room" in cut[0]


async def test_whoever_goes_on_with_it_goes_on_with_the_summary(desk, api, pages):
    """Its worker ends with a question; the next one knows what this one knew, and what the operator said in between."""
    api.say(*pages, tool("ask_operator", **ASK), tool("write_result", text="# Done\n"), text("ok"))
    task = desk.task()
    question = await desk.asked(task)
    before = steps_of(api)[-1]
    summaries = sum(map(of_summary, api.asked))
    assert "the port is 8443" in str(before.messages)
    desk.order("question.answer", question_id=question.id, answer="80", hash=question.hash)
    assert await desk.over(task) == "done", desk.seen()
    after = steps_of(api)[len(steps_of(api)) - 1]
    bare = [_bare(request.messages) for request in (before, after)]
    assert bare[1][: len(bare[0])] == bare[0]
    assert "80\n</order>" in after.last_text
    assert sum(map(of_summary, api.asked)) == summaries
    assert sum(request.called.count("ask_operator") for request in steps_of(api)[-1:]) == 1


def settled(desk) -> int:
    """How many calls of the ledger were settled as summaries."""
    (share,) = spend_report(desk.layout, desk.clock.now()).purposes
    return share.amount.calls


async def test_killed_while_it_is_written_nothing_is_lost_and_no_step_made_again(desk, api, pages):
    api.script.rules.clear()
    api.when(of_summary, held(text("never said")), text(WRITTEN), again=True)
    api.say(*pages, tool("write_result", text="# Done\n"), text("ok"))
    task = desk.task()
    await desk.until(lambda: any(map(of_summary, api.asked)))
    before = len(steps_of(api))
    os.kill(desk.pid(task), signal.SIGKILL)
    assert await desk.over(task) == "done", desk.seen()
    assert len(steps_of(api)) == len(pages) + 1
    assert 0 < before <= len(pages)
    read = [event["text"] for event in desk.events(task, "call") if event["tool"] == "read_file"]
    assert len(read) == len(set(read)) == len(pages)
    assert "the port is 8443" in str(steps_of(api)[before].messages)


async def test_killed_behind_it_it_is_not_paid_again(desk, api, pages):
    """The request that holds the summary for the first time is under way, and its worker is killed."""

    def goes_on(request) -> bool:
        return not of_summary(request) and "the port is 8443" in str(request.messages)

    api.script.rules.insert(0, Rule(goes_on, [held(text("never said"))]))
    api.say(*pages, tool("write_result", text="# Done\n"), text("ok"))
    task = desk.task()
    await desk.until(lambda: any(map(goes_on, api.asked)))
    summaries = sum(map(of_summary, api.asked))
    assert summaries == 1
    os.kill(desk.pid(task), signal.SIGKILL)
    assert await desk.over(task) == "done", desk.seen()
    lost, again = [request for request in api.asked if goes_on(request)][:2]
    assert _bare(again.messages) == _bare(lost.messages)
    place = api.asked.index(again)
    assert sum(map(of_summary, api.asked[: place + 1])) == 1
    assert settled(desk) == sum(map(of_summary, api.asked))
    assert len(steps_of(api)) == len(pages) + 2


def _bare(value):
    if isinstance(value, dict):
        return {name: _bare(inner) for name, inner in value.items() if name != "cache_control"}
    return [_bare(inner) for inner in value] if isinstance(value, list) else value
