"""Screens: facts."""
