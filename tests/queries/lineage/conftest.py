"""The office of the main agent's tests, with its real engine and workers on the local API server."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_PATH = Path(__file__).resolve().parents[2] / "engine" / "loops" / "conftest.py"
_spec = importlib.util.spec_from_file_location("lumen_main_agent_conftest", _PATH)
assert _spec is not None and _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
office = _module.office
zygote = _module.zygote
