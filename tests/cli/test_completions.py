"""What real shells complete with the scripts that are printed, committed and installed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pyte
import pytest
from lumen_until import until

from lumen_tui.cli import completions, reference
from lumen_tui.cli.main import main

SHARE = Path(__file__).resolve().parents[2] / "share"
COMMITTED = {
    "bash": SHARE / "bash-completion/completions/lumen-tui",
    "zsh": SHARE / "zsh/site-functions/_lumen-tui",
    "fish": SHARE / "fish/vendor_completions.d/lumen-tui.fish",
}
LINES = [
    (("sta",), {"status", "start"}),
    (("--state", "/tmp/x", "sta"), {"status", "start"}),
    (("archive", "w"), {"withdraw"}),
    (("task", "l"), {"limit", "list", "log"}),
    (("task", "new", "an objective", "--dep"), {"--depends-on"}),
    (("wu", "new", "title", "--type", "q"), {"question"}),
    (("inbox", "--no"), {"--no-mark"}),
    (("start", "--wu", "WU-001", "--context-tier", "f"), {"full"}),
    (("completions", "--inst"), {"--install"}),
]


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not shutil.which(shell), reason=f"needs {shell}")


@pytest.mark.parametrize("shell", COMMITTED)
def test_the_committed_script_is_what_the_declarations_give(shell: str) -> None:
    printed = completions.SCRIPTS[shell](reference.grammar())
    assert COMMITTED[shell].read_text(encoding="utf-8") == printed, "`make docs` writes it again"


def test_the_committed_manual_page_is_what_the_declarations_give() -> None:
    committed = (SHARE / "man/man1/lumen-tui.1").read_text(encoding="utf-8")
    assert committed == reference.man(), "`make docs` writes it again"


@needs("bash")
@pytest.mark.parametrize(("words", "offered"), [*LINES, (("nothing", "x"), set())])
def test_bash_completes_commands_options_and_values(words: tuple[str, ...], offered: set[str]) -> None:
    script = "\n".join(
        [
            f"source {shlex.quote(str(COMMITTED['bash']))}",
            f"COMP_WORDS=(lumen-tui {shlex.join(words)})",
            f"COMP_CWORD={len(words)}",
            "_lumen_tui",
            'printf "%s\\n" "${COMPREPLY[@]}"',
        ]
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30, check=True)
    assert done.stderr == ""
    assert {*done.stdout.split()} == offered


@needs("fish")
@pytest.mark.parametrize(("words", "offered"), LINES)
def test_fish_completes_commands_options_and_values(words: tuple[str, ...], offered: set[str], tmp_path: Path) -> None:
    line = shlex.join(["lumen-tui", *words])
    script = f"source {shlex.quote(str(COMMITTED['fish']))}; complete -C {shlex.quote(line)}"
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    done = subprocess.run(
        ["fish", "--no-config", "-c", script], capture_output=True, text=True, timeout=30, check=True, env=env
    )
    assert done.stderr == ""
    assert {row.partition("\t")[0] for row in done.stdout.splitlines()} == offered


class Zsh:
    """A zsh in a pseudo-terminal, with the completion in its function path as an installation has it."""

    def __init__(self, home: Path) -> None:
        self.screen = pyte.Screen(200, 60)
        self._stream = pyte.ByteStream(self.screen)
        pid, self.terminal = os.forkpty()
        if not pid:
            env = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "xterm", "LANG": "C.UTF-8"}
            os.execve(shutil.which("zsh") or "", ["zsh", "-f", "-i"], env)  # noqa: S606
        self.pid = pid
        os.set_blocking(self.terminal, False)
        folder = shlex.quote(str(COMMITTED["zsh"].parent))
        self.type(f"PS1='ready> '; stty columns 200 rows 60; fpath=({folder} $fpath)\r")
        self.type("autoload -U compinit; compinit -D -u; LISTMAX=500; zle_bracketed_paste=()\r")
        self.type("echo beg''an\r")
        self.shows("began")

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def shown(self) -> str:
        try:
            while data := os.read(self.terminal, 65536):
                self._stream.feed(data)
        except BlockingIOError:
            pass
        return "\n".join(line.rstrip() for line in self.screen.display)

    def shows(self, text: str) -> None:
        until(lambda: text in self.shown(), instead=self.shown)

    def close(self) -> None:
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


@needs("zsh")
def test_zsh_completes_commands_options_and_values(tmp_path: Path) -> None:
    shell = Zsh(tmp_path)
    try:
        for line, offered in LINES:
            shell.type(f"\x15\x0c{shlex.join(['lumen-tui', *line])}\t\t")
            for word in offered:  # the only candidate is put into the line, several are listed
                shell.shows(word if len(offered) > 1 else f"{word} ")
        shell.type("\x15\x0clumen-tui task \t")
        shell.shows("Queue a task")
    finally:
        shell.close()


@pytest.mark.parametrize("shell", COMMITTED)
def test_it_is_installed_where_the_shell_looks_with_the_manual_page(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "BASH_COMPLETION_USER_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert main(["completions", shell, "--install"]) == 0
    target = completions.place(shell, os.environ, tmp_path)
    assert target.read_bytes() == COMMITTED[shell].read_bytes()
    assert (tmp_path / ".local/share/man/man1/lumen-tui.1").read_text() == reference.man()
    assert str(target) in capsys.readouterr().out


@needs("fish")
def test_fish_finds_what_was_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert main(["completions", "fish", "--install"]) == 0
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # it loads completions of programs that are there
    env = {"PATH": path, "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    done = subprocess.run(
        ["fish", "-c", "complete -C 'lumen-tui stat'"], capture_output=True, text=True, timeout=30, check=True, env=env
    )
    assert done.stdout.startswith("status\t")
