"""Claude Code as a back end, against what the real one once said."""

from __future__ import annotations

import itertools
import json
import os
from typing import Any

import pytest

from lumen_tui.model.config import ClaudeConfig
from lumen_tui.providers.base import BuiltinToolResult, PermissionRequest, Reserve, Spent, ToolCall, Tuning
from lumen_tui.providers.claude_code import program
from lumen_tui.storage import files

KEY = "sk-ant-any-0123456789"


@pytest.fixture
def answer(reply):
    """Answers as a worker would: everything is allowed but one file."""

    def decide(step: Any) -> Any:
        if isinstance(step, PermissionRequest) and step.call.arguments["path"] == "/etc/shadow":
            return reply("that is hidden", ok=False)
        return reply("a\nb")

    return decide


def last(steps: list[dict[str, Any]], **changes: Any) -> list[dict[str, Any]]:
    """The recording with other fields in its result."""
    result = next(step["out"] for step in steps if step.get("out", {}).get("type") == "result")
    result.update(changes)
    return steps


def test_a_whole_conversation_comes_out_as_steps(fake, answer):
    fake.plays("whole")
    talk = fake.talk(answer)
    assert talk.outcome.ok
    assert talk.outcome.text == "That is all."
    assert talk.said("text") == "I look.That is all."
    assert [step.name for step in talk.of(ToolCall)] == ["list_dir", "write_result"]
    first, second = talk.of(PermissionRequest)
    assert (first.name, first.call.name) == ("Read", "read_file")
    assert first.call.arguments == {"path": "/home/ann/notes.txt"}
    assert second.call.arguments == {"path": "/etc/shadow"}
    assert [(step.name, step.text, step.ok) for step in talk.of(BuiltinToolResult)] == [
        ("Read", "1\tone\n2\ttwo\n3\t", True)
    ]


def test_each_call_is_set_aside_before_and_settled_after(fake, answer):
    fake.plays("whole")
    talk = fake.talk(answer)
    calls = [step for step in talk.steps if isinstance(step, Reserve | Spent)]
    assert [type(step) for step in calls] == [Reserve, Spent] * 6
    assert all(before.usage.usd >= after.usage.usd for before, after in zip(calls[::2], calls[1::2], strict=True))
    assert talk.order == "RSPRrSPRSTRSRSTRS"
    told = 0.0162481  # what the program itself said that it had cost: `total_cost_usd` in the recording
    assert sum(step.usage.usd for step in talk.of(Spent)) == pytest.approx(told)


def test_what_it_has_not_been_sent_yet_is_told_before_it_leaves(fake, answer):
    """Who is killed between the two owes nothing: the program waits for the prompt, or for a tool's result."""
    fake.plays("whole")
    heard = []

    def look(step: Any) -> None:
        if (isinstance(step, Reserve) or step == "sent") and len(heard) < 2:
            heard.append((type(step), [one for one in fake.heard if one.get("type") == "user"]))

    talk = fake.talk(answer, look=look)
    assert heard == [(Reserve, []), (str, [])]
    for before, after in itertools.pairwise(talk.steps):
        if isinstance(before, Reserve):
            assert before.tells == (after == "sent")
    asked = [step.tells for step in talk.of(Reserve)]
    assert (asked[0], True in asked[1:], False in asked) == (True, True, True)  # it makes some by itself


def test_it_is_answered_in_its_own_words(fake, answer):
    fake.plays("whole")
    fake.talk(answer)
    said = next(one for one in fake.heard if one.get("type") == "user")
    task, behind = said["message"]["content"]
    assert task["text"].startswith("/look @here\n")
    assert behind["text"] == "Begin."  # it obeys the first word and reads the second of the last block only
    assert said["client_composed"] is True
    decided = [one["hookSpecificOutput"]["permissionDecision"] for one in fake.answers("hookSpecificOutput")]
    assert decided == ["ask", "ask", "allow", "allow"]
    allowed, refused = fake.answers("behavior")
    assert allowed == {"behavior": "allow", "updatedInput": {"file_path": "/home/ann/notes.txt"}}
    assert refused == {"behavior": "deny", "message": "that is hidden"}
    served = [one["mcp_response"]["result"] for one in fake.answers("mcp_response")]
    assert [tool["name"] for one in served for tool in one.get("tools", ())] == ["list_dir", "write_result"]
    assert {"content": [{"type": "text", "text": "a\nb"}], "isError": False} in served


def test_every_tool_is_asked_about_and_a_question_that_fails_keeps_it_from_running(fake, answer):
    fake.plays("whole")
    fake.talk(answer)
    asked = fake.heard[1]["request"]
    assert asked["systemPrompt"] == "be good"
    assert asked["hooks"]["PreToolUse"] == [
        {"matcher": None, "hookCallbackIds": ["before"], "timeout": 86_400, "onFailure": "block"}
    ]
    words = fake.heard[0]["argv"]
    assert words[words.index("--tools") + 1] == "Read"
    assert words[words.index("--permission-prompt-tool") + 1] == "stdio"
    assert "--setting-sources=" in words
    assert "--max-turns=50" in words
    assert "--model=claude-sonnet-5-5" in words
    assert not [word for word in words if "be good" in word]  # nothing of the task is in a process list


