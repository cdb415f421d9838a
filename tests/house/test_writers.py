"""Only store/ opens files for writing, and within it only the module whose faults are tested."""

import ast
from collections.abc import Iterator
from pathlib import Path

from lumen_rows import each_row

# Where else something is written, and why that is right.
ALLOWED = {
    "lumen_tui/tools/sandbox/probe.py": "the self-test's attacks, which must not get through",
    "lumen_tui/tools/sandbox/groups.py": "the kernel's control groups, which only look like files",
    "lumen_tui/tools/sandbox/launcher.py": "its own place in the order in which the kernel ends processes",
    "lumen_tui/tools/sandbox/chmod_broker.py": "makes a command's chmod in its place, below what it may write",
    "lumen_tui/tools/sandbox/protected_paths.py": "renames what a command made where programs would obey it",
    "lumen_tui/storage/files.py": "the module that does it for all others",
    "lumen_tui/storage/directories.py": "folders and names, for all others",
    "lumen_tui/storage/locks.py": "lock files, which keep their inode",
    "lumen_tui/tools/files/writing.py": "edits outside the state folder: a file keeps its mode and owner",
    "lumen_tui/tools/files/opening.py": "makes the folders on the way to such a file",
    "lumen_tui/tools/isolation/pool.py": "worktrees of git; what a kill leaves half made is made again or swept",
    "lumen_tui/tools/isolation/copies.py": "copies a folder of the operator into a task's own, with links and modes",
    "lumen_tui/tools/isolation/placing.py": "what a person accepted, in their own folder, with modes and links",
    "lumen_tui/hosts/tree_packing.py": "the folder of a task that came from its engine, new, with modes and links",
    "lumen_tui/hosts/tree_changes.py": "what a host changed, into the task's own folder, with modes and links",
    "lumen_tui/headless/demo.py": "removes the throw-away folder that it made, whole",
    "lumen_tui/headless/recording.py": "unpacks a recording into such a folder, with the times of its files",
    "lumen_tui/tui/patches/way_out.py": "the terminal itself, past whoever waits to write to it",
    "lumen_tui/storage/restoring.py": "unpacks a backup beside the state folder, with the modes that it names",
    "lumen_tui/storage/backup.py": "hands the new file on to the program that encrypts",
    "lumen_tui/storage/repair.py": "doctor --fix: closes modes, removes half-made task folders",
    "lumen_tui/engine/hooks/settings.py": "hooks install: the agent's settings file keeps its mode, its folder is made",
    "lumen_tui/engine/hooks/sharing.py": "what git leaves alone in a project, with the mode that the list had",
}
OS_CALLS = {
    "rename", "replace", "renames", "unlink", "remove", "rmdir", "removedirs", "mkdir", "makedirs", "truncate",
    "ftruncate", "link", "symlink", "mkfifo", "mknod", "chmod", "fchmod", "chown", "pwrite", "writev", "sendfile",
}  # fmt: skip
PATH_METHODS = {"write_text", "write_bytes", "unlink", "mkdir", "touch", "symlink_to", "hardlink_to", "rmdir"}
WRITE_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC"}
NOTE = "state files are written through lumen_tui.storage.files"


def writes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, call) of everything in `tree` that makes, changes or removes a file by its name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (what := _written(node)):
            yield node.lineno, what


def _written(call: ast.Call) -> str:
    function = call.func
    if isinstance(function, ast.Name):
        return "open for writing" if function.id == "open" and _mode(call, 1) else ""
    if not isinstance(function, ast.Attribute):
        return ""
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    if owner == "os":
        return _os_call(call, function.attr)
    if owner == "shutil":
        return "" if function.attr in ("which", "get_terminal_size", "disk_usage") else f"shutil.{function.attr}"
    if function.attr in PATH_METHODS:
        return f".{function.attr}()"
    if function.attr == "open" and owner not in ("webbrowser", "os") and _mode(call, 0):
        return ".open() for writing"
    return ""


def _os_call(call: ast.Call, name: str) -> str:
    if name in OS_CALLS:
        return f"os.{name}"
    if name == "open" and call.args and ast.unparse(call.args[0]) == "os.devnull":
        return ""
    flags = {node.attr for argument in call.args[1:] for node in ast.walk(argument) if isinstance(node, ast.Attribute)}
    return "os.open for writing" if name == "open" and flags & WRITE_FLAGS else ""


def _mode(call: ast.Call, place: int) -> bool:
    modes = [*call.args[place : place + 1], *[word.value for word in call.keywords if word.arg == "mode"]]
    return any(isinstance(mode, ast.Constant) and set(str(mode.value)) & set("wax+") for mode in modes)


def test_nothing_but_the_store_writes_files(sources: list) -> None:
    found = [
        f"{source.name}:{line}: {what}"
        for source in sources
        if source.name not in ALLOWED
        for line, what in writes(source.tree)
    ]
    assert found == [], f"{NOTE}: {found}"


def test_the_allowed_modules_exist_and_still_need_it(root: Path, sources: list) -> None:
    by_name = {source.name: source for source in sources}
    for name, reason in ALLOWED.items():
        assert reason
        assert list(writes(by_name[name].tree)), f"{name} writes nothing: take it off the list"


@each_row(
    "code",
    [
        "open('x', 'w')", "open(p, mode='a')", "p.open('r+')", "os.open(p, os.O_RDWR | os.O_CREAT)", "os.rename(a, b)",
        "os.unlink(p)", "p.write_text('x')", "folder.mkdir()", "shutil.rmtree(p)", "os.open(p, flags | os.O_APPEND)",
    ],
)  # fmt: skip
def test_a_writing_call_is_found(code: str) -> None:
    assert list(writes(ast.parse(code)))


@each_row(
    "code",
    [
        "open('x')",
        "open('x', 'rb')",
        "os.open(p, os.O_RDONLY)",
        "p.read_text()",
        "os.open(os.devnull, os.O_WRONLY)",
        "shutil.which('ls')",
    ],
)
def test_a_reading_call_is_not(code: str) -> None:
    assert not list(writes(ast.parse(code)))
