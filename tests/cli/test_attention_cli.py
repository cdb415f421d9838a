"""What needs a person, answered from the shell."""

from __future__ import annotations

import json
import re

import pytest

from lumen_tui.__main__ import main
from lumen_tui.storage.layout import Layout


@pytest.fixture
def run(tmp_path, capfd):
    Layout(tmp_path / "state").create()

    def ran(*words: str) -> tuple[int, str, str]:
        code = main(["--state", str(tmp_path / "state"), *words])
        out, err = capfd.readouterr()
        return code, out, err

    return ran


def test_off_aside_and_back(run):
    assert run("attention", "list")[0] == 0
    signal = run("signal", "the disk is full", "-p", "P0")[1].strip()
    assert signal in run("attention", "list")[1]
    code, out, err = run("attention", "snooze", signal[:8], "--for", "2h")
    assert code == 0 and "snoozed until" in out, err
    found = json.loads(run("attention", "list", "--json")[1])
    assert found["attention"] == [] and found["snoozed"][0]["until"].endswith("Z")
    assert run("status", "-q")[0] == 0
    assert run("attention", "back", signal)[0] == 0
    assert run("status", "-q")[0] == 1
    assert run("attention", "aside", signal)[0] == 0
    assert run("undo")[0] == 0
    assert run("status", "-q")[0] == 1


def test_what_is_put_off_can_be_put_off_anew_for_less(run):
    signal = run("signal", "the disk is full", "-p", "P0")[1].strip()
    run("attention", "snooze", signal, "--for", "9d")
    assert f"{signal}  signal  until 20" in run("attention", "list")[1]
    first = json.loads(run("attention", "list", "--json")[1])["snoozed"][0]["until"]
    assert run("attention", "snooze", signal, "--for", "30m")[0] == 0
    assert json.loads(run("attention", "list", "--json")[1])["snoozed"][0]["until"] < first
    assert re.search(r" UTC  \S+: the disk is full", run("attention", "list")[1])
    assert run("attention", "snooze", signal, "--for", "0s")[0] == 2


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("snooze", "sig-zz"), 3, "there is nothing"),
        (("back", "sig-zz"), 3, "attention list"),
        (("snooze", ""), 3, "there is nothing"),
        (("snooze", "x", "--for", "soon"), 2, "is not a duration"),
        (("aside",), 2, "required"),
    ],
)
def test_what_is_not_there_or_makes_no_sense(run, words, code, said):
    found, _, err = run("attention", *words)
    assert found == code and said in err


def test_the_archive_and_recall_say_what_is_missing(run):
    assert "nothing is in the archive" in run("archive", "list", "--tag", "web")[2]
    run("archive", "insert", "Reload nginx", "--tag", "ops")
    code, _, err = run("archive", "list", "--tag", "web", "--kind", "semantic")
    assert code == 3 and "no note of the archive has kind semantic and tag web" in err
    code, _, err = run("recall", "WU-999")
    assert code == 3 and "nothing is known of WU-999" in err
