"""`completions`: what bash, zsh and fish need to complete `lumen-tui`, printed or put where they look for it."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.cli import completions
from lumen_tui.cli.session import Session, say, talk
from lumen_tui.storage import directories, files

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    text = "Print the completion of a shell, or install it with the manual page."
    parser = commands.add("completions", run_completions, text, "completions bash --install")
    parser.add_argument("shell", metavar="SHELL", choices=tuple(completions.SCRIPTS), help="bash, zsh or fish")
    parser.add_argument("--install", action="store_true", help="write both to where the shell and man look for yours")
    parser.set_defaults(without_state=True)


def run_completions(session: Session, args: Namespace) -> int:
    from lumen_tui.cli import reference  # it declares every command

    script = completions.SCRIPTS[args.shell](reference.grammar())
    if not args.install:
        print(script, end="")
        return 0
    target = completions.place(args.shell, os.environ, Path.home())
    for path, text in ((target, script), (completions.manual_place(os.environ, Path.home()), reference.man())):
        directories.make_folder(path.parent)
        files.replace(path, text.encode())
        say(f"{path} is written")
    if args.shell == "zsh":
        talk(f"zsh looks there where ~/.zshrc says so before compinit: fpath=({target.parent} $fpath)")
    talk("it counts in the next shell; after an upgrade of the program install it again")
    return 0
