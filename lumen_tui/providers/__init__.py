"""Models behind one protocol: Anthropic, OpenAI-compatible servers, the `claude` program, offline playbooks."""
