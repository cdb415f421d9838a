"""Roles: the list with their figures, and how one is hired, adjusted and edited."""
