"""Schedules on disk, and the times at which they are due."""
