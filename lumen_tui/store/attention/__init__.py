"""What happened on the queue of what needs a person, and which of it was told to whom."""
