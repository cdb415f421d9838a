"""Search over everything that the agent knows, did and said; the note for the archive."""
