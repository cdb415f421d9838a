"""Transcripts of sessions, and the journal of an agent's hooks."""
