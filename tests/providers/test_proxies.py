"""Behind a proxy: models elsewhere are reached through it, models on this machine past it."""

from __future__ import annotations

import os

import pytest
from lumen_apiserver import text

from lumen_tui.engine.supervisor.workers import worker_env

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")


@pytest.fixture
def behind(monkeypatch):
    """Sets the environment of an engine, and gives us that of its workers."""

    def become(**environ: str) -> None:
        for name in NAMES:
            monkeypatch.delenv(name, raising=False)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        found = worker_env(())
        for name in NAMES:
            monkeypatch.delenv(name, raising=False)
            if name in found:
                monkeypatch.setenv(name, found[name])

    return become


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy"])
def test_a_model_elsewhere_is_asked_through_the_proxy(desk, api, behind, name):
    behind(**{name: api.url})
    desk.settings["tries"] = 1
    desk.environ["ANTHROPIC_BASE_URL"] = "http://models.example"
    desk.talk()
    assert [request.path for request in api.requests] == ["http://models.example/v1/messages"]


def test_a_model_on_this_machine_is_not(desk, api, behind):
    behind(HTTP_PROXY="http://127.0.0.1:1", NO_PROXY="intern.example")
    desk.server("box")
    api.say(text("done"))
    assert desk.talk(model="box:m").outcome.ok
    assert os.environ["NO_PROXY"] == os.environ["no_proxy"] == "intern.example,localhost,127.0.0.1,::1"


def test_without_a_proxy_nothing_is_said_of_any(behind):
    behind()
    assert not [name for name in NAMES if name in os.environ]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the SDK's client is half made
@pytest.mark.parametrize("model", ["claude-haiku-4-5", "box:m"])
def test_a_proxy_that_cannot_be_used_is_told_and_what_was_set_aside_is_given_back(desk, behind, model):
    behind(HTTP_PROXY="carrier-pigeon://127.0.0.1:1")
    desk.server("box")
    talk = desk.talk(model=model)
    assert "no connection can be made" in talk.error
    assert "look at HTTP_PROXY" in talk.error
    assert talk.order == "RS"
