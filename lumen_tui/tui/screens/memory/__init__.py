"""Screens: memory."""
