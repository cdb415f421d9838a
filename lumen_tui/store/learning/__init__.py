"""evolved/ and what stands around it: the constitution, its versions, the section in CLAUDE.md."""
