"""What an operator, an agent or another program can ask for: one struct per verb, by area."""
