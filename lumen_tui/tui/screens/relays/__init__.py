"""Relays: what is held back, and what went in."""
