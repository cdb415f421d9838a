"""Signals: one in full, and the form that sends one."""
