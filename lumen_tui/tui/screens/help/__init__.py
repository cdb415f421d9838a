"""Screens: help."""
