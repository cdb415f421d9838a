"""A worker on a host works on memory, signals and people of its engine: by the same tools, rules and files."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import msgspec
import pytest
from lumen_kills import killed_before, state_calls
from lumen_until import until

from lumen_tui.hosts.ask_handler import AskHandler
from lumen_tui.hosts.remote_task import OrderRefused
from lumen_tui.hosts.tool_asks import CUT_OFF
from lumen_tui.model import asks
from lumen_tui.model.approvals import Approval, call_hash
from lumen_tui.model.asks import (
    ApprovalAsk,
    ApprovalFile,
    Ask,
    AskAnswer,
    AskRefused,
    DecisionAsk,
    Noted,
    PersonAsk,
    SteersAsk,
    TasksAsk,
    ToolAsk,
    ToolDone,
)
from lumen_tui.model.steering import Steer, SteerState
from lumen_tui.model.tasks import Exit, Run
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.store import approvals
from lumen_tui.store.tasks import steers, task_records
from lumen_tui.store.tasks.task_records import read_json

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
ROLES = Path(__file__).resolve().parents[2] / "roles"
NOW = 1_800_000_000.0
SIGNAL = {"message": "the disk is full"}


async def begun(home, host, task_id: str, attempt: int = 1):
    task = await host.begin(home.order(task_id, attempt))
    task.launch(KEYS)
    return task


async def next_attempt(home, host, task_id: str, before: int = 1):
    """Go on in another process, as the engine does once what the task waits for is there."""
    folder = home.layout.task(task_id)
    run = Run(before, "2026-01-01T00:00:00Z", notes_begun=True)
    (folder / f"run.{before}.json").write_bytes(msgspec.json.encode(run))
    return await begun(home, host, task_id, before + 1)


def prompts(api) -> str:
    return "\n".join(str(request.messages) for request in api.asked)


def nodes(home) -> list[dict[str, object]]:
    path = home.layout.memory
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def ended(home, task_id: str) -> Exit:
    record = read_json(home.layout.task(task_id) / "exit.json", Exit)
    assert record is not None
    return record


async def test_what_it_remembers_is_in_the_engines_memory_as_a_workers_word(home, host, server, api):
    server.script = [("remember", {"text": "Port 8080 is taken"}), ("memory_search", {"query": "port taken"}), "Done."]
    task = await begun(home, host, home.task("anything", role="builder"))
    until(lambda: not home.tend(task))
    (node,) = nodes(home)
    assert node["content"] == "Port 8080 is taken" and node["created_by"] == "builder"
    assert node["metadata"]["trust"] == "worker"
    assert "Port 8080 is taken" in str(api.asked[-1].messages)
    assert not Layout(task.folder.parent.parent).memory.exists()


async def test_it_reads_signals_of_the_engine_and_sends_one_once(home, host, server, api):
    home.do("signal.send", message="the cellar floods")
    server.script = [("read_signals", {}), ("signal", SIGNAL), "Done."]
    task = await begun(home, host, home.task("anything", role="builder"))
    until(lambda: not home.tend(task))
    assert "the cellar floods" in prompts(api)
    assert home.layout.signals.read_bytes().count(b"the disk is full") == 1


async def test_what_was_said_to_it_is_in_its_next_request_and_read_at_the_engine(home, host, server, api):
    server.script = [("list_dir", {"path": "/"}), 3.0, ("list_dir", {"path": "/etc"}), "Done."]
    task = await begun(home, host, task_id := home.task("anything"))
    folder = home.layout.task(task_id)
    until(lambda: home.tend(task) and len(server.asked) >= 1)
    steers.tell(folder, Steer("str-1", "2026-01-01T00:00:00Z", by="ann", text="look at /var too"), 1, 20)
    until(lambda: not home.tend(task))
    assert "look at /var too" in prompts(api)
    assert [steer.state for steer in steers.read(folder)] == [SteerState.READ]
    assert steers.read(task.folder) == steers.read(folder)


async def test_its_limits_are_changed_while_it_runs_and_nothing_else_of_its_spec(home, host, server):
    server.script = [("list_dir", {"path": "/"}), 2.0, ("list_dir", {"path": "/etc"}), "Done."]
    task = await begun(home, host, task_id := home.task("anything"))
    until(lambda: home.tend(task) and len(server.asked) >= 1)
    path = home.layout.task(task_id) / "spec.json"
    spec = msgspec.json.decode(path.read_bytes())
    path.write_bytes(msgspec.json.encode(spec | {"steps": 33, "objective": "something else"}))
    until(lambda: not home.tend(task))
    there = task_records.read_spec(task.folder)
    assert there.steps == 33 and there.objective == "anything"
    assert b"The limits of this task were changed: 33 tool calls" in (path.parent / "events.jsonl").read_bytes()
    with pytest.raises(OrderRefused, match="the limits of the task cannot be read"):
        task.order("spec.json", b"{")


async def test_a_task_that_is_to_end_after_its_step_ends_then(home, host, server):
    server.script = [("list_dir", {"path": path}) for path in ("/", "/usr", "/etc", "/var") * 10]
    task = await begun(home, host, task_id := home.task("anything"))
    until(lambda: home.tend(task) and server.asked)
    stop = b'{"status": "cancelled", "reason": "enough", "after": "step"}'
    (home.layout.task(task_id) / "stop.json").write_bytes(stop)
    until(lambda: not home.tend(task))
    assert (ended(home, task_id).status, ended(home, task_id).reason) == ("cancelled", "enough")


async def test_a_question_waits_without_a_process_and_its_answer_goes_to_the_next_attempt(home, host, server, api):
    server.script = [("ask_operator", {"question": "Which port?", "options": ["8080"], "default": "8080"})]
    task_id = home.task("anything")
    task = await begun(home, host, task_id)
    until(lambda: not home.tend(task))
    (question,) = approvals.undecided(home.layout)
    assert question.question == "Which port?" and question.task_id == task_id
    assert (home.layout.task(task_id) / "parked.json").exists()
    home.do("question.answer", question_id=question.id, answer="9191")
    server.script = ["Done."]
    task = await next_attempt(home, host, task_id)
    until(lambda: not home.tend(task))
    assert "9191" in prompts(api) and ended(home, task_id).status == "done"
    assert approvals.acted(home.layout, question.id).attempt == 2


@pytest.fixture
def asked_first(home) -> str:
    """A role whose signals need a person's word."""
    text = (ROLES / "builder.md").read_text()
    home.layout.role("builder").parent.mkdir(exist_ok=True)
    rule = '[[rules]]\nkind = "requires_approval"\ntool = "signal"\n\n[limits]'
    home.layout.role("builder").write_text(text.replace("[limits]", rule, 1))
    return "builder"


