"""Which model a task gets, what stands by for it, and which keys go along."""

from __future__ import annotations

import pytest
from lumen_apiserver import fail, text, tool

from lumen_tui.model.config import ModelsConfig, PriceConfig, ServerConfig
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.providers.base import ProviderError, Spent, TextUpdate
from lumen_tui.providers.choose import choose_provider, key_names, provider_name, targets
from lumen_tui.providers.vendors.endpoints import FREE, Price, endpoint, price_of

ROLE = Role(name="researcher", purpose="p", tier="sonnet")
SPEC = Spec(id="tsk-a", objective="o")
KEY = {"ANTHROPIC_API_KEY": "k" * 20}


def labels(config: ModelsConfig, spec: Spec = SPEC, environ: dict[str, str] = KEY) -> list[str]:
    return [target.label for target in targets(config, ROLE, spec, environ)]


def of_model(model: str) -> Spec:
    return Spec(id="tsk-a", objective="o", model=model)


def test_the_choice_of_provider_and_model():
    config = ModelsConfig(sonnet="my-sonnet")
    assert provider_name(config, {}) == "offline"
    assert provider_name(config, KEY) == provider_name(config, {"ANTHROPIC_AUTH_TOKEN": "x"}) == "anthropic"
    assert provider_name(ModelsConfig(provider="offline"), KEY) == "offline"
    assert choose_provider(config, ROLE, SPEC, {}).brain == "offline"
    assert labels(config) == ["anthropic my-sonnet"]
    assert labels(config, of_model("opus")) == ["anthropic claude-opus-5-5"]
    assert labels(config, of_model("some-id")) == ["anthropic some-id"]
    assert labels(config, of_model("ollama:qwen3:8b")) == ["ollama qwen3:8b"]


def test_models_by_tier_role_and_task():
    config = ModelsConfig(sonnet="groq:llama", roles={"researcher": "opus", "reviewer": "openai:gpt-x"})
    env = KEY | {"GROQ_API_KEY": "g", "OPENAI_API_KEY": "o"}
    assert labels(config, environ=env) == ["anthropic claude-opus-5-5"]
    assert labels(config, of_model("sonnet"), env) == ["groq llama"]
    assert labels(config, of_model("openai:gpt-y"), env) == ["openai gpt-y"]
    with pytest.raises(ProviderError, match="begins with no known endpoint"):
        labels(config, of_model("qwen3:8b"), env)
    reviewer = Role(name="reviewer", purpose="p", tier="haiku")
    assert targets(config, reviewer, SPEC, env)[0].label == "openai gpt-x"


def test_offline_in_the_settings_is_a_switch_for_all():
    config = ModelsConfig(provider="offline", roles={"researcher": "ollama:qwen3"})
    assert choose_provider(config, ROLE, SPEC, KEY).brain == "offline"
    auto = ModelsConfig(roles={"researcher": "ollama:qwen3"})
    assert choose_provider(auto, ROLE, SPEC, {}).brain == "ollama qwen3"
    assert choose_provider(ModelsConfig(roles={"researcher": "offline"}), ROLE, SPEC, KEY).brain == "offline"


def test_what_is_wrong_is_said():
    for config, said in (
        (ModelsConfig(provider="nonsense\x1b"), "'nonsense␛' is not available: set provider under"),
        (ModelsConfig(provider="anthropic"), "ANTHROPIC_API_KEY is not set"),
        (ModelsConfig(provider="groq"), "GROQ_API_KEY is not set"),
        (ModelsConfig(provider="box", endpoints={"box": ServerConfig()}), "base_url of"),
        (ModelsConfig(provider="box", endpoints={"box": ServerConfig(base_url="file:///etc")}), "base_url of"),
        (ModelsConfig(provider="ollama", fallback={"sonnet": ("offline",)}), "cannot take over"),
    ):
        with pytest.raises(ProviderError) as error:
            choose_provider(config, ROLE, SPEC, {})
        assert said in str(error.value)


def test_what_stands_by():
    config = ModelsConfig(fallback={"sonnet": ("anthropic:claude-sonnet-5", "haiku", "ollama:qwen3")})
    assert labels(config) == [
        "anthropic claude-sonnet-5-5", "anthropic claude-sonnet-5", "anthropic claude-haiku-5-5", "ollama qwen3",
    ]  # fmt: skip
    assert labels(config, of_model("opus")) == ["anthropic claude-opus-5-5"]
    by_id = ModelsConfig(fallback={"claude-sonnet-5-5": ("ollama:a",), "groq:b": ("ollama:c",)})
    assert labels(by_id)[1:] == ["ollama a"]
    assert labels(by_id, of_model("groq:b"), KEY)[1:] == ["ollama c"]


