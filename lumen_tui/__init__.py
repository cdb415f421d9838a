"""Lumen: a terminal control room for a persistent autonomous AI agent."""

__version__ = "0.2.0"
STATE_SCHEMA = 2  # of the state folders that this version writes: `model.schema`
