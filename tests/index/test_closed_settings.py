"""A mistyped setting on which safety or the choice of a model hangs is not passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from lumen_tui.model.config import Config
from lumen_tui.model.modelsconfig import SERVERS, ModelsConfig
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import TIERS, Spec
from lumen_tui.providers.base import ProviderError
from lumen_tui.providers.choose import key_names, targets
from lumen_tui.providers.endpoints import BUILT_IN
from lumen_tui.store.layout import Layout
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.sandbox import selftest
from lumen_tui.tools.sandbox.tiers import REFUSED, Results, choose

ENV = {"ANTHROPIC_API_KEY": "k"}


def settings(root: Path, text: str) -> tuple[Config, list[str]]:
    layout = Layout(root)
    layout.config.write_text(text)
    config, problems = load_config(layout)
    return config, [f"{problem.what}; {problem.hint}" for problem in problems]


@pytest.mark.parametrize("line", ['require = "landlok"', "require = 3", 'requir = "landlock"'])
def test_a_misspelt_floor_lets_no_command_run(tmp_path: Path, line: str) -> None:
    config, said = settings(tmp_path, f"[sandbox]\n{line}\n[sandbox.x]\n")
    assert any("no command of a worker is run until it is mended" in text for text in said)
    choice = choose(config.sandbox, Results("", (selftest.Tested("bubblewrap", True),)))
    assert (choice.tier, "cannot be read" in choice.why) == (REFUSED, True)


def test_the_empty_choice_is_not_offered(tmp_path: Path) -> None:
    _, said = settings(tmp_path, '[sandbox]\nrequire = "landlok"\n')
    assert said[0].startswith('sandbox.require: "landlok" is unknown: one of bubblewrap, landlock;')


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('[models.roles]\nx = "nowhere:y"', "models.roles.x"),
        ('[models]\nhaiku = "nowhere:y"', "models.haiku"),
        ('[models.fallback]\nhaiku = ["nowhere:y"]', "models.fallback.haiku"),
    ],
)
def test_an_unknown_endpoint_is_a_problem_and_the_task_says_so(tmp_path: Path, text: str, name: str) -> None:
    config, said = settings(tmp_path, text)
    assert said[0].startswith(f"{name}: 'nowhere:y' begins with no known endpoint")
    with pytest.raises(ProviderError, match=f"{name}: 'nowhere:y'"):
        targets(config.models, Role("x", "", tier="haiku"), Spec(id="t", objective="o"), ENV)
    assert key_names("anthropic", config.models, "x", "haiku") == ()


def test_an_id_with_a_colon_stands_behind_its_endpoint(tmp_path: Path) -> None:
    config, said = settings(tmp_path, '[models.roles]\nreviewer = "ollama:qwen3:8b"\n')
    found = targets(config.models, Role("reviewer", ""), Spec(id="t", objective="o"), ENV)
    assert (said, found[0].label) == ([], "ollama qwen3:8b")


def test_where_servers_take_any_id_one_with_a_colon_is_an_id(tmp_path: Path) -> None:
    config, said = settings(tmp_path, '[models]\nprovider = "ollama"\nhaiku = "qwen3:8b"\nsonnet = "groq:llama"\n')
    found = [targets(config.models, Role("x", "", tier=tier), Spec(id="t", objective="o"), ENV)[0] for tier in TIERS]
    assert said == []
    assert [target.label for target in found][:2] == ["ollama qwen3:8b", "groq llama"]


def test_an_empty_tier_falls_back_and_is_named(tmp_path: Path) -> None:
    config, said = settings(tmp_path, '[models]\nhaiku = ""\n')
    assert config.models.haiku == ModelsConfig().haiku
    assert said[0].startswith("models.haiku: it is empty")


def test_the_names_of_the_settings_are_those_of_the_servers() -> None:
    assert set(SERVERS) == set(BUILT_IN)
