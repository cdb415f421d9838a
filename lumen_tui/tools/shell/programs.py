"""Which programs and options the read-only shell runs: what is not in the table is refused.

An option is in the table only where it neither writes, nor runs another program, nor waits for ever.
Left out on purpose, among others: sort -o/-T/--compress-program, tail -f, uniq's second operand, date -s,
find -exec/-delete/-fprint, file -C, tree -o, xxd, awk, sed, xargs, env, tee, hostname, and every interpreter.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from msgspec import Struct

from lumen_tui.tools.base import Context, ToolError
from lumen_tui.tools.files.below import is_below
from lumen_tui.tools.files.paths import depends_on_process, forbidden, special
from lumen_tui.tools.sandbox.secrets import ENV_FILES


class Program(Struct, frozen=True):
    """`flags` and `long` take no value (or one after `=`), `valued` takes one, attached or as the next word."""

    flags: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    operands: re.Pattern[str] | None = None  # what every operand must look like
    most: int = 1_000_000  # operands
    number: bool = False  # `-20` is an option
    reads: bool = True  # operands are files whose content is read


def _long(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SUM = Program("btz", long=_long("binary text tag zero"))
_PLUS = re.compile(r"\+.*", re.DOTALL)
_NEGATIVE = re.compile(r"-\d+[kKMG]?")

PROGRAMS: dict[str, Program] = {
    "ls": Program(
        "aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1", "wIT", reads=False,
        long=_long("all almost-all author directory classify full-time human-readable si inode numeric-uid-gid "
                   "recursive reverse size sort time time-style group-directories-first no-group dereference ignore"),
    ),
    "cat": Program("AbeEnstTuv", long=_long("number number-nonblank show-all show-ends show-tabs squeeze-blank")),
    "head": Program("qvz", "nc", _long("lines bytes quiet silent verbose"), number=True),
    "tail": Program("qvz", "nc", _long("lines bytes quiet silent verbose"), number=True),
    "wc": Program("cmlLw", long=_long("bytes chars lines words max-line-length")),
    "du": Program(
        "abchDHkLlmPsSx0", "dtB", reads=False,
        long=_long("all apparent-size bytes total max-depth human-readable inodes separate-dirs si summarize "
                   "threshold time one-file-system exclude block-size"),
    ),
    "df": Program("ahHiklPT", "tB", _long("all human-readable si inodes local portability print-type total type"),
                  reads=False),
    "stat": Program("Lft", "c", _long("dereference file-system format printf terse"), reads=False),
    "file": Program("bihLNrv0", long=_long("brief mime mime-type mime-encoding dereference no-pad"), reads=False),
    "sort": Program(
        "bdfghiMnrVcCmsuz", "kt",
        long=_long("ignore-leading-blanks dictionary-order ignore-case general-numeric-sort human-numeric-sort "
                   "month-sort numeric-sort reverse version-sort check key stable field-separator unique"),
    ),
    "uniq": Program("cdDiuz", "fsw", _long("count repeated unique ignore-case skip-fields skip-chars check-chars"),
                    most=1),
    "cut": Program("nsz", "bcdf", _long("bytes characters delimiter fields only-delimited complement")),
    "tr": Program("cCdst", long=_long("complement delete squeeze-repeats truncate-set1"), reads=False),
    "nl": Program("p", "bdfhilnsvw"),
    "tac": Program("br", "s"),
    "rev": Program(),
    "fold": Program("bs", "w"),
    "paste": Program("sz", "d"),
    "column": Program("tx", "cs"),
    "comm": Program("123"),
    "join": Program("i", "12aejotv"),
    "diff": Program("abBcdeEinNpqrstTuwy", "CUWx", _long("brief unified context recursive ignore-case side-by-side")),
    "cmp": Program("bls", "in"),
    "md5sum": _SUM, "sha1sum": _SUM, "sha256sum": _SUM, "sha512sum": _SUM, "b2sum": _SUM, "cksum": Program(),
    "od": Program("bcdfiloshxvw", "ANtjS"),
    "hexdump": Program("bcCdovx", "ns"),
    "strings": Program("a", "nte"),
    "zcat": Program(),
    "grep": Program(
        "EFGPivwxcLlqsonHhbraRIzUTy", "eABCm", number=True,
        long=_long("extended-regexp fixed-strings basic-regexp perl-regexp ignore-case invert-match word-regexp "
                   "line-regexp count files-without-match files-with-matches max-count only-matching quiet no-messages "
                   "line-number with-filename no-filename recursive include exclude exclude-dir text regexp "
                   "after-context before-context context binary-files"),
    ),
    "tree": Program("adfilpsugDhxNqQ", "LIP", _long("du dirsfirst si prune"), reads=False),
    "basename": Program("az", "s", reads=False),
    "dirname": Program("z", reads=False),
    "realpath": Program("emLPqsz", reads=False),
    "readlink": Program("femnqsvz", reads=False),
    "echo": Program("neE", operands=re.compile(r".*", re.DOTALL), reads=False),
    "pwd": Program("LP", most=0),
    "whoami": Program(most=0),
    "id": Program("agGnruz", reads=False),
    "groups": Program(reads=False),
    "uname": Program("asnrvmpio", most=0),
    "uptime": Program("ps", most=0),
    "nproc": Program(long=_long("all"), most=0),
    "free": Program("bkmghlt", most=0),
    "date": Program("uR", "dr", _long("utc universal iso-8601 rfc-3339 date reference"), operands=_PLUS, reads=False),
    "which": Program("a", reads=False),
    "true": Program(), "false": Program(),
}  # fmt: skip
_PS_WORD = re.compile(
    r"a?u?x?f?w{0,2}|axu|-A|-ef?|-eF|-f|-F|-l|-w{1,2}|-H|-eo|-o|-p|-C|--sort=[\w%,+-]+|--no-headers|--forest"
)
_RECURSIVE = re.compile(r"--recursive|-[^-]*[rR].*", re.DOTALL)
_PS_VALUE = re.compile(r"\w[\w,%=.-]*")
_FIND_PLAIN = _long(
    "-print -print0 -ls -empty -not ! -o -or -a -and ( ) -prune -xdev -mount -true -false -readable -writable "
    "-executable -depth -daystart -nouser -nogroup -quit -H -L -P"
)
_FIND_VALUED = _long(
    "-name -iname -path -ipath -wholename -regex -iregex -regextype -type -xtype -size -mtime -mmin -atime -amin "
    "-ctime -cmin -newer -anewer -cnewer -newermt -newerct -newerat -maxdepth -mindepth -user -group -uid -gid -perm "
    "-links -inum -samefile -printf -lname -ilname -fstype -used"
)
_FIND_NEVER = re.compile(r"-(?:exec|ok|delete|fprint|fls|files0)")


def check(context: Context, argv: list[str], cwd: str) -> None:
    """ToolError where `argv` is not one of the read-only commands in the table."""
    name, *arguments = argv
    if special_check := {"find": _check_find, "ps": _check_ps}.get(name):
        special_check(arguments)
        return
    program = PROGRAMS.get(name)
    if program is None:
        known = ", ".join(sorted([*PROGRAMS, "find", "git", "ps"]))
        raise ToolError(f"{name[:60]!r} is not one of the read-only programs of this role: {known}")
    operands = list(parse(name, program, arguments))
    if len(operands) > program.most:
        raise ToolError(
            f"{name} takes at most {program.most} operand(s) here: {operands[program.most][:80]!r} is too many"
        )
    for operand in operands:
        _check_operand(context, name, program, operand, cwd)


def parse(name: str, program: Program, arguments: list[str]) -> Iterator[str]:
    """The operands, in order; ToolError at the first option that is not in the table."""
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            yield from rest
        elif argument.startswith("--"):
            _check_long(name, program, argument)
        elif argument.startswith("-") and argument != "-":
            if not (program.number and argument[1:].isascii() and argument[1:].isdigit()):
                _check_short(name, program, argument, rest)
        else:
            yield argument


def _check_long(name: str, program: Program, argument: str) -> None:
    """Exact names only: the programs themselves would take any unambiguous beginning."""
    if argument[2:].partition("=")[0] not in program.long:
        raise _option(name, argument.partition("=")[0])


def _check_short(name: str, program: Program, argument: str, rest: Iterator[str]) -> None:
    for index, letter in enumerate(argument[1:], start=1):
        if letter in program.valued:
            if index == len(argument) - 1:
                _check_value(name, letter, next(rest, None))
            return
        if letter not in program.flags:
            raise _option(name, f"-{letter}")


def _check_value(name: str, letter: str, value: str | None) -> None:
    """A value that looks like an option is refused: the program might take it for one."""
    if value is None:
        raise ToolError(f"{name} -{letter} needs a value")
    if value.startswith("-") and not _NEGATIVE.fullmatch(value):
        raise _option(name, value)


def _option(name: str, option: str) -> ToolError:
    return ToolError(f"{name} {option[:40]} is not among the options that are known to be read-only")


def _check_operand(context: Context, name: str, program: Program, operand: str, cwd: str) -> None:
    if program.operands is not None:
        if not program.operands.fullmatch(operand):
            raise ToolError(f"{name} with {operand[:60]!r} is not allowed: it could change something or show secrets")
        return
    if operand.startswith("+"):
        raise ToolError(f"{name} {operand[:40]!r}: old-style options are not allowed")
    if program.reads and operand != "-":
        check_file(context, operand, cwd)


def check_file(context: Context, operand: str, cwd: str) -> None:
    """ToolError where a file operand is a pipe, a device or out of bounds; a missing one is left to the program."""
    path = os.path.realpath(os.path.join(cwd, operand))
    if depends_on_process(os.path.join(os.path.realpath(cwd), operand)):
        raise ToolError(f"{operand[:80]!r} is another file for each program: name the file itself")
    if why := forbidden(context, path):
        raise ToolError(why)
    try:
        kind = special(os.stat(path))
    except (OSError, ValueError):
        return
    if kind:
        raise ToolError(f"{operand[:80]!r} is {kind}; only files are read")
    if is_below(path, "/proc") and os.path.isdir(path):
        raise ToolError(f"{operand[:80]!r}: folders below /proc hold the secrets of processes; name a file there")


def reads_at_large(argv: list[str], cwd: str) -> bool:
    """Whether a command of the table reads files that nobody named, and so nobody checked: all those of a folder."""
    name, *arguments = argv
    if name == "diff":
        return any(os.path.isdir(os.path.join(cwd, argument)) for argument in arguments)
    return name == "grep" and any(_RECURSIVE.fullmatch(argument) for argument in arguments)


def sparing(argv: list[str], cwd: str) -> list[str]:
    """The same command, which passes over .env files where it reads whole folders: those that it names are checked."""
    if not reads_at_large(argv, cwd):
        return argv
    option = "--exclude={}" if argv[0] == "grep" else "-x{}"
    end = argv.index("--") if "--" in argv else len(argv)
    return [*argv[:end], *map(option.format, ENV_FILES), *argv[end:]]  # the last one counts, also after an --include


def _check_find(arguments: list[str]) -> None:
    rest = iter(arguments)
    expression = False
    for argument in rest:
        if _FIND_NEVER.match(argument):
            raise _option("find", argument)
        if argument in _FIND_PLAIN:
            expression = True
        elif argument in _FIND_VALUED:
            expression = True
            _find_value(argument, rest)
        elif argument.startswith("-") or expression:
            raise _option("find", argument)


def _find_value(argument: str, rest: Iterator[str]) -> None:
    value = next(rest, None)
    if value is None:
        raise ToolError(f"find {argument} needs a value")
    if _FIND_NEVER.match(value):
        raise _option("find", value)


def _check_ps(arguments: list[str]) -> None:
    """Whole words only: ps reads what it does not understand a second time, and then `e` shows environments."""
    valued = False
    for argument in arguments:
        fine = _PS_VALUE.fullmatch(argument) if valued else _PS_WORD.fullmatch(argument)
        if not fine:
            raise _option("ps", argument)
        valued = not valued and argument in ("-o", "-eo", "-p", "-C")
