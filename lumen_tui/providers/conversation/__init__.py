"""A conversation with a model, whoever serves it: calls, retries, compaction."""
