"""The command line. `lumen_tui.hot` takes the quick verbs, `main.main` everything; neither loads Textual."""
