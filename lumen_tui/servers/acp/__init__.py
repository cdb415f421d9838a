"""The ACP server: editors that drive tasks and answer approvals."""
