"""The read-only shell refuses everything that could write, run a program, hang or show secrets."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

ESCAPES = [
    # redirection, lists, substitution, variables
    "echo x > canary", "echo x >> canary", "cat < canary", "ls; touch new", "ls && touch new", "ls || touch new",
    "ls & touch new", "ls &", "echo $(touch new)", "echo `touch new`", 'echo "$(touch new)"', 'echo "`touch new`"',
    "echo ${PATH}", "echo $HOME", "(touch new)", "{ touch new; }", "ls\ntouch new", "ls\rtouch new", "ls | tee new",
    "ls | xargs touch", "cat <(touch new)", "ls | sh", "ls |", "| ls", "echo x >| canary", "cat <<EOF", "ls |& tee new",
    # programs that are not on the list
    "touch new", "rm canary", "mv canary new", "cp canary new", "dd if=canary of=new",
    "python3 -c 'open(\"new\",\"w\")'",
    "sh -c 'touch new'", "bash -c 'touch new'", "awk 'BEGIN{system(\"touch new\")}'", "sed -i s/a/b/ canary",
    "perl -e 'unlink \"canary\"'", "env touch new", "FOO=bar touch new", "PATH=. ls", "LD_PRELOAD=./x.so ls",
    "sudo ls", "nohup touch new", "/bin/ls", "./ls", "exec ls", "eval ls", "command touch new", "time touch new",
    "truncate -s 0 canary", "ln -s canary new", "mkdir new", "chmod 777 canary", "tee new", "vim -c ':w new'",
    "less canary", "man ls", "xxd canary new", "hostname evil", "curl http://127.0.0.1/", "kill 1", "crontab -r",
    # options that write or run programs
    "sort -o canary canary", "sort --output=canary canary", "sort --outp=canary canary", "sort canary -o new",
    "sort -uo new canary", "sort -T . canary", "sort --compress-program=./evil canary", "sort -S 1b canary",
    "sort -k -onew canary", "uniq canary new", "uniq -c canary new", "uniq - new", "tree -o new", "file -C -m canary",
    "file -m canary canary", "split canary", "csplit canary 1", "md5sum -c canary", "du --files0-from=canary",
    "wc --files0-from=canary", "sort --files0-from=canary",
    # find
    "find . -delete", "find . -exec touch new ';'", "find . -exec touch new \\;", "find . -execdir touch new +",
    "find . -ok touch new \\;", "find . -fprint new", "find . -fprintf new x", "find . -fls new",
    "find . -name -delete", "find -files0-from canary",
    "find . -name x -o -delete", "find -D exec .", "find . -fprint0 new",
    # git
    "git log --output=new", "git diff --output new", "git -c core.pager=touch\\ new log", "git -c alias.x=!touch x",
    "git --exec-path=. log", "git diff --ext-diff", "git log -p --textconv", "git diff --no-index canary canary",
    "git commit -am x", "git checkout .", "git push", "git fetch", "git grep x", "git archive --output=new HEAD",
    "git log --format=%GS", "git status -u --output=new", "git log -U --output=new", "git config x.y z", "git gc",
    "git branch new", "git tag new", "git stash", "git bisect run touch new", "git --git-dir=x log", "git",
    "git show --show-signature", "git log --grep --output=new", "git difftool", "git log --submodule=diff",
    # time, waiting, devices, secrets
    "date -s 2020-01-01", "date --set=2020-01-01", "date 010100002020", "date -f canary", "tail -f canary",
    "tail -F canary", "tail --follow canary", "tail -5f canary", "tail +5f canary", "tail --retry canary",
    "tail --foll canary", "cat /dev/zero", "head -c 1 /dev/random", "cat pipe", "wc pipe", "od -w /dev/zero",
    "cat /proc/self/environ", "strings /proc/1/environ", "ps auxe", "ps e", "ps -auxe", "ps axe -o args",
    "cat /proc/self/cwd/canary", "cat /proc/thread-self/root/etc/hostname", "cat /dev/fd/0", "cat /dev/stdin",
    "git diff canary /etc/hostname", "git -C repo diff file /etc/hostname", "git -C repo diff ../canary file",
    "grep -r KEY /proc", "grep -f /dev/stdin x", "cat ../../engine.lock", "cat ../../commands.jsonl",
    # quoting tricks
    "s''h -c id", "\\touch new", '"touch" new', "l\\\ns", "ls 'unclosed", "ls \\", "echo x\x00", "{touch,new}",
    "ls #comment", "ls --color=always --bogus", "-c", "''",
]  # fmt: skip

ALLOWED = [
    ("ls", "canary"), ("ls -la", "canary"), ("cat canary", "alive"), ("cat 'canary'", "alive"), ("cat c*y", "alive"),
    ("head -n 1 canary", "alive"), ("head -1 canary", "alive"), ("tail -n 1 canary", "alive"), ("wc -c canary", "6"),
    ("cat canary | wc -l", "1"), ("sort canary | uniq -c", "1 alive"), ("cut -c1-2 canary", "al"),
    ("echo 'a;b>c|d$e'", "a;b>c|d$e"), ("find . -name 'can*' -type f", "./canary"), ("find . -mtime -7", "canary"),
    ("find . \\( -name a -o -name canary \\) -print", "canary"), ("grep -rn alive .", "canary:1:alive"),
    ("grep -c 'a|b' canary; ".rstrip("; "), "0"), ("date +%Y", "20"), ("du -sh .", "."), ("df -h .", "%"),
    ("uname -s", "Linux"),
    ("stat -c %s canary", "6"), ("ps aux", "PID"), ("ps -eo pid,comm", "PID"), ("du -a . | sort -rn | head -3", "."),
    ("tr a-z A-Z", ""), ("git -C repo log --oneline", "first"), ("git --no-pager -C repo show --stat HEAD", "first"),
    ("git -C repo status --short", ""), ("git -C repo ls-files", "file"), ("git -C repo blame file", "one"),
    ("git -C repo log --format='%h %an' -n 5", "Ada"), ("git -C repo diff", ""),
    ("git -C repo diff HEAD -- file", ""), ("cat /proc/mounts", "/"), ("cat *missing* | wc -l", "0"),
]  # fmt: skip


@pytest.fixture(scope="module")
def first_commit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one file, to be copied."""
    home = tmp_path_factory.mktemp("home")
    repo = home / "repo"
    repo.mkdir()
    (repo / "file").write_text("one\n")
    for command in (
        "git init -q", "git config user.name Ada", "git config user.email a@b", "git add .", "git commit -qm first",
    ):  # fmt: skip
        subprocess.run(command.split(), cwd=repo, check=True, env={"PATH": os.environ["PATH"], "HOME": str(home)})
    return repo


