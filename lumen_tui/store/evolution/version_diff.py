"""Differences between two versions of evolved/."""

from __future__ import annotations

from lumen_tui.model.constitution import difference
from lumen_tui.model.evolution import TARGETS
from lumen_tui.model.text import safe
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution import versions


def between(layout: Layout, old: int, new: int | None = None) -> str:
    """Return a unified diff of all files; without a second version, against the current files.

    LookupError with the number of a missing version; StoreError where a version is damaged.
    """
    before = _texts(layout, old)
    after = _texts(layout, new)
    name = "now" if new is None else f"version {new}"
    parts = [
        difference(_text(before, target), _text(after, target), f"{target} (version {old})", f"{target} ({name})")
        for target in TARGETS
    ]
    return safe("\n".join(part for part in parts if part))


def _texts(layout: Layout, number: int | None) -> dict[str, bytes]:
    if number is None:
        return versions.on_disk(layout)
    if number == 0:
        return {}
    version = next((entry for entry in versions.listed(layout) if entry.version == number), None)
    if version is None:
        raise LookupError(number)
    try:
        return versions.contents(layout, version)
    except versions.DamagedVersion as error:
        raise files.StoreError(str(error)) from error


def _text(texts: dict[str, bytes], target: str) -> str:
    return texts.get(target, b"").decode("utf-8", "replace")
