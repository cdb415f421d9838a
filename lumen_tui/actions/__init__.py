"""What an operator or an agent can do: one function a verb, the same for room, command line and tests.

Each takes the store, its own arguments by name, `by` (who) and `now` (seconds since 1970), does the thing
durably, and returns a `Done`. Where it cannot, it raises `ActionError`, and nothing was written.
"""
