"""What "allow always" means for a command that runs what stands in files, and where there is no sandbox around it."""

from __future__ import annotations

import pytest
from lumen_rows import each_row

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.main import main
from lumen_tui.model.approvals import AllowRule, allows, preview_rule
from lumen_tui.model.runners import runs_files
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.policy.verdict import PolicyCall, narrow_rule

RUN_FILES = {
    "make test": "make", "npm run build": "npm", "python x.py": "python", "pytest -q": "pytest", "./build": "./build",
    "cargo test": "cargo", "uv run pytest": "uv", "cp a b; make": "make", "cd sub && tox": "tox", "curl x | sh": "sh",
    "FOO=1 git push": "FOO", "rm *": "rm with what is put in only then", "cat $X": "cat with what is put in only then",
    "git -c core.pager=x log": "git with a setting", "git push --receive-pack=./x o": "git with a program of its own",
    "m\\ake": "m\\ake", "ma'ke'": "make", "if true; then make; fi": "if", ". ./env": ".", "sort --compress-program=x a":
    "sort with a program of its own", "tar xf a": "tar", "find . -exec ./x": "find with a program of its own",
    "git\u00a0push": "git\u00a0push",
}  # fmt: skip
DO_AS_TOLD = ("git push origin main", "git commit -am 'make it; quick'", "mkdir -p a/b", "rm -rf build 2>&1",
              "cd sub && git push", "echo hi > notes", "systemctl restart app")  # fmt: skip


@each_row("command", RUN_FILES)
def test_a_command_that_goes_by_files_is_known(command):
    assert runs_files(command) == RUN_FILES[command]
    assert narrow_rule(PolicyCall("shell", command), unsandboxed=True) == ""


@each_row("command", DO_AS_TOLD)
def test_a_command_that_does_what_it_says_is_known_too(command):
    assert runs_files(command) == ""
    assert narrow_rule(PolicyCall("shell", command), unsandboxed=True) == command


def test_the_preview_of_a_rule_says_that_it_runs_files(ask):
    assert "It runs or goes by what is in files (make), and the worker may write those" in preview_rule(
        ask("make test", rule="make test")
    )
    assert "files" not in preview_rule(ask("git push", rule="git push"))


def test_without_a_sandbox_no_rule_is_made_of_it_by_hand_either(store, ask, folder, capsys):
    request = ask("make test", rule="", unwalled=True)
    for pattern in ("", "make test", "make *", "git *"):
        with pytest.raises(ActionError, match="there is no sandbox around it"):
            folder.do("approval.allow_always", approval_id=request.id, pattern=pattern)
    assert main(["--state", str(store.root), "approvals", "show", request.id]) == 0
    assert "there is no sandbox around it" in capsys.readouterr().out
    assert load_config(store.layout)[0].allow == ()


def test_a_rule_from_within_walls_does_not_hold_without_them(store, ask, folder):
    walled, bare = ask("git push", rule="git push"), ask("git push", rule="git push", task="tsk-two", unwalled=True)
    folder.do("approval.allow_always", approval_id=walled.id)
    (rule,) = load_config(store.layout)[0].allow
    assert not rule.unwalled
    assert not allows(rule, tool="shell", role="builder", target="git push", unwalled=True)
    assert folder.do("approval.allow_always", approval_id=bare.id).summary.endswith(
        "without asking and without a sandbox"
    )
    assert [one.unwalled for one in load_config(store.layout)[0].allow] == [False, True]


def test_a_rule_without_walls_holds_within_them():
    rule = AllowRule("shell", "builder", "git push", unwalled=True)
    assert all(allows(rule, tool="shell", role="builder", target="git push", unwalled=bare) for bare in (True, False))
