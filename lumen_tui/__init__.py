"""Lumen: a terminal control room for a persistent autonomous AI agent."""

__version__ = "0.1.0"
