"""What a secret looks like: the table of vendors' token formats, and how one is found and masked in a text."""

MASKED = "[masked: "  # how every mask begins
