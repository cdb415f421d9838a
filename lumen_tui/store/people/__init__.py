"""What people are asked, what they answered, what they put off, and the journal of their actions."""
