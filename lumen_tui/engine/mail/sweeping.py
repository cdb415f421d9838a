"""What a kill left of mail that came in: it was kept, and an engine deals with it."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator, Sequence

from lumen_tui.model.config import Config
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.origin import operator_name
from lumen_tui.storage.store import Store

_NAME = re.compile(r"(eml-[0-9a-z]{13})\.eml")
_AT_WORK = 60.0  # seconds for which the command that took a message may be at it


def sweep_mail(store: Store, config: Config, now: float) -> None:
    """Deal with what was left, in a thread. Two at once do each message once, as `deal_with` takes turns."""
    if left := list(_left(store.layout, now)):
        threading.Thread(target=_deal_with, args=(store, left, config, now), name="mail", daemon=True).start()


def _left(layout: Layout, now: float) -> Iterator[str]:
    """Yield the ids of messages that nobody is at any more."""
    try:
        names = sorted(os.listdir(layout.mail_new))
    except OSError:
        return
    for match in filter(None, map(_NAME.fullmatch, names)):
        with contextlib.suppress(OSError):
            if now - os.stat(layout.mail_new / match[0]).st_mtime > _AT_WORK:
                yield match[1]


def _deal_with(store: Store, names: Sequence[str], config: Config, now: float) -> None:
    from lumen_tui.engine.mail.receiving import deal_with  # the parser of mail: only where some was left

    operator = config.notify.operator or operator_name(os.environ)
    for name in names:
        with contextlib.suppress(files.StoreError, OSError):  # the next beat tries again
            deal_with(store, name, config, operator, now)