async def test_a_call_that_needs_a_word_is_made_once_it_was_given_and_once(home, host, server, asked_first):
    server.script = [("signal", SIGNAL)]
    task_id = home.task("anything", role=asked_first)
    task = await begun(home, host, task_id)
    until(lambda: not home.tend(task))
    (request,) = approvals.undecided(home.layout)
    assert request.tool == "signal" and request.hash == call_hash("signal", request.arguments)
    home.do("approval.allow", approval_ids=request.id)
    server.script = ["Done."]
    task = await next_attempt(home, host, task_id)
    until(lambda: not home.tend(task))
    assert home.layout.signals.read_bytes().count(b"the disk is full") == 1


class Sent:
    """A task at home with what a host sent as its asks."""

    def __init__(self, home, role: str = "builder") -> None:
        self.home, self.id = home, home.task("anything", role=role)
        self.folder: Path = home.layout.task(self.id)
        self.journal = Journal(self.folder / asks.ASKS)
        self.number = 0

    def send(self, *what: object) -> None:
        for question in what:
            self.number += 1
            self.journal.append(Ask(self.number, 1, question))

    def ask(self, *what: object) -> list[object]:
        self.send(*what)
        self.handler(self.home.layout).serve()
        return list(self.replies(self.home.layout).values())[-len(what) :]

    def handler(self, layout: Layout) -> AskHandler:
        return AskHandler(layout, self.home.spec(self.id), 1, lambda: NOW)

    def replies(self, layout: Layout) -> dict[int, object]:
        path = layout.task(self.id) / asks.ANSWERS
        return {answer.number: answer.reply for answer in Journal(path).records(AskAnswer)}


def tool(name: str, *web: str, **arguments: object) -> ToolAsk:
    return ToolAsk(name, msgspec.json.encode(arguments).decode(), web)


def test_what_it_remembers_after_it_read_from_the_web_is_not_trusted(home):
    (reply,) = Sent(home).ask(tool("remember", "example.org", text="Paris is in Texas"))
    assert reply.ok and nodes(home)[0]["metadata"]["trust"] == "untrusted"


REFUSED = [
    (tool("shell", command="id"), "is no tool that works on the state of the agent"),
    (tool("write_result", text="x"), "is no tool that works on the state of the agent"),
    (tool("create_task", objective="x"), "is not among those of this task"),
    (tool("remember", text=""), "remember"),
    (ToolAsk("remember", "no json"), "the arguments are no JSON object"),
]


