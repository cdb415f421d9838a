"""Screens: budget."""
