"""A worker that may change something dies: it goes on from its last step, and what it had begun is not done again.

Without the record of its steps, what it had begun is left to a person. Real engines, workers and kills; a local server
speaks for the model.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lumen_apiserver import text, tool
from lumen_questions import asking_role, events_of
from lumen_site import Site
from lumen_until import until

from lumen_tui.store import approvals

ROLE = asking_role("shell", "write_file", "list_dir")


@pytest.fixture
def site(tmp_path: Path, api: Any) -> Iterator[Site]:
    made = Site(tmp_path / "state", api.openai_env, ROLE, '[models]\nprovider = "openai"\n')
    api.otherwise(lambda asked: text("ok") if asked.results else tool("shell", command="echo made >> made"))
    yield made
    made.close()


def asked(site: Site) -> int:
    return len(approvals.every(site.layout, done=True))


@pytest.mark.sweep(most=1)
@pytest.mark.parametrize("times", [1, 3])
def test_an_answer_outlives_both_that_wait_for_it_however_often(site, times):
    for _ in range(times):
        site.start()
        request = site.question()
        site.kill()
    site.do("approval.allow", approval_ids=request.id, hash=request.hash)
    site.start()
    assert (site.ended(), site.made(), asked(site)) == ("done", "made\n", 1)


def test_a_no_outlives_them_too(site):
    site.start()
    request = site.question()
    site.kill()
    site.do("approval.deny", approval_ids=request.id, reason="not today")
    site.start()
    assert (site.ended(), site.made(), asked(site)) == ("done", "", 1)


def test_an_answer_that_was_taken_but_not_acted_on_counts(site):
    site.start()
    request = site.question()
    site.kill()
    site.do("approval.allow", approval_ids=request.id, hash=request.hash)
    assert approvals.take(site.layout, request, 1, time.time())  # by the worker, which died right then
    site.start()
    assert (site.ended(), site.made(), asked(site)) == ("done", "made\n", 1)


def test_what_had_only_looked_goes_on(site, api):
    hangs = [30.0]
    api.otherwise(
        lambda asked: tool("list_dir", path="/") if not asked.results else hangs.pop() if hangs else text("ok")
    )
    site.start()
    until(lambda: not hangs)
    site.kill()
    site.start()
    assert site.ended() == "done"


CALLS = {
    "shell": tool("shell", command="echo made >> made; touch went-on; sleep 60"),
    "write_file": tool("write_file", path="made", content="made\n"),
}


def killed_behind(site, api, call: str) -> None:
    """Have the worker make that call, and kill it: inside of a command, and after a file was written."""
    hangs = [30.0]
    api.otherwise(lambda asked: CALLS[call] if not asked.results else hangs.pop() if hangs else text("ok"))
    site.start()
    if call == "shell":
        request = site.question()
        site.do("approval.allow", approval_ids=request.id, hash=request.hash)
        until(lambda: (site.folder / "files" / "went-on").exists())
        hangs.clear()
    else:
        until(lambda: not hangs)
    site.kill()


def test_a_command_that_was_cut_off_is_told_and_not_run_again(site, api):
    killed_behind(site, api, "shell")
    site.start()
    assert (site.ended(), site.made(), asked(site)) == ("done", "made\n", 1)
    assert len(api.asked) == 2
    assert "may have happened" in api.asked[1].results[0]
    (uncertain,) = [event for event in events_of(site.place()) if event["kind"] == "uncertain"]
    assert uncertain["text"].startswith("may have happened, as the worker ended meanwhile: echo made >> made")


def test_a_change_that_was_finished_is_not_made_again(site, api):
    killed_behind(site, api, "write_file")
    site.start()
    assert (site.ended(), site.made(), len(api.asked)) == ("done", "made\n", 3)
    assert api.asked[2].messages == api.asked[1].messages


@pytest.mark.parametrize("call", ["shell", "write_file"])
def test_without_the_record_of_its_steps_a_change_is_left_to_a_person(site, api, call):
    killed_behind(site, api, call)
    (site.folder / "steps.jsonl").unlink()
    site.start()
    assert (site.ended(), site.made()) == ("lost", "made\n")


def test_of_a_worker_that_kept_no_notes_nobody_knows(site, api):
    killed_behind(site, api, "write_file")
    path = site.folder / "run.json"
    path.write_text(path.read_text().replace(',"notes_begun":true', ""))
    for name in ("steps.jsonl", "begun.json"):
        (site.folder / name).unlink()
    site.start()
    assert site.ended() == "lost"


def counted(role: str, name: str, count: int) -> str:
    rule = f'[[rules]]\nkind = "max_count"\ntool = "{name}"\ncount = {count}\n'
    return role.replace("+++\n\nWork", f"{rule}+++\n\nWork")


def test_a_rule_that_counts_calls_counts_those_of_every_attempt(site, api):
    site.layout.role("builder").write_text(counted(ROLE, "list_dir", 2))
    hangs = [30.0]
    look = tool("list_dir", path="/")
    api.otherwise(
        lambda asked: hangs.pop() if hangs and asked.results else look if len(asked.called) < 3 else text("ok")
    )
    site.start()
    until(lambda: not hangs)
    site.kill()
    site.start()
    assert site.ended() == "done"
    results = [event for event in events_of(site.place()) if event["kind"] == "result"]
    told = [(event.get("attempt", 1), event.get("ok", True)) for event in results]
    assert told == [(1, True), (2, True), (2, False)]


def test_a_call_that_was_still_waiting_for_its_answer_was_not_made(site):
    site.layout.role("builder").write_text(counted(ROLE, "shell", 1))
    site.start()
    request = site.question()
    site.kill()
    site.do("approval.allow", approval_ids=request.id, hash=request.hash)
    site.start()
    assert (site.ended(), site.made()) == ("done", "made\n")


def test_a_command_in_the_background_is_told_to_have_ended_with_its_worker(site, api, sandbox):
    site.layout.role("builder").write_text(asking_role("shell_start", "list_dir"))
    hangs = [30.0]
    api.otherwise(
        lambda asked: tool("shell_start", command="touch began; sleep 61.7") if not asked.called
        else hangs.pop() if hangs
        else text("ok")
    )  # fmt: skip
    site.start()
    until(lambda: not hangs and (site.folder / "files" / "began").exists())
    site.kill()
    site.start()
    assert site.ended() == "done"
    assert "Commands in the background ended with it, and how is not known: " in api.asked[-1].last_text
    assert "Start again what is still needed" in api.asked[-1].last_text
    assert not [event for event in events_of(site.place()) if event["kind"] == "uncertain"], "it had begun and said so"
