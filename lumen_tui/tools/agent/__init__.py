"""Tools for memory, signals, blocks, relays, and those that only the main agent has."""
