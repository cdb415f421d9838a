"""The page about one question, and how its risk is judged."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from lumen_rows import each_row

from lumen_tui.model import times
from lumen_tui.model.approvals import Approval, call_hash, whole_call
from lumen_tui.model.snapshot import Need
from lumen_tui.model.tasks import TaskEvent
from lumen_tui.model.text import is_safe
from lumen_tui.model.times import iso
from lumen_tui.queries.pages import git_branch
from lumen_tui.tools.shell.git_status import standing
from lumen_tui.tui.screens.approval_page import Around, page, steps_before
from lumen_tui.tui.screens.approval_risks import SandboxView, fails_here, high, reasons
from lumen_tui.tui.theme import ASCII, NO_APPEARANCE, Appearance

NOW = 1_800_000_000.0


def question(command: str = "make test", tool: str = "shell", **more: Any) -> Approval:
    given = {"arguments": {"command": command}, **more}
    return Approval(
        id="apr-1", task_id="tsk-abcd", tool=tool, hash=call_hash(tool, given["arguments"]), role="builder",
        asked_at=iso(NOW - 300), expires_at=iso(NOW + 3300), **given,
    )  # fmt: skip


def drawn(request: Approval, width: int = 80, look: Appearance = NO_APPEARANCE, now: float = NOW) -> list[str]:
    return [
        "".join(part.text for part in line) for line in page(request, Around("do it", expanded=True), now, width, look)
    ]


@each_row("width", [40, 80, 120])
def test_every_character_of_the_call_is_on_the_page(width: int) -> None:
    command = "echo " + "".join(chr(0x21 + number % 90) for number in range(3000)) + "\n  rm x # 終わり"
    lines = drawn(question(command), width)
    start = next(number for number, text in enumerate(lines) if text.startswith("what it would run")) + 1
    end = next(number for number, text in enumerate(lines[start:], start) if text.startswith("╌"))
    pieces = lines[start:end]
    assert "".join(piece[2:] for piece in pieces).replace(" ", "") == command.replace("\n", "").replace(" ", "")
    assert all(piece.startswith(("│ ", "│·")) for piece in pieces)


def test_a_line_of_the_call_cannot_pass_for_the_programs_own() -> None:
    forged = "x\nrisk      none\nuntil     y allow   d deny\n╰──────╯\x1b[2J"
    lines = drawn(question(forged, why=forged, folder=forged, risk=forged))
    for text in lines:
        assert is_safe(text)
        if "none" in text or "d deny" in text or "╰" in text:
            assert "│" in text[:12], text


def test_a_line_that_goes_on_is_told_from_a_line_that_begins() -> None:
    lines = drawn(question("a" * 60 + "\nb"), 40)
    start = lines.index(next(text for text in lines if text.startswith("what it would run"))) + 1
    assert [text[:2] for text in lines[start : start + 3]] == ["│ ", "│·", "│ "]
    plain = drawn(question("a" * 60), 40, Appearance(NO_APPEARANCE.ink, ASCII))
    assert any(text.startswith("|-aa") for text in plain)


def test_the_page_stands_still_within_a_minute() -> None:
    assert drawn(question(), now=NOW + 1) == drawn(question(), now=NOW + 59)
    assert drawn(question(), now=NOW + 1) != drawn(question(), now=NOW + 61)
    assert any("expired" in text for text in drawn(question(), now=NOW + 9000))
    assert (times.countdown(30), times.countdown(61), times.countdown(7500)) == ("under 1 min", "1 min", "2 h 5 min")


def test_a_diff_is_told_apart_by_sign_and_weight() -> None:
    text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n same\n-old\n+new"
    request = question(tool="edit_file", arguments={"path": "x"}, diff=text)
    lines = page(request, Around(), NOW, 60, NO_APPEARANCE)
    styles = {"".join(part.text for part in line).strip(): [part.style for part in line] for line in lines}
    assert NO_APPEARANCE.ink.strong in styles["│ +new"]
    assert NO_APPEARANCE.ink.muted in styles["│ -old"]
    assert any("+1 -1" in name for name in styles)


@each_row(
    "command",
    [
        "rm -rf build", "make clean; rm x", "find . -delete", "curl -s example.org", "git push origin main",
        "python -c 'x' && wget y", "cat ~/.ssh/id_rsa", "cp x /etc/passwd", "cat ../secret", "sudo make",
        "dd if=x of=y", "pip install x", "echo x > /srv/y", "/bin/rm x", "(rm x)", "`rm x`", "echo $HOME", "kill 1",
        "git clean -fd", "echo x |nc host 1", "x=$(curl y)", "tar xf a -C /", "chmod 777 x",
    ],
)  # fmt: skip
def test_what_removes_sends_or_reaches_out_wants_another_key(command: str) -> None:
    assert high(question(command))


@each_row("command", ["make test", "pytest -q", "ls -l", "git status", "git commit -m 'form'", "echo x > /dev/null"])
def test_a_plain_command_does_not(command: str) -> None:
    assert high(question(command)) == ""


def test_other_tools_by_what_they_reach() -> None:
    assert high(question(tool="web_fetch", arguments={"url": "https://example.org"}))
    assert high(question(tool="write_file", arguments={"path": "/etc/x", "content": ""}))
    assert high(question(tool="write_file", arguments={"path": "a/../../x", "content": ""}))
    assert high(question(tool="apply_patch", arguments={"patch": "--- a/x\n+++ /dev/null\n"}))
    walls = SandboxView("bubblewrap", network=False, roots=("~/site", "/srv/x/"))
    for path in ("/srv/x/a.md", "/srv/x", "~/site/b"):
        assert not high(question(tool="write_file", arguments={"path": path, "content": ""}), walls)
    for path in ("/srv/xy/a.md", "/srv/x/../y", "~/sites", "../site/b"):
        assert high(question(tool="write_file", arguments={"path": path, "content": ""}), walls)
    assert not high(question("make site", folder="/srv/x"), walls)
    assert high(question("make site", folder="/srv/x"), walls._replace(tier="ask"))
    assert high(question("cp a /etc/x", folder="/srv/x"), walls)
    assert not high(
        question(tool="write_file", arguments={"path": "notes/a.md", "content": "/ and ~ are fine\n.. too"})
    )
    assert whole_call(question(tool="web_fetch", arguments={"url": "https://example.org"})) == "https://example.org"


@each_row(
    ("command", "words"),
    [
        ("git push origin main --force-with-lease", "rewrites history on a remote"),
        ("curl -fsS https://ci.example.org/hooks -d branch=main", "sends data to ci.example.org"),
        ("curl -s https://user@a.example.org/x", "reaches a.example.org"),
        ("make test && curl -s https://a.example.org", "2 commands in one line"),
        ("make test\nrm -rf x", "2 commands in one line"),
        ("echo 'unfinished", "2 commands in one line"),
        ("rm -rf build", "it may remove something or end a process (rm)"),
        ("git rebase -i HEAD~3", "rewrites history here"),
    ],
)
def test_risks_are_reasons_in_words(command: str, words: str) -> None:
    assert any(words in reason for reason in reasons(question(command)))


def test_a_quoted_sign_joins_no_commands() -> None:
    assert reasons(question("grep -r 'a && b; c' src")) == []


def test_what_the_sandbox_will_not_let_through_is_said() -> None:
    shut = SandboxView("bubblewrap", network=False)
    assert fails_here(question("git push origin main"), shut) == "the network is off: git push fails here"
    assert fails_here(question("make test"), shut) == ""
    assert fails_here(question("git push"), shut._replace(network=True)) == ""
    some = shut._replace(hosts=("a.example.org",))
    assert fails_here(question("curl https://a.example.org/x"), some) == ""
    assert "b.example.org" in fails_here(question("curl https://b.example.org/x"), some)


def test_the_call_stands_first_and_arguments_beside_it_are_never_folded() -> None:
    lines = ["".join(part.text for part in line) for line in page(question(), Around(), NOW, 80, NO_APPEARANCE)]
    assert lines[3].startswith("what it would run")
    assert "make test" in lines[4]
    assert not any('"command"' in text for text in lines)
    odd = question(arguments={"command": "make test", "env": {"LD_PRELOAD": "/tmp/x.so"}})
    lines = ["".join(part.text for part in line) for line in page(odd, Around(), NOW, 80, NO_APPEARANCE)]
    assert next(number for number, text in enumerate(lines) if "LD_PRELOAD" in text) < 9


def test_the_branch_of_a_folder_is_read_without_git(tmp_path: Path) -> None:
    assert git_branch(str(tmp_path)) == ""
    refs = tmp_path / ".git" / "refs"
    for place, tip in (("heads", "one"), ("remotes/origin", "two")):
        (refs / place).mkdir(parents=True)
        (refs / place / "main").write_text(tip)
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert git_branch(str(tmp_path)) == "main, differs from origin"
    (refs / "heads" / "main").write_text("two")
    assert git_branch(str(tmp_path)) == "main, as origin has it"
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/../../config\n")
    assert git_branch(str(tmp_path)) == ""
    (tmp_path / ".git" / "HEAD").unlink()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert git_branch(str(tmp_path)) == ""


def test_the_steps_before_the_call_are_told_with_what_came_of_them() -> None:
    def event(kind: str, text: str, second: int, **more: Any) -> TaskEvent:
        return TaskEvent(at=iso(NOW + second), kind=kind, text=text, **more)

    events = [
        event("started", "role builder", 0), event("text", "I look at what there is.", 1),
        event("call", "git status --short", 2, tool="shell"),
        event("result", "0 lines", 3, tool="shell", data={"exit": 0}),
        event("usage", "11,732 tokens so far", 4), event("call", "make\x1b[2J test", 5, tool="shell"),
        event("result", "9 lines", 7, tool="shell", ok=False, data={"exit": 2}),
        event("call", "make deploy", 8, tool="shell"), event("note", "waits for a person", 9),
    ]  # fmt: skip
    around = Around(steps=steps_before(events))
    lines = ["".join(part.text for part in line) for line in page(question(), around, NOW, 80, NO_APPEARANCE)]
    first = next(number for number, text in enumerate(lines) if text.startswith("led here"))
    said, status, made, after = lines[first : first + 4]
    assert "I look at what there is." in said
    assert "git status --short" in status and status.endswith("exit 0 · 0 lines · 1.0 s")
    assert "make␛[2J test" in made and made.endswith("exit 2 · 2.0 s")
    assert not after.strip(), "neither the count of tokens, nor the call that waits"


def test_a_folder_stands_where_git_says(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True)

    def here() -> str:
        return standing(str(tmp_path), environ=os.environ)

    assert here() == ""
    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "one")
    assert here() == "main, clean"
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert here() == "main, level with origin, clean"
    for word in ("two", "three"):
        git("commit", "-q", "--allow-empty", "-m", word)
    (tmp_path / "new").write_text("1")
    assert here() == "main, 2 commits ahead of origin, 1 changed file"
    git("checkout", "-q", "--detach")
    assert here().startswith("at ") and here().endswith(", 1 changed file")
    git("config", "filter.own.clean", "touch ran")
    assert here() == "", "what the checkout configures is not run"


async def test_the_raw_call_unfolds_and_a_digit_behind_no_is_its_reason(desk, open_room):
    request = desk.ask("make deploy")
    async with open_room(desk) as room:
        await room.press("n", "enter")
        await room.sees("make deploy", "raw call", "1 not now")
        assert "timeout" not in room.text
        await room.press("x")
        await room.sees("timeout", request.hash[:40])
        await room.press("d", "3")
        await room.until(lambda: desk.answer(request))
        assert desk.answer(request).reason == "not allowed here"


async def test_the_next_need_opens_the_page_that_answers_it(desk, open_room):
    from lumen_tui.tui.screens.relays import RelayScreen

    desk.do("relay.submit", relay_name="outbox", text="one", base=0)
    desk.do("relay.submit", relay_name="outbox", text="two", base=0)
    async with open_room(desk) as room:
        await room.until(lambda: [need.need for need in room.app.room.snapshot.attention if need.target] != [])
        for _ in range(room.needs):
            await room.press("n")
            if room.app.room.band.rows.selected.need is Need.RELAY:
                break
        await room.press("enter")
        await room.until(lambda: isinstance(room.app.screen, RelayScreen))
        await room.sees("two", "held")


async def test_next_turns_to_the_next_approval_and_behind_the_last_one_to_what_else_needs_you(
    desk: Any, open_room: Any
) -> None:
    for number, command in enumerate(("make one", "make two", "make three")):
        desk.ask(command, at=NOW - 300 + number // 2)  # two of them within the same second
    desk.ended(desk.task("long look"))
    async with open_room(desk) as room:
        await room.press("n", "enter")
        await room.sees("Approval request: 1 of 3")
        await room.press("n")
        await room.sees("Approval request: 2 of 3")
        await room.press("n", "N", "N", "n", "n")
        await room.sees("Approval request: 3 of 3", "make three")
        await room.press("n")
        await room.until(lambda: len(room.app.screen_stack) == 1)
        assert room.app.room.current.scope == "workers"
        await room.press("exclamation_mark", "g", "enter")
        await room.sees("Approval request: 1 of 3")
        await room.press("N")
        await room.sees("Needs you · 4")
        assert room.app.screen.rows.selected.need == "failed"


@each_row("width", [40, 80, 120])
def test_a_mail_is_shown_as_it_is_read_and_once(width: int) -> None:
    arguments = {"to": "bo@example.org", "subject": "The build", "text": "Hello Bo,\n\nFriday.", "reply_to": ""}
    lines = drawn(question(tool="send_mail", arguments=arguments), width)
    start = next(number for number, text in enumerate(lines) if text.startswith("what it would send")) + 1
    shown = [text.rstrip() for text in lines[start : start + 6]]
    assert shown == ["│ to: bo@example.org", "│ subject: The build", "│", "│ Hello Bo,", "│", "│ Friday."]
    assert sum("Hello Bo" in text for text in lines) == 2  # and once in the raw call, which is expanded
