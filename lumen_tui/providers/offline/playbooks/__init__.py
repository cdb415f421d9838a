"""What the offline provider can do: a playbook makes the calls that a model would make, and reports what they gave.

The order is that in which they are asked whether they understand an objective: what is more special comes first.
"""

from __future__ import annotations

from lumen_tui.providers.offline.grammar import PlaybookKind
from lumen_tui.providers.offline.playbooks.access_log import LOGINS, WEB_LOG
from lumen_tui.providers.offline.playbooks.compare import COMPARE
from lumen_tui.providers.offline.playbooks.counting import COUNT
from lumen_tui.providers.offline.playbooks.duplicates import DUPLICATES
from lumen_tui.providers.offline.playbooks.files import EMPTY, FACTS, FILES
from lumen_tui.providers.offline.playbooks.history import GIT_LOG
from lumen_tui.providers.offline.playbooks.logs import LOG_ERRORS
from lumen_tui.providers.offline.playbooks.machine import SYSTEM
from lumen_tui.providers.offline.playbooks.packages import PACKAGES
from lumen_tui.providers.offline.playbooks.reading import READ
from lumen_tui.providers.offline.playbooks.search import SEARCH
from lumen_tui.providers.offline.playbooks.settings import LOOK_UP
from lumen_tui.providers.offline.playbooks.tables import TABLE
from lumen_tui.providers.offline.playbooks.todo import TODO
from lumen_tui.providers.offline.playbooks.usage import DISK_USAGE, FREE_SPACE, LARGEST_FILES

KINDS: tuple[PlaybookKind, ...] = (
    TODO,
    SYSTEM,
    FREE_SPACE,
    PACKAGES,
    LOGINS,
    WEB_LOG,
    LOG_ERRORS,
    GIT_LOG,
    COMPARE,
    EMPTY,
    DUPLICATES,
    LARGEST_FILES,
    FACTS,
    READ,
    COUNT,
    FILES,
    SEARCH,
    DISK_USAGE,
    TABLE,
    LOOK_UP,
)
PLAYBOOKS = {kind.name: kind.play for kind in KINDS}
