"""What a worker can do, and the rules and the sandbox within which it may."""
