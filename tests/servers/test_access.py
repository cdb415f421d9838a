"""Who may connect: tokens, their scopes and ends, and what starts a server on its own pipes."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from lumen_origin import BELOW_AN_AGENT

from lumen_tui.model.access import Principal, Scope, program_name, scopes_of
from lumen_tui.servers.access import TOKEN, AccessRefused, RateLimit, TokenBook, on_stdio
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings import access

NOW = 1_800_000_000.0
ALL = frozenset(Scope)
BELOW = {"CLAUDECODE": "1"}
PROGRAM = [sys.executable, "-m", "lumen_tui"]


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path / "state")
    made.create()
    return made


def given(layout: Layout, name: str = "laptop", scopes: frozenset[Scope] = ALL, seconds: float = 60.0) -> str:
    return access.add(layout, name, scopes, by="ana", now=NOW, seconds=seconds)


def test_a_token_is_hashed_at_rest_and_gives_its_scopes(layout: Layout) -> None:
    token = given(layout, scopes=frozenset({Scope.READ}))
    assert token not in layout.access.read_text()
    assert stat.S_IMODE(layout.access.stat().st_mode) == 0o600
    assert TokenBook(layout).principal(token, "http", NOW) == Principal("laptop", "http", frozenset({Scope.READ}))


def test_a_token_that_is_wrong_over_early_or_revoked_is_none(layout: Layout) -> None:
    token = given(layout)
    for wrong, now in (("", NOW), (token[:-1], NOW), (token, NOW + 61), (token, NOW - 1), ("lumen-access-\x00", NOW)):
        with pytest.raises(AccessRefused) as refused:
            TokenBook(layout).principal(wrong, "http", now)
        assert not wrong or wrong not in str(refused.value)
    assert access.revoke(layout, "laptop") and not access.revoke(layout, "laptop")
    with pytest.raises(AccessRefused):
        TokenBook(layout).principal(token, "http", NOW)


@pytest.mark.parametrize("damage", [b"\xff{", b"[]x", b'[{"name": "laptop"}]', b'[{"scopes": ["root"]}]'])
def test_a_damaged_file_lets_nobody_in(layout: Layout, damage: bytes) -> None:
    token = given(layout)
    layout.access.write_bytes(damage)
    with pytest.raises(AccessRefused):
        TokenBook(layout).principal(token, "http", NOW)


def test_a_name_has_one_token_at_a_time(layout: Layout) -> None:
    given(layout)
    with pytest.raises(access.TokenRefused):
        given(layout)
    access.revoke(layout, "laptop")
    assert given(layout)


@pytest.mark.parametrize("text", ["", "  ", "\x1b[31m", "../..", "Ana ‮", "a" * 500, "CLAUDE Code!"])
def test_what_a_program_calls_itself_becomes_a_plain_name_that_no_operator_has(text: str) -> None:
    who = Principal(program_name(text), "mcp")
    assert who.by.startswith("mcp:") and who.by.isprintable() and len(who.by) < 60 and " " not in who.by


def test_an_unknown_scope_is_named() -> None:
    with pytest.raises(ValueError, match="root"):
        scopes_of(["read", "root"])


def test_below_an_agent_approvals_need_a_token_of_the_operator(layout: Layout) -> None:
    usual = on_stdio(layout, BELOW, "mcp", name="claude", scopes=frozenset({Scope.READ, Scope.ACT}), now=NOW)
    assert usual.scopes == {Scope.READ, Scope.ACT}
    with pytest.raises(AccessRefused, match="CLAUDECODE is set"):
        on_stdio(layout, BELOW, "mcp", name="claude", scopes=ALL, now=NOW)
    narrow = given(layout, "narrow", frozenset({Scope.READ}))
    with pytest.raises(AccessRefused, match="no scope approve"):
        on_stdio(layout, {**BELOW, TOKEN: narrow}, "mcp", name="claude", scopes=ALL, now=NOW)


@pytest.mark.skipif(BELOW_AN_AGENT, reason="an agent runs these tests: what is below a worker cannot be told apart")
def test_with_one_it_has_what_both_the_token_and_the_flags_allow(layout: Layout) -> None:
    token = given(layout, "claude", frozenset({Scope.READ, Scope.APPROVE}))
    who = on_stdio(layout, {**BELOW, TOKEN: token}, "mcp", name="x", scopes=ALL, now=NOW)
    assert who == Principal("claude", "mcp", frozenset({Scope.READ, Scope.APPROVE}))


def test_below_one_of_our_own_workers_no_token_helps(layout: Layout) -> None:
    token = given(layout)
    with pytest.raises(AccessRefused, match="worker"):
        on_stdio(layout, {"LUMEN_WORKER": "tsk-1", TOKEN: token}, "mcp", name="x", scopes=ALL, now=NOW)


def test_a_token_that_is_not_valid_does_not_fall_back_to_the_flags(layout: Layout) -> None:
    with pytest.raises(AccessRefused):
        on_stdio(layout, {TOKEN: "lumen-access-none"}, "mcp", name="x", scopes=frozenset({Scope.READ}), now=NOW)


def test_the_rate_is_of_each_program_and_scope_by_itself() -> None:
    clock = [0.0]
    limit = RateLimit(lambda: clock[0])
    zed, other = Principal("zed", "mcp", ALL), Principal("other", "mcp", ALL)
    assert sum(limit.wait(zed, Scope.APPROVE) == 0 for _ in range(100)) == 30
    assert limit.wait(other, Scope.APPROVE) == limit.wait(zed, Scope.READ) == 0
    clock[0] += 10.0
    assert sum(limit.wait(zed, Scope.APPROVE) == 0 for _ in range(100)) == 10


def run(layout: Layout, *words: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(layout.root.parent), "LUMEN_STATE": str(layout.root), "USER": "ana"}
    return subprocess.run([*PROGRAM, "access", *words], env=env, capture_output=True, text=True, start_new_session=True)


def test_the_command_line_gives_nothing_without_a_terminal_and_shows_no_hash(layout: Layout) -> None:
    refused = run(layout, "add", "laptop")
    assert refused.returncode == 2 and "only the operator gives access" in refused.stderr
    assert not layout.access.exists()
    given(layout, seconds=1e9)
    listed = json.loads(run(layout, "list", "--json").stdout)
    (entry,) = access.listed(layout)
    assert [(one["name"], one["scopes"]) for one in listed] == [("laptop", "read, act, approve")]
    assert entry.sha256 not in str(listed)
    assert run(layout, "revoke", "laptop").returncode == 0
    assert run(layout, "revoke", "laptop").returncode == 3
    assert "access.revoke" in layout.actions.read_text()
