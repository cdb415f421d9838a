"""Agent Skills: found, read, checked, and the tool that returns them."""
