"""Screens: signals."""
