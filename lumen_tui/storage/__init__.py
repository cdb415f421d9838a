"""Bytes on disk: the only code that opens state files. Everything above it asks; nothing above it writes."""
