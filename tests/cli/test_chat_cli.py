"""`lumen-tui chat` as a person and a script have it: real processes, a terminal of its own, the local API server."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lumen_apiserver import fail, held, text, tool
from lumen_origin import BELOW_AN_AGENT
from lumen_until import until

from lumen_tui.model import agent
from lumen_tui.storage import locks
from lumen_tui.storage.shipped import shipped
from lumen_tui.store.sessions import chats
from lumen_tui.store.settings import tokens
from lumen_tui.store.tasks import task_files
from lumen_tui.store.tasks.task_records import has_worker

pytestmark = pytest.mark.skipif(BELOW_AN_AGENT, reason="an agent runs these tests: nothing below it is the operator")
CONFIG = (
    '[models]\nprovider = "openai"\ntries = 1\n[workers]\nask_seconds = 0.2\nterm_seconds = 0.2\nwarm_minutes = 0\n'
)
DEADLINE = 60.0


@pytest.fixture
def desk(shell: Any, api: Any) -> Any:
    """A folder whose models are on the local server."""
    shell.layout.create()
    shell.layout.config.write_text(CONFIG)
    shell.environ |= api.openai_env
    yield shell
    for folder in shell.layout.tasks.glob("*-*"):
        (folder / "stop.json").write_text('{"status":"cancelled","reason":"the test is over"}')
        until(lambda folder=folder: not has_worker(folder))


def token(desk: Any) -> dict[str, str]:
    """What makes a command without a terminal the operator's, once."""
    return {"LUMEN_TOKEN": tokens.make(desk.layout, by="ann", now=time.time(), seconds=60)}


def test_once_prints_the_answer_and_nothing_else_on_standard_output(desk: Any, api: Any) -> None:
    api.say(tool("create_task", say="I give it away.", objective="Count the files"), text("It is under way.\n"))
    ran = desk("chat", "--once", "Count the files", **token(desk))
    assert (ran.returncode, ran.stdout) == (0, "I give it away.\nIt is under way.\n")
    assert "create_task" in ran.stderr
    shown = desk("chat", "--show")
    assert "ana> Count the files" in shown.stdout and "It is under way." in shown.stdout


def test_json_has_the_turn_with_its_tasks_and_cost(desk: Any, api: Any) -> None:
    api.say(tool("create_task", objective="Count the files"), text("Under way."))
    ran = desk("chat", "--once", "-", "--json", stdin="Count the files", **token(desk))
    turn = json.loads(ran.stdout)
    assert (ran.returncode, turn["status"], turn["answer"], turn["id"]) == (0, "done", "Under way.", "chat-000001")
    (made,) = turn["tasks"]
    spec = json.loads((task_files.folder_of(desk.layout, made) / "spec.json").read_text())
    assert (spec["order"], spec["created_by"]) == (False, "chat-000001")
    assert turn["usage"]["tokens"] > 0 and turn["calls"][0]["tool"] == "create_task"


def test_a_turn_that_fails_is_exit_code_1_with_the_reason(desk: Any, api: Any) -> None:
    api.say(fail(401))
    ran = desk("chat", "--once", "Hello", **token(desk))
    assert ran.returncode == 1 and ran.stdout == "" and "failed" in ran.stderr


def test_without_a_budget_nothing_is_begun_and_nothing_spent(desk: Any, api: Any) -> None:
    desk.layout.config.write_text(f"{CONFIG}[budget]\nday_tokens = 1\n")
    desk.layout.spend.write_text(
        '{"id":"spd-1h7v0cmx8ykde","kind":"hold","at":"2020-01-01T00:00:00Z","day":"%s","task":"tsk-a","tokens":5}\n'
        '{"id":"spd-1h7v0cmx8ykde","kind":"settle","at":"2020-01-01T00:00:00Z","day":"%s","tokens":5,"usd":1.0}\n'
        % ((time.strftime("%Y-%m-%d", time.gmtime()),) * 2)
    )
    ran = desk("chat", "--once", "Hello", **token(desk))
    assert ran.returncode == 1 and "not begun" in ran.stderr and not api.requests
    (turn,) = chats.read(desk.layout).turns
    assert (turn.asked, turn.end.status) == ("Hello", "refused")


def test_a_paused_agent_says_who_paused_it(desk: Any, api: Any) -> None:
    desk("pause", "--reason", "a release")
    ran = desk("chat", "--once", "Hello", **token(desk))
    assert ran.returncode == 1 and "paused by ana" in ran.stderr and not api.requests


