"""The command line. `hot.run` takes the verbs that must be quick, `main.main` everything; neither loads Textual."""
