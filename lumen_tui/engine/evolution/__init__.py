"""What the agent learns between sessions: read, extract, judge, write."""
