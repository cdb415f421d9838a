"""What was said and done in sessions: their files, and what their hooks told."""