def test_a_task_that_may_read_no_files_is_given_none_of_its_tools(fake, answer):
    fake.plays("retry")
    fake.tools = fake.tools[1:]
    fake.talk(answer)
    words = fake.heard[0]["argv"]
    assert words[words.index("--tools") + 1] == ""


@pytest.mark.parametrize(
    ("tuning", "effort", "off"),
    [(Tuning("off", "low"), ["--effort=low"], "1"), (Tuning("adaptive"), [], None), (Tuning(), [], None)],
)  # fmt: skip
def test_it_is_told_its_effort_and_where_it_is_not_to_think(fake, answer, tuning, effort, off):
    fake.plays("retry")
    fake.talk(answer, tuning=tuning)
    assert [word for word in fake.heard[0]["argv"] if "effort" in word] == effort
    assert fake.heard[0]["env"].get("CLAUDE_CODE_DISABLE_THINKING") == off


def test_a_tool_that_is_not_used_is_refused(fake, answer):
    def bash(steps):
        return json.loads(json.dumps(steps).replace('"tool_name": "Read"', '"tool_name": "Bash"'))

    fake.plays("whole", bash)
    talk = fake.talk(answer)
    assert talk.of(PermissionRequest) == []
    assert [one["behavior"] for one in fake.answers("behavior")] == ["deny", "deny"]
    decided = [one["hookSpecificOutput"]["permissionDecision"] for one in fake.answers("hookSpecificOutput")]
    assert decided == ["deny", "deny", "allow", "allow"]


def test_only_its_own_keys_are_in_its_environment(fake, answer):
    fake.plays("whole")
    fake.environ["ANTHROPIC_API_KEY"] = KEY
    fake.talk(answer)
    environ = fake.heard[0]["env"]
    assert environ["ANTHROPIC_API_KEY"] == KEY
    assert "BOX_KEY" not in environ
    assert environ["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "16000"


def test_a_retry_is_told_with_its_time(fake):
    fake.plays("retry")
    talk = fake.talk()
    assert talk.outcome.text == "Fine after all."
    assert "overloaded 529" in talk.said("wait")
    wait = next(step for step in talk.steps if getattr(step, "kind", "") == "wait")
    assert 1000.0 < wait.data["until"] < 1003.0


@pytest.mark.parametrize(
    ("name", "words"),
    [("badkey", "set a valid ANTHROPIC_API_KEY, or log in"), ("unknown", "model 'claude-sonnet-5-5' is not known")],
)
def test_a_model_that_cannot_be_asked_is_a_plain_error_and_costs_nothing(fake, name, words):
    fake.plays(name)
    talk = fake.talk()
    assert words in talk.error
    assert talk.order == "RS"
    assert talk.of(Spent)[0].usage.tokens == 0


def test_a_refusal_is_no_result(fake):
    fake.plays("refused")
    assert fake.talk().outcome.reason == "the model declined to do this"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"subtype": "error_max_turns", "is_error": True, "result": None}, "all the turns"),
        ({"is_error": True, "terminal_reason": "prompt_too_long"}, "no longer fits the model"),
    ],
)
def test_other_ends(fake, changes, words):
    fake.plays("retry", lambda steps: last(steps, **changes))
    outcome = fake.talk().outcome
    assert not outcome.ok
    assert words in outcome.reason


def test_an_error_of_another_kind_is_told_in_its_words(fake):
    fake.plays("retry", lambda steps: last(steps, is_error=True, subtype="error_during_execution", result="it broke"))
    assert fake.talk().error == "Claude Code ended with an error: it broke"


def test_calls_besides_are_counted_at_the_end(fake):
    totals = {"claude-haiku-4-5": {"inputTokens": 1000, "outputTokens": 100}}
    fake.plays("retry", lambda steps: last(steps, modelUsage=totals))
    talk = fake.talk()
    assert talk.order == "RSRS"
    assert talk.of(Reserve)[1].model == "claude-haiku-4-5"
    assert talk.of(Spent)[1].usage.usd == pytest.approx(0.0015)


def test_a_program_that_dies_is_no_result_and_its_call_counts(fake):
    fake.plays("whole", lambda steps: [*steps[:9], {"stderr": "out of paper"}, {"exit": 3}])
    talk = fake.talk()
    assert talk.outcome.reason == "Claude Code ended without a result: out of paper"
    assert talk.order == "RS"
    assert talk.of(Spent)[0].usage.tokens > 1000


def test_a_program_that_says_nothing_is_ended(fake, monkeypatch):
    monkeypatch.setattr(program, "_ASK_SECONDS", 0.1)
    fake.settings |= {"first_byte_seconds": 0.1, "silence_seconds": 0.1}
    fake.plays("whole", lambda steps: [{"sleep": 60}])
    assert "was not ready 0.2 seconds after its start: run it once by hand" in fake.talk().error


