"""Tasks: their folders, what an operator sees of them, the archive, what holds them, what they say of roles."""
