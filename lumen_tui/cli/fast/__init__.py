"""Verbs that must start within milliseconds, without the parser."""
