"""Screens: loops."""
