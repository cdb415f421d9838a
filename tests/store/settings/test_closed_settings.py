"""A mistyped setting on which safety or the choice of a model hangs is not passed over."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from lumen_tui.model import budget
from lumen_tui.model.config import SERVERS, Config, ModelsConfig
from lumen_tui.model.roles import Role
from lumen_tui.model.spendbook import Amount, Book
from lumen_tui.model.tasks import TIERS, Spec
from lumen_tui.providers.base import ProviderError
from lumen_tui.providers.choose import key_names, targets
from lumen_tui.providers.vendors.endpoints import BUILT_IN
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.fail_closed import SettingEffect, closing_sections, effect_of
from lumen_tui.store.settings.layering import SettingFault, layered
from lumen_tui.store.settings.loading import load_and_keep
from lumen_tui.tools.policy.rules import derive
from lumen_tui.tools.sandbox import tiers
from lumen_tui.tools.sandbox.tiers import REFUSED, SelfTestResults, choose

ENV = {"ANTHROPIC_API_KEY": "k"}


def settings(root: Path, text: str) -> tuple[Config, list[str]]:
    layout = Layout(root)
    layout.config.write_text(text)
    config, problems = load_config(layout)
    return config, [f"{problem.what}; {problem.hint}" for problem in problems]


@pytest.mark.threat("S4", "settings that are slips or cannot be read: what protects stays closed")
@pytest.mark.parametrize("line", ['require = "landlok"', "require = 3", 'requir = "landlock"'])
def test_a_misspelt_floor_lets_no_command_run(tmp_path: Path, line: str) -> None:
    config, said = settings(tmp_path, f"[sandbox]\n{line}\n[sandbox.x]\n")
    assert any("no command of a worker is run until it is fixed" in text for text in said)
    choice = choose(config.sandbox, SelfTestResults("", (tiers.TierTest("bubblewrap", True),)))
    assert (choice.tier, "cannot be read" in choice.reason) == (REFUSED, True)


def closed(config: Config) -> set[str]:
    """The sections of policy that hold everything back, by what they come to and not by what is said."""
    held = SelfTestResults("", (tiers.TierTest("bubblewrap", True),))
    day = budget.day_cap(Book(), config.budget, "2026-11-21")
    role = Role("x", "", tools=("web_fetch", "write_result"), network=True, hosts=("example.org",))
    return {
        section for section, is_closed in {
            "sandbox": choose(config.sandbox, held).tier == REFUSED and not config.sandbox.granted(("/srv/site",)),
            "budget": bool(budget.short_of(day, Amount(tokens=1))),
            "approvals": {"write", "shell", "web_fetch", "custom", "remember"} <= {*config.approvals.ask},
            "web": "web_fetch" not in derive(role, Spec(id="t", objective="o"), config).tools,
            "evolution": not config.evolution.enabled and config.evolution.extractor == "offline",
            "memory": config.memory.enforcement.require_checkpoint_for_done == "block",
        }.items() if is_closed
    }  # fmt: skip


ALL = {"sandbox", "budget", "approvals", "web", "evolution", "memory"}
UNKNOWN = {
    '[sandbox]\nREQUIRE = "landlock"': {"sandbox"},
    '[sandbox]\nminimum = "landlock"': {"sandbox"},
    "[sandbox]\nmust = true": {"sandbox"},
    '[sandbox.require]\ntier = "landlock"': {"sandbox"},
    'sandbox = "landlock"': {"sandbox"},
    '[sandbox]\ntier = "bwrap"': {"sandbox"},
    '[Sandbox]\nrequire = "landlock"': {"sandbox"},
    '[sandboxes]\nrequire = "landlock"': {"sandbox"},
    '[security]\nrequire = "landlock"': {"sandbox"},
    '[SECURITY]\nRequire = "landlock"': {"sandbox"},
    "[budget]\nday_dollars = 1.0": {"budget"},
    "[budget.roles.x]\ndollars = 1.0": {"budget"},
    "[Budget]\nday_usd = 1.0": {"budget"},
    "[spend]\nday_usd = 1.0": {"budget"},
    "budget = 1.0": {"budget"},
    "day_usd = 1.0": {"budget"},
    "[approvals]\nalways = true": {"approvals"},
    '[approval]\nask = ["write"]': {"approvals"},
    '[web]\ndeny = ["example.org"]': {"web"},
    '[models]\nprovidr = "offline"': {"budget"},
    "[models]\nprovider = 3": {"budget"},
    "[models]\noffline = true": {"budget"},
    '[Models]\nprovider = "offline"': {"budget"},
    'models = "offline"': {"budget"},
    '[models.prices."box:qwen3"]\ninptu = 3.0': {"budget"},
    '[models.prices."box:qwen3"]\ninput = "3.0"': {"budget"},
    '[models.price."box:qwen3"]\ninput = 3.0': {"budget"},
    '[models.endpoints.box]\nkeyenv = "BOX_KEY"': {"budget"},
    "[evolution]\nenable = false": {"evolution"},
    '[evolution]\nenabled = "no"': {"evolution"},
    '[evolution]\njudge = "haiku"': {"evolution"},
    "[evolution]\ngate = true": {"evolution"},
    "[evolutoin]\nenabled = false": {"evolution"},
    "evolution = false": {"evolution"},
    '[memory.enforcement]\nrequire_checkpoint = "block"': {"memory"},
    '[memory.enforcement]\nrequire_checkpoint_for_done = "always"': {"memory"},
    '[memory.enforcment]\nrequire_checkpoint_for_done = "block"': {"memory"},
    '[memory]\nenforcement = "block"': {"memory"},
    "[guard]\nlevel = 3": ALL,
    "[guard]": ALL,
    "guard = 3": ALL,
}


@pytest.mark.threat("S4", "settings that are slips or cannot be read: what protects stays closed")
@pytest.mark.parametrize("known", [False, True], ids=["nothing known", "known from before"])
def test_what_nobody_knows_closes_the_section_it_may_have_been_meant_for(
    tmp_path: Path, known: bool, sampled: Callable[..., list[str]]
) -> None:
    for number, text in enumerate(sampled(list(UNKNOWN), 14)):
        layout = Layout(tmp_path / str(number))
        layout.create()
        if known:
            load_and_keep(layout)
        layout.config.write_text(f"# mine\n{text}\n")
        for _ in range(2):  # what is wrong is not kept as what was good
            config, problems = load_and_keep(layout)
            assert closed(config) == UNKNOWN[text], text
        (problem,) = problems
        assert problem.where.startswith("lumen.toml:"), text
        assert "until it is fixed" in problem.hint, text
        layout.config.write_text("")
        assert closed(load_and_keep(layout)[0]) == set(), text


FAULTS = {
    '[sandbox]\nREQUIRE = "landlock"': (SettingFault.UNKNOWN_SETTING, SettingEffect.CLOSED),
    '[sandbox]\nrequire = "landlok"': (SettingFault.BAD_VALUE, SettingEffect.CLOSED),
    "[sandbox]\nmemory_mb = -1": (SettingFault.BAD_VALUE, SettingEffect.LAST_GOOD),
    "[budget]\nday_usd = -1": (SettingFault.BAD_VALUE, SettingEffect.LAST_GOOD),
    "[security]\nx = 1": (SettingFault.UNKNOWN_SECTION, SettingEffect.CLOSED),
    "[approvals]\nask = 3": (SettingFault.BAD_VALUE, SettingEffect.CLOSED),
    "[rooms]\nx = 1": (SettingFault.UNKNOWN_SECTION, SettingEffect.DEFAULT),
    "[evolution]\nfile_kb = 0": (SettingFault.BAD_VALUE, SettingEffect.DEFAULT),
}


@pytest.mark.parametrize("text", FAULTS)
def test_what_closes_hangs_on_the_fault_and_the_keys_and_not_on_the_sentence(text: str) -> None:
    (setting,) = layered(Config(), [("lumen.toml", tomllib.loads(text), text)])[1]
    fault, effect = FAULTS[text]
    assert setting.fault is fault
    for sentence in (setting.what, "", "there is no such setting", "closed"):
        assert effect_of(replace(setting, what=sentence), known=True) is effect
    closes = effect is SettingEffect.CLOSED
    assert closing_sections([setting], known=True) == (frozenset(setting.policy) if closes else frozenset())
    assert effect_of(setting, known=False) is (
        SettingEffect.DEFAULT if effect is SettingEffect.DEFAULT else SettingEffect.CLOSED
    )


HARMLESS = (
    "[hearbeat]\nevery_minutes = 3", "[rooms]\nx = 1", 'theme = "nord"', "[room]\nx = 1", '[models]\nopsu = "x"',
    "[models]\ntries = 99", "[models.endpoints.box]\nwindw = 3", "[models.claude]\nprogam = 'x'",
    "[evolution]\nfile_kbs = 3", "[evolution]\nfile_kb = 0", "[memory]\ntriage_day = 3", "[memory.decay]\nx = 3",
    "[memory.enforcement.auto_checkpoint]\ninterval = 3",
)  # fmt: skip


@pytest.mark.parametrize("text", HARMLESS)
def test_a_slip_that_can_only_be_about_what_holds_nothing_back_closes_nothing(tmp_path: Path, text: str) -> None:
    config, said = settings(tmp_path, text)
    assert (closed(config), len(said)) == (set(), 1)


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ('[sandbox]\nREQUIRE = "landlock"', 2, "sandbox.REQUIRE: there is no such setting; did you mean require?"),
        ("[sandbox]\n\nmust = 1", 3, "sandbox.must: there is no such setting; one of tier, require, writable,"),
        ('[security]\nrequire = "x"', 2, "security.require: there is no section [security]; did you mean sandbox."),
        ("[guard]\nlevel = 3", 2, "guard.level: there is no section [guard]; take it out, or put it under"),
    ],
)  # fmt: skip
def test_the_problem_names_the_line_the_key_and_what_to_write(tmp_path: Path, text: str, where: int, said: str) -> None:
    layout = Layout(tmp_path)
    layout.config.write_text(text)
    (problem,) = load_config(layout)[1]
    assert problem.where == f"lumen.toml:{where}"
    assert problem.what.startswith(said)


@pytest.mark.threat("S4", "settings that are slips or cannot be read: what protects stays closed")
def test_a_saved_rule_that_cannot_be_read_brings_no_older_ones_back(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.config.write_text('[[allow]]\ntool = "shell"\nrole = "builder"\npattern = "make test"\n')
    assert len(load_config(layout)[0].allow) == 1
    layout.operator.write_text('[[allow]]\ntool = "shell"\nrole = "builder"\npatern = "git push"\n')
    assert load_config(layout)[0].allow == ()


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


def test_a_file_that_cannot_be_read_opens_no_gate(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.create()
    gates = '[models]\nprovider = "offline"\n[evolution]\nenabled = false\n[memory.enforcement]\n'
    layout.config.write_text(f'{gates}require_checkpoint_for_done = "block"\n')
    load_and_keep(layout)
    layout.config.write_text("[models\n")
    config, _ = load_and_keep(layout)
    assert (config.models.provider, config.evolution.enabled) == ("offline", False)
    assert config.memory.enforcement.require_checkpoint_for_done == "block"
