"""The screens that open over the room, a module each; a screen is imported when it opens."""
