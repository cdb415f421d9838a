"""Screens: engine."""
