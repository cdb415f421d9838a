"""Run pytest, and the few tests that failed once more by themselves.

    python tests/support/lumen_again.py -n 4 --dist loadgroup

Real processes, terminals and servers wait for each other, and on a machine that does much else one of seven thousand
tests may wait too long. What is broken fails again with the machine to itself; what does not is named. Where more than
`MOST` failed nothing is tried again. The exit code is that of the last run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import lumen_sweeps

MOST = 8
FAILED = Path(".pytest_cache/v/cache/lastfailed")  # written by pytest, below the folder it runs in
_SOME_FAILED = 1  # pytest's exit code; others mean that it could not run them
_GROUP = re.compile(r"@\w+$")  # what xdist appends to the name of a test that stays in one process


def main(arguments: list[str]) -> int:
    """Run pytest with those arguments, then what failed; return the exit code."""
    pytest = str(Path(sys.executable).with_name("pytest"))
    lumen_sweeps.draw_seed()  # both runs take the same points
    FAILED.unlink(missing_ok=True)
    code = subprocess.call([pytest, *arguments])
    names = json.loads(FAILED.read_bytes()) if code == _SOME_FAILED and FAILED.exists() else []
    failed = sorted(_GROUP.sub("", name) for name in names)
    if not 0 < len(failed) <= MOST:
        return code
    sys.stdout.write(f"\nonce more, by themselves: {', '.join(failed)}\n\n")
    sys.stdout.flush()
    os.environ.pop("LUMEN_MUST_RUN", None)  # what must run has run
    return subprocess.call([pytest, "-vv", *failed])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
