"""The shell tool: its read-only lexer, git, background commands, processes."""
