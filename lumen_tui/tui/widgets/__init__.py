"""Parts that every pane and screen is made of."""
