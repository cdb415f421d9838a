"""Textual internals that are replaced or worked around. Each module says what for."""
