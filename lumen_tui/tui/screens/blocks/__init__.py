"""The memory blocks: the list with their texts, the history of each, and the form for a new one."""
