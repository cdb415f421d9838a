"""Screens: tasks."""