def test_a_call_in_which_it_falls_silent_counts_what_is_known(fake, monkeypatch):
    monkeypatch.setattr(program, "_ASK_SECONDS", 0.1)
    fake.settings |= {"first_byte_seconds": 0.3, "silence_seconds": 0.2}
    fake.plays("whole", lambda steps: [*steps[:9], {"sleep": 60}])
    talk = fake.talk()
    assert "was silent for 0.5 seconds" in talk.error
    assert talk.order == "RS"
    assert 1000 < talk.of(Spent)[0].usage.tokens < talk.of(Reserve)[0].usage.tokens


@pytest.mark.parametrize(("delay", "ends_well"), [(3_000, True), (10, False), (1e999, True)])
def test_the_silence_that_a_retry_announces_is_none(fake, monkeypatch, delay, ends_well):
    monkeypatch.setattr(program, "_ASK_SECONDS", 0.1)
    fake.settings |= {"first_byte_seconds": 0.3, "silence_seconds": 0.3}

    def slow(steps):
        place = next(n for n, step in enumerate(steps) if step.get("out", {}).get("subtype") == "api_retry")
        steps[place]["out"]["retry_delay_ms"] = delay
        return [*steps[: place + 1], {"sleep": 1.0}, *steps[place + 1 :]]

    fake.plays("retry", slow)
    talk = fake.talk()
    assert bool(talk.outcome) is ends_well
    assert ("was silent" in talk.error) is not ends_well


def test_lines_that_are_no_messages_are_passed_over(fake):
    odd = [{"raw": word} for word in ("[debug] hello", "", "[1, 2]", "{", "[" * 100_000, '"x"')]
    fake.plays("retry", lambda steps: [*odd, *steps[:5], *odd, *steps[5:]])
    assert fake.talk().outcome.ok


def test_an_old_program_is_not_used(fake):
    def older(steps):
        return json.loads(json.dumps(steps).replace("2.1.329", "2.1.99"))

    fake.plays("whole", older)
    talk = fake.talk()
    assert "Claude Code 2.1.99 is too old: 2.1.197 or newer is needed" in talk.error
    assert talk.order == ""


def test_one_that_will_not_ask_is_not_used(fake):
    def deaf(steps):
        return json.loads(json.dumps(steps).replace('"hooks_applied": true', '"hooks_applied": false'))

    fake.plays("whole", deaf)
    assert "does not ask before it uses its tools" in fake.talk().error


def test_a_program_that_is_not_there(fake):
    fake.settings["claude"] = ClaudeConfig(program="no-such-claude")
    error = fake.talk().error
    assert "the Claude Code program 'no-such-claude' is not there" in error
    assert "npm install -g @anthropic-ai/claude-code" in error


def test_a_program_in_the_current_folder_is_not_taken(fake, monkeypatch):
    fake.plays("retry")
    monkeypatch.chdir(fake.program.parent)
    fake.environ["PATH"] = f".:{os.pathsep}"
    assert "is not there" in fake.talk().error


def test_one_that_cannot_be_started(fake):
    fake.program.write_text("#!/no/such/interpreter\n")
    fake.program.chmod(0o755)
    assert "could not be started" in fake.talk().error


# ---- in a worker


def test_a_worker_records_what_it_did(fake, work):
    fake.plays("whole")
    ended = work.run()
    assert (ended["status"], ended["brain"]) == ("done", "claude claude-sonnet-5-5")
    assert (work.folder / "result.md").read_text() == "# Two lines\n"
    calls = work.texts("call")
    assert calls[1:3] == ["Read read_file /etc/shadow", "list_dir list_dir /home/ann"]
    assert "/etc/shadow" in next(text for text in work.texts("result") if "not read" in text)
    assert any("its own session file is /home/ann/" in text for text in work.texts("note"))
    lines = work.book()
    assert [line["kind"] for line in lines if line["kind"] != "sent"] == ["hold", "settle"] * 6
    told = {line["id"] for line in lines if line["kind"] == "sent"}
    assert told == {line["id"] for line in lines if line["kind"] == "hold" and line.get("unsent")} != set()
    transcript = (work.layout.transcript(ended["session"])).read_text()
    assert '"name":"Read"' in transcript
    assert '"name":"write_result"' in transcript


def test_a_cap_ends_it_before_the_first_call(fake, work):
    fake.plays("whole")
    work.spec(budget={"usd": 0.1})
    assert "budget has no room" in work.run()["reason"]
    assert not [one for one in fake.heard if one.get("type") == "user"]


@pytest.mark.parametrize("stop", ["file", "kill"])
def test_it_ends_with_its_worker(fake, work, stop, is_alive):
    fake.plays("whole", lambda steps: [*steps[:9], {"sleep": 600}])
    child = work.start()
    work.until(lambda: (fake.home / ".claude" / "heard.jsonl").exists() and "user" in str(fake.heard))
    below = work.below()
    assert below
    if stop == "kill":
        child.kill()
    else:
        files.replace(work.folder / "stop.json", b'{"status": "cancelled", "reason": "enough"}')
    child.wait(30)
    work.until(lambda: not any(map(is_alive, below)), 5)
    if stop == "file":
        assert (work.exit["status"], work.exit["reason"]) == ("cancelled", "enough")
