"""Public tests."""
