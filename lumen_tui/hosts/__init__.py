"""Tasks on other hosts: what runs there, and how all that it writes comes home."""
