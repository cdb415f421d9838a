"""What a worker may look up and keep: age, source and trust with every hit, and nothing of what others said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.tools.agent.memory import (
    RecallArguments,
    RememberArguments,
    SearchArguments,
    memory_search,
    recall,
    remember,
)
from lumen_tui.tools.base import Context, ToolError


@pytest.fixture
def context(filled: Any, tmp_path: Path) -> Context:
    return Context(
        role=Role(name="researcher", purpose="to look", prompt="x"), spec=Spec(id="tsk-now", objective="x"),
        store=filled.store, folder=tmp_path, now=lambda: filled.now, monotonic=lambda: 0.0,
    )  # fmt: skip


def test_hits_carry_age_source_and_trust(context: Context, filled: Any) -> None:
    filled.insert("The vault holds the key", source="runbook", trust="imported", tags=["keys"])
    found = memory_search(context, SearchArguments(query="vault key", tag="Keys"))
    assert "now old  (imported, from runbook)  The vault holds the key" in found.text
    assert "arc-" in recall(context, RecallArguments(query="vault")).text


def test_a_worker_does_not_read_what_others_were_told(context: Context, filled: Any) -> None:
    filled.said("s1", ("user", "the pool of secrets is exhausted"))
    assert (
        memory_search(context, SearchArguments(query="pool exhausted in:conversations type:signal")).data["ids"] == []
    )


def test_a_note_of_the_archive_is_read_whole(context: Context, filled: Any) -> None:
    ref = filled.insert("Title\nand the rest of it", trust="untrusted")
    told = recall(context, RecallArguments(id=ref)).text
    assert told.endswith("(untrusted)\nTitle\nand the rest of it") and "archival  now old" in told
    filled.do("archive.withdraw", passage_id=ref)
    with pytest.raises(ToolError, match="withdrawn"):
        recall(context, RecallArguments(id=ref))
    with pytest.raises(ToolError, match="name an id"):
        recall(context, RecallArguments())


def test_what_is_remembered_is_found_by_its_kind(context: Context, filled: Any) -> None:
    remember(context, RememberArguments(text="Drain the node first", kind="procedural", importance=0.9, tags=("k8s",)))
    node = json.loads(list(filled.store.nodes.lines())[-1])
    assert (node["metadata"]["kind"], node["metadata"]["importance"]) == ("procedural", 0.9)
    (hit,) = filled.ask("drain kind:procedural tag:k8s").hits
    assert (hit.ref, hit.parts.importance, hit.trust) == (node["id"], 0.9, "worker")


@pytest.mark.parametrize("query", ["!!", "since:soon x", '""'])
def test_a_query_that_is_none_is_refused(context: Context, query: str) -> None:
    with pytest.raises(ToolError):
        memory_search(context, SearchArguments(query=query))
