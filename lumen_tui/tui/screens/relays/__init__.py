"""Screens: relays."""
