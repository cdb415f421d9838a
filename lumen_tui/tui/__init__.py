"""The room: the only package that imports Textual."""
