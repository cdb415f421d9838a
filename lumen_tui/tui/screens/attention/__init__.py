"""Screens: attention."""
