"""Skills in evolved/skills/: those of a person, and those of the version in force, which follow the pointer.

The version alone decides; its files are written again by the swap, and by whoever looks for skills. A folder whose
SKILL.md names another owner than evolution is a person's, and nothing in it is ever written or removed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from lumen_tui.model.evolved_edits import EditKind, EvolvedVersion
from lumen_tui.model.skills import FILE
from lumen_tui.storage import directories, files, locks
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.safe_yaml import BadDocument, table
from lumen_tui.store.evolution import champions

EVOLUTION = "evolution"  # metadata.owner, which is `person` or this
_LOCK = "evolved-skills"
_MOST = 256 * 1024  # bytes of a file of ours
_Files = Mapping[str, bytes]  # of one skill, by their paths in its folder


def owner_of(layout: Layout, name: str) -> str:
    """Return who owns a skill: evolution by its own word alone; a person, whatever cannot be read; empty: nobody."""
    folder = layout.evolved_skills / name
    if not os.path.lexists(folder):
        return ""
    try:
        data = files.read(folder / FILE, _MOST)
        if data is None:
            return "person" if any(not _is_left(name) for name in os.listdir(folder)) else ""
        metadata = table(data.decode().split("---")[1]).get("metadata")
    except (BadDocument, files.StoreError, OSError, UnicodeDecodeError, IndexError):
        return "person"
    return EVOLUTION if isinstance(metadata, dict) and metadata.get("owner") == EVOLUTION else "person"


def _is_left(name: str) -> bool:
    """Return whether an entry is what a kill left of a write."""
    return name.startswith(".") and name.endswith(".tmp")


def refusal(layout: Layout, name: str) -> str:
    """Return why evolution may not have a skill of this name, or empty."""
    skill = name.partition("/")[0]
    return f"skill {skill} is a person's own" if owner_of(layout, skill) == "person" else ""


def settle(layout: Layout) -> None:
    """Have the files say what the version in force does. DamagedChampion, StoreError, OSError."""
    if not layout.champion.exists() and not layout.evolved_skills.exists():
        return
    if not _differing(layout, champions.current(layout)):
        return
    with locks.waiting_lock(layout.lock(_LOCK)):
        version = champions.current(layout)
        for name, wanted in _differing(layout, version).items():
            folder = layout.evolved_skills / name
            if not wanted:
                directories.discard_tree(folder)
                continue
            for gone in _present(layout, name).keys() - wanted.keys():
                directories.remove(folder / gone)
            for path, data in wanted.items():
                directories.make_folder((folder / path).parent)
                files.replace(folder / path, data)


def _differing(layout: Layout, version: EvolvedVersion) -> dict[str, _Files]:
    """Return the skills of ours whose files are not what they should be, with what they should be."""
    wanted = _files_of(version)
    there = os.listdir(layout.evolved_skills) if layout.evolved_skills.is_dir() else []
    ours = [name for name in sorted({*there, *wanted}) if owner_of(layout, name) != "person"]
    return {name: wanted.get(name, {}) for name in ours if _present(layout, name) != wanted.get(name, {})}


def _present(layout: Layout, name: str) -> dict[str, bytes]:
    folder = layout.evolved_skills / name
    paths = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    plain = {path for path in paths if path.is_file() and not path.is_symlink()}  # a pipe is never opened
    return {str(path.relative_to(folder)): path.read_bytes() if path in plain else b"" for path in paths}


def _files_of(version: EvolvedVersion) -> dict[str, dict[str, bytes]]:
    """Return the files of the skills of a version. A script without its skill is none."""
    made: dict[str, dict[str, bytes]] = {}
    for edit in version.edits:
        skill, _, below = edit.name.partition("/")
        if edit.kind is EditKind.SKILL:
            made.setdefault(skill, {})[FILE] = _rendered(edit.name, edit.role, edit.text)
        elif edit.kind is EditKind.SCRIPT and skill in made:
            made[skill][below] = edit.text.encode() + b"\n"
    return made


def _rendered(name: str, role: str, text: str) -> bytes:
    """Return a SKILL.md by the standard. A string of JSON is one of YAML, whatever is in it."""
    import json

    description, _, body = text.partition("\n")
    head = f"name: {name}\ndescription: {json.dumps(description.strip())}\n"
    return f"---\n{head}metadata:\n  owner: {EVOLUTION}\n  role: {role}\n---\n\n{body.strip()}\n".encode()
