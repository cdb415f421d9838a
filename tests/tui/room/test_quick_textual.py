"""What Textual is imported without is not missed, and is there for whoever asks for it later."""

from __future__ import annotations

import subprocess
import sys

PROBE = """
import sys
from lumen_tui.model.quick_imports import import_basics
import_basics()
from lumen_tui.tui.patches.quick_textual import import_textual
import_textual()
import lumen_tui.tui.app
unused = "ssl platformdirs textual.command textual.widgets._tree".split()
unused += "typing_extensions difflib mimetypes rich.table urllib.parse".split()
print(*[name for name in unused if name in sys.modules])
import asyncio.base_events, ssl, platformdirs, textual.command
print(asyncio.base_events.ssl is None, ssl.SSLContext.__name__, textual.command.CommandPalette.__mro__[-1].__name__)
import typing, typing_extensions, textual.suggestions
print(typing_extensions is typing, textual.suggestions.get_suggestion("hoover", ["hover", "focus"]))
print(issubclass(textual.command.CommandPalette, textual.app.Screen), platformdirs.user_downloads_path().name)
"""


def test_what_the_room_does_not_use_is_imported_by_who_asks_for_it() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=60)
    assert done.stdout.split("\n")[:2] == ["", "True SSLContext object"], done.stderr
    assert done.stdout.split("\n")[2] == "False hover", done.stderr
    assert done.stdout.split("\n")[3].startswith("True "), done.stderr
