"""MCP servers as tools: the protocol, its two transports, and the gate through which their tools go."""
