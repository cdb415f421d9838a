"""The `claude` program (Claude Code) as a back end."""
