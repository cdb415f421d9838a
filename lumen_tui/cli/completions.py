"""Scripts with which bash, zsh and fish complete `lumen-tui`, made of the grammar, and where each shell looks for one.

A script holds all words, so that a press of Tab starts no program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from lumen_tui.cli.parser import ELSEWHERE
from lumen_tui.model.grammar import COMMON, Candidate, Grammar

_BASH = """\
# bash completion of lumen-tui; `lumen-tui completions bash` prints it
_lumen_tui() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words="" values="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            --state | --operator) ((i++)) ;;
            -*) ;;
            *) words+=" ${COMP_WORDS[i]}" ;;
        esac
    done
    case "$words " in
%s
    esac
    COMPREPLY=($(compgen -W "$values" -- "$word"))
}
complete -o default -F _lumen_tui lumen-tui lumen
"""
_ZSH = """\
#compdef lumen-tui lumen
# zsh completion of lumen-tui; `lumen-tui completions zsh` prints it
_lumen_tui() {
    local before=${words[CURRENT - 1]} given="" i
    local -a offered values
    for ((i = 2; i < CURRENT; i++)); do
        case ${words[i]} in
            --state | --operator) ((i++)) ;;
            -*) ;;
            *) given+=" ${words[i]}" ;;
        esac
    done
    case "$given " in
%s
    esac
    if (( $#values )); then
        compadd -a values
    else
        _describe lumen-tui offered || _files
    fi
}
if [[ $funcstack[1] == _lumen-tui ]]; then
    _lumen_tui "$@"
else
    compdef _lumen_tui lumen-tui lumen
fi
"""
_FISH = """\
# fish completion of lumen-tui; `lumen-tui completions fish` prints it
function __lumen_tui_given
    set -l given
    set -l value 0
    for word in (commandline -opc)[2..]
        if test $value = 1
            set value 0
        else if contains -- $word --state --operator
            set value 1
        else if not string match -q -- '-*' $word
            set -a given $word
        end
    end
    echo "$given "
end
function __lumen_tui_is
    test (__lumen_tui_given) = "$argv "
end
function __lumen_tui_in
    string match -q -- "$argv *" (__lumen_tui_given)
end
complete -c lumen -w lumen-tui
%s
"""


class CompletedCommand(NamedTuple):
    """What may come behind the words of a command (none: behind the program), and the values of options of a few."""

    words: str
    below: list[Candidate]
    options: list[Candidate]
    choices: dict[str, list[str]]

    @property
    def offers(self) -> list[Candidate]:
        return [*self.below, *self.options]


def completed_commands(grammar: Grammar) -> list[CompletedCommand]:
    """Return all commands, those of two words before their nouns and the program itself last."""
    commands = []
    for command in sorted(grammar.commands, key=lambda each: -each.words.count(" ")):
        below = [Candidate(each.words.partition(" ")[2], each.help) for each in grammar.below(command.words)]
        taken = grammar.meant(command).options
        options = [Candidate(name, option.help) for option in taken for name in option.names]
        choices = {name: [*option.choices] for option in taken if option.choices for name in option.names}
        common = [Candidate(name) for name in COMMON]
        commands.append(CompletedCommand(command.words, below, [*options, *common], choices))
    nouns = [Candidate(*noun) for noun in grammar.nouns.items()]
    return [*commands, CompletedCommand("", [*nouns, *map(Candidate, ELSEWHERE)], [], {})]


def bash(grammar: Grammar) -> str:
    """Return the script for bash."""
    return _BASH % "\n".join(map(_bash_case, completed_commands(grammar)))


def _bash_case(command: CompletedCommand) -> str:
    offered = "\n".join(offer.word for offer in command.offers)
    values = [f'{name}) values="{" ".join(words)}" ;;' for name, words in command.choices.items()]
    return _case(command, f'values="{offered}"', values)


def _case(command: CompletedCommand, offered: str, values: Iterable[str]) -> str:
    """Return the branch of one command in the syntax that bash and zsh share."""
    pattern = f'        " {command.words} "*)' if command.words else '        " ")'
    of_options = [f"            case $before in {' '.join(values)} esac"] if command.choices else []
    return "\n".join([pattern, f"            {offered}", *of_options, "            ;;"])


def zsh(grammar: Grammar) -> str:
    """Return the script for zsh, which shows the help beside each word."""
    return _ZSH % "\n".join(map(_zsh_case, completed_commands(grammar)))


def _zsh_case(command: CompletedCommand) -> str:
    offered = "\n".join(_quoted(f"{each.word}:{each.help}" if each.help else each.word) for each in command.offers)
    values = [f"{name}) values=({' '.join(map(_quoted, words))}) ;;" for name, words in command.choices.items()]
    return _case(command, f"offered=({offered})", values)


def _quoted(text: str) -> str:
    """Return a text in single quotes as bash, zsh and a POSIX shell take it."""
    return "'" + text.replace("'", "'\\''") + "'"


def fish(grammar: Grammar) -> str:
    """Return the script for fish, which shows the help beside each word."""
    return _FISH % "\n".join(line for command in completed_commands(grammar) for line in _fish_lines(command))


def _fish_lines(command: CompletedCommand) -> Iterable[str]:
    exactly = f"complete -c lumen-tui -n '__lumen_tui_is {command.words}'"
    within = exactly if command.below else f"complete -c lumen-tui -n '__lumen_tui_in {command.words}'"
    for offer in command.below:
        yield f"{exactly} -f -a {offer.word} -d {_fish_quoted(offer.help)}"
    for option in command.options:
        values = f" -x -a {_fish_quoted(' '.join(words))}" if (words := command.choices.get(option.word)) else ""
        flag = f"-l {option.word[2:]}" if option.word.startswith("--") else f"-s {option.word[1:]}"
        yield f"{within} {flag}{values} -d {_fish_quoted(option.help)}"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS: dict[str, Callable[[Grammar], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def place(shell: str, environ: Mapping[str, str], home: Path) -> Path:
    """Return the file in which a shell of this user looks for the completion of `lumen-tui`."""
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    if shell == "fish":
        config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
        return config / "fish" / "completions" / "lumen-tui.fish"
    if shell == "zsh":
        return data / "zsh" / "site-functions" / "_lumen-tui"
    base = Path(environ.get("BASH_COMPLETION_USER_DIR") or data / "bash-completion")
    return base / "completions" / "lumen-tui"


def manual_place(environ: Mapping[str, str], home: Path) -> Path:
    """Return the file in which `man` looks for the manual page of this user's own programs."""
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "man" / "man1" / "lumen-tui.1"