@pytest.mark.parametrize(("what", "words"), REFUSED)
def test_a_call_that_the_role_at_the_engine_does_not_allow_is_not_made(home, what, words):
    (reply,) = Sent(home).ask(what)
    assert not reply.ok and words in reply.text
    assert nodes(home) == []


def test_a_call_that_needs_a_word_is_not_made_without_one_nor_twice_on_the_same(home, asked_first):
    task, call = Sent(home, asked_first), tool("signal", **SIGNAL)
    (reply,) = task.ask(call)
    assert not reply.ok and "nobody has allowed this call" in reply.text
    canonical = {"message": SIGNAL["message"], "to": "", "priority": ""}
    hash_of_call = call_hash("signal", canonical)
    name = approvals.id_for(task.id, hash_of_call, 0)
    request = Approval(name, task.id, "signal", hash_of_call, "2027-01-15T08:00:00Z", "2027-01-15T09:00:00Z", canonical)
    assert task.ask(PersonAsk(request)) == [Noted()]
    assert task.ask(DecisionAsk(name)) == [ApprovalFile()]
    home.do("approval.allow", approval_ids=name, now=NOW)
    assert task.ask(DecisionAsk(name))[0].decision.allowed
    first, second = task.ask(call, call)
    assert first.ok and first.approval == name
    assert not second.ok and "nobody has allowed this call" in second.text
    assert home.layout.signals.read_bytes().count(b"the disk is full") == 1


def test_a_host_sees_and_decides_nothing_of_other_tasks(home):
    mine, thief = Sent(home), Sent(home)
    name = approvals.id_for(mine.id, "h", 0)
    request = Approval(name, mine.id, "shell", "h", "2027-01-15T08:00:00Z", "2027-01-15T09:00:00Z")
    assert mine.ask(PersonAsk(request)) == [Noted()]
    assert thief.ask(ApprovalAsk(name), DecisionAsk(name)) == [ApprovalFile(), ApprovalFile()]
    (reply,) = thief.ask(PersonAsk(request))
    assert isinstance(reply, AskRefused)
    (reply,) = thief.ask(PersonAsk(msgspec.structs.replace(request, task_id=thief.id)))
    assert reply == AskRefused("the request is not of this task and call")
    own = approvals.id_for(thief.id, "h", 0)
    lasting = msgspec.structs.replace(request, id=own, task_id=thief.id, lasting=True)
    assert "main agent alone" in thief.ask(PersonAsk(lasting))[0].reason
    for hostile in (ApprovalAsk("../../etc/passwd"), TasksAsk(("../..",))):
        assert isinstance(thief.ask(hostile)[0], (AskRefused, ApprovalFile))


def test_a_request_is_on_file_with_the_engines_times_and_role(home):
    task = Sent(home)
    name = approvals.id_for(task.id, "h", 0)
    far_off = Approval(name, task.id, "shell", "h", "2031-01-01T00:00:00Z", "2031-01-01T01:00:00Z", role="main")
    task.ask(PersonAsk(far_off))
    known = approvals.read(home.layout, name)
    assert known.role == "builder" and known.asked == NOW and known.expires == NOW + 3600


@pytest.mark.long
def test_killed_before_any_of_its_writes_the_engines_side_makes_no_call_and_hands_no_message_out_twice(
    home, tmp_path, sampled
):
    task = Sent(home)
    steers.tell(task.folder, Steer("str-1", "2026-01-01T00:00:00Z", by="ann", text="look"), 1, 20)
    task.send(SteersAsk(), tool("signal", **SIGNAL), tool("memory_search", query="disk"), SteersAsk())

    def serve(root: Path) -> None:
        task.handler(Layout(root)).serve()

    def copy(name: str) -> Path:
        shutil.copytree(home.layout.root, tmp_path / name)
        return tmp_path / name

    calls = state_calls(copy("whole"), partial(serve, tmp_path / "whole"))
    for point in sampled(list(range(len(calls))), 12):
        root = copy(f"at-{point}")
        assert killed_before(point, root, partial(serve, root))
        serve(root)
        first, sent, _, last = task.replies(Layout(root)).values()
        assert [steer.id for steer in (*first.taken, *last.taken)] == ["str-1"]
        signals = Layout(root).signals
        count = signals.read_bytes().count(b"the disk is full") if signals.exists() else 0
        assert (count, sent.ok) == (1, True) or (count <= 1 and sent == ToolDone(CUT_OFF, ok=False))
