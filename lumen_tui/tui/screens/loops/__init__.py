"""The packets of the main agent's loops, and the capsules that they woke with."""
