"""What other programs reach: operations with scopes, and the protocols that carry them."""