def test_only_the_keys_that_a_task_may_need_go_along():
    assert key_names("anthropic") == ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL")
    assert key_names("offline") == key_names("ollama") == ()
    config = ModelsConfig(
        roles={"reviewer": "box:m"}, fallback={"sonnet": ("groq:x",)},
        endpoints={"box": ServerConfig(base_url="https://box/v1", key_env="BOX_KEY")},
    )  # fmt: skip
    assert key_names("anthropic", config, "reviewer", "sonnet") == ("BOX_KEY",)
    assert key_names("anthropic", config, "researcher", "sonnet")[-1] == "GROQ_API_KEY"
    assert key_names("anthropic", config, "researcher", "haiku") == key_names("anthropic")
    assert key_names("anthropic", config, "researcher", "haiku", "ollama:q") == ()
    assert key_names("offline", ModelsConfig(provider="offline", sonnet="groq:x"), "researcher", "sonnet") == ()


def test_prices_of_the_operator_come_first():
    config = ModelsConfig(prices={"claude-sonnet-5": PriceConfig(1.0, 2.0), "box:m": PriceConfig(3.0, 4.0)})
    assert price_of(config, "anthropic", "claude-sonnet-5") == Price(1.0, 2.0)
    assert price_of(config, "box", "m") == Price(3.0, 4.0)
    assert price_of(config, "elsewhere", "m") is None
    assert price_of(config, "ollama", "m", own=True) == FREE


@pytest.fixture
def chain(desk, api):
    """Two models: anthropic first, a server of our own stands by."""
    desk.server("box")
    desk.settings["fallback"] = {"claude-haiku-4-5": ("box:qwen",)}
    return desk


def test_one_that_asks_for_a_long_wait_is_replaced_at_once_and_told_in_few_words(chain, api):
    api.when(lambda request: request.kind == "messages", fail(429, retry_after=7200), again=True)
    api.say(text("done by the other"))
    talk = chain.talk()
    assert (talk.outcome.text, talk.waits) == ("done by the other", [])
    assert talk.said("note")[-1].endswith("box qwen goes on from here: the rate limit was reached (429)")


def test_a_model_that_does_not_answer_is_replaced_in_the_middle(chain, api):
    of_claude = lambda request: request.kind == "messages"  # noqa: E731
    api.when(of_claude, tool("list_dir", path="/x", say="I look."))
    api.when(of_claude, fail(529), again=True)
    api.say(text("done by the other"))
    talk = chain.talk()
    assert talk.outcome.text == "done by the other"
    assert talk.brain == "anthropic claude-haiku-4-5, then box qwen"
    note = next(step.text for step in talk.of(TextUpdate) if step.kind == "note" and "did not answer" in step.text)
    assert "box qwen goes on from here: the model's servers are overloaded (529)" in note
    last = api.asked[-1]
    assert (last.kind, last.called, last.results) == ("chat", ("list_dir",), ("a\nb",))
    assert len(talk.waits) == 2
    assert [step.ok for step in talk.of(Spent)] == [True, False, False, False, True]


def test_calls_of_another_vendor_are_understood(desk, api):
    desk.server("box")
    desk.settings["fallback"] = {"box:qwen": ("anthropic:claude-haiku-4-5",)}
    api.when(lambda request: request.kind == "chat", tool("list_dir", path="/x", call_id="call.1:ü"))
    api.when(lambda request: request.kind == "chat", fail(500), again=True)
    talk = desk.talk(model="box:qwen")
    assert talk.outcome.text == "done"
    assert api.asked[-1].called == ("list_dir",)


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_what_is_the_operators_to_mend_is_not_covered_up(chain, api, status):
    api.when(lambda request: request.kind == "messages", fail(status), again=True)
    talk = chain.talk()
    assert str(status) in talk.error
    assert [request.kind for request in api.asked] == ["messages"]


def test_a_long_wait_is_not_waited_where_another_can_answer(chain, api):
    api.when(lambda request: request.kind == "messages", fail(429, retry_after=120), again=True)
    talk = chain.talk()
    assert talk.outcome.ok
    assert talk.waits == []


