"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys

import msgspec
import pytest

import lumen_tui
from lumen_tui.model import patterns
from lumen_tui.model.decoding import lazy_decoder
from lumen_tui.model.records import Touch

_ELSEWHERE = "lumen_tui.hosts"  # needs what only hosts have installed


def test_a_lazy_pattern_is_what_re_compiles() -> None:
    lazy, compiled = patterns.lazy_re(r"(?P<word>\w+)\.", re.IGNORECASE), re.compile(r"(?P<word>\w+)\.", re.IGNORECASE)
    assert lazy.fullmatch("Word.")["word"] == "Word"  # type: ignore[index]
    assert lazy.sub("-", "one. two.") == compiled.sub("-", "one. two.")
    assert (lazy.pattern, lazy.flags, lazy.groupindex) == (compiled.pattern, compiled.flags, compiled.groupindex)


def test_every_declared_pattern_can_be_compiled() -> None:
    for module in pkgutil.walk_packages(lumen_tui.__path__, "lumen_tui."):
        if not module.name.startswith(_ELSEWHERE) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    assert patterns.make_all() > 200


def test_a_command_compiles_few_of_those_that_it_declares() -> None:
    code = (
        "import re; from lumen_tui.cli.parser import build_parser; build_parser('status'); "
        "from lumen_tui.model import patterns; print(sum(p._made is not None for p in patterns._DECLARED))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(ran.stdout) <= 3


def test_a_lazy_decoder_is_made_when_it_is_first_used_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    real = msgspec.json.Decoder
    monkeypatch.setattr(msgspec.json, "Decoder", lambda kind: made.append(kind) or real(kind))
    decoder = lazy_decoder(Touch)
    assert made == []
    lines = [msgspec.json.encode({"node_id": name, "at": "", "by": ""}) for name in ("a", "b")]
    assert [decoder.decode(line).node_id for line in lines] == ["a", "b"]
    assert made == [Touch]
