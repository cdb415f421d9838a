"""The quick forms of commands know an option by the field that the request declares for it."""

from __future__ import annotations

import pytest

from lumen_tui import hot
from lumen_tui.cli.fast import warm
from lumen_tui.cli.parser import _spelling
from lumen_tui.model.requests.base import Request, declared_fields
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.model.requests.sessions import SaveCheckpoint
from lumen_tui.model.requests.signals import SendSignal

_OF_EVERY_COMMAND = {"--state", "--from"}


@pytest.mark.parametrize(
    ("options", "kind"), [(hot.SIGNAL, SendSignal), (hot.CREATE, CreateNode), (warm.CHECKPOINT, SaveCheckpoint)]
)
def test_an_option_of_the_quick_form_is_that_of_the_request(options: dict[str, str], kind: type[Request]) -> None:
    declared = {option: name for name, field in declared_fields(kind).items() for option in _spelling(name, field.arg)}
    quick = {option: name for option, name in options.items() if option not in _OF_EVERY_COMMAND}
    assert quick.items() <= declared.items()
    assert len(quick) > 5
