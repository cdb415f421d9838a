"""Hooks of an agent's program: their installation, and the work that they leave to a background process."""
