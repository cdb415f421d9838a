"""What a worker can do, and the rules and walls within which it may."""
