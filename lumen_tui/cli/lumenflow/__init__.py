"""The `mem:` spellings of the LumenFlow memory layer."""
