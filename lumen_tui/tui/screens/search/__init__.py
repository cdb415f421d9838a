"""Screens: search."""
