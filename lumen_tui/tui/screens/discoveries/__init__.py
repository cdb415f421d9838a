"""Judging discoveries: promote one, merge several, decide on those that are alike."""
