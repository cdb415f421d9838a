"""The ledger: what model calls cost, and what is set aside for those that run."""
