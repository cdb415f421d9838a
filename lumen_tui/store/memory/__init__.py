"""What the agent keeps: nodes, archive, blocks, facts, capsules, relays."""