@pytest.fixture
def place(tmp_path: Path, state: object, first_commit: Path) -> Path:
    """A folder to attack: a canary, a pipe and a repository."""
    folder = tmp_path / "state" / "tasks" / "tsk-a"
    (folder / "canary").write_text("alive\n")
    os.mkfifo(folder / "pipe")
    (folder.parent.parent / "engine.lock").write_text("x")
    (folder.parent.parent / "commands.jsonl").write_text("{}\n")
    shutil.copytree(first_commit, folder / "repo", symlinks=True)
    return folder


def living(words: str) -> list[str]:
    """The processes with this command line; ended ones that nobody waited for have none."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if line.read_text().rstrip("\0") == words:
                found.append(line.parent.name)
        except OSError:
            continue
    return found


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("command", ESCAPES)
def test_an_escape_is_refused_and_changes_nothing(command, place, make_box):
    before = tree(place)
    began = time.monotonic()
    result = make_box("read").call("shell", {"command": command, "cwd": str(place)})
    assert not result.ok
    assert "exit code" not in result.text, "it was run"
    assert time.monotonic() - began < 5
    assert tree(place) == before
    assert (place / "canary").read_text() == "alive\n"


@pytest.mark.sweep(most=14)
@pytest.mark.parametrize(("command", "wanted"), ALLOWED)
def test_a_reading_command_runs(command, wanted, place, make_box, yes):
    result = make_box("read", ask=yes).call("shell", {"command": command, "cwd": str(place)})
    assert result.ok or "grep -c" in command, result.text
    assert wanted in result.text


def test_a_file_named_like_an_option_stays_a_file(place, make_box):
    (place / "-o").write_text("zz\n")
    (place / "-delete").write_text("zz\n")
    result = make_box("read").call("shell", {"command": "sort *e*e canary", "cwd": str(place)})
    assert result.ok
    assert "zz" in result.text
    assert tree(place)[str(place / "canary")] == b"alive\n"


@pytest.mark.parametrize(
    "setting",
    ["core.fsmonitor=touch ../new", "diff.external=touch ../new", "core.pager=touch ../new", "core.hooksPath=hooks",
     "diff.x.textconv=touch ../new", "filter.x.clean=touch ../new", "gpg.program=touch", "diff.x.command=touch ../new"],
)  # fmt: skip
def test_a_repository_cannot_make_git_run_its_programs(setting, place, make_box):
    repo = place / "repo"
    key, _, value = setting.partition("=")
    subprocess.run(["git", "config", key, value], cwd=repo, check=True)
    (repo / ".gitattributes").write_text("* diff=x filter=x\n")
    (repo / "hooks").mkdir()
    (repo / "hooks" / "post-index-change").write_text("#!/bin/sh\ntouch ../new\n")
    (repo / "hooks" / "post-index-change").chmod(0o755)
    (repo / "file").write_text("two\n")
    for command in ("git status", "git diff", "git log -p", "git show", "git blame file", "git log --format=%an"):
        make_box("read").call("shell", {"command": command, "cwd": str(repo)})
    assert not (place / "new").exists()


def test_a_stop_ends_the_running_command(make_box, place, yes):
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    from lumen_tui.tools.base import Stopped

    began = time.monotonic()
    with pytest.raises(Stopped):
        make_box("any", write=True, network=True, ask=yes, stopped=stop.is_set).call(
            "shell", {"command": "sleep 60.173 & setsid sleep 60.173 & sleep 60.173", "cwd": str(place)}
        )
    assert time.monotonic() - began < 3
    assert living("sleep\x0060.173") == []


def test_a_command_that_takes_too_long_is_ended(make_box, place, yes):
    began = time.monotonic()
    result = make_box("any", write=True, network=True, ask=yes).call(
        "shell",
        {"command": "trap '' TERM; echo before; while :; do sleep 0.1; done", "cwd": str(place), "seconds": 0.5},
    )
    assert time.monotonic() - began < 4
    assert not result.ok
    assert "before" in result.text
    assert "ended after 0.5 seconds" in result.text


def test_endless_output_is_cut_while_it_runs(make_box, place, yes):
    began = time.monotonic()
    result = make_box("any", write=True, network=True, ask=yes).call(
        "shell", {"command": "yes lumen", "cwd": str(place)}
    )
    assert time.monotonic() - began < 10
    assert not result.ok
    assert "left out" in result.text
    assert len(result.text) < 70_000
    assert result.truncated > 1_000_000


def test_a_command_in_the_background_does_not_hold_the_call(make_box, place, yes):
    began = time.monotonic()
    result = make_box("any", write=True, network=True, ask=yes).call(
        "shell", {"command": "sleep 50 & echo up", "cwd": str(place)}
    )
    assert time.monotonic() - began < 4
    assert result.ok
    assert "up" in result.text


def test_a_child_gets_no_secrets_in_its_environment(make_box, place):
    box = make_box(
        "any", write=True, network=True, environ={"ANTHROPIC_API_KEY": "sk-ant-0123456789abcdefgh", "X": "y"}
    )
    result = box.call("shell", {"command": "env", "cwd": str(place)})
    assert "ANTHROPIC" not in result.text
    assert "X=y" not in result.text


def test_without_network_a_command_reaches_nothing(make_box, place):
    """Whichever walls there are; where there are none it is not run, as here nobody says yes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 10)"
        call = {"command": f'{sys.executable} -I -S -c "{connect}"', "cwd": str(place)}
        given = make_box("any", write=True, network=True).call("shell", call)
        assert reached(server) == given.ok, given.text
        kept = make_box("any", write=True).call("shell", call)
        assert not kept.ok
        assert not reached(server), kept.text


def reached(server: socket.socket) -> bool:
    """Whether somebody connected; the connection is taken off the queue."""
    if not select.select([server], [], [], 0)[0]:
        return False
    server.accept()[0].close()
    return True
