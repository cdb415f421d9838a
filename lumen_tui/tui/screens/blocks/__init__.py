"""Screens: blocks."""
