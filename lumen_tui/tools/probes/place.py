"""What a probe may do: it reads and changes nothing, whoever wrote it."""

from __future__ import annotations

import os
import time

from lumen_tui.model.config import Config
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.storage.store import Store
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.base import Context
from lumen_tui.tools.policy.rules import TaskRules
from lumen_tui.tools.sandbox import secrets

NAME = "probe"
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "VIRTUAL_ENV", "PYTHONPATH")


def context(store: Store) -> Context:
    """The place in which every probe of a state folder works."""
    config = load_config(store.layout)[0]
    environ = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return Context(
        role=Role(name=NAME, purpose="confirms facts"),
        spec=Spec(id=NAME, objective="confirm facts"),
        store=store,
        folder=store.root,
        now=time.time,
        monotonic=time.monotonic,
        environ=environ,
        rules=_rules(config, environ.get("HOME", "")),
    )


def _rules(config: Config, home: str) -> TaskRules:
    return TaskRules(
        hosts=config.web.hosts,
        private=config.web.private,
        role=NAME,
        hidden=tuple(secrets.existing(home, config.sandbox.hidden)),
    )
