"""A shadow of a task's folders, in which its calls can be made again: nothing outside of it is changed.

It holds a state folder with this one task, and copies of the operator's folders that the task may change.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from lumen_tui.model.config import SandboxConfig
from lumen_tui.model.isolation import Isolation
from lumen_tui.model.replay import ShadowBase
from lumen_tui.model.roles import REQUEST_HOST
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories, files
from lumen_tui.storage.layout import Layout
from lumen_tui.tools.base import Context
from lumen_tui.tools.files.opening import is_below, is_below_any
from lumen_tui.tools.files.paths import is_control
from lumen_tui.tools.isolation import copies, living, pool
from lumen_tui.tools.isolation.base import Unfit
from lumen_tui.tools.sandbox import policy, tiers

_PATHS = ("path", "cwd")  # arguments that are one path
_TEXTS = ("command", "patch")  # arguments in which paths stand among other words
_LONGEST_OUTPUT = 64 * 1024 * 1024  # bytes of one result that was too long for the model


class PathMap:
    """Which folder stands for which: pairs of a real path and the one in the shadow."""

    def __init__(self, pairs: Mapping[str, str]) -> None:
        self._there = sorted(pairs.items(), key=lambda pair: -len(pair[0]))
        # A link to a folder is one more name of it: the real path, which comes last, is the one that tools show.
        back = {there: real for real, there in pairs.items()}
        self._back = sorted(back.items(), key=lambda pair: -len(pair[0]))
        self._words = dict(self._there)
        names = "|".join(re.escape(real) for real, _ in self._there)
        self._pattern = re.compile(rf"(?<![\w.\-/])(?:{names})(?![\w.\-])")

    def path(self, text: str) -> str:
        """Return the path in the shadow that a path means; itself where it means none."""
        named = os.path.normpath(os.path.expanduser(text)) if text.startswith(("/", "~")) else ""
        for real, there in self._there:
            if named and is_below(named, real):
                return there + named[len(real) :]
        return text

    def arguments(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments of a call as they are in the shadow; what is written into files stays as it is."""
        changed = dict(arguments)
        for name, value in arguments.items():
            if isinstance(value, str) and name in _PATHS:
                changed[name] = self.path(value)
            elif isinstance(value, str) and name in _TEXTS:
                changed[name] = self.there(value)
        return changed

    def there(self, text: str) -> str:
        """Return a text from outside as it would be in the shadow."""
        return self._pattern.sub(lambda match: self._words[match[0]], text)

    def back(self, text: str) -> str:
        """Return a text from the shadow as it would be outside of it."""
        for there, real in self._back:
            text = text.replace(there, real)
        return text


class Shadow(Struct, frozen=True):
    """A shadow that is ready. `context` is that of the tools in it."""

    context: Context
    paths: PathMap
    base: ShadowBase
    notes: tuple[str, ...] = ()


class ShadowOrder(Struct, frozen=True):
    """Of what a shadow is made: the task's context as its gate has it, its folder as it is kept, where it worked."""

    gate: Context
    kept: Path
    isolation: Isolation | None
    sandbox: SandboxConfig
    check: Callable[[], None]

    @property
    def layout(self) -> Layout:
        """The real state folder."""
        return self.gate.store.layout

    @property
    def hidden(self) -> tuple[str, ...]:
        """What no worker reads."""
        return self.gate.rules.hidden


def make(order: ShadowOrder, place: Path) -> Shadow:
    """Make the shadow of a task in an empty folder. Raise Unfit where that cannot be, OSError, StoreError."""
    gate, real = order.gate, order.layout
    layout = Layout(place / "state")
    layout.create()
    task = layout.task(gate.spec.id)
    _furnish(order, layout, task)
    isolation, roots, notes = order.isolation, dict[str, str](), list[str]()
    base = ShadowBase.NOW
    if isolation is not None:
        base = _apart(order, layout, task, isolation, notes)
    else:
        roots = _copied(order, place)
    real_folder = os.path.realpath(gate.folder)
    paths = PathMap(
        {**roots, str(gate.folder): str(task), real_folder: str(task), os.path.realpath(real.root): str(layout.root)}
    )
    spec = msgspec.structs.replace(
        gate.spec, folder=paths.path(gate.spec.folder), roots=tuple(map(paths.path, gate.spec.roots))
    )
    rules = msgspec.structs.replace(
        gate.rules,
        network=False,
        command_hosts=(),
        tools=gate.rules.tools - {REQUEST_HOST},
        roots=tuple(map(paths.path, gate.rules.roots)),
        hidden=(*gate.rules.hidden, *_controls(real)),
    )
    context = Context(
        role=msgspec.structs.replace(gate.role, writable=tuple(dict.fromkeys(roots.values()))),
        spec=spec,
        store=type(gate.store)(layout.root),
        folder=task,
        now=gate.now,
        monotonic=gate.monotonic,
        stopped=gate.stopped,
        redact=gate.redact,
        environ=gate.environ,
        rules=rules,
    )
    return Shadow(context, paths, base, tuple(notes))


