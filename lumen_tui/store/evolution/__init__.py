"""evolved/: what was learnt, its versions, the constitution, and the section in CLAUDE.md."""
