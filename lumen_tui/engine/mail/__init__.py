"""Mail that comes in: hostile until it is known whose it is, and mostly then."""
