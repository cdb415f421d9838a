"""The program that the crowd tests start and kill: one verb on one state folder, over and over.

What was acknowledged is written to standard output at once, the way an agent would be told.
"""

import os
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[3])]
sys.path.append(os.environ["HAMMER_SITE"])

from lumen_tui.actions.outcome import ActionError  # noqa: E402
from lumen_tui.actions.registry import named, perform  # noqa: E402
from lumen_tui.model import fields  # noqa: E402
from lumen_tui.storage.store import Store  # noqa: E402


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def signals(store: Store, count: str) -> None:
    """Send signals; half of them were sent long ago, so that cleanups take them."""
    for number in range(int(count)):
        old = time.time() - (90 * 86400 if number % 2 else 0)
        say(perform(store, named("signal.send", {"message": f"step {number}"}), by="bo", now=old).target)


def nodes(store: Store, count: str) -> None:
    """Make nodes, half of them long ago, and touch some of the others; both are acknowledged."""
    for number in range(int(count)):
        old = time.time() - (200 * 86400 if number % 2 else 0)
        record = fields.node(f"step {number}", by="bo", now=old, type="note", wu_id="" if number % 3 else "WU-001")
        store.nodes.append(record)
        say(record["id"])
        if number % 4 == 1:
            perform(store, named("decay.touch", {"node_ids": record["id"]}), by="bo", now=time.time())
            say(f"touch {record['id']}")


def reader(store: Store, name: str) -> None:
    """Read everything again and again."""
    while True:
        try:
            perform(store, named("signal.read_all", {}), by=name, now=time.time())
        except ActionError:
            continue
        say("read")
        time.sleep(0.01)


KEEPING = {
    "sweep": ("cleanup.signals", {"ttl": "1d", "unread_ttl": "1d", "max_entries": 20}),
    "decay": ("decay.apply", {}),
    "cleanup": ("cleanup.nodes", {"ttl": "30d"}),
    "summarize": ("summary.make", {"wu_id": "WU-001"}),
}


def keep(store: Store, what: str) -> None:
    """One kind of upkeep without an end."""
    verb, given = KEEPING[what]
    while True:
        try:
            done = perform(store, named(verb, given), by=what, now=time.time())
        except ActionError as error:
            if not error.missing:
                raise
            continue
        if done.action_id or verb == "cleanup.signals":
            say("done")


if __name__ == "__main__":
    globals()[sys.argv[1]](Store(Path(sys.argv[2])), *sys.argv[3:])