def test_a_server_that_is_gone_is_replaced(chain, api):
    chain.environ["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:1"
    talk = chain.talk()
    assert talk.brain.endswith("then box qwen")
    assert talk.usd == 0


def test_all_of_them_fail(chain, api):
    chain.settings["tries"] = 1
    api.say(fail(500))
    talk = chain.talk()
    assert "failed (500)" in talk.error
    assert [request.kind for request in api.asked] == ["messages", "chat"]


def test_a_model_that_lacks_its_key_cannot_stand_by_and_holds_up_nothing(desk, api):
    desk.server("box")
    desk.settings["fallback"] = {"claude-haiku-4-5": ("groq:llama", "box:qwen")}
    api.when(lambda request: request.kind == "messages", fail(529), again=True)
    talk = desk.talk()
    assert talk.brain == "anthropic claude-haiku-4-5, then box qwen"
    assert talk.said("note")[0].startswith("groq llama cannot stand by: GROQ_API_KEY is not set")


def test_a_conversation_is_made_to_fit_the_model_that_takes_it_over(desk, api, reply):
    desk.server("box", window=8_000, max_output=1_000)
    desk.settings["fallback"] = {"claude-haiku-4-5": ("box:qwen",)}
    of_claude = lambda request: request.kind == "messages"  # noqa: E731
    api.when(of_claude, *(tool("list_dir", path=f"/{n}") for n in range(8)))
    api.when(of_claude, fail(529), again=True)
    talk = desk.talk(lambda call: reply(call.arguments["path"] * 4000))
    assert talk.outcome.ok
    first = next(request for request in api.asked if request.kind == "chat")
    assert first.tokens() < 8_000
    assert any("near the model's window" in note for note in talk.said("note"))


def test_an_answer_that_costs_something_has_a_limit_so_that_caps_hold():
    config = ModelsConfig(endpoints={
        "far": ServerConfig(base_url="http://far/v1"), "near": ServerConfig(base_url="http://127.0.0.1:1/v1"),
        "proxy": ServerConfig(base_url="http://127.0.0.1:1/v1", key_env="K"),
        "mine": ServerConfig(base_url="http://far/v1", max_output=500),
    })  # fmt: skip
    most = {name: endpoint(config, name, {}).max_output for name in ("far", "near", "proxy", "mine", "ollama", "groq")}
    assert most == {"far": 8_000, "near": 0, "proxy": 8_000, "mine": 500, "ollama": 0, "groq": 8_000}


def test_a_server_of_our_own_that_cuts_the_beginning_off_in_silence_is_told_once(desk, api):
    desk.server("box")
    desk.job["context"] = "word " * 10_000
    api.say(*(tool("list_dir", path=f"/{n}", how={"usage": {"input_tokens": 2_048}}) for n in range(3)), text("done"))
    talk = desk.talk(model="box:m")
    notes = [note for note in talk.said("note") if "has read 2,048 tokens of about" in note]
    assert len(notes) == 1
    assert "window under [models.endpoints.box]" in notes[0]
    api.say(text("done"))
    desk.job["context"] = "word " * 10_000
    assert not [note for note in desk.talk(model="box:m").said("note") if "has read" in note]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "Your credit balance is too low"), (402, "pay"), (429, "enforced_spend_limit_reached"),
        (400, "You have reached your specified workspace API usage limits. You will regain access on 2026-12-01."),
    ],
)  # fmt: skip
def test_an_account_at_its_end_is_asked_once_and_the_next_model_goes_on(chain, api, status, words):
    api.when(lambda request: request.kind == "messages", fail(status, words), again=True)
    talk = chain.talk()
    assert talk.outcome.ok
    assert [request.kind for request in api.asked] == ["messages", "chat"]
    assert "no credit left, or has reached its limit" in talk.said("note")[-1]
    chain.settings["fallback"] = {}
    assert words in chain.talk().error


def waits(talk) -> list[str]:
    return [step.text for step in talk.of(TextUpdate) if step.kind == "wait"]


def test_a_model_that_thinks_in_silence_has_time_and_is_told_before_each_answer_that_may_be_long(desk, api):
    desk.server("far", key_env="FAR_KEY")
    desk.environ["FAR_KEY"] = "k" * 20
    desk.settings |= {"first_byte_seconds": 0.1, "silence_seconds": 0.1, "tries": 1}
    api.say(
        tool("list_dir", path="/a", how={"first_byte": 0.2, "between": 0.2}), tool("list_dir", path="/b"), text("x")
    )
    talk = desk.talk(model="far:gpt")
    assert talk.outcome.ok
    assert waits(talk) == ["waits for far gpt, which says nothing while it thinks"]
    ticks = iter(range(0, 1_000_000, 40))
    desk._now = lambda: 1_000_000.0 + next(ticks)
    assert len(waits(desk.talk(model="far:gpt"))) == 1
    api.say(tool("list_dir", path="/a"), tool("list_dir", path="/b"), text("x"))
    slow = desk.talk(model="far:gpt")
    assert len(waits(slow)) == 3
    assert next(step for step in slow.of(TextUpdate) if step.kind == "wait").data["until"] > 1_000_000.5
