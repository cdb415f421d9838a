"""State folders of earlier versions, as they are kept beside the tests."""

from __future__ import annotations

import tarfile
from pathlib import Path


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive of ours into a folder."""
    with tarfile.open(archive) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # which Python has from 3.11.4 on
        packed.extractall(folder)  # noqa: S202 - ours
