"""Lumen: a terminal control room for a persistent autonomous AI agent."""

__version__ = "0.2.0"