@pytest.mark.parametrize(
    ("words", "stdin", "why"),
    [
        (("--once", ""), "", "empty"),
        (("--once", " \n\t"), "", "empty"),
        (("--once", "-"), "x" * 1_000_000, "a chat takes 30,000"),
        (("--once", "é" * 15_001), "", "30,002 bytes"),
        ((), "", "needs a terminal"),
        (("--json",), "", "--json needs"),
        (("--once", "a", "--stop"), "", "not allowed with"),
    ],
)
def test_bad_input_is_exit_code_2_and_nothing_is_written(
    desk: Any, api: Any, words: tuple[str, ...], stdin: str, why: str
) -> None:
    ran = desk("chat", *words, stdin=stdin, **token(desk))
    assert (ran.returncode, ran.stdout) == (2, "") and why in ran.stderr
    assert not desk.layout.chat.exists() and not api.requests


def test_control_characters_are_made_visible(desk: Any, api: Any) -> None:
    api.say(text("An \x1b[2J answer"))
    ran = desk("chat", "--once", "clear \x1b[2J it", **token(desk))
    assert "\x1b" not in ran.stdout and "An" in ran.stdout
    assert "\\u001b" not in desk.layout.chat.read_text()


def test_whoever_is_not_the_operator_is_refused(desk: Any, api: Any) -> None:
    ran = desk("chat", "--once", "Hello")
    assert ran.returncode == 2 and "only the operator" in ran.stderr
    assert not desk.layout.chat.exists() and not api.requests


def test_offline_it_answers_what_it_can_and_says_what_it_cannot(desk: Any, tmp_path: Path) -> None:
    desk.layout.config.write_text('[models]\nprovider = "offline"\n')
    (tmp_path / "big").mkdir()
    (tmp_path / "big" / "one.bin").write_bytes(b"x" * 5000)
    found = desk("chat", "--once", f"What are the 3 largest files in {tmp_path}/big?", **token(desk))
    assert found.returncode == 0 and "one.bin" in found.stdout and "without a model" in found.stdout
    state = desk("chat", "--once", "What is going on?", **token(desk))
    assert state.returncode == 0 and "I am offline" in state.stdout and "you had no loop yet" in state.stdout
    cannot = desk("chat", "--once", "Write me a poem about lamps", **token(desk))
    assert cannot.returncode == 1 and "I am offline" in cannot.stdout and "I cannot plan" in cannot.stdout


def test_stop_without_an_answer_is_nothing_to_do(desk: Any) -> None:
    assert desk("chat", "--stop").returncode == 3
    assert "nothing was said yet" in desk("chat", "--show").stderr


