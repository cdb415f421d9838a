"""Screens: roles."""
