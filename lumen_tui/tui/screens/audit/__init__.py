"""What was: the digest since the last visit, the journal of actions, and the lineage of one thing."""
