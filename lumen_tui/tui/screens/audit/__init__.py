"""Screens: audit."""
