"""Every command line in the README and the documents is one that `lumen-tui` understands."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest
from lumen_commands import all_commands

from lumen_tui.cli.lumenflow.mem import ROWS
from lumen_tui.cli.lumenflow.spelling import parser
from lumen_tui.cli.parser import COMMANDS, ELSEWHERE

LINE = re.compile(r"(?:`|^|  )(?:\.venv/bin/)?(lumen-tui [a-z][^`\n]*)", re.M)
PARSERS = dict(all_commands()._subparsers._group_actions[0].choices)


def spoken(text: str) -> list[list[str]]:
    """The commands of a document in words: each of `task list | show ID`, without what is said beside it."""
    found = []
    for said in LINE.findall(text):
        for part in re.split(r"  +(?=lumen-tui )", said):
            verb, *others = re.split(r"  +|  *#", part.removeprefix("lumen-tui "))[0].split(" | ")
            words = shlex.split(verb.replace("[", "").replace("]", ""))
            found.append(words)
            for other in map(shlex.split, others):
                alone = other[0] in COMMANDS and other[0] not in below(words[0])
                found.append(other if alone else [words[0], *other])
    return found


def below(verb: str) -> dict[str, argparse.ArgumentParser]:
    """The commands of two words that begin with this one."""
    joined = {name.partition("-")[2]: PARSERS[name] for name in COMMANDS if name.startswith(f"{verb}-")}
    groups = PARSERS[verb]._subparsers._group_actions if verb in PARSERS and PARSERS[verb]._subparsers else ()
    return joined | {name: parser for group in groups for name, parser in group.choices.items()}


def trouble(words: list[str]) -> str:
    """What the program would not know in it; empty where it knows all."""
    verb, *rest = words
    if verb == "service" and "--" in rest:  # what follows are words of another command
        place = rest.index("--")
        other = "host" if "--host" in rest[:place] else "serve"
        return trouble([verb, *rest[:place]]) or trouble([other, *rest[place + 1 :]])
    if verb in ELSEWHERE or verb.isupper():
        return ""
    if verb in ROWS:
        strange = [word for word in rest if word.startswith("-") and word not in _flags(verb)]
        return f"{verb} takes no {strange}" if strange else ""
    if verb not in PARSERS:
        return f"no command {verb}"
    parser = below(verb).get(rest[0]) if rest else None
    if parser is None and PARSERS[verb]._subparsers and rest and not rest[0].startswith("-"):
        return f"no command {verb} {rest[0]}"
    known = {
        "--state",
        "--operator",
        "--verbatim",
        *PARSERS[verb]._option_string_actions,
        *(parser._option_string_actions if parser else ()),
        *(meant._option_string_actions if (meant := below(verb).get(PARSERS[verb].alone)) else ()),
    }
    strange = [word for word in rest if re.match(r"--?[a-z]", word) and word not in known]
    return f"{verb} takes no {strange}" if strange else ""


def _flags(spelled: str) -> set[str]:
    return {*parser(spelled, ROWS[spelled])._option_string_actions}


def documents(root: Path) -> list[Path]:
    return [root / "README.md", root / "AGENTS.md", *(root / "docs").rglob("*.md")]


def test_every_documented_command_is_one(root: Path) -> None:
    commands = [words for path in documents(root) for words in spoken(path.read_text(encoding="utf-8"))]
    assert len(commands) > 80
    assert [(words, why) for words in commands if (why := trouble(words))] == []


@pytest.mark.parametrize(
    "said",
    [
        "lumen-tui taks list",
        "lumen-tui mem:sgnal x",
        "lumen-tui mem:signal x --bad",
        "`lumen-tui task lits`",
        "lumen-tui task list --bad",
        "lumen-tui task list | shwo ID",
        "lumen-tui service install --serve -- --prot 1",
    ],
)
def test_one_that_is_not_is_found(said: str) -> None:
    assert any(map(trouble, spoken(said)))
