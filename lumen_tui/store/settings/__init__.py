"""lumen.toml, roles and custom tools: read, checked, and kept in force while a file is broken."""