class Chat:
    """The program in a terminal of its own."""

    def __init__(self, desk: Any, *words: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            argv = [sys.executable, "-m", "lumen_tui", "chat", *words]
            os.execve(argv[0], argv, {**desk.environ, "TERM": "dumb", "HOME": str(desk.root.parent)})  # noqa: S606
        self.out = ""

    def read(self, seconds: float = 0.05) -> None:
        while select.select([self.fd], [], [], seconds)[0]:
            try:
                part = os.read(self.fd, 65_536)
            except OSError:
                return
            if not part:
                return
            self.out += part.decode(errors="replace")

    def shows(self, words: str) -> None:
        until(lambda: words in self.out, lambda: self.out, DEADLINE, sleep=lambda _: self.read())

    def leave(self) -> int:
        """Press ctrl-d at the prompt."""
        until(lambda: self.out.endswith("> "), lambda: self.out, DEADLINE, sleep=lambda _: self.read())
        self.type("\x04")
        return self.ended()

    def type(self, words: str) -> None:
        os.write(self.fd, words.encode())

    def ended(self) -> int:
        code: list[int] = []

        def over() -> bool:
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            code.extend([os.waitstatus_to_exitcode(status)] if pid else [])
            return bool(pid)

        until(over, lambda: self.out, DEADLINE)
        return code[0]


@pytest.fixture
def opened(desk: Any) -> Iterator[Any]:
    made: list[Chat] = []

    def start(*words: str) -> Chat:
        made.append(Chat(desk, *words))
        return made[-1]

    yield start
    for chat in made:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(chat.pid, signal.SIGKILL)
            os.waitpid(chat.pid, 0)
        os.close(chat.fd)


def test_two_turns_at_a_terminal_and_a_new_conversation(opened: Any, api: Any) -> None:
    api.say(text("The first answer."), text("The second answer."), text("The third answer."))
    chat = opened()
    chat.shows("> ")
    chat.type("One?\n")
    chat.shows("The first answer.")
    chat.type("Two?\n")
    chat.shows("The second answer.")
    assert [message["role"] for message in api.asked[1].messages] == ["system", "user", "assistant", "user"]
    chat.type("/new\n")
    chat.shows("a new conversation begins")
    chat.type("Three?\n")
    chat.shows("The third answer.")
    assert len(api.asked[2].messages) == 2
    assert chat.leave() == 0
    assert "no engine drives the agent any more" in chat.out


def test_the_chat_drives_on_where_the_engine_is_gone(opened: Any, desk: Any, api: Any) -> None:
    api.say(text("Here all the same."))
    driven = locks.try_lock(desk.layout.engine_lock)  # as another engine holds it
    assert driven is not None
    chat = opened()
    chat.shows("> ")
    chat.type("Is anybody there?\n")
    until(lambda: chats.read(desk.layout).waiting, lambda: chat.out, DEADLINE, sleep=lambda _: chat.read())
    os.close(driven)
    chat.shows("the engine is gone; this command drives the agent from here on")
    chat.shows("Here all the same.")
    assert chat.leave() == 0


def test_ctrl_c_stops_the_answer_and_not_the_chat(opened: Any, desk: Any, api: Any) -> None:
    api.say(held(text("word " * 4000), after=40), text("Here again."))
    chat = opened()
    chat.shows("> ")
    chat.type("Tell me much\n")
    chat.shows("word word")
    chat.type("\x03")
    chat.shows("stopped")
    turn = chats.read(desk.layout).turns[0]
    assert turn.end.status == "stopped" and turn.answer.startswith("word word")
    chat.type("Are you there?\n")
    chat.shows("Here again.")
    sent = json.dumps(api.asked[-1].messages)
    assert "The operator stopped this answer here." in sent and "word word" in sent
    assert chat.leave() == 0


def test_a_call_that_asks_is_answered_in_place(opened: Any, desk: Any, api: Any, tmp_path: Path) -> None:
    role = (shipped("roles") / "main.md").read_text()
    asks = '[[rules]]\nkind = "requires_approval"\ntool = "list_dir"\n\n[[rules]]'
    (desk.layout.roles / "main.md").write_text(role.replace("[[rules]]", asks, 1))
    api.say(tool("list_dir", path=str(tmp_path)), text("I have looked."), tool("list_dir", path="/"), text("Then not."))
    chat = opened()
    chat.shows("> ")
    chat.type("Look\n")
    chat.shows("allow ")
    chat.type("y\n")
    chat.shows("I have looked.")
    chat.type("Look at the root\n")
    until(lambda: chat.out.count("allow ") > 1, lambda: chat.out, DEADLINE, sleep=lambda _: chat.read())
    chat.type("n\n")
    chat.shows("Then not.")
    assert "refused" in json.dumps(api.asked[-1].messages).lower()


def test_kill_9_of_the_command_and_its_engine_loses_no_answer(opened: Any, desk: Any, api: Any) -> None:
    api.say(held(text("word " * 1000), after=30), text("Gone on."))
    chat = opened("--once", "Tell me much")
    until(lambda: api.asked)
    os.kill(chat.pid, signal.SIGKILL)  # the worker is in a session of its own
    chat.ended()
    api.release()
    until(lambda: (turn := chats.read(desk.layout).turns[0]).end is not None and turn.answer)
    turn = chats.read(desk.layout).turns[0]
    assert turn.end.status == "done" and turn.answer.count("word") == 1000
    ran = desk("chat", "--once", "go on", **token(desk))
    assert ran.stdout == "Gone on.\n" and "word word" in json.dumps(api.asked[-1].messages)


@pytest.mark.parametrize("after", [0, 200])
def test_kill_9_of_the_worker_leaves_the_answer_as_far_as_it_came(opened: Any, desk: Any, api: Any, after: int) -> None:
    api.say(held(text("word " * 4000), after=after), text("Gone on."))
    chat = opened("--once", "Tell me much")
    until(lambda: api.asked)
    if after:
        chat.shows("word word")
    folder = desk.layout.task(agent.turn_id(1))
    os.kill(json.loads((folder / "run.json").read_text())["pid"], signal.SIGKILL)
    assert chat.ended() == 1
    assert "cut off" in chat.out
    turn = chats.read(desk.layout).turns[0]
    assert turn.end.status == "cut off" and turn.answer.startswith("word word" if after else "")
    assert len(api.asked) == 1  # not begun again by itself
    ran = desk("chat", "--once", "go on", **token(desk))
    assert ran.stdout == "Gone on.\n"
    assert "This answer was cut off here" in json.dumps(api.asked[-1].messages)


def test_two_chats_at_once_take_turns(opened: Any, desk: Any, api: Any) -> None:
    api.say(held(text("The first.")), text("The second."))
    one = opened("--once", "One?")
    until(lambda: api.asked)
    two = opened("--once", "Two?")
    until(lambda: chats.read(desk.layout).waiting)
    api.release()
    assert (one.ended(), two.ended()) == (0, 0)
    assert "The first." in one.out and "The second." in two.out and "The second." not in one.out
    assert [turn.asked for turn in chats.read(desk.layout).turns] == ["One?", "Two?"]
    assert re.search(r"One\?.*The first\..*Two\?", json.dumps(api.asked[1].messages))
