"""Schedules: what is due is decided, recorded, and carried out once."""
