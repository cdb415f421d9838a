"""The doctor: checks a whole state folder, reports what is wrong, and repairs what it can."""
