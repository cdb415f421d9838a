#!python
"""What is installed as `lumen-tui`; the installer puts its own interpreter into the first line.

The wrapper that installers write for `lumen` imports `re`, which is a third of what `lumen-tui signal` takes.
"""

from __future__ import annotations

import sys

from lumen_tui.__main__ import start

if __name__ == "__main__":
    sys.exit(start())
