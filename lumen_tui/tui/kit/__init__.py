"""Widgets, sheets and fields that every pane and screen is made of."""