def _furnish(order: ShadowOrder, layout: Layout, task: Path) -> None:
    """Give the shadow the settings of the sandbox, what its self-test found, and the task's own papers."""
    settings = msgspec.structs.replace(
        order.sandbox, writable=(), hidden=(*order.sandbox.hidden, *_controls(order.layout))
    )
    rows = [f"{name} = {json.dumps(value)}" for name, value in msgspec.to_builtins(settings).items()]
    files.replace(layout.config, "\n".join(["[sandbox]", *rows, ""]).encode())
    if results := files.read(order.layout.index / tiers.RESULTS):
        files.replace(layout.index / tiers.RESULTS, results)
    directories.make_folder(task)
    if spec := files.read(order.kept / "spec.json"):
        files.replace(task / "spec.json", spec)
    outputs = order.kept / "outputs"
    for path in sorted(outputs.iterdir()) if outputs.is_dir() else ():
        if output := files.read(path, _LONGEST_OUTPUT):
            directories.make_folder(task / "outputs")
            files.replace(task / "outputs" / path.name, output)


def _controls(layout: Layout) -> tuple[str, ...]:
    """Return what no worker reads in the real state folder, which covers the shadow no longer."""
    root = os.path.realpath(layout.root)
    return tuple(os.path.join(root, name) for name in sorted(os.listdir(root)) if is_control(name))


def _apart(order: ShadowOrder, layout: Layout, task: Path, isolation: Isolation, notes: list[str]) -> ShadowBase:
    """Make the folder of its own that the task had; return what it began from."""
    gate = order.gate
    source = os.path.join(isolation.top, isolation.below)
    taken = living.IsolationRequest(
        layout, task, isolation.kind, source, order.hidden, gate.environ.get("PATH", os.defpath)
    )
    if isolation.kind == "worktree":
        try:
            living.take_again(taken, isolation)
            return ShadowBase.COMMIT
        except Unfit as error:
            notes.append(
                f"the commit that it began from is not to be had, so the shadow is the folder as it is: {error}"
            )
            pool.remove_tree(task / living.TREE)
    tree = task / living.TREE
    directories.make_folder(tree)
    _copy(order, isolation.top, tree)
    return ShadowBase.NOW


def _copied(order: ShadowOrder, place: Path) -> dict[str, str]:
    """Copy the folders that the task is about, or may change; return which copy stands for which."""
    gate = order.gate
    granted = policy.writable_roots(gate, order.sandbox)[0] if gate.rules.write else ()
    about = policy.task_folder(gate)
    pairs: dict[str, str] = {}
    for path in _outermost([*granted, *filter(None, [about])]):
        tree = place / "folders" / str(len(pairs))
        directories.make_folder(tree)
        _copy(order, path, tree)
        pairs[path] = str(tree)
    named = os.path.normpath(os.path.expanduser(gate.spec.folder)) if gate.spec.folder else ""
    if named and os.path.realpath(named) in pairs:
        pairs = {named: pairs[os.path.realpath(named)], **pairs}
    return pairs


def _outermost(paths: Iterable[str]) -> list[str]:
    outermost: list[str] = []
    for path in sorted(paths, key=len):
        if not is_below_any(path, outermost):
            outermost.append(path)
    return outermost


def _copy(order: ShadowOrder, source: str, tree: Path) -> None:
    hidden = (*order.hidden, os.path.realpath(order.layout.root))
    if not os.path.isdir(source):
        raise Unfit(f"{one_line(source, 200)} is gone")
    copies.make(source, tree, hidden, order.check)
