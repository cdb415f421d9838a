"""The read side: what is derived from several areas of the store. Nothing here writes a record."""
