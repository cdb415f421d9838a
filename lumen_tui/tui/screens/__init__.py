"""The screens that open over the room, one folder for each area; a screen is imported when it opens."""
