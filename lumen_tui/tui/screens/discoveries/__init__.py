"""Screens: discoveries."""
