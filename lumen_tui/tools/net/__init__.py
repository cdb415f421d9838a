"""web_fetch, and HTML as text."""
