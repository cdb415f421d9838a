"""Screens: evolution."""
