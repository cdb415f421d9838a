"""Folders of their own for tasks: worktrees and copies, what was changed in them, and how that is brought in."""
