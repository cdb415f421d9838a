"""The roles that ship: they parse, their prompts say something, what they promise is enforced, their examples run."""

from __future__ import annotations

import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from lumen_apiserver import tool
from lumen_folder import StateFolder

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.roles import ALL_TOOLS, unusable
from lumen_tui.model.tasks import Spec
from lumen_tui.storage.shipped import shipped
from lumen_tui.store.settings.roles import parse_role, read_role_file, render_role
from lumen_tui.tools.policy.rules import derive

NAMES = ("analyst", "builder", "planner", "researcher", "reviewer", "tester", "web", "writer")
POWERS = {  # shell, whether it may change what was granted
    "analyst": ("read", False), "builder": ("any", True), "planner": ("none", False), "researcher": ("read", False),
    "reviewer": ("any", False), "tester": ("any", True), "web": ("none", False), "writer": ("none", True),
}  # fmt: skip


def shipped_role(name):
    return read_role_file(shipped("roles") / f"{name}.md", "shipped")


def test_these_ship():
    assert {path.stem for path in shipped("roles").glob("*.md")} == {*NAMES, "main"}


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_role_is_complete(name):
    role = shipped_role(name)
    assert role.purpose.endswith(".")
    assert 15 <= len(role.prompt.splitlines()) <= 45
    for heading in ("How you work", "What a good result looks like", "What you never do", "How you report"):
        assert heading in role.prompt
    for name_of_tool in ("write_result", "signal", "discover"):
        assert name_of_tool in role.tools
        assert name_of_tool in role.prompt
    assert set(role.tools) <= set(ALL_TOOLS)
    assert unusable(role) == ("", "")
    assert role.limits.timeout_seconds <= 1800 and role.limits.max_steps <= 120
    assert role.example is not None and len(role.example.objective) > 60
    assert parse_role(name, render_role(role), "shipped") == role


@pytest.mark.parametrize("name", NAMES)
def test_each_may_do_what_its_work_needs_and_no_more(name):
    role = shipped_role(name)
    rules = derive(role, Spec(id="a", objective="o"))
    assert (rules.shell, role.changes_files) == POWERS[name]
    assert not rules.network and not rules.hosts
    assert set(role.tools) <= rules.tools


class _Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<p>Python 3.14 is the newest stable version.</p>")

    def log_message(self, *words):
        """Print nothing."""


@pytest.fixture
def pages():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def project(tmp_path):
    """A repository with a program and a test of it."""
    top = tmp_path / "project"
    top.mkdir()
    (top / "add.py").write_text("def add(a, b):\n    return a - b\n")
    test = "    def test_add(self):\n        self.assertEqual(add.add(1, 2), 3)\n"
    (top / "test_add.py").write_text(f"import unittest, add\n\nclass T(unittest.TestCase):\n{test}")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    for words in ("init -q", "add .", "-c user.name=Ada -c user.email=a@b commit -qm first"):
        subprocess.run(["git", *words.split()], cwd=top, env=env, check=True)
    return top


RUN = ("shell", {"command": "python3 -B -m unittest 2>&1", "cwd": "{project}"})
ACTS = {  # what a model that goes about the example would call, and what the last of it shows
    "analyst": ([("shell", {"command": "git log --format=%as", "cwd": "{project}"})], "20"),
    "builder": ([("write_file", {"path": "hello.sh", "content": "echo hello $1\n"}),
                 ("shell", {"command": "sh hello.sh Ann"})], "hello Ann"),
    "planner": ([("list_units", {}), ("create_unit", {"title": "An option", "acceptance": ["it prints it"]})], "WU-"),
    "researcher": ([("disk_usage", {"path": "{project}"})], "KiB on disk"),
    "reviewer": ([("shell", {"command": "git show --stat HEAD", "cwd": "{project}"}), RUN], "AssertionError: -1 != 3"),
    "tester": ([RUN], "FAILED (failures=1)"),
    "web": ([("web_fetch", {"url": "{page}"})], "Python 3.14 is the newest"),
    "writer": ([("glob", {"pattern": "*.py", "path": "{project}"}),
                ("write_file", {"path": "getting-started.md", "content": "# Adding\n"})], "getting-started.md"),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_its_example_runs_to_its_end(sandbox, make_task, api, project, pages, name):
    acts, shows = ACTS[name]
    places = {"{project}": str(project), "{page}": pages}
    given = [(act, {key: places.get(str(value), value) for key, value in values.items()}) for act, values in acts]
    api.say(*(tool(act, values) for act, values in given), tool("write_result", {"text": "It is so."}))
    example = shipped_role(name).example
    task = make_task(
        example.objective, role=name, folder=str(project), context=example.context,
        constraints=example.constraints, accept=example.accept,
    )  # fmt: skip
    host = pages.split("/")[2]
    task.layout.config.write_text(f'[web]\nhosts = ["{host}"]\nprivate = ["127.0.0.1"]\n')
    assert task.run(warm=True, **api.anthropic_env)["status"] == "done", task.instead()
    assert task.result.strip() == "It is so."
    assert shows in api.asked[len(acts)].results[-1]
    assert example.objective in api.asked[0].first_text


def test_the_example_of_a_researcher_needs_no_model(sandbox, make_task, project):
    task = make_task(shipped_role("researcher").example.objective, role="researcher", folder=str(project))
    assert task.run(warm=True)["status"] == "done", task.instead()
    assert "test_add.py" in task.result


def test_a_reviewer_runs_tests_and_changes_nothing_but_its_own_folder(sandbox, make_task, api, project):
    before = {path.name: path.read_bytes() for path in project.iterdir() if path.is_file()}
    api.say(
        tool("shell", {"command": "echo x >> add.py", "cwd": str(project)}),
        tool("shell", {"command": f"cp -a {project} copy && cd copy && touch cache && python3 -m unittest 2>&1"}),
        tool("write_file", {"path": str(project / "add.py"), "content": "x"}),
        tool("write_result", {"text": "Reject."}),
    )
    task = make_task("Review", role="reviewer", folder=str(project))
    task.layout.config.write_text(f'[sandbox]\nwritable = ["{project}"]\n[workers]\nisolate = "worktree"\n')
    assert task.run(warm=True, **api.anthropic_env)["status"] == "done"
    assert "AssertionError: -1 != 3" in api.asked[2].results[-1]
    assert "not among those of this task" in api.asked[3].results[-1]
    assert {path.name: path.read_bytes() for path in project.iterdir() if path.is_file()} == before
    first = api.asked[0].first_text
    assert "You change files in your own folder alone" in first
    assert f"You may change: {task.folder}/files." in first


def test_a_role_that_could_fetch_nothing_is_given_no_task_before_a_person_names_hosts(make_task):
    home = StateFolder(make_task("x", task_id="tsk-zero").layout.root, 1_790_000_000.0)
    assert home.do("task.new", objective="Which version?", role="web").target  # it asks for each host
    home.layout.roles.mkdir(exist_ok=True)
    home.layout.role("reader").write_text('+++\npurpose = "p"\ntools = ["web_fetch"]\n+++\n\nRead.\n')
    with pytest.raises(ActionError, match=r"can reach no page.*--hosts"):
        home.do("task.new", objective="Which version?", role="reader")
    home.layout.config.write_text('[web]\nhosts = ["docs.python.org"]\n')
    assert home.do("task.new", objective="Which version?", role="reader").target
