"""Signals: the inbox of each reader, receipts, and what leaves the journal when its time is over."""
