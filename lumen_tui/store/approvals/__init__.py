"""Questions of workers and a person's answers."""
