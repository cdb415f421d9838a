"""A playbook that is ended anywhere goes on with what its calls gave, and makes none of them again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from lumen_tui.model.roles import ALL_TOOLS, Limits, Role
from lumen_tui.model.tasks import Spec
from lumen_tui.providers.base import CutOffCall, Job, ProviderError, ToolCall
from lumen_tui.providers.conversation.steps import CallBegun, CallEnded, Record, decoded
from lumen_tui.providers.offline.provider import OfflineProvider
from lumen_tui.storage.store import Store
from lumen_tui.tools.base import Context, ToolResult
from lumen_tui.tools.toolbox import Toolbox

NOW = 1_790_000_000.0
Played = tuple[str, list[str], bytes]


@pytest.fixture
def play(tmp_path: Path, sandbox: str) -> Callable[..., Played]:
    """Play a playbook on a folder, some of whose names are not UTF-8."""
    data = tmp_path / "data"
    data.mkdir()
    (data / os.fsdecode(b"g\xff.log")).write_text("2026-09-20 10:00:00 ERROR x\n")
    (data / "below").mkdir()
    (data / "below" / "f1.log").write_text("2026-09-21 10:00:00 ERROR disk\n2026-09-22 11:00:00 ERROR disk\n")
    store = Store(tmp_path / "state")
    store.layout.create()
    (store.layout.tasks / "tsk-a").mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(store.root)}
    role = Role(name="researcher", purpose="p", tools=ALL_TOOLS, shell="read", limits=Limits(max_steps=40))  # noqa: S604 - of a role
    spec = Spec(id="tsk-a", objective="Summarise errors per day in f1.log")

    def carry_out(journal: bytes = b"", now: float = NOW) -> Played:
        """Return the result, which calls were made, and the whole journal behind that."""
        lines = [journal]
        made: list[str] = []
        context = Context(
            role=role, spec=spec, store=store, folder=store.layout.task("tsk-a"), now=lambda: now,
            monotonic=time.monotonic, environ=environ,
        )  # fmt: skip
        box = Toolbox(role, spec, context)

        def keep(*records: Record) -> None:
            lines.extend(msgspec.json.encode(record) + b"\n" for record in records)

        job = Job(
            "", spec.objective, folder=str(data), now=lambda: now, keep=keep, earlier=decoded(journal).records
        )  # fmt: skip
        conversation: Any = OfflineProvider().converse(job)
        reply: ToolResult | None = None
        try:
            while True:
                step = conversation.send(reply)
                reply = None
                if isinstance(step, ToolCall):
                    made.append(step.id)
                    reply = box.call(step.name, step.arguments)
                elif isinstance(step, CutOffCall):
                    reply = ToolResult("may have happened", ok=False)
        except ProviderError as error:
            return str(error), made, b"".join(lines)
        except StopIteration as end:
            return str(end.value.text or end.value.reason), made, b"".join(lines)

    return carry_out


def body(text: str) -> str:
    """The result without how long it took."""
    return text.partition("Found without a model")[0]


def test_ended_behind_each_record_it_makes_what_is_left_and_says_the_same(play):
    text, made, journal = play()
    assert len(made) >= 4 and len(set(made)) == len(made)
    lines = journal.splitlines(keepends=True)
    for count in range(len(lines) + 1):
        before = decoded(b"".join(lines[:count])).records
        ended = sum(isinstance(record, CallEnded) for record in before)
        again, rest, whole = play(b"".join(lines[:count]), now=NOW + 864_000 if before else NOW)
        assert rest == made[ended:], count
        assert body(again) == body(text)
        assert decoded(whole).damaged is False
        assert sum(isinstance(record, CallEnded) for record in decoded(whole).records) == len(made)


def test_a_call_that_may_have_happened_is_not_made_again(play):
    _, made, journal = play()
    records = decoded(journal).records
    place = next(at for at, one in enumerate(records) if isinstance(one, CallEnded))
    cut = [*records[:place], CallBegun(made[0], "list_dir")]
    _, rest, _ = play(b"".join(msgspec.json.encode(record) + b"\n" for record in cut))
    assert made[0] not in rest


def test_what_was_masked_in_the_record_is_looked_up_again(play):
    text, made, journal = play()
    records = [
        replace(one, data=one.data[:-3]) if isinstance(one, CallEnded) else one for one in decoded(journal).records
    ]
    again, rest, _ = play(b"".join(msgspec.json.encode(record) + b"\n" for record in records))
    assert rest == made and body(again) == body(text)
