"""The APIs of vendors: Anthropic, and servers that speak the OpenAI chat completions API."""
