"""Memory nodes: one in full, and the lists of the archived and the protected ones."""
