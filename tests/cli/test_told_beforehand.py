"""What a person can know before a task fails, and what a task was given."""

from __future__ import annotations

import json

import pytest


def test_status_says_that_a_key_is_missing_before_a_task_fails(shell) -> None:
    shell.environ.pop("OPENAI_API_KEY", None)
    assert "API_KEY" not in shell("status").stdout
    with (shell.root / "lumen.toml").open("a") as file:
        file.write('\n[models]\nprovider = "openai"\n')
    assert "OPENAI_API_KEY is not set" in shell("status").stdout
    assert "OPENAI_API_KEY" not in shell("status", OPENAI_API_KEY="k" * 20).stdout


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ('provider = "claude"', "the Claude Code program 'claude' is not there"),
        ('provider = "claude"\nclaude = { program = "/nowhere/claude" }', "'/nowhere/claude' is not there"),
        ('haiku = "groq:x"', "GROQ_API_KEY is not set"),
        ('roles = { builder = "opus" }\nopus = "groq:x"', "GROQ_API_KEY is not set"),
        ('roles = { builder = "openrouter:x" }', "OPENROUTER_API_KEY is not set"),
        ('provider = "ollama"\nroles = { builder = "claude" }', "the Claude Code program 'claude' is not there"),
        ('provider = "offline"\nhaiku = "groq:x"', ""),
        ('provider = "ollama"\nfallback = { haiku = ["groq:x"] }', ""),
    ],
)
def test_status_says_what_any_model_of_the_settings_lacks(shell, tmp_path, settings: str, says: str) -> None:
    with (shell.root / "lumen.toml").open("a") as file:
        file.write(f"\n[models]\n{settings}\n")
    without = {"PATH": str(tmp_path), "GROQ_API_KEY": "", "OPENROUTER_API_KEY": ""}
    shown = shell("status", **without).stdout
    assert shown.count(" is not ") == bool(says), shown
    assert says in shown


def test_a_task_shows_its_model_and_its_context(shell) -> None:
    spec = {"id": "task-001", "objective": "Look", "model": "opus", "context": "The port is 8080."}
    (shell.root.parent / "spec.json").write_text(json.dumps(spec))
    shell("task", "new", "--spec", str(shell.root.parent / "spec.json"))
    shown = shell("task", "show", "task-001").stdout
    assert "opus" in shown
    assert "The port is 8080." in shown
