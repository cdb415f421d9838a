"""The audit log: who did what, when and why; and what was dismissed."""
